"""The fraud check as a tool in somebody's agent loop."""

import json
from collections.abc import Iterator
from typing import Any

import pytest
from langchain_core.runnables import RunnableConfig
from langchain_openai import ChatOpenAI
from openai_server import OpenAIServer, called, said

from acegraph.graph import create_ace_graph, create_fraud_tool
from acegraph.state import AceContext, BulletPlaybook, InvalidSettings, PlaybookError

RISKY = {"amount": 2500, "hour": 3, "vpn": True, "account_age_days": 2}


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch) -> Iterator[OpenAIServer]:
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")
    with OpenAIServer() as running:
        yield running


def _asked(server: OpenAIServer, tool: Any) -> list[Any]:
    """The messages of a real agent loop that has this tool."""
    from langgraph.prebuilt import create_react_agent
    from langgraph.warnings import LangGraphDeprecatedSinceV10

    model = ChatOpenAI(model="gpt-4o", api_key="none", base_url=server.url, max_retries=0)
    with pytest.warns(LangGraphDeprecatedSinceV10):  # its successor is in another package
        agent = create_react_agent(model, [tool])
    return list(agent.invoke({"messages": [("user", "May this payment pass?")]})["messages"])


def test_in_an_agent_loop_the_model_cannot_pass_a_label(server: OpenAIServer) -> None:
    invented = {"transaction": RISKY, "decision_id": "order-1", "ground_truth": "APPROVE"}
    server.on("check_payment", called(json.dumps(invented)), said("It may not."))
    with BulletPlaybook() as playbook:
        messages = _asked(server, create_fraud_tool(create_ace_graph(playbook=playbook)))
        stored = playbook.decision("order-1")
        assert len(playbook.cases("fraud_detection")) == 0
    answer = json.loads(messages[2].content)
    assert (answer["decision"], answer["decision_id"]) == ("DECLINE", "order-1")
    assert (stored["decision"], stored["label"]) == ("DECLINE", None)
    assert messages[-1].content == "It may not."
    offered = server.chats[0].body["tools"][0]["function"]["parameters"]["properties"]
    assert set(offered) == {"transaction", "decision_id"}


def test_what_is_no_transaction_is_told_to_the_model_in_one_line(server: OpenAIServer) -> None:
    server.on("check_payment", called('{"transaction": ""}'), said("I need the payment."))
    messages = _asked(server, create_fraud_tool())
    assert "transaction" in messages[2].content
    assert "\n" not in messages[2].content


async def test_an_id_of_another_payment_is_told_to_the_model() -> None:
    tool = create_fraud_tool()
    tool.invoke({"transaction": RISKY, "decision_id": "order-1"})
    other = {"transaction": {"amount": 5}, "decision_id": "order-1"}
    for answer in (tool.invoke(other), await tool.ainvoke(other)):
        assert "was used for another transaction" in answer


async def test_what_only_the_operator_can_mend_is_raised(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    keyless = create_fraud_tool(create_ace_graph(agent="gpt-4o"))
    playbook = BulletPlaybook()
    closed = create_fraud_tool(create_ace_graph(playbook=playbook))
    playbook.close()
    for tool, error in ((keyless, InvalidSettings), (closed, PlaybookError)):
        with pytest.raises(error):
            tool.invoke({"transaction": RISKY})
        with pytest.raises(error):
            await tool.ainvoke({"transaction": RISKY})


def test_a_tool_checks_its_settings_when_it_is_made() -> None:
    for wrong in ("vanilla", {"mood": "online"}):
        with pytest.raises(InvalidSettings):
            create_fraud_tool(context=wrong)  # type: ignore[arg-type]
    tool = create_fraud_tool(context={"mode": "vanilla"})
    assert json.loads(tool.invoke({"transaction": RISKY}))["decision"] == "DECLINE"


def test_a_tool_is_not_made_from_a_playbook() -> None:
    with pytest.raises(InvalidSettings, match="not from a BulletPlaybook: create_fraud_tool"):
        create_fraud_tool(BulletPlaybook())  # type: ignore[arg-type]


def test_a_tool_passes_warnings_on() -> None:
    tool = create_fraud_tool()
    given = RunnableConfig(configurable={"mode": "vanilla"})
    (warning,) = json.loads(tool.invoke({"transaction": RISKY}, given))["warnings"]
    assert "mode not used" in warning


async def test_a_tool_has_the_settings_and_the_name_that_it_is_given() -> None:
    tool = create_fraud_tool(name="fraud", context=AceContext(mode="vanilla"))
    assert tool.name == "fraud"
    assert json.loads(await tool.ainvoke({"transaction": RISKY}))["decision"] == "DECLINE"


def test_a_graph_has_the_name_that_it_is_given() -> None:
    assert create_ace_graph(name="card_fraud").compile().name == "card_fraud"
    assert create_ace_graph(name="card_fraud").compile(name="other").name == "other"
