"""Learning off the hot path: the run ends, a worker learns, once."""

from collections.abc import Iterator
from typing import Any

import pytest
from langchain_openai import ChatOpenAI
from learning_worker import WRONG, decide_and_learn
from model_samples import APPROVAL, LESSON, SCHEMAS
from openai_server import OpenAIServer, failed, filled
from processes import PROCESSES
from prose_rules import labelled_playbook

from acegraph.graph import (
    create_ace_graph,
    feedback,
    feedback_many,
    generate_transactions,
    learn_waiting,
)
from acegraph.nodes import LanguageModel
from acegraph.state import AceContext, BulletPlaybook, Label, verify

LATER = AceContext(learn_later=True)
GIVEN = {"transaction": "pays 20 USD at 2 PM", "ground_truth": "DECLINE", "decision_id": "d"}


@pytest.fixture
def server() -> Iterator[OpenAIServer]:
    with OpenAIServer() as running:
        running.on("DecisionForm", filled(**APPROVAL))
        running.on("ReflectionForm", filled(**LESSON))
        yield running


def model(server: OpenAIServer) -> LanguageModel:
    return LanguageModel(
        ChatOpenAI(model=SCHEMAS, base_url=server.url, api_key="none", max_retries=0)
    )


def test_a_wrong_decision_asks_as_often_as_a_right_one(server: OpenAIServer) -> None:
    playbook = BulletPlaybook()
    parts: Any = {"playbook": playbook, "agent": model(server), "reflector": model(server)}
    graph = create_ace_graph(**parts, context=LATER).compile()
    result = graph.invoke(GIVEN)
    assert (result["verdict"], result["new_bullet"], len(server.chats)) == ("wrong", None, 1)
    assert playbook.waiting_lessons() == ["d"]
    report = learn_waiting(playbook, reflector=parts["reflector"])
    assert (report.lessons, len(server.chats), playbook.waiting_lessons()) == (1, 2, [])
    assert playbook.decision("d")["lesson"]["bullet_id"] == "b1"
    graph.invoke(GIVEN)  # sent again
    assert playbook.waiting_lessons() == []


def test_what_a_worker_learns_is_what_the_run_learns() -> None:
    now = labelled_playbook(200)
    later = now.fork()
    for playbook, context in ((now, AceContext()), (later, LATER)):
        graph = create_ace_graph(playbook=playbook, context=context).compile()
        for example in generate_transactions(12, seed=3):
            graph.invoke(
                {
                    "transaction": example.query,
                    "ground_truth": example.answer,
                    "decision_id": example.id,
                }
            )
            if context.learn_later:
                learn_waiting(playbook)
    contents = [[(b.content, b.status, b.weight) for b in book] for book in (now, later)]
    assert contents[0] == contents[1] != []
    assert verify(later) == []


def test_a_lesson_whose_model_fails_stays_in_the_queue(server: OpenAIServer) -> None:
    playbook = BulletPlaybook()
    create_ace_graph(playbook=playbook, agent=model(server), context=LATER).compile().invoke(GIVEN)
    server.on("ReflectionForm", failed(401, "no"))
    assert learn_waiting(playbook, reflector=model(server)).failed == 1
    assert playbook.waiting_lessons() == ["d"]
    feedback(playbook, "d", "APPROVE", source="correction")
    assert learn_waiting(playbook, reflector=model(server)).dropped == 1
    assert playbook.waiting_lessons() == []


def test_a_label_that_comes_later_queues_the_lesson(server: OpenAIServer) -> None:
    playbook = BulletPlaybook()
    parts: Any = {"playbook": playbook, "agent": model(server), "reflector": model(server)}
    graph = create_ace_graph(**parts, context=LATER).compile()
    for decision_id in ("d", "e", "f"):
        graph.invoke({"transaction": GIVEN["transaction"], "decision_id": decision_id})
    told = feedback(playbook, "d", "DECLINE", reflector=model(server))
    assert (told.is_correct, told.curation, told.waits) == (False, None, True)
    labels = [(decision_id, Label("DECLINE")) for decision_id in ("d", "e")]
    assert feedback_many(playbook, labels).waiting == 2
    assert feedback_many(playbook, [("f", Label("DECLINE"))], learn=False).waiting == 0
    assert (playbook.waiting_lessons(), len(server.chats)) == (["d", "e"], 3)
    assert learn_waiting(playbook, reflector=parts["reflector"]).lessons == 2
    assert not feedback(playbook, "d", "DECLINE").waits
    assert playbook.waiting_lessons() == []


@pytest.mark.slow
def test_every_lesson_is_learned_once_whenever_a_process_is_killed(lasting_url: str) -> None:
    moment, exits = 0, []
    while not exits or exits[-1] == 9:  # until a first life reaches its end
        moment += 3  # each write has two moments, so that both kinds are hit
        process = PROCESSES.Process(target=decide_and_learn, args=(lasting_url, moment))
        process.start()
        process.join(timeout=120)
        exits.append(process.exitcode)
    decide_and_learn(lasting_url)
    with BulletPlaybook(lasting_url) as playbook:
        learned_from = [bullet.origin["decision"] for bullet in playbook]
        assert sorted(map(str, learned_from)) == [f"d{n}" for n in range(WRONG)]
        added = [h for h in playbook.history() if h["change"] == "added"]
        assert (len(added), playbook.waiting_lessons()) == (WRONG, [])
        assert verify(playbook) == []
    assert exits.count(9) >= 3
