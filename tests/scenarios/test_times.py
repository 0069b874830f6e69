"""Times of a file: no rule asks for a clock, and the time between two dates is a field."""

import csv
import random
from dataclasses import replace
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any, get_args

import command_line
import pytest

from acegraph.graph import create_ace_graph, score
from acegraph.graph.tables.ruleset import TableRules
from acegraph.nodes.text.understand import understand_given
from acegraph.state import BulletPlaybook, InvalidSettings
from acegraph.state.task.field import Field
from acegraph.state.task.task import Derived, Task, Unknown
from acegraph.state.values import Transaction

Row = dict[str, Any]
NODE = "fraud_detection"
START = datetime(2026, 1, 1)


def with_clock(*, is_noisy: bool) -> list[Row]:
    """Payments with the hours since the file began; frauds came in its first quarter, and where an
    amount is large.
    """
    rng = random.Random(5)
    rows = []
    for number in range(500):
        step = number // 3
        if is_noisy:
            step = max(0, step // 8 * 8 + rng.choice([0, 0, 0, 8, -8]))
        amount = round(rng.lognormvariate(4, 1), 2)
        odds = 0.85 if amount > 120 else 0.45 if number < 125 else 0.05
        rows.append({"step": step, "amount": amount, "is_fraud": int(rng.random() < odds)})
    return rows


def with_dates() -> list[Row]:
    """Payments of accounts; most frauds come in the first six days of an account."""
    rng, now = random.Random(6), START
    rows: list[Row] = []
    for _ in range(400):
        now += timedelta(minutes=rng.randint(5, 400))
        age = rng.expovariate(1 / 30)
        row = {"opened_at": _written(now - timedelta(days=age)), "paid_at": _written(now)}
        is_fraud = rng.random() < (0.9 if age < 6 else 0.07)
        rows.append({**row, "amount": rng.randint(1, 900), "is_fraud": int(is_fraud)})
    return rows


def _written(moment: datetime) -> str:
    return moment.isoformat(sep=" ", timespec="minutes")


def trained(folder: Path, rows: list[Row]) -> tuple[str, str]:
    """What `read` and `train` say of a file with these rows."""
    with (folder / "f.csv").open("w", newline="") as file:
        writer = csv.DictWriter(file, list(rows[0]))
        writer.writeheader()
        writer.writerows(rows)
    read = command_line.run(folder, "read", "f.csv", "--label", "is_fraud")
    train = command_line.run(folder, "train", "f.csv", "--label", "is_fraud")
    return read.stdout, train.stderr


def playbook(folder: Path) -> BulletPlaybook:
    return BulletPlaybook(f"sqlite:///{folder / 'ace.db'}")


@pytest.mark.parametrize("is_noisy", [False, True])
def test_no_rule_asks_for_a_clock_so_a_later_clock_decides_alike(
    tmp_path: Path, is_noisy: bool
) -> None:
    rows = with_clock(is_noisy=is_noisy)
    read, train = trained(tmp_path, rows)
    line = "step: a clock that rises with the rows, taken as the time, in seconds"
    assert f"guessed: {line}; --as step=number compares it" in read
    assert line in train
    with playbook(tmp_path) as book:
        active = book.get_bullets_for_node(NODE)
        assert active
        assert all("step" not in one.condition.fields for one in active if one.condition)
        rules = TableRules.of(book)
        for row in rows[:100]:
            later = {**row, "step": row["step"] + 100}
            assert rules.decide(later) == rules.decide(row)


def test_the_time_between_two_dates_is_learned_and_is_alike_live_and_in_tables(
    tmp_path: Path,
) -> None:
    pa = pytest.importorskip("pyarrow")
    read, train = trained(tmp_path, with_dates())
    line = "paid_at: the time, since it rises with the rows; derived: opened_at.hours_before"
    assert f"{line}; else --as opened_at=time" in read
    assert line in train
    now = datetime(2026, 9, 1, 12)
    ages = [timedelta(hours=hours) for hours in (0.5, 30, 100, 130, 150, 170, 900, 9_000)]
    rows = [{"opened_at": _written(now - age), "paid_at": _written(now)} for age in ages]
    rows += [{"paid_at": _written(now)}, {"opened_at": "soon", "paid_at": _written(now)}]
    with playbook(tmp_path) as book:
        (rule,) = book.get_bullets_for_node(NODE)
        assert rule.condition is not None
        assert rule.condition.fields == ("opened_at.hours_before",)
        graph = create_ace_graph(playbook=book).compile()
        live = [graph.invoke({"transaction": {**row, "amount": 9}})["decision"] for row in rows]
        assert live[:3] + live[-4:] == [*["DECLINE"] * 3, *["APPROVE"] * 2, *["UNDECIDED"] * 2]
        table = pa.Table.from_pylist([{**row, "amount": 9} for row in rows])
        assert score(book, table)["decision"].to_pylist() == live
        with pytest.raises(InvalidSettings, match="SQL does not compute"):
            TableRules.of(book).to_sql("duckdb")
        assert "opened_at.hours_before" not in book.task(NODE).by_name


def test_the_time_between_two_times_is_exact_and_in_doubt_where_one_of_them_is() -> None:
    fields = (Field("at", "time", role="time", usual=True), Field("due", "time", usual=True))
    left = Derived("due.days_before", "minus", ("at", "due"), "day")
    task = Task("t", fields, (left,))
    fitted = task.fit({"at": "2026-03-02T12:00:00+01:00", "due": "2026-03-01"})
    assert (fitted.fields["due.days_before"], fitted.misfits) == (1.46, ())
    fitted = task.fit({"at": "2026-03-02"})
    assert fitted.fields["due.days_before"] is None
    assert {one.field for one in fitted.misfits} == {"due", "due.days_before"}
    given = {"at": "2026-03-02", "due": "2026-03-01", "due.days_before": 99}
    for unknown in get_args(Unknown):  # what a caller says instead does not count
        read = understand_given(Transaction.of(given), replace(task, unknown=unknown))
        assert read.fields["due.days_before"] == 1
    with pytest.raises(InvalidSettings, match="the time between two fields of kind time"):
        Task("t", fields[:1], (left,))
