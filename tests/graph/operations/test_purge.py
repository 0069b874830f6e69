"""A purge takes several entities, and adds up to the same in any order."""

from collections.abc import Sequence
from typing import Any

import pytest

from acegraph.graph import create_ace_graph, feedback
from acegraph.graph.operations.learning.purge import purge
from acegraph.state import AceContext, BulletPlaybook, verify

COLLUDERS = ("A0", "A1")


Payment = tuple[str, dict[str, Any], str]


def told(
    stream: Sequence[Payment],
    playbook: BulletPlaybook | None = None,
    context: AceContext | None = None,
) -> BulletPlaybook:
    playbook = playbook or BulletPlaybook()
    graph = create_ace_graph(playbook=playbook).compile()
    for decision_id, fields, label in stream:
        given: Any = {"transaction": fields, "decision_id": decision_id, "ground_truth": label}
        graph.invoke(given, context=context)
    return playbook


def payments(*, with_lies: bool, first: int = 0, n: int = 60) -> list[Payment]:
    """Gifts are fraud; every fifth payment is a colluder's gift with the label turned."""
    found: list[Payment] = []
    for i in range(first, first + n):
        fields = {"paid": 10 + 7 * i % 50, "gift": i % 3 == 0, "customer_id": f"C{i}"}
        label = "DECLINE" if i % 3 == 0 else "APPROVE"
        if i % 5 == 4 and i < 60:
            fields |= {"gift": True, "customer_id": COLLUDERS[i % 2]}
            label = "APPROVE"
        if with_lies or i % 5 < 4 or i >= 60:
            found.append((f"t{i}", fields, label))
    return found


@pytest.fixture(scope="module")
def poisoned() -> BulletPlaybook:
    return told(payments(with_lies=True))


@pytest.fixture(scope="module")
def never_saw() -> BulletPlaybook:
    return told(payments(with_lies=False))


def rules(playbook: BulletPlaybook) -> set[tuple[object, ...]]:
    """What acts, with its record and weight."""
    return {
        (b.content, b.weight, b.helpful_count, b.harmful_count, b.times_selected)
        for b in playbook
        if b.status == "active"
    }


def decisions(playbook: BulletPlaybook) -> list[tuple[str, float]]:
    graph = create_ace_graph(playbook=playbook.fork(), context=AceContext(learn=False)).compile()
    asked: Any = [
        {"transaction": fields, "decision_id": f"asked-{decision_id}"}
        for decision_id, fields, _ in payments(with_lies=False, first=100, n=12)
    ]
    return [(r["decision"], r["risk_score"]) for r in map(graph.invoke, asked)]


def verdicts(playbook: BulletPlaybook) -> list[str]:
    return [decision for decision, _ in decisions(playbook)]


def entity(name: str) -> tuple[str, object]:
    return "customer_id", name


@pytest.mark.slow
def test_colluders_are_purged_at_once_or_one_by_one_with_the_same_result(
    poisoned: BulletPlaybook, never_saw: BulletPlaybook
) -> None:
    at_once, one_by_one = poisoned.fork(), poisoned.fork()
    assert rules(poisoned) != rules(never_saw) != set()
    found = purge(at_once, entities=[entity(name) for name in COLLUDERS])
    assert (found.labels, found.note) == (12, "")
    for name in reversed(COLLUDERS):
        assert purge(one_by_one, entities=[entity(name)]).note == ""
    assert rules(at_once) == rules(one_by_one)
    assert decisions(at_once) == decisions(one_by_one)
    assert verdicts(at_once) == verdicts(never_saw)
    assert verify(at_once) == verify(one_by_one) == []
    before = rules(at_once)
    again = purge(at_once, entities=[entity(name) for name in COLLUDERS])  # as after a kill
    assert (again.labels, again.bullets) == (0, ())
    assert rules(at_once) == before


def test_what_came_between_two_purges_is_learned_from(never_saw: BulletPlaybook) -> None:
    """Labels of two sources: the purge of the second knows the purge of the first."""
    playbook = never_saw.fork()
    for source, case in (("feed", "t0"), ("auditor", "t0"), ("feed", "t1")):
        feedback(playbook, case, "APPROVE", source=source)
        feedback(playbook, case, "DECLINE", source=source)
    assert purge(playbook, "feed").note == ""
    later = payments(with_lies=True, first=60, n=15)
    told(later, playbook)
    assert purge(playbook, "auditor").note == ""
    wanted = told(later, never_saw.fork())
    assert {rule[0] for rule in rules(playbook)} == {rule[0] for rule in rules(wanted)}
    assert verdicts(playbook) == verdicts(wanted)
    assert verify(playbook) == []
