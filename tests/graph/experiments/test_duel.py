"""Champion and challenger: two versions of a playbook on the same cases, offline and live."""

import json
from pathlib import Path
from typing import Any

import pytest
from ledger_cases import record
from typer.testing import CliRunner

from acegraph.graph import TrainingPipeline, create_ace_graph, feedback
from acegraph.graph.cli.main import app
from acegraph.graph.experiments.experiment import Experiment, duel, live_duel
from acegraph.graph.metrics.costs import cost_difference
from acegraph.graph.metrics.run import Run
from acegraph.state import (
    AceContext,
    BulletPlaybook,
    Condition,
    InvalidDataset,
    InvalidInput,
    verify,
)
from acegraph.state.playbook.decision_index import DecisionIndex, label_coverage
from acegraph.state.run.context import settle_settings
from acegraph.state.task.policy import Policy
from acegraph.state.values.costs import CostMatrix

NODE = "fraud_detection"
GOOD, BAD = "DECLINE when amount >= 100", "DECLINE when hour >= 12"
CASES = [
    {
        "query": {"amount": 10 * n, "hour": n % 24},
        "answer": "DECLINE" if 10 * n >= 100 else "APPROVE",
        "id": f"c{n}",
    }
    for n in range(40)
]


def two_versions(url: str | None = None) -> BulletPlaybook:
    """Version 1 has the good rule; from version 3 on, today, the bad one has replaced it."""
    playbook = BulletPlaybook(url)
    good = add(playbook, GOOD)
    add(playbook, BAD)
    playbook.set_status(good, "retired", "a mistake")
    return playbook


def add(playbook: BulletPlaybook, rule: str) -> str:
    bullet = playbook.add_bullet(rule, NODE, "online", condition=Condition.parse(rule))
    playbook.set_weights({bullet: 4.0})
    return bullet


def right(hour_rule: bool) -> int:
    """How many of the cases each rule decides rightly, computed without the playbook."""
    declined = [(n % 24 >= 12) if hour_rule else (10 * n >= 100) for n in range(40)]
    return sum(d == (10 * n >= 100) for n, d in enumerate(declined))


def sides(result: Experiment) -> list[Run]:
    """What is in force, and the other version."""
    return [run for (run,) in result.modes.values()]


def test_a_version_is_decided_beside_todays_and_nothing_is_stored() -> None:
    playbook = two_versions()
    before = (playbook.clock, [(b.id, b.times_selected) for b in playbook])
    result = duel(playbook, 1, CASES)
    assert [int(side.right.sum()) for side in sides(result)] == [right(True), 40]
    found = result.compared("version 1")
    assert found.gain.p_value < 0.01
    assert (playbook.clock, [(b.id, b.times_selected) for b in playbook]) == before


def test_todays_version_does_not_differ_from_itself() -> None:
    playbook = two_versions()
    result = duel(playbook, playbook.version, CASES)
    champion, challenger = sides(result)
    assert challenger.decisions == champion.decisions
    found = result.compared(f"version {playbook.version}")
    assert (found.gain.mean, found.gain.p_value, found.cost.mean) == (0, 1.0, 0)


def test_the_cost_difference_is_that_of_a_thousand_cases() -> None:
    truths = ["DECLINE", "DECLINE", "APPROVE", "APPROVE"]
    amounts = [100.0, 10.0, 30.0, None]
    champion = Run(truths, ["APPROVE", "DECLINE", "DECLINE", "APPROVE"], [None] * 4, amounts)
    decisions = ["DECLINE", "APPROVE", "APPROVE", "UNDECIDED"]
    challenger = Run(truths, decisions, [None] * 4, amounts)
    costs = CostMatrix(missed_fraud=1, false_decline=0.5, review=2)
    # Saved: the missed 100 and half of 30; lost: the missed 10, and a review.
    estimate = cost_difference([challenger], [champion], costs)
    assert estimate.mean == pytest.approx(1000 * (-100 - 15 + 10 + 2) / 4)
    assert estimate.low <= estimate.mean <= estimate.high


def test_costs_are_those_of_the_policy_times_the_amounts() -> None:
    playbook = two_versions()
    playbook.set_policy(Policy(costs={"missed_fraud": 1.0, "false_decline": 1.0}), NODE)
    result = duel(playbook, 1, CASES)
    missed = sum(10 * n for n in range(40) if 10 * n >= 100 and n % 24 < 12)
    false = sum(10 * n for n in range(40) if 10 * n < 100 and n % 24 >= 12)
    assert result.compared("version 1").cost.mean == pytest.approx(1000 * (-missed - false) / 40)


def test_an_unknown_version_is_refused() -> None:
    with pytest.raises(InvalidInput, match="no version 99"):
        duel(two_versions(), 99, CASES)


def live(playbook: BulletPlaybook, challenger: int | None, name: str) -> list[str]:
    graph = create_ace_graph(playbook=playbook).compile()
    context = AceContext(mode="online", policy={"shadow": challenger})
    return [
        graph.invoke(
            {"transaction": case["query"], "decision_id": f"{name}{case['id']}"}, context=context
        )["decision"]
        for case in CASES
    ]


def records(playbook: BulletPlaybook) -> list[tuple[int, int, int]]:
    return [(b.helpful_count, b.harmful_count, b.times_selected) for b in playbook]


def test_in_shadow_a_version_decides_the_stream_and_counts_for_nothing(
    playbook: BulletPlaybook,
) -> None:
    plain = two_versions()
    alone = live(plain, None, "")
    good = add(playbook, GOOD)
    add(playbook, BAD)
    playbook.set_status(good, "retired", "a mistake")
    assert live(playbook, 1, "") == alone
    with pytest.raises(InvalidDataset, match="no labelled decision"):
        live_duel(playbook, 1)
    for case in CASES:
        for book in (plain, playbook):
            feedback(book, case["id"], case["answer"], reflector=lambda given: None)
    assert records(playbook) == records(plain)
    assert playbook.version == plain.version
    offline = duel(two_versions(), 1, CASES)
    online = live_duel(playbook, 1)
    decided, before = ([side.decisions for side in sides(one)] for one in (online, offline))
    assert decided == before
    assert decided[0] == alone
    assert verify(playbook) == []


def test_the_command_line_compares_a_file_and_the_live_stream(tmp_path: Path) -> None:
    url, file = f"sqlite:///{tmp_path / 'ace.db'}", tmp_path / "cases.json"
    file.write_text(json.dumps(CASES))
    with two_versions(url) as playbook:
        live(playbook, 1, "")
        for case in CASES:
            feedback(playbook, case["id"], case["answer"], reflector=lambda given: None)
    for command in (["compare", str(file), "--against", "1"], ["compare", "--against", "1"]):
        done = CliRunner().invoke(app, [*command, "--playbook", url, "--json"])
        figures = json.loads(done.stdout)
        assert (figures["test_cases"], list(figures["modes"])) == (40, ["in force", "version 1"])
        against = figures["modes"]["version 1"]["against"]
        assert against["balanced_accuracy"]["mean"] != 0
    done = CliRunner().invoke(app, ["compare", "--against", "1", "--playbook", url])
    assert "against in force" in done.output
    assert "cost per" in done.output


def test_cases_under_way_at_once_do_not_make_the_challenger_the_champion() -> None:
    for concurrency in (1, 3):
        playbook = BulletPlaybook()
        playbook.add_bullet("DECLINE when amount >= 10", NODE, "online")
        items = [{"query": {"amount": 50 + i}, "answer": "APPROVE", "id": i} for i in range(6)]
        context = AceContext(policy={"shadow": 0})
        TrainingPipeline(playbook, concurrency=concurrency, context=context).train_online(items)
        result = live_duel(playbook, 0)
        champion, challenger = sides(result)
        assert champion.decisions[0] == "DECLINE"
        assert set(challenger.decisions) == {"APPROVE"}


@pytest.mark.parametrize(
    "settings", [{"mode": "online"}, {"source": "online"}, {"mode": "vanilla"}]
)
def test_a_duel_is_fought_in_the_mode_that_is_asked_for(settings: Any) -> None:
    playbook = BulletPlaybook()
    playbook.add_bullet("DECLINE when amount >= 10", NODE, "offline")
    items = [{"query": {"amount": 50, "hour": 12}, "answer": "APPROVE"}]
    champion, _ = sides(duel(playbook, 0, items, context=AceContext(**settings)))
    assert champion.decisions == ["APPROVE"]


def test_decisions_that_older_versions_stored_count_as_they_did() -> None:
    with two_versions() as playbook:
        shadow = {"version": 1, "decision": "APPROVE", "risk_score": 0.2, "bullets": ["b1"]}
        tried = {"bullet": "b1", "with_it": "DECLINE", "without_it": "APPROVE"}
        old = {"challenger": 1, "trial": "b1", "shadow": shadow, "tried": tried}
        settings = {**settle_settings(AceContext()), **old}
        for number, extra in enumerate(({}, {"let_through": True, "explore": 0.5})):
            playbook.record(record(f"old-{number}", settings={**settings, **extra}))
            feedback(playbook, f"old-{number}", "APPROVE", reflector=lambda given: None)
        result = live_duel(playbook, 1)
        assert [side.decisions for side in sides(result)] == [["DECLINE"] * 2, ["APPROVE"] * 2]
        assert label_coverage(DecisionIndex(playbook.database).columns()).let_through_honest == 1
        assert playbook.decision("old-1")["settings"]["tried"] == tried
        assert verify(playbook) == []
