"""Derived fields are the same in a file and in live decisions, whatever happens to the ledger."""

import os
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any

from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st
from postgres import Server

from acegraph.graph import create_ace_graph
from acegraph.graph.data.earlier_rows import EarlierRows
from acegraph.state import AceContext, BulletPlaybook, prune, verify
from acegraph.state.values.transaction import is_derived

NODE = AceContext().node
START = datetime(2051, 3, 1, tzinfo=UTC)
"""Later than now: so `prune` removes the decisions that were made before, too."""
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
    prunes: str
    """The ledger is pruned before this time, before the payment comes; unless empty."""


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
        limit = (now - timedelta(minutes=max(LATE))).isoformat()
        prunes = draw(st.sampled_from(["", "", limit]))
        stream.append(Arrival(payment, redact, draw(st.booleans()), prunes))
    return stream


def in_a_file(payments: list[dict[str, Any]]) -> dict[str, object]:
    """The derived fields of the last row of a file."""
    rows, earlier = [dict(payment) for payment in payments], EarlierRows()
    earlier.columns = COLUMNS
    earlier.derive(rows, set(), None, None)
    return {name: value for name, value in rows[-1].items() if is_derived(name)}


def check_that_live_equals_file(url: str | None, stream: list[Arrival]) -> None:
    with BulletPlaybook(url) as playbook:
        playbook.add_bullet("DECLINE when customer.payments_last_hour >= 3", NODE)
        playbook.set_sighting_columns(NODE, COLUMNS)
        graph = create_ace_graph(playbook=playbook).compile()
        for number, arrival in enumerate(stream):
            if arrival.prunes:
                prune(playbook, arrival.prunes)
            case = {"transaction": arrival.payment, "decision_id": str(number)}
            for _ in range(1 + arrival.is_sent_twice):
                graph.invoke(case, context=AceContext(learn=False, redact=arrival.redact))
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


@settings(RANDOM, max_examples=25 * EXAMPLES)
@given(arrivals())
def test_live_decisions_have_the_derived_fields_of_a_file(stream: list[Arrival]) -> None:
    check_that_live_equals_file(None, stream)


def test_they_have_them_on_postgres_too(postgres: Server) -> None:
    @settings(RANDOM, max_examples=4 * EXAMPLES)
    @given(arrivals())
    def check(stream: list[Arrival]) -> None:
        check_that_live_equals_file(postgres.url(), stream)

    check()
