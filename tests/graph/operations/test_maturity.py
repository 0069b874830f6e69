"""A source that cannot know yet labels nothing: that a young payment is honest is unknown."""

from datetime import datetime, timedelta
from pathlib import Path

import pytest
from typer.testing import CliRunner

from acegraph.graph import create_ace_graph, feedback, feedback_many, purge
from acegraph.graph.cli.main import app
from acegraph.state import (
    AceContext,
    BulletPlaybook,
    InvalidInput,
    InvalidSettings,
    Label,
    as_of,
    verify,
)
from acegraph.state.ledger.labels import is_too_young
from acegraph.state.task.policy import Policy

NODE = "fraud_detection"
WAITS = Policy(mature_days={"no_chargeback": 90})
PAYMENT = {"amount": 40.0, "hour": 14, "new_device": False}


def decide(playbook: BulletPlaybook, *ids: str, context: AceContext | None = None) -> None:
    playbook.set_policy(WAITS)
    graph = create_ace_graph(playbook=playbook).compile()
    for decision_id in ids:
        graph.invoke({"transaction": PAYMENT, "decision_id": decision_id}, context=context)


def later(days: float) -> str:
    return (datetime.now().astimezone() + timedelta(days=days)).isoformat()


@pytest.mark.parametrize(
    ("label", "source", "day", "is_young"),
    [
        ("APPROVE", "no_chargeback", "2026-03-31T23:59:59", True),
        ("APPROVE", "No-Chargeback", "2026-01-02", True),
        ("APPROVE", "no_chargeback", "2026-04-01", False),
        ("APPROVE", "analyst:ann", "2026-01-02", False),
        ("DECLINE", "no_chargeback", "2026-01-02", False),
    ],
)
def test_only_honest_labels_of_the_source_have_to_wait(
    label: str, source: str, day: str, is_young: bool
) -> None:
    given = Label(label, source, day)  # type: ignore[arg-type]
    created = "2026-01-01T00:00:00.000000+00:00"
    assert is_too_young(given, created, {"no_chargeback": 90}) == is_young


def test_a_young_honest_label_is_no_evidence_and_counts_for_nothing(
    playbook: BulletPlaybook,
) -> None:
    decide(playbook, "a", "b", "c")
    before = playbook.clock
    with pytest.raises(InvalidInput, match="too young for 'no_chargeback'"):
        feedback(playbook, "a", "APPROVE", source="no_chargeback")
    assert playbook.clock == before
    assert playbook.decision("a")["label"] is None
    feedback(playbook, "b", "DECLINE", source="no_chargeback")
    feedback(playbook, "c", "APPROVE", source="analyst")
    assert [case.id for case in playbook.cases(NODE)] == ["b", "c"]
    # Sent again when it is old enough, it is a label like any other.
    assert not playbook.label("a", Label("APPROVE", "no_chargeback", later(89))).label_changed
    assert playbook.label("a", Label("APPROVE", "no_chargeback", later(91))).label_changed
    assert {case.id for case in playbook.cases(NODE)} == {"a", "b", "c"}
    assert verify(playbook) == []


def test_young_labels_of_a_file_are_counted_and_a_fraud_is_not_taken_back(
    playbook: BulletPlaybook,
) -> None:
    decide(playbook, "a", "b")
    feedback(playbook, "b", "DECLINE", source="chargeback")
    labels = [(i, Label("APPROVE", "no_chargeback")) for i in ("a", "b", "nobody")]
    report = feedback_many(playbook, labels)
    assert (report.too_young, report.changed, report.unknown) == (2, 0, ["nobody"])
    assert playbook.decision("b")["label"] == "DECLINE"
    playbook.set_policy(Policy())
    assert feedback_many(playbook, labels).changed == 2


def test_that_nothing_came_proves_nothing_of_a_payment_that_nobody_approved(
    playbook: BulletPlaybook,
) -> None:
    playbook.set_policy(WAITS)
    graph = create_ace_graph(playbook=playbook).compile()
    for decision_id in ("nobody", "ann", "bob"):
        given = {"transaction": {**PAYMENT, "amount": "lots"}, "decision_id": decision_id}
        assert graph.invoke(given)["decision"] == "UNDECIDED"
    feedback(playbook, "ann", "APPROVE", source="analyst:ann")
    feedback(playbook, "bob", "DECLINE", source="analyst:bob")
    with pytest.raises(InvalidInput, match="not approved"):
        feedback(playbook, "nobody", "APPROVE", source="no_chargeback")
    labels = [(i, Label("APPROVE", "no_chargeback", later(91))) for i in ("nobody", "ann", "bob")]
    assert feedback_many(playbook, labels).missing == 2
    stored = [playbook.decision(i)["label"] for i in ("nobody", "ann", "bob")]
    assert stored == [None, "APPROVE", "DECLINE"]


def test_what_the_ledger_holds_does_not_depend_on_when_it_is_read(playbook: BulletPlaybook) -> None:
    decide(playbook, *(f"d{i}" for i in range(6)))
    with pytest.raises(InvalidInput):
        feedback(playbook, "d0", "APPROVE", source="no_chargeback")
    playbook.set_policy(Policy())
    feedback(playbook, "d1", "APPROVE", source="no_chargeback")
    feedback(playbook, "d2", "APPROVE", source="liar")
    feedback(playbook, "d3", "APPROVE", source="analyst")
    with as_of(playbook, playbook.clock.position) as then:
        assert {c.id for c in then.cases(NODE)} == {c.id for c in playbook.cases(NODE)}
    assert purge(playbook, "liar").note == ""
    assert {case.id for case in playbook.cases(NODE)} == {"d1", "d3"}
    assert verify(playbook) == []


def test_the_command_line_takes_sources_and_days(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    runner = CliRunner()
    policy = ["policy", "mature_days=chargebacks=90", "--why", "they take three months", "--alone"]
    assert runner.invoke(app, policy).exit_code == 0
    runner.invoke(app, ["decide", "pays $40 at 2 PM", "--id", "a"])
    words = ["feedback", "a", "APPROVE", "--source", "chargebacks"]
    assert "too young" in str(runner.invoke(app, words).exception)
    Path("l.csv").write_text("decision_id,label\na,APPROVE\n")
    file = ["feedback", "--file", "l.csv", "--source", "chargebacks"]
    said = runner.invoke(app, file)
    assert "too young: 1" in said.stdout
    assert runner.invoke(app, [*words[:3], "--source", "another"]).exit_code == 0


@pytest.mark.parametrize("given", ["chargebacks", "chargebacks=soon", {"x": "soon"}, {"x": -1}])
def test_what_is_no_number_of_days_is_refused_in_one_line(given: object) -> None:
    with pytest.raises(InvalidSettings, match="mature_days"):
        AceContext().with_changes(policy={"mature_days": given})
