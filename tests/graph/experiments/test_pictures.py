"""Pictures and tables as they are drawn, also of nothing and of hostile text."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from acegraph.graph.cli.tables import bullet_table, money_tables
from acegraph.graph.experiments.experiment import Experiment
from acegraph.graph.experiments.pictures import (
    draw_learning_curves,
    draw_precision_recall,
    save_picture,
)
from acegraph.graph.metrics import ranking
from acegraph.graph.metrics.run import Run
from acegraph.state import Bullet

MODES = ("vanilla", "offline", "offline_online", "online")
BACKTEST = {
    "fires": 10,
    "right": 9,
    "precision": 0.9,
    "precision_low": 0.6,
    "precision_high": 0.98,
}
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


def line_of(figure: Any, label: str) -> Any:
    return next(line for line in figure.axes[0].lines if line.get_label() == label)


def named_lines(figure: Any) -> list[str]:
    """What the legend names, without the lines for declining and approving everything."""
    names = figure.axes[0].get_legend_handles_labels()[1]
    return [name for name in names if not name.endswith("everything") and "(0" not in name]


def cells(table: Any, column: int) -> list[str]:
    return [str(cell) for cell in table.columns[column].cells]


@pytest.mark.parametrize("levels", [1, 2, 10])
def test_the_area_under_the_drawn_curve_is_the_average_precision(levels: int) -> None:
    runs = [some_run(1, levels), some_run(2, levels)]
    figure = draw_precision_recall(Experiment(modes={"vanilla": runs}))
    drawn: NDArray[np.float64] = line_of(figure, "vanilla (learns nothing)").get_path().vertices
    recall, precision = drawn.T
    assert (recall[0], recall[-1]) == (0, 1)
    fraud, scores = (np.concatenate([getattr(r, x) for r in runs]) for x in ("fraud", "scores"))
    assert np.trapezoid(precision, recall) == pytest.approx(
        ranking.average_precision(fraud, scores)
    )


@pytest.mark.parametrize(("right", "lowest"), [(100, 0.4), (30, 0.27), (0, 0.0)])
def test_a_learning_curve_is_never_below_the_picture(right: int, lowest: float) -> None:
    truths = ["DECLINE", "APPROVE"] * 50
    wrong = ["APPROVE", "DECLINE"] * 50
    run = Run(truths, truths[:right] + wrong[right:], [None] * 100)
    figure = draw_learning_curves({"vanilla": [run]})
    assert figure.axes[0].get_ylim() == pytest.approx((lowest, 1.01))
    assert line_of(figure, "vanilla (learns nothing)").get_ydata().tolist() == [right / 100]


def test_a_run_without_cases_has_no_line_in_any_picture() -> None:
    experiment = everywhere(Run())
    for figure in (
        draw_learning_curves(experiment.modes),
        draw_precision_recall(experiment),
    ):
        assert named_lines(figure) == []


def test_a_mode_with_cases_is_drawn_beside_one_without() -> None:
    experiment = Experiment(modes={"vanilla": [Run()], "online": [some_run(1)]})
    for figure in (
        draw_learning_curves(experiment.modes),
        draw_precision_recall(experiment),
    ):
        assert named_lines(figure) == ["online only"]


def rare(caught: int, false: int) -> Run:
    """1,000 payments with 10 frauds."""
    truths = (["DECLINE"] + ["APPROVE"] * 99) * 10
    decisions, left = [], {"DECLINE": caught, "APPROVE": false}
    for truth in truths:
        left[truth] -= 1
        decisions.append("DECLINE" if left[truth] >= 0 else "APPROVE")
    return Run(truths, decisions, [0.9 if d == "DECLINE" else 0.2 for d in decisions])


def test_where_fraud_is_rare_the_learning_curves_show_who_catches_none() -> None:
    figure = draw_learning_curves({"vanilla": [rare(0, 5)], "offline": [rare(9, 25)]})
    above, below = figure.axes
    ends = {
        (axes, line.get_label()): line.get_ydata()[-1]
        for axes in (above, below)
        for line in axes.lines
    }
    assert ends[above, "all fraud"] == 10
    assert ends[above, "vanilla (learns nothing)"] == 0
    assert ends[above, "offline, frozen"] == 9
    assert ends[below, "vanilla (learns nothing)"] == 5
    assert ends[below, "offline, frozen"] == 25


def test_a_legend_lies_beside_the_curves() -> None:
    experiment = everywhere(some_run(1))
    figure = draw_precision_recall(experiment)
    figure.draw_without_rendering()
    (legend,) = figure.legends
    assert legend.get_window_extent().x0 >= figure.axes[0].get_window_extent().x1


def test_a_picture_in_a_file_names_data_rows_and_day(tmp_path: Path) -> None:
    experiment = everywhere(rare(3, 3))
    experiment.data = "拒绝_$x_{$.csv"  # letters that the font lacks are no warning
    figure = draw_precision_recall(experiment)
    save_picture(figure, tmp_path / "out" / "one.png", experiment)
    caption = figure.get_supxlabel()
    assert caption.startswith("拒绝_$x_{$.csv: 0 training and 1,000 test rows; 20")
    assert (tmp_path / "out" / "one.png").stat().st_size > 5_000


def test_measures_of_no_cases_are_none_or_chance() -> None:
    assert ranking.average_precision(NO_LABELS, NO_SCORES) == 0
    assert ranking.roc_auc(NO_LABELS, NO_SCORES) == 0.5
    assert ranking.recall_at(NO_LABELS, NO_SCORES, 0.05) == 0
    assert [part.tolist() for part in ranking.precision_recall(NO_LABELS, NO_SCORES)] == [[], []]
    assert ranking.calibration_error(NO_LABELS, NO_SCORES) == 0


ONLY_FRAUD = Run(["DECLINE"] * 4, ["DECLINE", "APPROVE"] * 2, [None] * 4)
ONLY_HONEST = Run(["APPROVE"] * 4, ["DECLINE", "APPROVE"] * 2, [None] * 4)


@pytest.mark.parametrize("run", [Run(), ONLY_FRAUD, ONLY_HONEST])
def test_scores_that_rank_nothing_are_strokes_in_the_table(run: Run) -> None:
    void, _ = money_tables(Experiment(modes={"vanilla": [run]})).renderables
    known, _ = money_tables(Experiment(modes={"vanilla": [some_run(1)]})).renderables
    for column in range(1, 5):
        assert cells(void, column) == ["-"]
        assert cells(known, column) != ["-"]


def test_without_cases_there_is_no_figure_in_money() -> None:
    _, nothing = money_tables(everywhere(Run())).renderables
    assert {cell for column in range(1, 4) for cell in cells(nothing, column)} <= {"-", ""}
    _, some = money_tables(everywhere(some_run(1))).renderables
    assert "Approving everything costs" in str(some.caption)  # type: ignore[attr-defined]


def test_a_bullet_without_a_backtest_is_listed_by_its_proof() -> None:
    old = bullet(fires=3, precision=0.75)
    table = bullet_table([old, bullet(), bullet(right="[/b]", fires=2)], "bullets")
    assert cells(table, 7) == ["unproven", "9/10", "[/b]/2"]
