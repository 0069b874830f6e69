"""Training and test parted, copies left out, labels made worse on purpose."""

import numpy as np
import pytest
from typer.testing import CliRunner

from acegraph.graph.cli.main import app
from acegraph.graph.data.files import as_items
from acegraph.graph.data.splits import (
    Split,
    mature_rows,
    moments_of,
    random_splits,
    temporal_splits,
)
from acegraph.graph.experiments.experiment import run_experiment
from acegraph.state import AceError, InvalidDataset
from acegraph.state.task.field import Field
from acegraph.state.task.task import Task


def items(n: int, **extra: object) -> list[dict[str, object]]:
    return [
        {
            "id": str(i),
            "query": {"row": i, "x": float(i), "at": f"2026-01-{1 + i % 28:02d} 10:00:00", **extra},
            "answer": "DECLINE" if i % 4 == 0 else "APPROVE",
            "time": f"2026-01-{1 + i % 28:02d}T10:00:00",
        }
        for i in range(n)
    ]


def test_no_row_is_in_both_parts_and_both_have_the_share_of_fraud() -> None:
    for split in random_splits(items(200), 80, 100, 3):
        learned, tested = ({i["id"] for i in part} for part in (split.train, split.test))
        assert not learned & tested
        assert (len(learned), len(tested)) == (80, 100)
        assert np.mean([i["answer"] == "DECLINE" for i in split.train]) == 0.25


def test_copies_of_training_rows_are_not_tested_on() -> None:
    rows = items(40)
    copies = [{**row, "query": {**row["query"], "row": 900 + i}} for i, row in enumerate(rows[:5])]  # type: ignore[dict-item]
    fields = (Field("row", "category", role="id"), Field("x", "number"), Field("at", "time"))
    task = Task("t", fields)
    found = Split(rows[:30], [*rows[30:], *copies], task=task).without_duplicates()
    assert found.duplicates == 5
    assert found.test == rows[30:]


def test_amounts_that_never_repeat_tell_cases_apart() -> None:
    rng = np.random.default_rng(0)
    kinds = [i // 2 if i < 48 else 7 for i in range(60)]
    rows = [
        {"id": str(i), "query": {"amount": float(a), "kind": kinds[i]}, "answer": "APPROVE"}
        for i, a in enumerate(rng.random(60) * 900)
    ]
    assert Split(rows[:28], rows[28:]).without_duplicates().duplicates == 0


def test_cases_that_cannot_be_told_apart_all_stay() -> None:
    rows = [{"id": str(i), "query": {"flag": i % 2 == 0}, "answer": "APPROVE"} for i in range(40)]
    assert Split(rows[:20], rows[20:]).without_duplicates().duplicates == 0


def test_a_temporal_split_learns_from_before() -> None:
    for split in temporal_splits(items(100), 40, 30, 3):
        latest = max(moments_of(split.train))
        assert latest <= min(moments_of(split.test))


def test_time_order_needs_a_time() -> None:
    rows = [{"id": "1", "query": {"x": 1}, "answer": "APPROVE"}]
    with pytest.raises(InvalidDataset, match="--as NAME=time"):
        moments_of(rows)


@pytest.mark.parametrize(
    ("words", "why"),
    [
        (["x.csv", "--against", "0", "--seeds", "2"], "--against does not go with --seeds"),
        (["a", "b", "--seeds", "5"], "are the split"),
    ],
)
def test_an_option_that_would_be_ignored_is_refused(words: list[str], why: str) -> None:
    done = CliRunner().invoke(app, ["compare", *words])
    assert isinstance(done.exception, AceError)
    assert why in str(done.exception)


def test_test_rows_of_one_class_are_refused() -> None:
    rows = items(40)
    honest = [row for row in rows if row["answer"] == "APPROVE"]
    with pytest.raises(InvalidDataset, match="all 10 test rows have the same label"):
        run_experiment([Split(rows[:20], honest[-10:])], baselines=False)


def test_young_honest_rows_are_not_mature_and_young_frauds_are() -> None:
    rows = [
        {"id": str(day), "query": {"x": day}, "answer": answer, "time": f"2026-03-{day:02}"}
        for day, answer in ((1, "APPROVE"), (10, "DECLINE"), (20, "APPROVE"), (25, "DECLINE"))
    ]
    kept = mature_rows(as_items(rows), 7)
    assert [item["id"] for item in kept] == ["1", "10", "25"]
