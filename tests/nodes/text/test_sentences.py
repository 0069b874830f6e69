"""Sentences without fields, and what is read from them: no number rather than a wrong one."""

from dataclasses import replace

import pytest

from acegraph.graph import create_ace_graph
from acegraph.nodes.text.understand import read_fields, understand_given
from acegraph.state import Transaction
from acegraph.state.task.card_payments import CARD_PAYMENTS
from acegraph.state.task.field import Field
from acegraph.state.values.plain import Fields

SENTENCES: list[tuple[str, Fields]] = [
    # negations
    ("not verified", {"verified": False}),
    ("the customer has never been verified", {"verified": False}),
    ("identity verified, no new device", {"verified": True, "new_device": False}),
    ("VPN was not detected", {"vpn": False}),
    ("neither a VPN nor a new device", {"vpn": False, "new_device": False}),
    ("not only a VPN but also a new device", {"vpn": True, "new_device": True}),
    ("without any disputes", {"past_disputes": 0}),
    ("no transactions in the last hour", {"tx_last_hour": 0}),
    ("not rated 4.5", {"merchant_rating": None}),
    ("the account is not 3 days old", {"account_age_days": None}),
    # several amounts
    ("usual 40 EUR, now 900 EUR", {"usual_amount": 40.0, "amount": 900.0, "amount_ratio": 22.5}),
    ("pays 900 EUR instead of the usual 40 EUR", {"usual_amount": 40.0, "amount": 900.0}),
    ("spends $40 on average, now pays $900", {"usual_amount": 40.0, "amount": 900.0}),
    ("credit limit of 5,000 EUR, pays 900 EUR", {"amount": 900.0}),
    ("a fee of $3 on a payment of $500", {"amount": 500.0}),
    ("previous purchase was 25 EUR, this one is 700 EUR", {"amount": 700.0}),
    ("paid $25 last week and pays $700 now", {"amount": 700.0}),
    ("up from $40 to $900", {"amount": 900.0}),
    ("a refund of $20, then a purchase of $300", {"amount": 300.0}),
    ("between $10 and $20", {"amount": None}),
    ("limit of $500", {"amount": None}),
    ("pays 900 EUR, limit 5,000 EUR", {"amount": 900.0}),
    # durations
    ("account opened 3 days ago", {"account_age_days": 3.0}),
    ("account opened a week ago", {"account_age_days": 7.0}),
    ("account opened yesterday", {"new_account": True}),
    ("has been a customer for 2 years", {"account_age_days": 730.0}),
    ("a six-month-old account", {"account_age_days": 182.4}),
    ("account 2 years and 3 months old", {"account_age_days": None}),
    ("account opened 2 to 3 weeks ago", {"account_age_days": None}),
    ("the card was opened by a user 3 days ago", {"account_age_days": None}),
    # ratings
    ("merchant rated 4.8/5", {"merchant_rating": 4.8}),
    ("rating: 3,9", {"merchant_rating": 3.9}),
    ("4 out of 5 stars", {"merchant_rating": 4.0}),
    ("rated 9/10", {"merchant_rating": None}),
    ("books a 4-star hotel", {"merchant_rating": None}),
    ("merchant rated 1.5 by 20 customers", {"merchant_rating": 1.5}),
    # counts
    ("twelve transactions in the last hour", {"tx_last_hour": 12}),
    ("2-3 chargebacks", {"past_disputes": None}),
    ("between 2 and 4 failed logins", {"failed_attempts": None}),
    ("6 orders today, no complaints", {"tx_last_day": 6, "past_disputes": 0}),
    ("pays $900, which is 60 percent of the balance", {"amount": 900.0}),
]


@pytest.mark.parametrize(("text", "expected"), SENTENCES)
def test_a_sentence_is_read_for_what_it_says(text: str, expected: Fields) -> None:
    found = read_fields(Transaction.of(text))
    assert {name: found.get(name) for name in expected} == expected


@pytest.mark.parametrize("name", ["The Limit", "Last Purchase", "Shop now $1 and"])
def test_a_name_before_the_amount_gets_nothing_approved(name: str) -> None:
    graph, risk = create_ace_graph().compile(), "at 3 AM"
    plain = graph.invoke({"transaction": f"buys at Shop {risk} for $2,500"})
    named = graph.invoke({"transaction": f"buys {risk} at {name} $2,500"})
    assert (plain["decision"], named["decision"]) == ("DECLINE", "UNDECIDED")


def test_a_sentence_has_the_text_that_a_task_wants_of_every_case() -> None:
    fields = (*CARD_PAYMENTS.fields, Field("text", "text", usual=True))
    task = replace(CARD_PAYMENTS, fields=tuple({one.name: one for one in fields}.values()))
    understood = understand_given(Transaction.of("pays $20 at 2 PM"), task)
    assert understood.fields["text"] == "pays $20 at 2 PM"
    assert "text" not in understood.doubts
