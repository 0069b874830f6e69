"""Which fields a rule may use: kinds with many values, codes, and parts of a date."""

from datetime import datetime, timedelta

import numpy as np
import pytest
from declared_tables import declared

from acegraph.nodes.evidence.columns.learnable_fields import learnable_fields, occurs_once
from acegraph.state import Case
from acegraph.state.task.field import Field
from acegraph.state.task.task import Task
from acegraph.state.values.cases import CaseTable
from acegraph.state.values.plain import Fields, Scalar
from tests.support.compared_values import compared_values


def table_of(**columns: list[Scalar]) -> CaseTable:
    rows = [
        dict(zip(columns, values, strict=True)) for values in zip(*columns.values(), strict=True)
    ]
    return CaseTable(Case(str(i), row, "APPROVE") for i, row in enumerate(rows))


def words(distinct: int, n: int = 2000) -> list[Scalar]:
    """Words of which few are frequent, as countries are."""
    rng = np.random.default_rng(1)
    return [f"w{int(x) % distinct}" for x in rng.zipf(1.5, n)]


@pytest.mark.parametrize("name", ["country", "merchant", "c1"])
def test_a_kind_with_many_values_is_used_by_its_frequent_ones(name: str) -> None:
    table = table_of(**{name: words(160)})
    assert learnable_fields(table) == [name]
    marks = compared_values(table)[name]
    column = table.column(name)
    assert column is not None
    assert "w1" in marks
    assert len(marks) <= 60
    assert all(column.counts()[mark] >= 5 for mark in marks)  # type: ignore[index]


@pytest.mark.parametrize(
    "values",
    [
        [f"w{i // 2}" for i in range(400)],  # shared by two at most
        [f"w{i % 200}" for i in range(2000)],  # so many that the frequent ones say little
        [f"w{i}" for i in range(40)],
    ],
)
@pytest.mark.parametrize("name", ["city", "customer", "c1"])
def test_many_values_that_are_hardly_shared_are_identities(name: str, values: list[Scalar]) -> None:
    assert learnable_fields(table_of(**{name: values})) == []


@pytest.mark.parametrize("word", ["id", "entity", "ignored"])
@pytest.mark.parametrize("values", [words(12), [i % 2 for i in range(2000)]])
def test_a_role_says_that_no_rule_may_ask_for_a_field(word: str, values: list[Scalar]) -> None:
    table = table_of(brand=values)
    assert learnable_fields(table) == ["brand"]
    assert learnable_fields(declared(table, brand=word)) == []


def test_what_is_called_like_a_customer_is_a_field_as_any_other() -> None:
    table = table_of(cardholder=[1 + i % 2 for i in range(400)], email=words(9, 400))
    assert learnable_fields(table) == ["cardholder", "email"]


@pytest.mark.parametrize(
    ("numbers", "is_learned"),
    [
        ([4_111_111_111_111_111 + 7 * i for i in range(400)], False),
        ([(7919 * i) % 400 for i in range(400)], False),  # rows, numbered one by one
        ([10_000_000 + 7919 * i for i in range(400)], False),
        ([2 * i for i in range(100)] * 4, True),
        ([round(1.5 * i, 1) for i in range(400)], True),
    ],
)
def test_numbers_that_name_somebody_are_no_quantities(
    numbers: list[Scalar], is_learned: bool
) -> None:
    table = table_of(size=numbers)
    assert (learnable_fields(table) == ["size"]) is is_learned
    assert learnable_fields(declared(table, size="number")) == ["size"]  # a person says so


def times(days: int, n: int = 900) -> list[Scalar]:
    start = datetime(2024, 1, 1)
    return [str(start + timedelta(days=i * days / n)) for i in range(n)]


@pytest.mark.parametrize(
    ("days", "artefacts"),
    [
        (1, {"time.month", "time.weekday", "time.hour"}),
        (6, {"time.month", "time.weekday"}),
        (300, {"time.month"}),
        (420, {"time.month"}),
        (800, set()),
    ],
)
def test_a_part_of_a_date_is_used_only_if_it_comes_round(days: int, artefacts: set[str]) -> None:
    at = Field("time", "time", parts=("month", "weekday", "hour"))
    rows: list[Fields] = [{"time": time, **at.parts_of(str(time))} for time in times(days)]
    table = CaseTable(Case(str(i), row, "APPROVE") for i, row in enumerate(rows))
    table.task = Task("t", (at,))
    parts = {"time.month", "time.weekday", "time.hour"}
    assert {name for name in parts if occurs_once(name, table)} == artefacts
    assert set(learnable_fields(table)) == parts - artefacts
