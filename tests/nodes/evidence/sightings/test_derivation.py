"""What a payment sees of the payments before it."""

import time
from datetime import datetime
from math import isclose

import numpy as np
import pytest

from acegraph.nodes.evidence.columns.entities import parties
from acegraph.nodes.evidence.columns.learnable_fields import learnable_fields
from acegraph.nodes.evidence.sightings.columns import sighting_of
from acegraph.nodes.evidence.sightings.derivation import derive_all, distance_km
from acegraph.state import APPROVE, Case, parse_condition
from acegraph.state.values.cases import CaseTable
from acegraph.state.values.plain import Fields
from acegraph.state.values.transaction import is_derived

COLUMNS = {
    "customer": "customer_id",
    "card": "card_number",
    "device": "device_id",
    "merchant": "merchant",
    "time": "at",
    "amount": "amount",
    "latitude": "lat",
    "longitude": "long",
}


def derived(rows: list[Fields]) -> list[Fields]:
    return derive_all([sighting_of(row, COLUMNS) for row in rows])


def test_a_payment_sees_what_was_before_it() -> None:
    berlin, paris = {"lat": 52.52, "long": 13.405}, {"lat": 48.8566, "long": 2.3522}
    rows: list[Fields] = [
        {"customer_id": "C1", "merchant": "A", "amount": 10, "at": "2026-01-01 10:00", **berlin},
        {"customer_id": "C1", "merchant": "B", "amount": 30, "at": "2026-01-01 10:30", **berlin},
        {"customer_id": "C2", "merchant": "A", "amount": 99, "at": "2026-01-01 10:45", **paris},
        {"customer_id": "C1", "merchant": "A", "amount": 60, "at": "2026-01-01 11:30", **paris},
    ]
    assert derived(rows)[3] == {
        "customer.hours_since_last": 1.0,
        "customer.payments_last_hour": 0,  # the one of an hour ago is not in the last hour
        "customer.amount_last_hour": 0.0,
        "customer.payments_last_day": 2,
        "customer.amount_last_day": 40.0,
        "customer.payments_last_week": 2,
        "customer.amount_last_week": 40.0,
        "customer.amount_to_usual": 3.0,
        "customer.merchant_is_new": False,
        "customer.km_since_last": 877.5,
        "customer.kmh_since_last": 877.5,
        "merchant.hours_since_last": 0.75,
        "merchant.payments_last_hour": 1,
        "merchant.amount_last_hour": 99.0,
        "merchant.payments_last_day": 2,
        "merchant.amount_last_day": 109.0,
        "merchant.payments_last_week": 2,
        "merchant.amount_last_week": 109.0,
    }
    first = derived(rows)[0]
    assert first["customer.hours_since_last"] is first["customer.amount_to_usual"] is None
    assert first["customer.merchant_is_new"] is True
    assert all(map(is_derived, first))


def test_ties_are_in_the_order_of_the_rows_and_the_order_of_time_is_found() -> None:
    times = ("2026-01-02", "2026-01-01", "2026-01-02", None)
    rows: list[Fields] = [{"customer_id": 7, "at": at, "amount": 5} for at in times]
    counts = [row.get("customer.payments_last_week") for row in derived(rows)]
    assert counts == [1, 0, 2, None]  # without a time nothing is derived, and nobody sees it


def test_nobody_in_particular_is_not_seen() -> None:
    for nobody in (None, "", "unknown", "N/A", 0, -1, "[redacted]", True):
        assert sighting_of({"customer_id": nobody, "at": "2026-01-01"}, COLUMNS) is None


def _naive(rows: list[Fields], number: int, kind: str) -> Fields:
    """The same by looking at all rows: slow, and plain."""
    own, name = rows[number], COLUMNS[kind]

    def at(row: Fields) -> datetime:
        return datetime.fromisoformat(str(row["at"]))

    before = sorted(
        (at(row), i)
        for i, row in enumerate(rows)
        if row[name] == own[name] and (at(row), i) < (at(own), number)
    )
    seen, fields = [rows[i] for _, i in before], Fields()
    for window, hours in (("hour", 1), ("day", 24), ("week", 168)):
        recent = [r for r in seen if (at(own) - at(r)).total_seconds() < 3600 * hours]
        fields[f"payments_last_{window}"] = len(recent)
        fields[f"amount_last_{window}"] = sum(float(r["amount"] or 0) for r in recent)
    if kind == "card":
        amounts = [float(row["amount"] or 0) for row in seen]
        usual = sum(amounts) / len(amounts) if amounts else None
        fields["amount_to_usual"] = usual and float(own["amount"] or 0) / usual
        fields["merchant_is_new"] = own["merchant"] not in [row["merchant"] for row in seen]
    return fields


def test_one_pass_gives_what_looking_at_all_rows_gives() -> None:
    rng = np.random.default_rng(1)
    rows: list[Fields] = [
        {
            "card_number": f"c{rng.integers(6)}",
            "merchant": f"m{rng.integers(5)}",
            "amount": round(float(rng.lognormal(3)), 2),
            "at": f"2026-01-{rng.integers(1, 29):02} {rng.integers(24):02}:{rng.integers(60):02}",
        }
        for _ in range(300)
    ]
    for number, fields in enumerate(derived(rows)):
        for kind in ("card", "merchant"):
            for name, expected in _naive(rows, number, kind).items():
                value = fields[f"{kind}.{name}"]
                if isinstance(expected, float) and value is not None:
                    assert isclose(float(value), expected, abs_tol=0.0051), name
                else:
                    assert value == expected, name


def test_later_rows_change_nothing() -> None:
    rows: list[Fields] = [
        {"card_number": i % 7, "merchant": i % 3, "amount": i, "at": f"2026-01-{1 + i // 9:02}"}
        for i in range(200)
    ]
    assert derived(rows)[:90] == derived(rows[:90])


@pytest.mark.slow
def test_time_grows_with_the_rows_also_of_one_customer() -> None:
    rows: list[Fields] = [
        {"customer_id": 1, "merchant": 2 + i, "amount": 1.5, "at": float(i)} for i in range(20_000)
    ]
    began = time.process_time()
    assert derived(rows)[-1]["customer.payments_last_week"] == 19_999
    assert time.process_time() - began < 30  # a second; looking at all rows would take minutes


def test_rules_may_use_derived_fields_and_they_name_nobody() -> None:
    rows: list[Fields] = [
        {"customer_id": f"C{i % 9}", "merchant": f"m{i % 4}", "amount": i % 5, "at": 60.0 * i}
        | {"lat": i % 50, "long": i % 60}
        for i in range(400)
    ]
    table = CaseTable(Case(str(i), row, APPROVE) for i, row in enumerate(derived(rows)))
    names = set(table.field_names)
    assert names == set(learnable_fields(table))
    assert parties(table) == []
    for name in names:
        rule = parse_condition(text := f"DECLINE when {name} >= 3")
        assert rule is not None
        assert rule.render() == text


def test_distances_are_those_of_a_globe() -> None:
    assert round(distance_km((0, 179), (0, -179))) == 222
    assert round(distance_km((90, 0), (-90, 0))) == 20_015
