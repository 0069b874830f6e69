"""Several seeds test the same rows: that makes no figure surer than the rows are."""

import math

import numpy as np
import pytest

from acegraph.graph.cli.tables import experiment_table
from acegraph.graph.data.splits import Split, random_splits, temporal_splits
from acegraph.graph.experiments.experiment import Experiment, run_demonstration, run_experiment
from acegraph.graph.metrics.intervals import estimate
from acegraph.graph.metrics.paired import paired_difference
from acegraph.graph.metrics.run import Run
from acegraph.state import AceContext, InvalidDataset

OTHER = {"DECLINE": "APPROVE", "APPROVE": "DECLINE"}


def file_of(rows: int) -> list[dict[str, object]]:
    return [
        {
            "id": f"r{i}",
            "query": {"x": i % 17, "y": i % 5},
            "time": f"2026-03-{1 + i % 28:02d}",
            "answer": "DECLINE" if i % 2 else "APPROVE",
        }
        for i in range(rows)
    ]


def seeds_of_chance(world: int, seeds: int, rows: int = 200) -> tuple[list[Run], list[Run]]:
    """Two ways of deciding that know nothing, each row decided alike in every seed."""
    rng = np.random.default_rng(world)
    truth = rng.permutation(["DECLINE", "APPROVE"] * (rows // 2))
    ours, theirs = rng.choice(["DECLINE", "APPROVE"], (2, rows))
    runs: tuple[list[Run], list[Run]] = ([], [])
    for _ in range(seeds):
        tested = rng.permutation(rows)[: rows * 3 // 5]
        for said, found in zip((ours, theirs), runs, strict=True):
            run = Run()
            for row in tested:
                run.add(str(truth[row]), str(said[row]), None, f"r{row}")
            found.append(run)
    return runs


@pytest.mark.slow
def test_ten_seeds_over_the_same_rows_find_no_difference_where_there_is_none() -> None:
    surprising = covered = unlike_nothing = 0
    for world in range(50):
        ours, theirs = seeds_of_chance(world, 10)
        found = estimate("balanced_accuracy", ours)
        covered += found.low <= 0.5 <= found.high
        found = paired_difference(ours, theirs)
        unlike_nothing += not found.low <= 0 <= found.high
        surprising += found.p_value < 0.05
    # At 5 % two or three are expected; seven would be three standard errors above.
    assert surprising <= 6
    assert covered >= 44
    assert unlike_nothing <= 6


def test_the_same_run_twice_is_no_more_than_once() -> None:
    (run,), _ = seeds_of_chance(1, 1)
    widths = [
        found.high - found.low
        for found in (estimate("accuracy", [run]), estimate("accuracy", [run] * 5))
    ]
    assert widths[1] == pytest.approx(widths[0], rel=0.1)
    ranked = [
        found.high - found.low
        for found in (estimate("average_precision", [run] * seeds) for seeds in (1, 5))
    ]
    assert ranked[1] == pytest.approx(ranked[0], rel=0.35)


def test_a_mode_that_decides_only_what_is_easy_is_no_better() -> None:
    truth = ["DECLINE", "APPROVE"] * 50
    shy = Run(truth, [*truth[:30], *["UNDECIDED"] * 70], [None] * 100)
    plain = Run(truth, [*truth[:60], *(OTHER[t] for t in truth[60:])], [None] * 100)
    assert paired_difference([shy], [plain]).mean == pytest.approx(-0.3)
    table = experiment_table(Experiment(modes={"vanilla": [plain], "offline": [shy]}))
    cell = table.renderables[0].columns[5]._cells[1]  # type: ignore[attr-defined]
    assert str(cell) == "-30.0, p < .0001"


def test_without_a_class_there_is_no_difference_to_tell() -> None:
    honest = Run(["APPROVE"] * 10, ["APPROVE"] * 10, [None] * 10)
    found = paired_difference([honest], [honest])
    assert all(math.isnan(figure) for figure in vars(found).values())
    assert set(found.to_json().values()) == {None}


def test_two_right_answers_are_no_certainty() -> None:
    run = Run(["APPROVE", "DECLINE"], ["APPROVE", "DECLINE"], [None, None])
    found = estimate("balanced_accuracy", [run])
    assert found.low < 0.7
    assert found.mean == found.high == 1


def test_seeds_that_would_test_the_same_rows_in_time_order_are_refused() -> None:
    with pytest.raises(InvalidDataset, match="--seeds 1"):
        list(temporal_splits(file_of(100), None, None, 5))
    assert len(list(temporal_splits(file_of(100), 40, 50, 5))) == 5


def test_rounding_leaves_no_row_out() -> None:
    (split,) = random_splits(file_of(10), 5, 5, 1)
    assert (len(split.train), len(split.test)) == (5, 5)


def test_a_number_is_the_same_however_it_is_written() -> None:
    past = [
        {"id": f"a{i}", "query": {"x": i * i, "y": 2 * i}, "answer": "APPROVE"} for i in range(9)
    ]
    stream = [
        {"id": f"b{i}", "query": {"x": float(i * i), "y": 2 * i}, "answer": "APPROVE"}
        for i in range(4, 14)
    ]
    assert Split(past, stream).without_duplicates().duplicates == 5


@pytest.mark.slow
def test_a_test_on_training_rows_says_so() -> None:
    rows = file_of(60)
    found = run_experiment([Split(rows, rows)], baselines=False)
    assert (found.copies, found.to_json()["duplicates_kept"]) == (60, 60)
    assert "CAUTION: 60 test rows" in str(experiment_table(found).renderables[1])


@pytest.mark.slow
def test_rows_tested_by_several_seeds_are_counted_once() -> None:
    rows = [
        {"id": f"r{i}", "query": {"x": i * 7919 % 1009, "y": i * 31 % 97}, "answer": answer}
        for i, answer in enumerate(["DECLINE", "APPROVE"] * 15)
    ]
    found = run_experiment(random_splits(rows, 12, 18, 3), baselines=False)
    assert found.to_json()["test_cases"] == 54
    assert found.to_json()["distinct_test_cases"] <= 30
    assert "54 test cases of " in str(experiment_table(found).renderables[1])


@pytest.mark.slow
def test_who_knows_the_causes_is_weighed_by_the_same_amounts() -> None:
    found = run_demonstration(1, 40, 60, context=AceContext())
    (best,), (vanilla,) = found.baselines["best_attainable"], found.modes["vanilla"]
    assert best.amounts == vanilla.amounts
    assert None not in best.amounts
