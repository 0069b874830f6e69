"""Pictures and tables as they are drawn, also of nothing and of hostile text."""

from typing import Any

import numpy as np
import pytest

from acegraph.graph.cli.tables import bullet_table, money_table
from acegraph.graph.experiments.experiment import Experiment
from acegraph.graph.experiments.report.page import declined_so_far
from acegraph.graph.metrics import ranking
from acegraph.graph.metrics.run import Run
from acegraph.state import Bullet

MODES = ("vanilla", "offline", "offline_online", "online")
BACKTEST = {"fires": 10, "right": 9, "precision": 0.9, "precision_low": 0.6, "precision_high": 0.98}
NO_LABELS, NO_SCORES = np.empty(0, bool), np.empty(0)


def some_run(seed: int, levels: int = 10) -> Run:
    """Risks on so many levels, each about as true as it says."""
    rng = np.random.default_rng(seed)
    run = Run()
    for _ in range(200):
        risk = float(rng.integers(levels) + 0.5) / levels
        truth = "DECLINE" if rng.random() < risk else "APPROVE"
        run.add(truth, "DECLINE" if risk > 0.5 else "APPROVE", risk)
    return run


def everywhere(run: Run) -> Experiment:
    return Experiment(modes={name: [run] for name in MODES})


def bullet(content: str = "DECLINE when amount >= 9", **evidence: Any) -> Bullet:
    return Bullet("b7", content, "fraud_detection", evidence=evidence or BACKTEST)


def ends(runs: dict[str, list[Run]], *, is_fraud: bool) -> dict[str, tuple[float, float]]:
    """Where each line ends."""
    return {name: points[-1] for name, points in declined_so_far(runs, is_fraud=is_fraud).items()}


def cells(table: Any, column: int) -> list[str]:
    return [str(cell) for cell in table.columns[column].cells]


@pytest.mark.parametrize("vanilla", [[], [Run()]])
def test_a_run_without_cases_has_no_line_in_any_picture(vanilla: list[Run]) -> None:
    assert ends({"vanilla": vanilla, "online": [some_run(1)]}, is_fraud=True).keys() == {"online"}
    assert ends({}, is_fraud=True) == ends({"vanilla": vanilla}, is_fraud=False) == {}


def rare(caught: int, false: int) -> Run:
    """1,000 payments with 10 frauds."""
    truths = (["DECLINE"] + ["APPROVE"] * 99) * 10
    decisions, left = [], {"DECLINE": caught, "APPROVE": false}
    for truth in truths:
        left[truth] -= 1
        decisions.append("DECLINE" if left[truth] >= 0 else "APPROVE")
    return Run(truths, decisions, [0.9 if d == "DECLINE" else 0.2 for d in decisions])


def test_the_pictures_of_the_stream_show_who_catches_none() -> None:
    runs = {"vanilla": [rare(0, 5)], "offline": [rare(9, 25)], "depth_3_tree": [rare(9, 9)]}
    assert ends(runs, is_fraud=True) == {"vanilla": (1000, 0), "offline": (1000, 9)}
    assert ends(runs, is_fraud=False) == {"vanilla": (1000, 5), "offline": (1000, 25)}


def test_a_line_of_many_cases_is_drawn_from_its_first_to_its_last_with_few_points() -> None:
    run = Run(["DECLINE"] * 5_000, ["DECLINE"] * 5_000, [None] * 5_000)
    drawn = declined_so_far({"vanilla": [run]}, is_fraud=True)["vanilla"]
    assert (len(drawn), drawn[0], drawn[-1]) == (600, (1, 1), (5_000, 5_000))


def test_measures_of_no_cases_are_none_or_chance() -> None:
    assert ranking.average_precision(NO_LABELS, NO_SCORES) == 0
    assert ranking.recall_at_1_percent(NO_LABELS, NO_SCORES) == 0
    assert ranking.calibration_error(NO_LABELS, NO_SCORES) == 0


ONLY_FRAUD = Run(["DECLINE"] * 4, ["DECLINE", "APPROVE"] * 2, [None] * 4)
ONLY_HONEST = Run(["APPROVE"] * 4, ["DECLINE", "APPROVE"] * 2, [None] * 4)


@pytest.mark.parametrize("run", [Run(), ONLY_FRAUD, ONLY_HONEST])
def test_scores_that_rank_nothing_are_strokes_in_the_table(run: Run) -> None:
    void = money_table(Experiment(modes={"vanilla": [run]}))
    known = money_table(Experiment(modes={"vanilla": [some_run(1)]}))
    for column in (1, 2):
        assert cells(void, column) == ["-"]
        assert cells(known, column) != ["-"]


def test_without_cases_there_is_no_figure_in_money() -> None:
    nothing = money_table(everywhere(Run()))
    assert {cell for column in range(1, 6) for cell in cells(nothing, column)} <= {"-", ""}
    some = money_table(everywhere(some_run(1)))
    assert "everything costs" in str(some.caption)


def test_a_bullet_without_a_backtest_is_listed_by_its_proof() -> None:
    old = bullet(fires=3, precision=0.75)
    table = bullet_table([old, bullet(), bullet(right="[/b]", fires=2)], "bullets")
    assert cells(table, 7) == ["unproven", "9/10", "[/b]/2"]
