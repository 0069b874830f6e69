"""Whatever the fields of a task are called: the same rules, decisions and risks."""

import random
from collections.abc import Callable, Mapping
from dataclasses import replace
from datetime import datetime, timedelta
from typing import Any

import pytest

from acegraph.graph import TrainingPipeline
from acegraph.graph.data.synthetic import generate_transactions
from acegraph.graph.tables.ruleset import TableRules
from acegraph.state import AceContext
from acegraph.state.task.field import Field
from acegraph.state.task.guess import guess
from acegraph.state.task.task import Task

NODE = AceContext().node
Row = dict[str, Any]
File = tuple[list[Row], list[str], tuple[Field, ...]]


def payments(seed: int, fraud_rate: float) -> File:
    """Generated card payments, with a customer and a card of their own."""
    examples = generate_transactions(400, seed=seed, fraud_rate=fraud_rate)
    rng = random.Random(seed)
    rows = [
        {**one.fields, "customer": f"C{rng.randint(1, 60)}", "card_no": rng.randint(1, 2)}
        for one in examples
    ]
    columns = {name: [row[name] for row in rows] for name in rows[0]}
    roles = {"customer": "entity", "amount": "amount"}
    fields = tuple(replace(one.field, role=roles.get(one.field.name, "")) for one in guess(columns))
    return rows, [one.answer for one in examples], fields


def claims() -> File:
    """Claims with a number that counts, a time, an id and a category of long tail."""
    rng, now, rows, answers = random.Random(7), datetime(2025, 3, 3), [], []
    for number in range(400):
        now += timedelta(hours=rng.randint(1, 20))
        value, garage = rng.lognormvariate(7, 1), rng.choice("ABCDEFG")
        is_fraud = (value > 1500 and garage in "AB") ^ (rng.random() < 0.03)
        rows.append(
            {
                "claim_id": f"K-{number}",
                "email": rng.choice(["web", "phone", "agent"]),
                "cardholder": rng.randint(1, 2),
                "value": round(value, 2),
                "garage": garage,
                "reported": now.isoformat(),
            }
        )
        answers.append("DECLINE" if is_fraud else "APPROVE")
    return (
        rows,
        answers,
        (
            Field("claim_id", "category", role="id"),
            Field("email", "category"),
            Field("cardholder", "number"),
            Field("value", "number", usual=True),
            Field("garage", "category", words=tuple("ABCDEFG"), closed=True),
            Field("reported", "time", role="time", parts=("hour", "weekday")),
        ),
    )


def loans() -> File:
    """Loans with flags, counts and a protected field."""
    rng, rows, answers = random.Random(11), [], []
    for _ in range(200):
        row = {
            "income": rng.randint(10, 90) * 1000,
            "is_new": rng.random() < 0.3,
            "months": rng.randint(0, 60),
            "sex": rng.choice("fm"),
            "phone_count": rng.choice([0, 0, 1, 2, None]),
        }
        rows.append(row)
        is_bad = row["is_new"] and row["income"] < 40_000
        answers.append("DECLINE" if is_bad ^ (rng.random() < 0.04) else "APPROVE")
    return (
        rows,
        answers,
        (
            Field("income", "number", usual=True, least=0),
            Field("is_new", "flag", usual=True),
            Field("months", "number"),
            Field("sex", "category", role="protected"),
            Field("phone_count", "number"),
        ),
    )


def learned(rows: list[Row], answers: list[str], fields: tuple[Field, ...]) -> tuple[Any, ...]:
    """The rules over the numbers of fields, and by row the decision with its risk."""
    pipeline = TrainingPipeline()
    items = [
        {"query": row, "answer": answer, "id": str(i)}
        for i, (row, answer) in enumerate(zip(rows, answers, strict=True))
    ]
    pipeline.train_offline(items[: len(items) * 3 // 4], Task("t", fields))
    numbers = {one.name: str(number) for number, one in enumerate(fields)}
    bullets = pipeline.playbook.get_bullets_for_node(NODE, status=None)
    rules = {
        (
            frozenset((_number(t.field, numbers), t.op, t.value) for t in b.condition.comparisons),
            b.verdict,
            b.status,
            b.weight,
        )
        for b in bullets
        if b.condition
    }
    decide = TableRules.of(pipeline.playbook).decide
    decisions = [decide(row) for row in rows[len(rows) * 3 // 4 :]]
    return rules, [(one.decision, one.risk) for one in decisions]


def _number(name: str, numbers: Mapping[str, str]) -> str:
    base, dot, part = name.partition(".")
    return numbers[base] + dot + part


@pytest.mark.parametrize(
    "file",
    [
        pytest.param(lambda: payments(3, 0.5), id="payments", marks=pytest.mark.slow),
        pytest.param(lambda: payments(4, 0.2), id="rare fraud", marks=pytest.mark.slow),
        pytest.param(claims, marks=pytest.mark.slow),
        loans,
    ],
)
def test_other_names_of_the_same_fields_change_nothing(file: Callable[[], File]) -> None:
    rows, answers, fields = file()
    names = {one.name: f"c{number}" for number, one in enumerate(fields, start=1)}
    renamed = [{names[name]: value for name, value in row.items()} for row in rows]
    as_named = learned(rows, answers, fields)
    as_numbered = learned(
        renamed, answers, tuple(replace(one, name=names[one.name]) for one in fields)
    )
    assert as_named[0]
    assert as_named == as_numbered
