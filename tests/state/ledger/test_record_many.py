"""Many decisions in one write: as exact as one by one, and without a lock while Python works."""

from dataclasses import replace

import pytest
import sqlalchemy as sa
from ledger_cases import counters, record
from postgres import Server

from acegraph.state import BulletPlaybook, DecisionConflict, Label, verify
from acegraph.state.database import tables
from acegraph.state.database.writer import LedgerWriter
from acegraph.state.ledger.ledger import DecisionAndLabel, new_decision_rows, record_decisions
from acegraph.state.maintenance.erase import erase
from acegraph.state.values.decision import CounterDeltas, Recorded, Sighting

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


@pytest.mark.parametrize("counted", [True, False])
def test_decisions_and_labels_leave_no_transaction_open(postgres: Server, counted: bool) -> None:
    """Before each statement another session looks for one that is idle in a transaction."""
    with BulletPlaybook(postgres.url()) as shared:
        shared.add_bullet("DECLINE when amount >= 1", "n")
        shared.record(replace(record("d9"), sighting=SEEN))  # makes the secret of sightings
        engine = shared.database._engine  # type: ignore[attr-defined]
        other = engine.execution_options(isolation_level="AUTOCOMMIT").connect()
        idle: list[int] = []

        def look(connection: sa.Connection, *_: object) -> None:
            if connection.connection.driver_connection is not other.connection.driver_connection:
                query = "SELECT count(*) FROM pg_stat_activity WHERE state = 'idle in transaction'"
                idle.append(other.exec_driver_sql(query).scalar_one())

        sa.event.listen(engine, "before_cursor_execute", look)
        shared.record_many(decisions(counted)[:3])
        shared.label_many({"d0": Label("DECLINE", "chargeback"), "d2": Label("APPROVE", "label")})
        assert idle
        assert not any(idle)
        other.close()


def test_a_draft_is_written_only_if_nobody_wrote_meanwhile(postgres: Server) -> None:
    url = postgres.url()
    with BulletPlaybook(url) as shared, BulletPlaybook(url) as other:
        shared.record(record("d0"))
        with shared.database.drafting() as draft:
            given: list[DecisionAndLabel] = [(record("d1", amount=1), None)]
            record_decisions(draft, given, new_decision_rows(given))
            erase(other, ["d0"])  # rewrites rows at their old positions
            assert not shared.database.write_draft(draft)
        assert not verify(shared)
        shared.record(record("d1", amount=1))
        assert not verify(shared)


def test_whoever_is_overtaken_counts_what_the_other_did(postgres: Server) -> None:
    """While one process prepares its write, another one counts and labels."""
    url = postgres.url()
    with BulletPlaybook(url) as shared, BulletPlaybook(url) as other:
        shared.add_bullet("DECLINE when amount >= 1", "n")
        overtaken: list[Recorded] = []
        given: list[DecisionAndLabel] = [(record("d1", 1, amount=1), None)]

        def change(writer: LedgerWriter) -> tuple[object, CounterDeltas]:
            results = record_decisions(writer, given, new_decision_rows(given))
            if not overtaken:
                overtaken.append(other.record(record("d2", 1, amount=2), Label("DECLINE", "x")))
            assert isinstance(results[0], Recorded)
            return results, results[0].deltas

        shared.append(change)
        assert counters(shared, "b1") == counters(other, "b1") == (1, 0, 2)
        assert not verify(other)
