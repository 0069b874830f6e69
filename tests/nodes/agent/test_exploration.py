"""Labels that lie, and the share of declines that is let through to find out."""

from pathlib import Path
from typing import Any

import pytest
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.types import Command
from typer.testing import CliRunner

from acegraph.graph import create_ace_graph, feedback, feedback_many
from acegraph.graph.cli.main import app
from acegraph.state import AceContext, BulletPlaybook, InvalidInput, Label, verify
from acegraph.state.maintenance.people.review_queue import waiting
from acegraph.state.playbook.decision_index import DecisionIndex, label_coverage
from acegraph.state.values.draw import is_in_share

ASSUMED = "no_chargeback"


def decline(given: Any) -> Any:
    return {"decision": "DECLINE", "risk_score": 0.9, "reasons": ["all of them"]}


def run(playbook: BulletPlaybook, count: int, explore: float = 0, **given: Any) -> list[str]:
    """Decide so many payments that the agent would decline; what the caller is told."""
    playbook.add_bullet("DECLINE when amount >= 1", "fraud_detection", "online")
    graph = create_ace_graph(playbook=playbook, agent=decline).compile()
    context = AceContext(mode="online", policy={"explore": explore})
    return [
        graph.invoke(
            {"transaction": {"amount": 1 + n}, "decision_id": f"d{n}", **given}, context=context
        )["decision"]
        for n in range(count)
    ]


def record(playbook: BulletPlaybook) -> tuple[int, int, int]:
    bullet = playbook.get_bullet("b1")
    return bullet.helpful_count, bullet.harmful_count, bullet.times_selected


@pytest.mark.parametrize("label", ["APPROVE", "DECLINE"])
def test_declined_and_no_chargeback_is_no_label(playbook: BulletPlaybook, label: str) -> None:
    run(playbook, 1)
    for source in (ASSUMED, "No Chargeback", "no-chargeback"):
        with pytest.raises(InvalidInput, match="proves nothing"):
            feedback(playbook, "d0", label, source=source)
    assert playbook.decision("d0")["label"] is None
    assert record(playbook) == (0, 0, 1)
    report = feedback_many(playbook, [("d0", Label("APPROVE", ASSUMED))])
    assert (report.missing, report.changed, report.wrong) == (1, 0, 0)
    assert len(playbook.cases("fraud_detection")) == 0
    assert verify(playbook) == []


def test_that_nothing_came_is_no_word_against_a_label_in_one_file() -> None:
    playbook = BulletPlaybook()
    run(playbook, 1)
    given = [("d0", Label("DECLINE", "chargeback")), ("d0", Label("APPROVE", ASSUMED))]
    assert feedback_many(playbook, given).changed == 1
    assert playbook.decision("d0")["label"] == "DECLINE"


def test_a_chargeback_and_an_approved_payment_are_labels() -> None:
    playbook = BulletPlaybook()
    run(playbook, 1)
    assert feedback(playbook, "d0", "DECLINE", source="chargeback").is_correct
    honest = create_ace_graph(
        playbook=playbook, agent=lambda given: {"decision": "APPROVE", "risk_score": 0.1}
    ).compile()
    honest.invoke({"transaction": "pays $5", "decision_id": "ok"})
    assert feedback(playbook, "ok", "APPROVE", source=ASSUMED).is_correct


def test_a_share_of_declines_is_let_through_and_the_probability_recorded() -> None:
    playbook = BulletPlaybook()
    told = run(playbook, 60, explore=0.3)
    through = [n for n, word in enumerate(told) if word == "APPROVE"]
    assert 8 <= len(through) <= 28
    for n in range(60):
        stored = playbook.decision(f"d{n}")
        assert (stored["decision"], stored["settings"]["explore"]) == ("DECLINE", 0.3)
        assert stored["settings"].get("let_through", False) == (n in through)
    assert told == run(playbook, 60, explore=0.3)
    assert record(playbook) == (0, 0, 60)


def test_a_payment_that_was_let_through_can_be_judged_by_silence() -> None:
    playbook = BulletPlaybook()
    assert run(playbook, 1, explore=1.0) == ["APPROVE"]
    found = feedback(playbook, "d0", "APPROVE", source=ASSUMED)
    assert (found.decision, found.is_correct) == ("DECLINE", False)
    assert record(playbook) == (0, 1, 1)


def test_nothing_is_let_through_unasked_known_or_frozen() -> None:
    assert run(BulletPlaybook(), 5) == ["DECLINE"] * 5
    known = run(BulletPlaybook(), 5, explore=1.0, ground_truth="DECLINE")
    assert known == ["DECLINE"] * 5
    frozen = create_ace_graph(agent=decline).compile()
    context = AceContext(learn=False, policy={"explore": 1.0})
    assert frozen.invoke({"transaction": "pays $5"}, context=context)["decision"] == "DECLINE"


def test_the_draw_is_even_and_another_seed_draws_others() -> None:
    drawn = [[is_in_share(f"explore:{seed}:d{n}", 0.2) for n in range(5000)] for seed in (0, 1)]
    assert all(abs(sum(d) / 5000 - 0.2) < 0.02 for d in drawn)
    assert abs(sum(a and b for a, b in zip(*drawn, strict=True)) / 5000 - 0.04) < 0.01


def test_what_is_let_through_waits_for_review_and_stops_a_reviewed_run() -> None:
    playbook = BulletPlaybook()
    run(playbook, 1, explore=1.0)
    assert [(w.id, "let through" in w.why) for w in waiting(playbook)] == [("d0", True)]
    graph = create_ace_graph(playbook=playbook, agent=decline, review=True)
    watched = graph.compile(checkpointer=InMemorySaver())
    thread: Any = {"configurable": {"thread_id": "t"}}
    given = {"transaction": "pays $5", "decision_id": "e"}
    asked = watched.invoke(
        given, thread, context=AceContext(policy={"explore": 1.0, "review_from": 1, "review_to": 1})
    )
    assert asked["__interrupt__"][0].value["decision"] == "DECLINE"
    answer = {"who": "ann", "verdict": "DECLINE", "why": "a mule"}
    result = watched.invoke(Command(resume=answer), thread)
    assert (result["decision"], result["verdict"]) == ("DECLINE", "right")


@pytest.mark.slow
def test_the_report_counts_labels_that_blocks_have_cost(tmp_path: Path) -> None:
    url = f"sqlite:///{tmp_path / 'ace.db'}"
    with BulletPlaybook(url) as playbook:
        told = run(playbook, 60, explore=0.25)
        through = [n for n, word in enumerate(told) if word == "APPROVE"]
        honest = through[::2]
        for n in through:
            word = "APPROVE" if n in honest else "DECLINE"
            playbook.label(f"d{n}", Label(word, ASSUMED if n in honest else "chargeback"))
        found = label_coverage(DecisionIndex(playbook.database).columns())
    assert (found.decided, found.labelled, found.pending) == (60, len(through), 0)
    assert found.blocked == 60 - len(through)
    assert (found.let_through, found.let_through_honest) == (len(through), len(honest))
    said = CliRunner().invoke(app, ["monitor", "--playbook", url]).output
    assert f"blocked {found.blocked}" in said


def test_what_was_let_through_stays_so_whatever_comes_with_it_again() -> None:
    playbook = BulletPlaybook()
    assert run(playbook, 1, explore=1.0) == ["APPROVE"]
    graph = create_ace_graph(playbook=playbook, agent=decline).compile()
    again: Any = {"transaction": {"amount": 1}, "decision_id": "d0"}
    for explore, given in ((0.0, {}), (1.0, {"ground_truth": "DECLINE"})):
        context = AceContext(mode="online", policy={"explore": explore})
        assert graph.invoke({**again, **given}, context=context)["decision"] == "APPROVE"
    blocked: Any = {"transaction": {"amount": 1}, "decision_id": "e0"}
    assert graph.invoke(blocked)["decision"] == "DECLINE"
    context = AceContext(policy={"explore": 1.0})
    assert graph.invoke(blocked, context=context)["decision"] == "DECLINE"
