"""The reader: facts from text and mappings."""

import pytest

from acegraph.graph import generate_transactions
from acegraph.nodes.text.lexicon import mentions
from acegraph.nodes.text.understand import read_fields
from acegraph.state import Transaction
from acegraph.state.values.plain import Fields


def read(given: object) -> Fields:
    return read_fields(Transaction.of(given))


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("A purchase of $1,234.50", {"amount": 1234.5}),
        ("pays EUR 1.234,56 at 23:45", {"amount": 1234.56, "hour": 23}),
        ("pays 12,50 EUR", {"amount": 12.5}),
        ("at 23:45, 15 transactions in the last hour", {"hour": 23, "tx_last_hour": 15}),
        ("pays 40 dollars, usually spends about $25", {"amount": 40.0, "usual_amount": 25.0}),
        ("at 3 AM", {"hour": 3}),
        ("at 12:30 am", {"hour": 0}),
        ("at 12 PM", {"hour": 12}),
        ("at midnight", {"hour": 0}),
        ("a 2-day-old account", {"account_age_days": 2.0}),
        ("account opened 3 weeks ago", {"account_age_days": 21.0}),
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
        ("pays €1\u202f234", {"amount": 1234.0}),
        ("pays 9.000 EUR", {"amount": None}),
        *(
            (f"{words} at 14:00", {"amount": None, "hour": 14})
            for words in (
                "makes a $9 000 payment",
                "transfers 3k EUR",
                "pays $9, 000",
                "pays 1e+6 USD",
            )
        ),
        *(
            (f"{words} at 14:00", {"amount": 50.0})
            for words in (
                "pays $50(2 items)",
                "pays $50, the limit is 9'000 USD",
                "pays USD50",
                "pays $50, 500 m away",
                "$3.459, now pays $50",
            )
        ),
        *(
            (text, {"amount": None})
            for text in ("pays $390B", "pays $500 - 600 at 3 PM", "now pays $9.000, now pays $5")
        ),
        ("fee of $5B, pays $20", {"amount": 20.0}),
        ("1 200 km from home", {"distance_km": None}),
        ("balance of 9.000 EUR, pays $20", {"amount": 20.0}),
        ("amount: 9.000; hour: 3", {"amount": None, "hour": 3.0}),
        ("Card 4242 $500 online", {"amount": 500.0}),
        ("account, opened only 3 days ago", {"account_age_days": 3.0}),
        ("User changed the password 2 hours ago", {"account_age_days": None}),
        ("Customer is 72 years old", {"account_age_days": None}),
        ("The customer's card was issued 3 days ago", {"account_age_days": None}),
        ("rating 85%", {"merchant_rating": None}),
        ("Customer doesn't use a VPN", {"vpn": False}),
        ("no VPN", {"vpn": False}),
        ("VPN: no", {"vpn": False}),
        ("without any sign of a proxy", {"vpn": False}),
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
    assert (found["hour"], found["is_foreign"], found["city"]) == (3, "yes", "Oslo")


@pytest.mark.parametrize(
    ("text", "amount"),
    [
        ("amount: 1,500; hour: 3", 1500.0),
        ("amount=2,500.00, hour=3", 2500.0),
        ("amount: 12,50; hour: 3", 12.5),
        ("amount: 1.500,00; hour: 3", 1500.0),
        ("amount: 7,hour: 3", 7.0),
    ],
)
def test_a_comma_between_digits_parts_no_pairs(text: str, amount: float) -> None:
    found = read(text)
    assert (found["amount"], found["hour"]) == (amount, 3.0)


def test_norway_is_a_country() -> None:
    assert read("country: NO; state: no; vpn: no") == {"country": "NO", "state": "no", "vpn": False}


def test_a_mapping_keeps_its_fields_as_they_are() -> None:
    given = {"amount": "9000.00", "mcc": "5411", "card": {"age": 3}, "tags": ["b", "a"]}
    found = read(given)
    assert (found["amount"], found["mcc"]) == ("9000.00", "5411")
    assert (found["card.age"], found["tags"], found["tags.count"]) == (3, "a, b", 2)


def test_generated_texts_are_read_back_field_by_field() -> None:
    for example in generate_transactions(300, seed=9):
        found = read(example.query)
        for name, value in example.fields.items():
            told = found.get(name, False if isinstance(value, bool) else None)
            assert told == value, (name, value, told, example.query)
