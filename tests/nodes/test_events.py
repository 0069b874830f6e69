"""What a run tells while it goes on: custom stream events, and metadata of traces."""

from typing import Any

import pytest
from followers import Follower
from langchain_core.callbacks import BaseCallbackHandler
from langgraph.checkpoint.memory import InMemorySaver

from acegraph.graph import create_ace_graph
from acegraph.nodes import LanguageModel
from acegraph.state import BulletPlaybook

NODE = "fraud_detection"
SMALL = {"amount": 5, "hour": 12}
LESSON = {"new_bullet": "DECLINE when amount < 9", "problem_types": [], "confidence": 0.6}


def _events(graph: Any, given: dict[str, Any], **options: Any) -> list[dict[str, Any]]:
    return list(graph.stream(given, stream_mode="custom", **options))


def test_bullets_that_are_shown_and_learned_are_events() -> None:
    with BulletPlaybook() as playbook:
        playbook.add_bullet("APPROVE when hour >= 8", NODE)
        graph = create_ace_graph(playbook=playbook, reflector=lambda given: LESSON).compile()
        given = {"transaction": SMALL, "ground_truth": "DECLINE", "decision_id": "d1"}
        shown, learned = _events(graph, given)
    assert shown == {"event": "bullet_shown", "decision_id": "d1", "bullet": "b1"}
    assert (learned["event"], learned["bullet"]) == ("bullet_held", "b2")  # not proved yet


def test_a_refusal_is_an_event_with_its_reason() -> None:
    playbook = BulletPlaybook()
    playbook.add_bullet(str(LESSON["new_bullet"]), NODE)
    graph = create_ace_graph(playbook=playbook, reflector=lambda given: LESSON).compile()
    [*_, event] = _events(
        graph, {"transaction": {**SMALL, "amount": 50}, "ground_truth": "DECLINE"}
    )
    assert event["event"] == "bullet_refused"
    assert event["reason"]


def test_a_run_that_waits_for_a_person_says_so_once_and_with_a_schema() -> None:
    from langgraph.types import Command

    graph = create_ace_graph(review=True).compile(checkpointer=InMemorySaver())
    thread: Any = {"configurable": {"thread_id": "1"}}
    undecided = {"transaction": {"amount": "many"}, "decision_id": "d1"}
    assert _events(graph, undecided, config=thread) == [
        {"event": "waiting_for_review", "decision_id": "d1", "step": "review"}
    ]
    [asked] = graph.get_state(thread).interrupts
    assert "verdict" in asked.value["response_schema"]["properties"]
    answer = {"verdict": "APPROVE", "who": "ann", "why": "known"}
    assert _events(graph, Command(resume=answer), config=thread) == []


class Seen(BaseCallbackHandler):
    def __init__(self) -> None:
        self.metadata: list[dict[str, Any]] = []

    def on_chat_model_start(self, *args: Any, metadata: Any = None, **more: Any) -> None:
        self.metadata.append(metadata)


@pytest.mark.parametrize("way", ["invoke", "ainvoke"])
async def test_traces_of_a_model_name_the_decision_and_the_playbook(way: str) -> None:
    seen = Seen()
    with BulletPlaybook() as playbook:
        playbook.add_bullet("APPROVE when hour >= 8", NODE)
        graph = create_ace_graph(
            playbook=playbook, agent=LanguageModel(Follower(), "prompt")
        ).compile()
        given, config = {"transaction": SMALL, "decision_id": "d1"}, {"callbacks": [seen]}
        if way == "invoke":
            graph.invoke(given, config)
        else:
            await graph.ainvoke(given, config)
    [metadata] = seen.metadata
    told = {name: metadata[name] for name in ("decision_id", "ace_mode", "playbook_version")}
    assert told == {"decision_id": "d1", "ace_mode": "offline_online", "playbook_version": 1}
