"""Many decisions in one write: as exact as one by one."""

from dataclasses import replace

import pytest
import sqlalchemy as sa
from ledger_cases import counters, record

from acegraph.state import BulletPlaybook, DecisionConflict, Label, verify
from acegraph.state.database import tables
from acegraph.state.ledger.ledger import DecisionAndLabel
from acegraph.state.values.decision import Recorded, Sighting

SEEN = Sighting(1_000_000, {"customer": "ann"}, 500, None, {"customer": "customer"})


def decisions(counted: bool) -> list[DecisionAndLabel]:
    """New ones, one of them labelled and one with a sighting, and one sent twice."""
    some = [replace(record(f"d{i}", 1, amount=i), counted=counted) for i in range(4)]
    labelled = (some[1], Label("DECLINE", "label", "2026-01-01"))
    return [(some[0], None), labelled, (replace(some[2], sighting=SEEN), None), labelled]


def contents(playbook: BulletPlaybook) -> dict[str, list[tuple[object, ...]]]:
    """The rows of the ledger without their times, positions and hashes."""
    hidden = {"position", "hash", "created_at", "decided_at", "known_at", "entity", "at"}
    rows = {}
    with playbook.database.reading() as connection:
        for table in tables.LEDGER:
            shown = [column for column in table.c if column.name not in hidden]
            rows[table.name] = sorted(map(tuple, connection.execute(sa.select(*shown))), key=repr)
    return rows


@pytest.mark.parametrize("counted", [True, False])
def test_many_are_recorded_as_one_by_one(playbook: BulletPlaybook, counted: bool) -> None:
    one_by_one = BulletPlaybook()
    for book in (playbook, one_by_one):
        book.add_bullet("DECLINE when amount >= 1", "n")
    given = decisions(counted)
    expected = [one_by_one.record(*one).is_new_decision for one in given]

    results = playbook.record_many(given)
    assert [isinstance(r, Recorded) and r.is_new_decision for r in results] == expected
    for _ in range(2):  # sent again: nothing changes
        again = playbook.record_many(given)
        assert not any(isinstance(r, Recorded) and r.is_new_decision for r in again)
    assert contents(playbook) == contents(one_by_one)
    assert counters(playbook, "b1") == counters(one_by_one, "b1")
    assert not verify(playbook)


@pytest.mark.parametrize("counted", [True, False])
def test_a_refused_decision_does_not_stop_the_others(
    playbook: BulletPlaybook, counted: bool
) -> None:
    playbook.record(record("d1", amount=1))
    other = [replace(record(f"d{i}", amount=7), counted=counted) for i in (1, 2)]
    refused, stored = playbook.record_many([(one, None) for one in other])
    assert isinstance(refused, DecisionConflict)
    assert isinstance(stored, Recorded)
    assert playbook.decision("d2")["decision"] == "DECLINE"
    assert not verify(playbook)
