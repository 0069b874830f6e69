"""What refinement did to each bullet is told by `train`, also in JSON."""

import json
from pathlib import Path

import pytest
from command_line import run

from acegraph.graph.training.refined_bullets import refined_bullets
from acegraph.state import Bullet, Case, Condition
from acegraph.state.values.cases import CaseTable

TRAIN = ("train", "g.csv", "--label", "is_fraud")


def bullet(name: str, text: str, weight: float, revises: str = "") -> Bullet:
    condition, origin = Condition.parse(text), {"revises": revises} if revises else {}
    return Bullet(name, text, "n", "offline", condition=condition, weight=weight, origin=origin)


@pytest.fixture
def cases() -> CaseTable:
    return CaseTable(Case(str(i), {"x": float(i)}, "APPROVE") for i in range(100))


def test_each_bullet_is_told_with_its_weights_and_the_one_that_says_the_same(
    cases: CaseTable,
) -> None:
    before = [
        bullet("b1", "DECLINE when x >= 50", 1.0),
        bullet("b2", "DECLINE when x < 10", 1.0),
        bullet("b3", "DECLINE when x >= 80", 1.0),
        bullet("b4", "APPROVE when x < 10", -1.0),
    ]
    after = [
        bullet("b6", "DECLINE when x < 12", 1.0, revises="b2"),
        bullet("b3", "DECLINE when x >= 80", 2.0),
        bullet("b4", "APPROVE when x < 10", -1.01),
        bullet("b5", "DECLINE when x >= 60", 1.5),
    ]
    found = refined_bullets(before, after, cases, {"b1": "replaced", "b6": "the cut moved"})
    told = [(b.bullet, b.change, b.weight_before, b.weight_after, b.like) for b in found]
    assert told == [
        ("b6", "revised", 1.0, 1.0, ""),
        ("b3", "reweighed", 1.0, 2.0, ""),
        ("b4", "kept", -1.0, -1.01, ""),
        ("b5", "added", None, 1.5, "b1"),
        ("b1", "retired", 1.0, None, "b5"),
    ]
    assert (found[0].was, found[0].why, found[4].why) == (
        "b2 DECLINE when x < 10",
        *("the cut moved", "replaced"),
    )
    assert str(found[4]) == "- b1 [+1.00] DECLINE when x >= 50; 80% of its cases in common with b5"


def test_train_says_what_refinement_did(tmp_path: Path) -> None:
    run(tmp_path, "demo", "--write", "g.csv", "--rows", "200", "--seed", "3")
    said = run(tmp_path, *TRAIN)
    lines = said.stdout.splitlines()
    assert any(line.startswith("refined as a whole: ") for line in lines)
    told = json.loads(run(tmp_path, *TRAIN, "--playbook", "other.db", "--json").stdout)
    new = [b for b in told["refinement"] if b["change"] in ("added", "revised")]
    assert len(new) == told["refined"]
    acting = [b for b in told["refinement"] if b["weight_after"] is not None]
    assert len(acting) == told["bullets_active"]


def test_where_nothing_is_refined_nothing_is_said_of_it(tmp_path: Path) -> None:
    run(tmp_path, "demo", "--write", "g.csv", "--rows", "20")
    assert "refined as a whole" not in run(tmp_path, *TRAIN).stdout
