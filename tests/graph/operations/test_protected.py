"""A rule over a protected field waits for a person, with what it does in each group beside it."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from command_line import from_json, run

from acegraph.nodes.curator.curator import Curator
from acegraph.state import BulletPlaybook, Case, Condition, Field, Task

NODE = "fraud_detection"
RULE = 'DECLINE when sex is "M" and x >= 30'
TASK = Task("t", (Field("x", "number"), Field("sex", "category", "protected")))


@pytest.fixture
def waits(tmp_path: Path) -> Iterator[BulletPlaybook]:
    """Sixty payments, the upper half frauds, and a rule that was learned over the sex."""
    with BulletPlaybook(f"sqlite:///{tmp_path / 'ace.db'}", task=TASK) as book:
        fields = [{"x": i, "sex": "FM"[i % 2]} for i in range(60)]
        labels = ["DECLINE" if i >= 32 else "APPROVE" for i in range(60)]
        book.remember(
            [Case(f"c{i}", *both) for i, both in enumerate(zip(fields, labels, strict=True))],  # type: ignore[arg-type]
            NODE,
        )
        held = Curator().curate(RULE, NODE, book, condition=Condition.parse(RULE))
        assert (held.action, held.bullet_id) == ("held", "b1")
        yield book


def test_review_shows_the_groups_beside_the_rule(waits: BulletPlaybook, tmp_path: Path) -> None:
    said = run(tmp_path, "review", "--playbook", "ace.db").stdout
    assert "it waits: its condition is over sex, which is protected" in said
    groups = [line.strip() for line in said.splitlines() if line.strip().startswith("sex ")]
    assert groups == [
        "sex F: fires on 0 of 30, right in 0 of 0; 0 of 16 honest declined (0.0%)",
        "sex M: fires on 15 of 30, right in 14 of 15; 1 of 16 honest declined (6.2%)",
    ]
    (entry,) = from_json(run(tmp_path, "review", "--json", "--playbook", "ace.db"))["waiting"]
    assert [one["name"] for one in entry["groups"]["sex"]] == ["F", "M"]
    assert entry["groups"]["sex"][1]["false_positive_rate"] == 1 / 16


def test_a_rule_of_a_person_waits_with_who_proposed_it_and_why(
    waits: BulletPlaybook, tmp_path: Path
) -> None:
    rule, origin = 'DECLINE when sex is "F"', {"author": "ann", "reason": "a ring"}
    Curator(gate="off").awaiting_approval().curate(
        rule, NODE, waits, condition=Condition.parse(rule), origin=origin
    )
    *_, last = from_json(run(tmp_path, "review", "--json", "--playbook", "ace.db"))["waiting"]
    assert last["why"] == "proposed by ann: a ring"
    assert [one["fired"]["honest"] for one in last["groups"]["sex"]] == [16, 0]
