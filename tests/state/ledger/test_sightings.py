"""What the ledger keeps of payments, so that later payments can look back on them."""

import sqlite3
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import sqlalchemy as sa
from hidden import hiding
from ledger_cases import NODE, record

from acegraph.graph import create_ace_graph
from acegraph.state import BulletPlaybook, Case, UnknownDecision, back_up, erase, prune, verify
from acegraph.state.database.open import copy_ledger
from acegraph.state.database.tables import sightings
from acegraph.state.maintenance.backup import copy
from acegraph.state.task.field import Field
from acegraph.state.task.guess import derived_of
from acegraph.state.task.task import Task
from acegraph.state.values.decision import HOUR, Past, Sighting
from acegraph.state.values.transaction import is_derived

COLUMNS = {"customer": "customer_id", "merchant": "shop", "time": "at", "amount": "amount"}
RULE = "DECLINE when customer.payments_last_day >= 2"


def seen(hours: float, customer: str = "c1", merchant: str = "m1", amount: int = 10) -> Sighting:
    who = {"customer": customer, "merchant": merchant}
    return Sighting(int(hours * HOUR), who, amount, (52.5, 13.4), COLUMNS)


def put(playbook: BulletPlaybook, decision_id: str, sighting: Sighting) -> None:
    playbook.record(replace(record(decision_id), sighting=sighting))


def past(playbook: BulletPlaybook, hours: float, customer: str = "c1") -> Past:
    return playbook.past(NODE, seen(hours, customer), "new")["customer"]


def rows(playbook: BulletPlaybook) -> list[Any]:
    with playbook.database.reading() as connection:
        return list(connection.execute(sa.select(sightings).order_by(sightings.c.position)))


def test_a_decision_is_seen_once_however_often_it_is_sent(playbook: BulletPlaybook) -> None:
    for _ in range(3):
        put(playbook, "d1", seen(1))
    playbook.remember([Case("h1", {}, "APPROVE", sighting=seen(0))] * 2, NODE)
    playbook.record(replace(record("h1"), digest="", sighting=seen(0)))  # history, now decided
    assert len(rows(playbook)) == 4  # two payments, each of a customer and of a merchant
    assert past(playbook, 2).payments == (0, 2, 2)
    assert playbook.past("another task", seen(2), "new")["customer"] == Past()
    assert verify(playbook) == []


def test_what_is_undone_is_not_seen(playbook: BulletPlaybook) -> None:
    def put_and_fail() -> None:
        with playbook.writing():
            put(playbook, "d1", seen(1))
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        put_and_fail()
    assert rows(playbook) == []
    put(playbook, "d1", seen(1))
    assert past(playbook, 2).payments == (0, 1, 1)


def test_pruned_payments_are_not_seen(playbook: BulletPlaybook) -> None:
    for i in range(40):
        put(playbook, f"d{i}", seen(i, merchant=f"m{i % 3}", amount=i))
    prune(playbook, "2051-01-01")
    assert rows(playbook) == []
    assert past(playbook, 2000) == Past()
    put(playbook, "d40", seen(2000))
    assert past(playbook, 2001).payments == (0, 1, 1)
    assert verify(playbook) == []


def test_the_last_of_several_at_one_time_stays_the_last(playbook: BulletPlaybook) -> None:
    for i, (hours, merchant) in enumerate(((0, "m1"), (1, "m2"), (1, "m1"))):
        put(playbook, f"d{i}", replace(seen(hours, merchant=merchant), place=(float(i), 0.0)))
    assert past(playbook, 2000).last_place == (2.0, 0.0)


def test_pruning_keeps_what_a_week_needs(playbook: BulletPlaybook) -> None:
    for i in range(10):
        put(playbook, f"d{i}", seen(24 * i))
    before = past(playbook, 24 * 10)
    prune(playbook, "1970-01-10")  # a payment of that day sees the week before it
    assert len(rows(playbook)) == 2 * 8
    assert past(playbook, 24 * 10).payments == before.payments


def test_no_id_can_be_read_from_the_file(tmp_path: Path) -> None:
    file = tmp_path / "ace.db"
    with BulletPlaybook(f"sqlite:///{file}") as book:
        book.add_bullet(RULE, NODE)
        graph = create_ace_graph(playbook=book).compile()
        hiding(["customer_id", "shop_id"], book)
        book.set_sighting_columns(NODE, COLUMNS | {"merchant": "shop_id"})
        for i in range(3):
            paid = {"customer_id": "CANARY-77", "shop_id": "SHOPCANARY", "amount": 5, "hour": 3}
            paid["at"] = f"2026-01-01 1{i}:00"
            graph.invoke({"transaction": paid, "decision_id": f"d{i}"})
        stored = book.decision("d2")["fields"]
        assert stored["customer.payments_last_day"] == 2
        assert stored["merchant.payments_last_day"] == 2
    book.database.close()
    content = b"".join(path.read_bytes() for path in tmp_path.iterdir()).lower()
    assert not [word for word in (b"canary-77", b"canary77", b"shopcanary") if word in content]


def test_an_erased_customer_was_never_there(playbook: BulletPlaybook) -> None:
    playbook.set_sighting_columns(NODE, COLUMNS)
    for i, customer in enumerate(("c1", "c1", "c2")):
        fields = {"customer_id": customer.upper(), "amount": i}
        playbook.record(replace(record(f"d{i}"), fields=fields, sighting=seen(i, customer)))
    assert past(playbook, 500).known_amounts == 2
    erase(playbook, entity=("customerId", "C-1"))
    assert past(playbook, 500) == Past()
    assert past(playbook, 500, "c2").known_amounts == 1
    assert verify(playbook) == []
    with pytest.raises(UnknownDecision):
        erase(playbook, entity=("customer_id", "C-1"))


def test_a_customer_is_erased_by_the_name_that_the_id_had_before(playbook: BulletPlaybook) -> None:
    put(playbook, "d1", seen(0))
    playbook.set_sighting_columns(NODE, COLUMNS | {"customer": "client_no"})
    with pytest.raises(UnknownDecision):
        erase(playbook, entity=("amount", "c1"))
    erase(playbook, entity=("customer_id", "C-1"))
    assert past(playbook, 2) == Past()
    assert verify(playbook) == []


def test_an_erased_decision_is_not_seen_and_others_are(playbook: BulletPlaybook) -> None:
    put(playbook, "d1", seen(0))
    put(playbook, "d2", seen(1))
    erase(playbook, ["d1"])
    assert past(playbook, 2).payments == (0, 1, 1)
    assert verify(playbook) == []


def test_the_number_of_a_card_erases_no_customer_of_that_number(playbook: BulletPlaybook) -> None:
    playbook.set_sighting_columns(NODE, COLUMNS | {"card": "card_id"})
    put(playbook, "d1", seen(0))
    with pytest.raises(UnknownDecision):
        erase(playbook, entity=("card_id", "c1"))
    assert past(playbook, 2).known_amounts == 1


def test_copies_look_back_too(playbook: BulletPlaybook, tmp_path: Path) -> None:
    playbook.set_sighting_columns(NODE, COLUMNS)
    put(playbook, "d1", seen(1))
    back_up(playbook, tmp_path / "backup.db")
    copy(f"sqlite:///{tmp_path / 'backup.db'}", f"sqlite:///{tmp_path / 'new.db'}")
    with BulletPlaybook(f"sqlite:///{tmp_path / 'new.db'}") as restored, playbook.fork() as fork:
        for one in (restored, fork):
            assert past(one, 2) == past(playbook, 2)
            assert one.sighting_columns(NODE) == COLUMNS
            assert verify(one) == []
        put(restored, "d2", seen(1.5))
        assert past(restored, 2).payments == (1, 2, 2)


def test_a_playbook_moves_to_another_kind_of_database(playbook: BulletPlaybook) -> None:
    with BulletPlaybook() as here:
        put(here, "d1", seen(1))
        copy_ledger(here.database, playbook.database)
        assert past(playbook, 2) == past(here, 2)
        assert verify(playbook) == []


@pytest.mark.parametrize("damage", ["UPDATE sightings SET amount = 0", "DELETE FROM sightings"])
def test_a_changed_sighting_is_reported(damage: str, tmp_path: Path) -> None:
    url = f"sqlite:///{tmp_path / 'ace.db'}"
    with BulletPlaybook(url) as book:
        put(book, "d1", seen(1))
    with sqlite3.connect(tmp_path / "ace.db") as connection:
        connection.execute(damage)
    connection.close()
    with BulletPlaybook(url) as book:
        assert verify(book)


FIELDS = (
    Field("customer_id", "category", role="entity", entity="customer"),
    Field("shop", "category", role="entity", entity="merchant"),
    Field("at", "time", role="time"),
    Field("amount", "number", role="amount"),
)
OF_CUSTOMERS = Task("cards", FIELDS, derived_of(FIELDS))


class Counting(BulletPlaybook):
    """Counts how often earlier payments are asked for."""

    asked = 0

    def sighting_columns(self, node: str) -> dict[str, str] | None:
        self.asked += 1
        return super().sighting_columns(node)

    def past(self, node: str, sighting: Sighting, case_id: str) -> dict[str, Past]:
        self.asked += 1
        return super().past(node, sighting, case_id)


def test_a_playbook_without_derived_fields_reads_and_writes_nothing_for_them() -> None:
    paid = {"customer_id": "C-1", "shop": "S", "at": "2026-01-01 10:00", "amount": 5}
    for rule, asked, kept in (("DECLINE when amount >= 900", 0, 0), (RULE, 1, 0), (RULE, 1, 2)):
        with Counting() as book:
            if kept:
                book.set_task(OF_CUSTOMERS)
            book.add_bullet(rule, NODE)
            book.remember([Case(f"h{i}", {"amount": i}, "APPROVE") for i in range(40)], NODE)
            graph = create_ace_graph(playbook=book).compile()
            graph.invoke({"transaction": paid, "ground_truth": "APPROVE"})
            assert book.asked == asked
            assert len(rows(book)) == kept
            assert any(map(is_derived, book.cases(NODE).field_names)) == bool(kept)


def test_a_first_payment_is_no_doubt_and_an_undecided_one_is_seen(playbook: BulletPlaybook) -> None:
    known = {"customer.payments_last_day": 1, "customer.hours_since_last": 2.0, "amount": 5.0}
    playbook.remember([Case(f"h{i}", known, "APPROVE") for i in range(40)], NODE)
    playbook.add_bullet("DECLINE when customer.hours_since_last < 0.001", NODE)
    playbook.set_sighting_columns(NODE, COLUMNS)
    graph = create_ace_graph(playbook=playbook).compile()
    paid = {"customer_id": "C-1", "at": "2026-01-01 10:00", "amount": 5}
    first = graph.invoke({"transaction": paid, "decision_id": "d1"})
    assert (first["decision"], first["undecided"]) == ("APPROVE", None)
    odd = {**paid, "amount": "plenty", "at": "2026-01-01 10:01"}
    assert graph.invoke({"transaction": odd, "decision_id": "d2"})["decision"] == "UNDECIDED"
    graph.invoke({"transaction": {**paid, "at": "2026-01-01 10:02"}, "decision_id": "d3"})
    assert playbook.decision("d3")["fields"]["customer.payments_last_hour"] == 2
    nobody = graph.invoke({"transaction": {"amount": 5}, "decision_id": "d4"})
    assert nobody["decision"] == "UNDECIDED"  # what the rules look at cannot be derived
