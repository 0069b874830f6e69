"""The whole graph over HTTP: what is asked, and how often."""

import json
from typing import Any

import pytest
from langchain_openai import ChatOpenAI
from model_samples import (
    AGREEMENT,
    APPROVAL,
    DENIAL,
    FUNCTIONS,
    LESSON,
    NODE,
    RULE,
    SCHEMAS,
    SUSPICIOUS,
    Run,
    arun_once,
    counters,
)
from openai_server import OpenAIServer, Reply, broken_off, filled, said, sent, written

from acegraph.graph import create_ace_graph
from acegraph.state import AceContext, BulletPlaybook


def _stream(graph: Any) -> list[Any]:
    given = {"transaction": SUSPICIOUS, "ground_truth": "DECLINE"}
    return list(graph.compile().stream(given, stream_mode=["messages", "values"]))


def test_a_right_decision_costs_one_chat_and_one_embedding(
    server: OpenAIServer, playbook: BulletPlaybook, run: Run
) -> None:
    used = playbook.add_bullet(RULE, NODE)
    server.on("DecisionForm", filled(**DENIAL))
    found = run(
        create_ace_graph(playbook=playbook), {"transaction": SUSPICIOUS, "ground_truth": "DECLINE"}
    )
    assert (found["decision"], found["verdict"], found["undecided"]) == ("DECLINE", "right", None)
    assert found["bullets_used"] == [used]
    assert (len(server.chats), len(server.embeddings)) == (1, 1)
    assert counters(playbook, used) == (1, 0, 1)
    assert len(playbook) == 1


def test_a_wrong_decision_costs_two_chats_and_two_embeddings(
    server: OpenAIServer, playbook: BulletPlaybook, run: Run
) -> None:
    shown = playbook.add_bullet('APPROVE when merchant_category is "electronics"', NODE)
    server.on("DecisionForm", filled(**{**APPROVAL, "bullets_used": [shown]}))
    server.on("ReflectionForm", filled(**LESSON))
    found = run(
        create_ace_graph(playbook=playbook), {"transaction": SUSPICIOUS, "ground_truth": "DECLINE"}
    )
    assert (found["decision"], found["verdict"]) == ("APPROVE", "wrong")
    assert (len(server.chats), len(server.embeddings)) == (2, 2)
    assert counters(playbook, shown) == (0, 1, 1)
    born = playbook.get_bullet(found["new_bullet"])
    assert (born.content, born.source, born.status) == (LESSON["new_bullet"], "online", "candidate")
    assert (born.helpful_count, born.harmful_count, born.times_selected) == (0, 0, 0)
    assert born.origin["author"] == SCHEMAS


def test_a_vector_is_fetched_once(server: OpenAIServer, playbook: BulletPlaybook, run: Run) -> None:
    server.on("DecisionForm", filled(**APPROVAL))
    server.on("ReflectionForm", filled(**LESSON))
    graph = create_ace_graph(playbook=playbook)
    for _ in range(2):
        run(graph, {"transaction": SUSPICIOUS, "ground_truth": "DECLINE"})
    fetched = [text for r in server.embeddings for text in r.body["input"]]
    assert fetched[0] == LESSON["new_bullet"]
    assert len(fetched) == 2
    run(graph, {"transaction": SUSPICIOUS, "ground_truth": "DECLINE"})
    assert len(server.embeddings) == 2


def test_an_empty_playbook_buys_no_vectors(
    server: OpenAIServer, playbook: BulletPlaybook, run: Run
) -> None:
    server.on("DecisionForm", filled(**APPROVAL))
    given = {"transaction": SUSPICIOUS, "ground_truth": "APPROVE"}
    assert run(create_ace_graph(playbook=playbook), given)["verdict"] == "right"
    assert (len(server.chats), server.embeddings) == (1, [])


def test_prose_is_shown_where_its_words_are_near(
    server: OpenAIServer, playbook: BulletPlaybook, run: Run
) -> None:
    near = playbook.add_bullet("a gift card at night", NODE)
    playbook.add_bullet("something else entirely", NODE)
    server.on("DecisionForm", filled(**APPROVAL))
    found = run(
        create_ace_graph(playbook=playbook),
        {"transaction": "a gift card at midnight", "ground_truth": "APPROVE"},
    )
    assert [b["id"] for b in found["bullets"]] == [near]
    assert "[b1] a gift card at night" in server.chats[0].prompt
    assert "something else entirely" not in server.chats[0].prompt


def test_without_ground_truth_the_opinion_of_a_believed_judge_counts(
    server: OpenAIServer, playbook: BulletPlaybook, run: Run
) -> None:
    used = playbook.add_bullet(RULE, NODE)
    server.on("DecisionForm", filled(**DENIAL))
    server.on("VerdictForm", filled(**AGREEMENT))
    believed = AceContext(policy={"judge_bar": 0})
    graph = create_ace_graph(playbook=playbook, context=believed)
    found = run(graph, {"transaction": SUSPICIOUS})
    assert (found["verdict"], found["confidence"]) == ("right", 0.8)
    assert found["judge_reasoning"] == "it fits"
    assert len(server.chats) == 2
    assert counters(playbook, used) == (1, 0, 1)


def test_a_reflection_without_a_bullet_teaches_nothing(
    server: OpenAIServer, playbook: BulletPlaybook, run: Run
) -> None:
    server.on("DecisionForm", filled(**APPROVAL))
    server.on("ReflectionForm", filled(new_bullet=" ", problem_types=[], confidence=0.1))
    found = run(
        create_ace_graph(playbook=playbook), {"transaction": SUSPICIOUS, "ground_truth": "DECLINE"}
    )
    assert (found["verdict"], found["new_bullet"], found["undecided"]) == ("wrong", None, None)
    assert len(playbook) == 0


def test_a_form_is_read_whole_though_the_run_is_streamed(
    server: OpenAIServer, playbook: BulletPlaybook
) -> None:
    server.on_all(written(json.dumps(APPROVAL)[:-1]))
    streamed = _stream(create_ace_graph(playbook=playbook))
    assert server.chats[0].body["stream"] is False
    assert streamed[-1][1]["decision"] == "UNDECIDED"


# LangChain dumps a streamed form into a field that the client declared as None.
_UNTYPED_FORM = pytest.mark.filterwarnings("ignore:Pydantic serializer warnings:UserWarning")


@pytest.mark.slow
@_UNTYPED_FORM
@pytest.mark.parametrize("model", [FUNCTIONS, SCHEMAS])
def test_a_client_of_ones_own_may_stream(
    server: OpenAIServer, playbook: BulletPlaybook, model: str
) -> None:
    server.on("DecisionForm", filled(**DENIAL))
    streamed = _stream(create_ace_graph(playbook=playbook, agent=ChatOpenAI(model=model)))
    assert server.chats[0].body["stream"] is True
    assert [part for mode, part in streamed if mode == "messages"]
    assert streamed[-1][1]["decision"] == "DECLINE"


@_UNTYPED_FORM
@pytest.mark.parametrize("model", [FUNCTIONS, SCHEMAS])
@pytest.mark.parametrize(
    "reply",
    [
        pytest.param(sent("<html>", 200, "text/html"), id="HTML"),
        pytest.param(sent("data: [DONE]\n\n", 200, "text/event-stream"), id="nothing"),
        pytest.param(
            sent('data: {"error": {"message": "boom"}}\n\n', 200, "text/event-stream"), id="error"
        ),
        pytest.param(broken_off(filled(**APPROVAL)), id="broken off"),
        pytest.param(said(None, refusal="no"), id="refusal"),
        pytest.param(written(json.dumps(APPROVAL), finish_reason="length"), id="cut off"),
        pytest.param(filled(**{**APPROVAL, "risk_score": 920}), id="risk 920"),
    ],
)
def test_a_stream_that_fails_is_not_an_approval(
    server: OpenAIServer, playbook: BulletPlaybook, reply: Reply, model: str
) -> None:
    server.on_all(reply)
    streamed = _stream(create_ace_graph(playbook=playbook, agent=ChatOpenAI(model=model)))
    assert streamed[-1][1]["decision"] == "UNDECIDED"
    assert streamed[-1][1]["undecided"].startswith(f"agent: {model}")
    assert len(server.chats) <= 2


def test_the_next_event_loop_finds_a_live_client(
    server: OpenAIServer, playbook: BulletPlaybook
) -> None:
    playbook.add_bullet(RULE, NODE)
    server.on("DecisionForm", filled(**DENIAL))
    graph = create_ace_graph(playbook=playbook)
    given = {"transaction": SUSPICIOUS, "ground_truth": "DECLINE"}
    assert [arun_once(graph, given)["decision"] for _ in range(3)] == ["DECLINE"] * 3
    assert (len(server.chats), len(server.embeddings)) == (3, 1)
