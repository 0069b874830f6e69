"""Which fields say who paid, when, how much and where."""

import pytest

from acegraph.nodes.evidence.sightings.columns import (
    columns_of,
    find_columns,
    sighting_of,
    unread,
)

OF_NAMES = {
    "customer_id account_id email": {"customer": "customer_id"},
    "account_id cardNumber": {"customer": "account_id", "card": "cardNumber"},
    "cc_num merchant amt": {"card": "cc_num", "merchant": "merchant", "amount": "amt"},
    "customer.id customer.age card.country": {"customer": "customer.id"},
    "card_holder_name card_brand card_bin": {"customer": "card_holder_name"},
    "merchant_account_id merchant_category": {"merchant": "merchant_account_id"},
    "device_id device user_agent": {"device": "device_id"},
    "browser_fingerprint_hash imei": {"device": "imei"},
    "iban payee": {"customer": "iban", "merchant": "payee"},
    "lat long": {"latitude": "lat", "longitude": "long"},
    "lat long merch_lat merch_long": {"latitude": "merch_lat", "longitude": "merch_long"},
    "home_lat home_long": {},
    "trans_num job city": {},
}


@pytest.mark.parametrize("names", OF_NAMES)
def test_names_say_what_a_field_holds(names: str) -> None:
    assert find_columns(tuple(names.split()), None, None) == OF_NAMES[names]


def test_the_only_date_of_a_payment_is_its_time() -> None:
    fields = {"paid_at": "2026-01-05 10:00", "date_of_birth": "1990-01-01", "user_id": "20260105"}
    assert columns_of(fields) == {"customer": "user_id", "time": "paid_at"}
    assert "time" not in columns_of({**fields, "booked_at": "2026-01-06"})


def test_ids_and_times_are_the_same_however_they_are_written() -> None:
    columns = {"customer": "c", "time": "t"}
    written = [("C-17", "2026-01-05T10:00:00Z"), ("c 17", "2026-01-05 11:00+01:00"), ("Ｃ17", None)]
    seen = [sighting_of({"c": c, "t": t or 1767607200000}, columns) for c, t in written]
    assert len({(s.at, s.who["customer"]) for s in seen if s}) == 1
    ids = [sighting_of({"c": number, "t": 5}, columns) for number in (4711, 4711.0, "4711")]
    assert {one.who["customer"] for one in ids if one} == {"4711"}


def test_a_place_off_the_globe_is_not_read() -> None:
    columns = {"customer": "c", "time": "t", "latitude": "lat", "longitude": "long"}
    fields = {"c": "C-17", "t": 5, "lat": 95, "long": 13.4}
    assert unread(fields, columns) == {"latitude"}
    seen = sighting_of(fields, columns)
    assert seen is not None
    assert seen.place is None
