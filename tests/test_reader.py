"""The reader: facts from text and mappings."""

import pytest

from acegraph.graph import generate_transactions
from acegraph.nodes import read_fields
from acegraph.nodes.lexicon import mentions
from acegraph.state import Fields, Transaction


def read(given: object) -> Fields:
    return read_fields(Transaction.of(given))


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("A purchase of $1,234.50", {"amount": 1234.5}),
        ("pays EUR 1.234,56 at 23:45", {"amount": 1234.56, "hour": 23}),
        ("2.500,00 € to a friend, $3 fee", {"amount": 2500.0}),
        ("pays 12,50 EUR", {"amount": 12.5}),
        ("at 23:45, 15 transactions in the last hour", {"hour": 23, "tx_last_hour": 15}),
        ("transfers 3k EUR to a friend", {"amount": 3000.0}),
        ("pays 40 dollars, usually spends about $25", {"amount": 40.0, "usual_amount": 25.0}),
        ("at 3 AM", {"hour": 3}),
        ("at 12:30 am", {"hour": 0}),
        ("at 12 PM", {"hour": 12}),
        ("logged at 23:59", {"hour": 23}),
        ("at midnight", {"hour": 0}),
        ("a 2-day-old account", {"account_age_days": 2.0}),
        ("account opened 3 weeks ago", {"account_age_days": 21.0}),
        ("customer for 2 years", {"account_age_days": 730.0}),
        ("the account is 5 hours old", {"account_age_days": 0.21}),
        ("merchant rated 2.1", {"merchant_rating": 2.1}),
        ("a 4.5-star shop", {"merchant_rating": 4.5}),
        ("12 transactions in the last hour", {"tx_last_hour": 12}),
        ("15 purchases per day", {"tx_last_day": 15}),
        ("3 failed logins", {"failed_attempts": 3}),
        ("two chargebacks on file", {"past_disputes": 2}),
        ("no fraud reports", {"past_disputes": 0}),
        ("420 miles from home", {"distance_km": 675.8}),
        ("IP in Romania, card issued in France", {"country_changed": True}),
        ("via a proxy", {"vpn": True}),
        ("no VPN", {"vpn": False}),
        ("VPN: no", {"vpn": False}),
        ("without any sign of a proxy", {"vpn": False}),
        ("usual device", {"new_device": False}),
        ("an unrecognized device", {"new_device": True}),
        ("buys gift cards online", {"merchant_category": "gift_cards", "channel": "online"}),
    ],
)
def test_a_text_is_read_for_what_it_says(text: str, expected: Fields) -> None:
    found = read(text)
    assert {name: found.get(name) for name in expected} == expected


def test_a_negation_does_not_reach_the_next_clause() -> None:
    assert [(m.concept, m.negated) for m in mentions("no VPN, a new device")] == [
        ("vpn", True),
        ("new_device", False),
    ]


def test_pairs_in_a_text_become_fields() -> None:
    found = read("Amount: $120.50; Hour: 3; Is foreign: yes; City: Oslo")
    assert found["amount"] == 120.5
    assert (found["hour"], found["is_foreign"], found["city"]) == (3.0, True, "Oslo")


def test_a_mapping_keeps_its_fields_and_dates_are_split() -> None:
    found = read({"time": "2026-03-01 04:05:06", "card": {"age": 3}, "tags": ["b", "a"]})
    assert found["time.hour"] == 4
    assert (found["time.weekday"], found["time.month"]) == ("Sunday", 3)
    assert (found["card.age"], found["tags"], found["tags.count"]) == (3, "a, b", 2)


def test_generated_texts_are_read_back_field_by_field() -> None:
    for example in generate_transactions(300, seed=9):
        found = read(example.query)
        for name, value in example.fields.items():
            told = found.get(name, False if isinstance(value, bool) else None)
            assert told == value, (name, value, told, example.query)
