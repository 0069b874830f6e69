"""Which fields a rule may use: kinds with many values, codes, and parts of a date."""

from datetime import datetime, timedelta

import numpy as np
import pytest

from acegraph.nodes.evidence.columns.cut_points import grid_of
from acegraph.nodes.evidence.columns.learnable_fields import learnable_fields, occurs_once
from acegraph.nodes.text.reader import read_fields
from acegraph.state import Case, Transaction
from acegraph.state.values.cases import CaseTable
from acegraph.state.values.transaction import Scalar


def table_of(**columns: list[Scalar]) -> CaseTable:
    rows = [
        dict(zip(columns, values, strict=True)) for values in zip(*columns.values(), strict=True)
    ]
    read = [read_fields(Transaction.of(row)) for row in rows]
    return CaseTable(Case(str(i), row, "APPROVE") for i, row in enumerate(read))


def words(distinct: int, n: int = 2000) -> list[Scalar]:
    """Words of which few are frequent, as countries are."""
    rng = np.random.default_rng(1)
    return [f"w{int(x) % distinct}" for x in rng.zipf(1.5, n)]


@pytest.mark.parametrize("name", ["country", "currency", "ip_country", "city", "job", "Land"])
def test_a_kind_with_many_values_is_used_by_its_frequent_ones(name: str) -> None:
    table = table_of(**{name: words(160)})
    assert learnable_fields(table) == [name]
    marks = grid_of(table)[name]
    column = table.column(name)
    assert column is not None
    assert "w1" in marks
    assert len(marks) <= 60
    assert all(column.counts()[mark] >= 5 for mark in marks)  # type: ignore[index]


@pytest.mark.parametrize(
    ("name", "values"),
    [
        ("merchant", words(160)),
        ("customer_name", words(160)),
        ("email", words(160)),
        ("reference", words(160)),  # nothing says that it is a kind
        ("city", [f"w{i // 2}" for i in range(400)]),  # shared by two at most
    ],
)
def test_many_values_under_another_name_or_hardly_shared_are_identities(
    name: str, values: list[Scalar]
) -> None:
    assert learnable_fields(table_of(**{name: values})) == []


@pytest.mark.parametrize(
    ("name", "number", "code"),
    [
        ("mcc", 5411, "5411"),
        ("merchant_mcc", 742, "0742"),
        ("merchantCategoryCode", 5411, "5411"),
        ("bin", 411111, "411111"),
        ("card_bin", 51000000.0, "51000000"),
        ("BIN_prefix", 411111, "411111"),
    ],
)
def test_the_numbers_of_a_code_are_words(name: str, number: float, code: str) -> None:
    assert read_fields(Transaction.of({name: number}))[name] == code


@pytest.mark.parametrize("name", ["amount_bin", "cabin", "combined", "mcc_count", "code"])
def test_other_numbers_stay_numbers(name: str) -> None:
    assert read_fields(Transaction.of({name: 5411}))[name] == 5411


def test_a_number_of_a_prefix_is_a_group() -> None:
    rng = np.random.default_rng(2)
    table = table_of(card_bin=[int(410_000 + x % 300) for x in rng.zipf(1.5, 2000)])
    assert learnable_fields(table) == ["card_bin"]


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
    table = table_of(time=times(days))
    parts = {"time.month", "time.weekday", "time.hour"}
    assert {name for name in parts if occurs_once(name, table)} == artefacts
    assert set(learnable_fields(table)) == parts - artefacts


def test_a_month_that_the_file_gives_is_treated_alike_and_a_month_of_birth_is_not() -> None:
    months: list[Scalar] = [int(str(time)[5:7]) for time in times(300)]
    table = table_of(
        time=times(300), month=months, birth_month=months, year=[2024] * 450 + [2025] * 450
    )
    assert {"month", "year", "birth_month"} & set(learnable_fields(table)) == {"birth_month"}
