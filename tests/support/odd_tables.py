"""Playbooks, and tables with missing and odd values, for tests of whole tables."""

import random
from collections.abc import Mapping
from typing import Any

import pyarrow as pa

from acegraph.graph import generate_transactions
from acegraph.state import BulletPlaybook, Case, Condition, Task

NODE = "fraud_detection"
Rows = list[dict[str, Any]]
_ODD_NUMBERS = (None, float("nan"), float("inf"), -5.0, 0.0, 1e300)
_ODD_WORDS = (None, "", " ", "n/a", "Crypto", "crypto ", "cafe\u0301", "quite new", "true", "12.50")
_ODD_DATES = (None, "2026-02-30 10:00", "gestern", "2026-01-05", "2026-01-05T23:59:59Z")


def playbook_of(
    cases: list[tuple[dict[str, Any], str]], *rules: str, task: Task | None = None
) -> BulletPlaybook:
    """A playbook that knows labelled cases, with these rules."""
    book = BulletPlaybook(task=task)
    labelled = [Case(f"c{i}", fields, label) for i, (fields, label) in enumerate(cases)]
    if labelled:
        book.remember(labelled, NODE)
    for i, rule in enumerate(rules):
        bullet_id = book.add_bullet(rule, NODE, condition=Condition.parse(rule))
        book.set_weights({bullet_id: (1 if rule[0] == "D" else -1) * (1.31 + 0.57 * i)})
    return book


def payments(rng: random.Random) -> tuple[BulletPlaybook, Rows]:
    """Numbers, flags, words and dates."""
    examples = list(generate_transactions(500, seed=5))
    fields = [
        {**e.fields, "paid_at": f"2026-01-{1 + i % 28:02d} {e.fields['hour']:02d}:30"}
        for i, e in enumerate(examples)
    ]
    book = playbook_of(
        [(row, e.answer) for row, e in zip(fields[:200], examples[:200], strict=True)],
        "DECLINE when amount >= 200 and hour < 6",
        'DECLINE when merchant_category is "crypto"',
        "APPROVE when account_age_days >= 400 and distance_km < 100",
        "DECLINE when paid_at.hour >= 22 and vpn is not false",
        "DECLINE when merchant_rating is missing",
        'APPROVE when paid_at.weekday is "Monday" and channel is known',
    )
    return book, [_spoilt(row, rng) for row in fields[200:]]


def codes(rng: random.Random) -> tuple[BulletPlaybook, Rows]:
    """Codes of merchants and cards, and words that are like numbers, without labelled cases."""
    book = playbook_of(
        [],
        'DECLINE when mcc is "0742"',
        "DECLINE when vpn is true and amount > 99.5",
        'APPROVE when country is not "NG" and amount <= 40',
        "DECLINE when score is 12.5",
    )
    rows = [
        {
            "mcc": rng.choice([742, 5411, 6051, None]),
            "vpn": rng.choice([1, 0, 2, None]),
            "amount": rng.choice([20.0, 40.0, 99.5, 99.6, 900.0, -3.0, float("inf"), None]),
            "country": rng.choice(["NG", " NG", "DE", "true", "", None]),
            "score": rng.choice(["12.50", "12,5", "x", "1e3", None]),
            "unused": rng.choice(["a", None]),
        }
        for _ in range(250)
    ]
    return book, rows


def few_words(rng: random.Random) -> tuple[BulletPlaybook, Rows]:
    """Closed lists of words and flags as texts, with rare fraud."""
    words = ("web", "shop", "phone")
    cases = [
        (
            {"channel": words[i % 3], "new": i % 2 == 0, "amount": float(i % 90)},
            "DECLINE" if i % 25 == 0 else "APPROVE",
        )
        for i in range(400)
    ]
    book = playbook_of(
        cases,
        'DECLINE when channel is "web" and new is true',
        "DECLINE when amount >= 80",
        'APPROVE when channel is "shop"',
    )
    rows = [
        {
            "channel": rng.choice(["web", "Web ", "shop", "SHOP", "fax", "w\u0435b", None]),
            "new": rng.choice(["yes", "no", "Y", "maybe", "1", None]),
            "amount": rng.choice(["80", "79.99", "85 EUR", "1.2k", "-1", "none", None]),
        }
        for _ in range(250)
    ]
    return book, rows


def currencies(rng: random.Random) -> tuple[BulletPlaybook, Rows]:
    """Amounts that name a currency, beside a column that names the same one or another."""
    cases = [
        ({"amount": float(i % 90), "currency": ("EUR", "USD")[i % 2]}, "APPROVE") for i in range(90)
    ]
    book = playbook_of(cases, "DECLINE when amount >= 80", "APPROVE when amount < 20")
    amounts = ("85", "85 EUR", "$10", "10 \u20ac", "usd 10", "10 KWD", "1e1", "none", None)
    beside = ("USD", "EUR", "\u20ac", " usd ", "KWD", "n/a", None)
    rows = [{"amount": rng.choice(amounts), "currency": rng.choice(beside)} for _ in range(250)]
    return book, rows


def gaps(rng: random.Random) -> tuple[BulletPlaybook, Rows]:
    """Fields that a tenth of the labelled cases lack, and rows that lack most of them."""
    names = ("a", "b", "c", "d", "e", "at")

    def row(filled: float) -> dict[str, Any]:
        values = (*map(float, rng.choices(range(10), k=5)), "2026-01-05 22:10")
        pairs = zip(names, values, strict=True)
        return {name: value if rng.random() < filled else None for name, value in pairs}

    cases = [(row(0.9), "DECLINE" if i % 2 else "APPROVE") for i in range(100)]
    rules = ("DECLINE when a >= 3 and b < 8", "DECLINE when at.hour >= 20 and c >= 5")
    return playbook_of(cases, *rules), [row(0.4) for _ in range(250)]


def _spoilt(row: Mapping[str, Any], rng: random.Random) -> dict[str, Any]:
    spoilt = {}
    for name, value in row.items():
        odd: Any = value
        if rng.random() < 0.04:
            if name == "paid_at":
                odd = rng.choice(_ODD_DATES)
            elif isinstance(value, str):
                odd = rng.choice(_ODD_WORDS)
            else:
                odd = None if isinstance(value, bool) else rng.choice(_ODD_NUMBERS)
        is_number = isinstance(odd, int) and not isinstance(odd, bool)
        spoilt[name] = float(odd) if is_number else odd
    return spoilt


def derived(rng: random.Random) -> tuple[BulletPlaybook, Rows]:
    """Fields that are derived from earlier payments, as columns of the table."""
    at, name = "2026-01-05 10:00:00", "customer.payments_last_hour"
    cases = [
        (
            {"customer": f"C{i}", "time": at, "amount": 5.0, name: i % 5},
            "DECLINE" if i % 5 >= 3 else "APPROVE",
        )
        for i in range(60)
    ]
    book = playbook_of(cases, f"DECLINE when {name} >= 3")
    book.set_sighting_columns(NODE, {"customer": "customer", "time": "time", "amount": "amount"})
    values = (("C1", None), (at, None, "x"), (9000.0, 20.0, None), (4, 0, None))
    rows = [
        dict(zip(("customer", "time", "amount", name), map(rng.choice, values), strict=True))
        for _ in range(250)
    ]
    return book, rows


def table_of(rows: Rows) -> pa.Table:
    """The rows as a table."""
    return pa.Table.from_pylist(rows)
