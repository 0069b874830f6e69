"""Chat models that are not ours."""

import json
from collections.abc import Callable
from typing import Any

import pytest
from langchain_core.caches import InMemoryCache
from langchain_core.globals import set_llm_cache
from langchain_core.language_models import FakeListChatModel, GenericFakeChatModel
from langchain_core.messages import AIMessage
from langchain_openai import ChatOpenAI, OpenAIEmbeddings
from model_samples import DENIAL, NODE, RULE, SCHEMAS, SUSPICIOUS, Run, run_once
from openai_server import OpenAIServer, filled

from acegraph.graph import create_ace_graph
from acegraph.nodes import SimpleFraudAgent
from acegraph.state import BulletPlaybook


@pytest.mark.parametrize(
    "model",
    [
        pytest.param(lambda: FakeListChatModel(responses=[json.dumps(DENIAL)]), id="list"),
        pytest.param(
            lambda: GenericFakeChatModel(messages=iter([AIMessage(json.dumps(DENIAL))])),
            id="generic",
        ),
        pytest.param(
            lambda: FakeListChatModel(responses=[f"Well: {json.dumps(DENIAL)}"]), id="prose"
        ),
        pytest.param(
            lambda: GenericFakeChatModel(
                messages=iter([AIMessage([{"type": "text", "text": json.dumps(DENIAL)}])])
            ),
            id="blocks",
        ),
    ],
)
def test_a_chat_model_without_structured_output_answers_in_plain_json(
    no_key: None, playbook: BulletPlaybook, run: Run, model: Callable[[], Any]
) -> None:
    used = playbook.add_bullet(RULE, NODE)
    found = run(
        create_ace_graph(playbook=playbook, agent=model()),
        {"transaction": SUSPICIOUS, "ground_truth": "DECLINE"},
    )
    assert (found["decision"], found["verdict"]) == ("DECLINE", "right")
    assert (found["risk_score"], found["bullets_used"]) == (0.9, [used])


@pytest.mark.parametrize(
    "wrapped",
    [
        pytest.param(lambda model: model.with_fallbacks([model]), id="fallbacks"),
        pytest.param(lambda model: model.with_retry(), id="retry"),
        pytest.param(lambda model: model.bind(stop=["x"]).with_config(tags=["a"]), id="options"),
    ],
)
def test_a_wrapped_chat_model_is_asked_like_a_bare_one(
    no_key: None, playbook: BulletPlaybook, run: Run, wrapped: Callable[[Any], Any]
) -> None:
    model = wrapped(FakeListChatModel(responses=[json.dumps(DENIAL)]))
    found = run(create_ace_graph(playbook=playbook, agent=model), {"transaction": SUSPICIOUS})
    assert (found["decision"], found["risk_score"]) == ("DECLINE", 0.9)


def test_a_chat_model_that_only_talks_is_not_an_approval(
    no_key: None, playbook: BulletPlaybook, run: Run
) -> None:
    talker = FakeListChatModel(responses=["APPROVE, I think."])
    found = run(
        create_ace_graph(playbook=playbook, agent=talker),
        {"transaction": SUSPICIOUS, "ground_truth": "APPROVE"},
    )
    assert (found["decision"], found["verdict"]) == ("UNDECIDED", "undecided")
    assert found["undecided"] == "agent: FakeListChatModel gave no JSON for DecisionForm"


class OverloadedError(Exception):
    """What another provider's library raises."""

    status_code = 529


class FailingModel(FakeListChatModel):
    error: Any

    def _call(self, *args: Any, **options: Any) -> str:
        raise self.error


@pytest.mark.parametrize(
    ("error", "told"),
    [
        (OverloadedError("the prompt was ..."), "OverloadedError (HTTP 529)"),
        (ValueError("no key"), "outside the protocol (ValueError)"),
        (ConnectionError("reset"), "reset"),
    ],
)
def test_what_another_providers_library_raises_is_no_verdict(
    no_key: None, run: Run, error: Exception, told: str
) -> None:
    model = FailingModel(responses=[], error=error)
    found = run(create_ace_graph(agent=model), {"transaction": SUSPICIOUS})
    assert found["decision"] == "UNDECIDED"
    assert told in found["undecided"]
    assert "prompt" not in found["undecided"]


def test_a_bug_of_a_chat_model_is_not_hidden(no_key: None, run: Run) -> None:
    model = FailingModel(responses=[], error=ZeroDivisionError("a bug"))
    with pytest.raises(ZeroDivisionError, match="a bug"):
        run(create_ace_graph(agent=model), {"transaction": SUSPICIOUS})


def test_a_client_of_ones_own_may_stream_and_prints_nothing(server: OpenAIServer) -> None:
    server.on("DecisionForm", filled(**DENIAL))
    client = ChatOpenAI(model=SCHEMAS, streaming=True)
    stream = (
        create_ace_graph(agent=client)
        .compile()
        .stream({"transaction": SUSPICIOUS}, stream_mode=["messages", "values"])
    )  # a warning is an error here
    assert list(stream)[-1][1]["decision"] == "DECLINE"


def test_clients_of_ones_own_can_be_given_to_the_graph(
    server: OpenAIServer, playbook: BulletPlaybook
) -> None:
    playbook.add_bullet(RULE, NODE)
    server.on("DecisionForm", filled(**DENIAL))
    own = {"base_url": server.url, "api_key": "own-key"}
    found = run_once(
        create_ace_graph(
            playbook=playbook,
            agent=ChatOpenAI(model="own-model", **own),
            embeddings=OpenAIEmbeddings(
                model="own-vectors", check_embedding_ctx_length=False, **own
            ),
        ),
        {"transaction": SUSPICIOUS, "ground_truth": "DECLINE"},
    )
    assert found["verdict"] == "right"
    assert [r.body["model"] for r in server.requests] == ["own-vectors", "own-model"]
    assert {r.headers["authorization"] for r in server.requests} == {"Bearer own-key"}


def test_langchains_cache_answers_what_was_asked(server: OpenAIServer) -> None:
    server.on_all(filled(**DENIAL))
    set_llm_cache(InMemoryCache())
    try:
        for amount in (1, 2, 1):
            assert SimpleFraudAgent().decide({"amount": amount}).decision == "DECLINE"
    finally:
        set_llm_cache(None)
    assert len(server.chats) == 2
