"""ACE among other people's agents: in `create_agent`, under a supervisor, in a swarm.

The models are scripted over HTTP, and each tries to pass a label.
"""

import json
from collections.abc import Iterator
from typing import Any

import pytest
from langchain.agents import create_agent
from langchain_core.messages import AIMessage
from langchain_openai import ChatOpenAI
from langgraph.graph import MessagesState, StateGraph
from langgraph_supervisor import create_supervisor
from langgraph_swarm import create_handoff_tool, create_swarm
from openai_server import OpenAIServer, called, said

from acegraph.graph import create_ace_graph, create_fraud_tool
from acegraph.state import BulletPlaybook

RISKY = {"amount": 2500, "hour": 3, "vpn": True, "account_age_days": 2}
INVENTED = {"transaction": RISKY, "decision_id": "order-1", "ground_truth": "APPROVE"}
ASKED: Any = {"messages": [("user", json.dumps(RISKY))]}
pytestmark = pytest.mark.filterwarnings("ignore:create_react_agent has been moved")


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch) -> Iterator[OpenAIServer]:
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")
    with OpenAIServer() as running:
        running.on("check_payment", called(json.dumps(INVENTED)), said("It may not."))
        yield running


@pytest.fixture
def playbook() -> Iterator[BulletPlaybook]:
    with BulletPlaybook() as book:
        yield book
        assert book.decision("order-1")["decision"] == "DECLINE"
        assert book.decision("order-1")["label"] is None
        assert len(book.cases("fraud_detection")) == 0


def _model(server: OpenAIServer) -> ChatOpenAI:
    return ChatOpenAI(model="gpt-4o", api_key="none", base_url=server.url, max_retries=0)


def _agent_with_tool(server: OpenAIServer, playbook: BulletPlaybook) -> Any:
    tool = create_fraud_tool(create_ace_graph(playbook=playbook))
    return create_agent(_model(server), [tool], name="fraud")


def _agent_of_the_graph(server: OpenAIServer, playbook: BulletPlaybook) -> Any:
    """The compiled graph as a node of an agent that talks in messages, without a model."""
    graph = create_ace_graph(playbook=playbook).compile()

    def decide(state: MessagesState) -> dict[str, Any]:
        asked = next(m for m in state["messages"] if m.type == "human")
        given: Any = {"transaction": json.loads(str(asked.content)), "decision_id": "order-1"}
        return {"messages": [AIMessage(graph.invoke(given)["decision"], name="fraud")]}

    builder = StateGraph(MessagesState).add_node("decide", decide)
    return builder.set_entry_point("decide").compile(name="fraud")


def _answers(agent: Any) -> list[str]:
    return [str(message.content) for message in agent.invoke(ASKED)["messages"]]


def test_the_tool_in_an_agent_of_langchain(server: OpenAIServer, playbook: BulletPlaybook) -> None:
    answers = _answers(_agent_with_tool(server, playbook))
    assert json.loads(answers[2])["decision"] == "DECLINE"
    assert answers[-1] == "It may not."


@pytest.mark.parametrize(
    ("made", "said_by_it"), [(_agent_with_tool, "It may not."), (_agent_of_the_graph, "DECLINE")]
)
def test_under_a_supervisor(
    server: OpenAIServer, playbook: BulletPlaybook, made: Any, said_by_it: str
) -> None:
    server.on("transfer_to_fraud", called("{}"), said("The payment is declined."))
    supervisor = create_supervisor([made(server, playbook)], model=_model(server)).compile()
    answers = _answers(supervisor)
    assert said_by_it in answers
    assert answers[-1] == "The payment is declined."


@pytest.mark.parametrize(
    ("made", "said_by_it"), [(_agent_with_tool, "It may not."), (_agent_of_the_graph, "DECLINE")]
)
def test_in_a_swarm(
    server: OpenAIServer, playbook: BulletPlaybook, made: Any, said_by_it: str
) -> None:
    server.on("transfer_to_fraud", called("{}"))
    hand_over = create_handoff_tool(agent_name="fraud")
    first = create_agent(_model(server), [hand_over], name="first")
    swarm = create_swarm([first, made(server, playbook)], default_active_agent="first").compile()
    assert _answers(swarm)[-1] == said_by_it
