"""Derived fields are the same in a file and in live decisions, whatever happens to the ledger."""

import os
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from hidden import hiding
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st
from postgres import Server

from acegraph.graph import create_ace_graph
from acegraph.graph.data.derived import with_derived
from acegraph.graph.training.pipeline import TrainingPipeline
from acegraph.state import AceContext, BulletPlaybook, Case, InvalidTransaction, verify
from acegraph.state.values.transaction import is_derived

NODE = AceContext().node
START = datetime(2051, 3, 1, tzinfo=UTC)
MINUTES = (0, 0, 1, 59, 60, 61, 24 * 60, 24 * 60 + 1, 7 * 24 * 60, 7 * 24 * 60 + 1, 30 * 24 * 60)
LATE = (0, 0, 0, 1, 30, 3 * 24 * 60)
"""By how many minutes a payment comes later than it was made."""
COLUMNS = {
    "customer": "customer_id",
    "card": "cc_num",
    "device": "device_id",
    "merchant": "merchant",
    "time": "paid_at",
    "amount": "amount",
    "latitude": "merch_lat",
    "longitude": "merch_long",
}


@dataclass(frozen=True)
class Arrival:
    """A payment that comes in, and what is done around it."""

    payment: dict[str, Any]
    redact: list[str]
    is_sent_twice: bool


@st.composite
def arrivals(draw: Any) -> list[Arrival]:
    """Payments with ties in time, late ones, missing ids, times and amounts."""
    now, stream = START, []
    for _ in range(draw(st.integers(3, 12))):
        now += timedelta(minutes=draw(st.sampled_from(MINUTES)))
        paid = (now - timedelta(minutes=draw(st.sampled_from(LATE)))).isoformat()
        north, east = draw(st.sampled_from([(52.5, 13.4), (48.9, 2.4), (None, None)]))
        payment = {
            "customer_id": draw(st.sampled_from(["C-1", "c 1", "C-1", "C-2", None])),
            "cc_num": draw(st.sampled_from([4111, "4111", 4222])),
            "device_id": draw(st.sampled_from(["d1", "unknown"])),
            "merchant": draw(st.sampled_from(["Kohler, Inc", "Roob", "Abt", None])),
            "paid_at": draw(st.sampled_from([paid] * 9 + [None])),
            "amount": draw(st.sampled_from([0.1, 12.34, 99, 1e9, None])),
            "merch_lat": north,
            "merch_long": east,
        }
        redact = draw(st.sampled_from([[], ["customer_id", "cc_num"], ["merchant", "customer"]]))
        stream.append(Arrival(payment, redact, draw(st.booleans())))
    return stream


def in_a_file(payments: list[dict[str, Any]]) -> dict[str, object]:
    """The derived fields of the last row of a file."""
    rows = with_derived(payments, COLUMNS)
    return {name: value for name, value in rows[-1].items() if is_derived(name)}


def check_that_live_equals_file(url: str | None, stream: list[Arrival]) -> None:
    with BulletPlaybook(url) as playbook:
        playbook.add_bullet("DECLINE when customer.payments_last_hour >= 3", NODE)
        playbook.set_sighting_columns(NODE, COLUMNS)
        graph = create_ace_graph(playbook=playbook).compile()
        for number, arrival in enumerate(stream):
            case = {"transaction": arrival.payment, "decision_id": str(number)}
            for _ in range(1 + arrival.is_sent_twice):
                hiding(arrival.redact, playbook)
                graph.invoke(case, context=AceContext(learn=False))
            stored = playbook.decision(str(number))["fields"]
            live = {name: value for name, value in stored.items() if is_derived(name)}
            assert live == in_a_file([one.payment for one in stream[: number + 1]])
        assert verify(playbook) == []


RANDOM = settings(
    deadline=None,
    derandomize=True,
    database=None,
    phases=(Phase.generate,),
    suppress_health_check=list(HealthCheck),
)
EXAMPLES = int(os.environ.get("ACE_SOAK", "1"))


@settings(RANDOM, max_examples=4 * EXAMPLES)
@given(arrivals())
def test_live_decisions_have_the_derived_fields_of_a_file(stream: list[Arrival]) -> None:
    check_that_live_equals_file(None, stream)


@pytest.mark.slow
def test_they_have_them_on_postgres_too(postgres: Server) -> None:
    @settings(RANDOM, max_examples=3 * EXAMPLES)
    @given(arrivals())
    def check(stream: list[Arrival]) -> None:
        check_that_live_equals_file(postgres.url(), stream)

    check()


T0 = datetime(2026, 1, 5, 22)
CUSTOMERS = {"customer": "customer_id", "time": "paid_at", "amount": "amount"}
FROZEN = AceContext(learn=False)


def paid(minute: int = 30, **changes: object) -> dict[str, Any]:
    at = (T0 + timedelta(minutes=minute)).isoformat(" ")
    payment = {"customer_id": "c1", "paid_at": at, "amount": 20.0, "vpn": False, **changes}
    return {name: value for name, value in payment.items() if value != "left out"}


def book_with(*rules: str) -> BulletPlaybook:
    """A playbook with rules that decline whatever they hold for."""
    playbook = BulletPlaybook()
    playbook.set_sighting_columns(NODE, CUSTOMERS)
    for rule in rules:
        playbook.add_bullet(rule, NODE, "online")
    playbook.set_weights({bullet.id: 6.0 for bullet in playbook})
    return playbook


FREQUENT = "DECLINE when customer.payments_last_hour >= 3"
UNUSUAL = "DECLINE when customer.amount_to_usual > 8"


def busy_book(*rules: str) -> BulletPlaybook:
    """One in which customer c1 has paid four times in the last hour."""
    playbook = book_with(*rules)
    graph = create_ace_graph(playbook=playbook).compile()
    for minute in range(4):
        graph.invoke({"transaction": paid(minute)}, context=FROZEN)
    return playbook


def decided(playbook: BulletPlaybook, payment: object, **context: Any) -> Any:
    graph = create_ace_graph(playbook=playbook).compile()
    return graph.invoke({"transaction": payment}, context=FROZEN.with_changes(**context))


GIVEN = [
    {f"customer.{what}": value for what in ("payments_last_hour", "amount_to_usual")}
    for value in (0, None, "n.v.t.")
]


@pytest.mark.parametrize("given", [*GIVEN, {"merchant.hours_since_last": 1}])
def test_a_caller_cannot_give_derived_fields(given: dict[str, Any]) -> None:
    result = decided(playbook := busy_book(FREQUENT), paid(**given))
    assert result["decision"] == "DECLINE"
    stored = playbook.decision(result["decision_id"])
    assert stored["fields"]["customer.payments_last_hour"] == 4
    assert "merchant.hours_since_last" not in stored["fields"]
    assert "n.v.t." not in stored["text"]
    with pytest.raises(InvalidTransaction):  # nothing else is in it
        decided(playbook, {"customer.payments_last_hour": None})
    assert decided(playbook, {"customer.payments_last_hour": 0})["decision"] == "UNDECIDED"


def test_an_amount_that_is_in_doubt_leaves_what_is_derived_from_it_in_doubt() -> None:
    playbook = busy_book(UNUSUAL)
    assert decided(playbook, paid(amount=900))["decision"] == "DECLINE"
    assert decided(playbook, paid(31))["decision"] == "APPROVE"
    for doubtful in ("nine hundred", None, "left out"):
        result = decided(playbook, paid(amount=doubtful))
        assert result["decision"] == "UNDECIDED", doubtful
        assert "customer.amount_to_usual cannot be derived" in result["undecided"]
    assert decided(busy_book(UNUSUAL), paid(amount=1e308))["decision"] == "DECLINE"


@pytest.mark.parametrize(
    "payment",
    [
        paid(paid_at="left out"),
        paid(paid_at="05.01.2026 22:07"),
        {**paid(customer_id="left out"), "customerNo": "c1"},
        paid(customer_id="guest"),
        "c1 pays 20 USD in a shop at noon",
    ],
)
def test_a_payment_without_a_sighting_is_in_doubt_where_a_rule_asks_for_one(payment: Any) -> None:
    result = decided(busy_book(FREQUENT), payment)
    assert result["decision"] == "UNDECIDED"
    assert "customer.payments_last_hour cannot be derived" in result["undecided"]
    vip = f"{FREQUENT} and amount > 5000"
    assert decided(book_with(vip), payment)["decision"] == "APPROVE"  # it cannot hold


def test_what_the_labelled_payments_lack_too_is_no_doubt() -> None:
    playbook = book_with(FREQUENT, UNUSUAL)
    rows = [
        paid(60 * i, customer_id="guest" if i % 2 else f"c{i % 8}", amount=20.0 if i % 3 else None)
        for i in range(48)
    ]
    rows = with_derived(rows, CUSTOMERS)
    playbook.remember([Case(f"h{i}", row, "APPROVE") for i, row in enumerate(rows)], NODE)
    for known in (paid(customer_id="guest"), paid(amount=None), paid(customer_id="new one")):
        assert decided(playbook, known)["decision"] == "APPROVE"
    assert decided(playbook, paid(paid_at=None))["decision"] == "UNDECIDED"


def test_rows_of_a_file_keep_what_was_derived_from_the_file() -> None:
    row = {**paid(), "customer.payments_last_hour": 7}
    item = {"query": row, "answer": "DECLINE", "id": "r1"}
    pipeline = TrainingPipeline(book_with(FREQUENT))
    assert pipeline.evaluate([{**item, "sighting_columns": CUSTOMERS}]).decisions == ["DECLINE"]
    assert pipeline.evaluate([item]).decisions == ["APPROVE"]  # the ledger knows of no payment


def test_a_payment_that_no_model_decided_is_seen_once() -> None:
    def down(_: object) -> None:
        raise TimeoutError("down")

    playbook = book_with(FREQUENT)
    failing = create_ace_graph(playbook=playbook, agent=down).compile()
    working = create_ace_graph(playbook=playbook).compile()
    for minute in range(3):
        given = {"transaction": paid(minute), "decision_id": f"d{minute}"}
        for graph in (failing, failing, working)[: 3 if minute else 2]:
            graph.invoke(given, context=FROZEN)
    result = decided(playbook, paid())
    assert result["decision"] == "DECLINE"
    assert playbook.decision(result["decision_id"])["fields"]["customer.payments_last_hour"] == 3
    assert verify(playbook) == []


@pytest.mark.parametrize("concurrency", [1, 2])
def test_cases_that_are_prepared_ahead_are_read_as_in_their_turn(concurrency: int) -> None:
    pipeline = TrainingPipeline(busy_book(FREQUENT), concurrency=concurrency)
    items = [{"query": paid(customer_id=who), "answer": "DECLINE"} for who in ("c1", "c2")]
    assert pipeline.train_online(items).run.decisions == ["DECLINE", "APPROVE"]
