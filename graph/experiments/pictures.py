"""Pictures of an experiment, drawn with matplotlib (`pip install acegraph[report]`).

A function that draws returns the figure, and writes it to a file if it is given a path.
"""

import textwrap
import warnings
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Final

import numpy as np

from acegraph.graph.experiments.experiment import Experiment
from acegraph.graph.metrics.ranking import Labels, Scores, precision_recall, reliability
from acegraph.graph.metrics.rates import rolling_accuracy
from acegraph.graph.metrics.run import Run
from acegraph.state import Bullet, InvalidSettings
from acegraph.state.database.places import private_folder

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

_MODES: Final = {
    "vanilla": ("vanilla (learns nothing)", "#8a8a8a"),
    "offline": ("offline, frozen", "#1f77b4"),
    "offline_online": ("offline + online", "#2ca02c"),
    "online": ("online only", "#d95f02"),
}
"""Label and colour of each mode."""
_BASELINES: Final = {
    "logistic_regression": ("logistic regression", "#9467bd", "--"),
    "depth_3_tree": ("depth-3 tree", "#8c564b", "--"),
    "gradient_boosting": ("gradient boosting", "#e377c2", "--"),
}
"""Label, colour and line of each baseline."""
_WINDOW: Final = 100
"""Cases over which accuracy along the stream is averaged."""
_STEADY: Final = 5
"""Points of the reliability curve with fewer cases are not joined to others."""
_WIDTH: Final = 60
"""Characters in a line of a bullet's text."""


def check_picture(path: Path) -> None:
    """Refuse, before any work is done, a picture that cannot be drawn or written."""
    _canvas((1, 1))
    if path.suffix.lower() not in (".png", ".svg", ".pdf", ".jpg"):
        raise InvalidSettings(f"a picture is .png, .svg, .pdf or .jpg, not {path.name!r}")
    private_folder(path.parent)


def draw_learning_curves(
    modes: Mapping[str, Sequence[Run]], path: Path | None = None, *, best: float | None = None
) -> "Figure":
    """Accuracy along the stream, one line per mode, and the best accuracy that can be attained."""
    figure, axes = _canvas((9, 5))
    lowest = 0.4
    for name, (label, colour) in _MODES.items():
        curve = _curve(modes.get(name, ()))
        if not len(curve):
            continue
        start = min(_WINDOW, len(curve)) - 1  # before this case the window is not full
        axes.plot(
            range(start + 1, len(curve) + 1),
            curve[start:],
            label=label,
            color=colour,
            linewidth=5 if name == "offline" else 2,  # the line of another mode may lie right on it
            alpha=0.45 if name == "offline" else 1.0,
        )
        lowest = min(lowest, float(curve[start:].min()) - 0.03)
    if best is not None:
        axes.axhline(best, color="black", linestyle=":", linewidth=1.2)
        place = axes.get_yaxis_transform()
        axes.text(0.01, best + 0.008, "best attainable", transform=place, fontsize=9)
    seeds = max((len(runs) for runs in modes.values()), default=0)
    mean = f" (mean of {seeds} seeds)" if seeds > 1 else ""
    axes.set(
        xlabel="transaction of the held-out stream",
        ylabel=f"accuracy, last {_WINDOW} transactions",
        title=f"What the playbook brings{mean}",
        ylim=(max(lowest, 0.0), 1.01),
    )
    axes.grid(alpha=0.25)
    _add_legend(axes, loc="best", frameon=False)
    return _finished(figure, path)


def _curve(runs: Sequence[Run]) -> Scores:
    """Accuracy along the stream; empty if nothing was decided."""
    if not any(len(run.fraud) for run in runs):
        return np.empty(0)
    return rolling_accuracy(runs, _WINDOW)


def draw_bullets(bullets: Sequence[Bullet], path: Path | None = None) -> "Figure":
    """The backtest of every bullet: precision with its interval, and on how many cases it fired.

    Bullets without these figures are left out.
    """
    tested = [b for b in bullets if _has_backtest(b)]
    labels = [textwrap.fill(f"{b.content}  [{b.id}]", _WIDTH) for b in tested]
    heights = [0.25 + 0.15 * (1 + label.count("\n")) for label in labels]  # inches
    rows = np.cumsum(heights) - np.array(heights) / 2
    total = max(sum(heights), 0.4)
    figure, axes = _canvas((10, 1.2 + total))
    for row, bullet in zip(rows, tested, strict=True):
        e = bullet.evidence
        colour = "#c0392b" if bullet.verdict == "DECLINE" else "#2e86c1"
        faded = 0.35 if bullet.status == "retired" else 1.0
        axes.plot([e["precision_low"], e["precision_high"]], [row, row], color=colour, alpha=faded)
        axes.plot(e["precision"], row, "o", color=colour, alpha=faded, clip_on=False)
        axes.annotate(
            f"n = {e['fires']}",
            (1, row),
            (8, 0),
            textcoords="offset points",
            va="center",
            fontsize=8,
            annotation_clip=False,
        )
    axes.set_yticks(rows, labels, fontsize=8, parse_math=False)  # a $ is a dollar
    axes.set(ylim=(total, 0))  # the first bullet on top
    axes.set(xlim=(0, 1), xlabel="precision on the labelled cases, 95 % interval")
    figure.suptitle("How often each bullet was right")  # long texts leave the axes little width
    axes.set_title("red: DECLINE, blue: APPROVE, faded: retired", fontsize=9, loc="right")
    axes.grid(axis="x", alpha=0.25)
    return _finished(figure, path)


def _has_backtest(bullet: Bullet) -> bool:
    """Whether a bullet's evidence holds the figures of a backtest; it may hold anything."""
    names = ("precision", "precision_low", "precision_high", "fires")
    return all(isinstance(bullet.evidence.get(name), int | float) for name in names)


def draw_precision_recall(experiment: Experiment, path: Path | None = None) -> "Figure":
    """Precision against recall of every mode and baseline, over all seeds together."""
    figure, axes = _canvas((7, 5.5))
    styles = {**{name: (*style, "-") for name, style in _MODES.items()}, **_BASELINES}
    for name, (label, colour, line) in styles.items():
        fraud, scores = _pooled((experiment.modes | experiment.baselines).get(name, ()))
        if fraud.any():  # else there is no recall
            recall, precision = precision_recall(fraud, scores)
            # Each precision holds back to the recall before it: the area is average precision.
            recall, precision = np.insert(recall, 0, 0.0), np.insert(precision, 0, precision[0])
            axes.plot(recall, precision, line, label=label, color=colour, drawstyle="steps-pre")
    if any(run.truths for run in experiment.modes["vanilla"]):
        rate = experiment.fraud_rate
        declined = f"declining everything ({rate:.2f})"
        axes.axhline(rate, color="black", linestyle=":", linewidth=1, label=declined)
    axes.set(xlim=(0, 1.005), ylim=(0, 1.02), xlabel="share of fraud caught (recall)")
    axes.set(ylabel="share of declines that are fraud (precision)", title="Precision and recall")
    axes.grid(alpha=0.25)
    _add_legend(axes, loc="lower left", framealpha=0.9, edgecolor="none", fontsize=9)
    return _finished(figure, path)


def draw_reliability(experiment: Experiment, path: Path | None = None) -> "Figure":
    """The risk score of each mode against the share of fraud among the cases with that score."""
    figure, axes = _canvas((6, 5.5))
    axes.plot([0, 1], [0, 1], color="black", linestyle=":", linewidth=1)
    for name, (label, colour) in _MODES.items():
        fraud, scores = _pooled(experiment.modes.get(name, ()))
        if fraud.all() or not fraud.any():  # the figures weigh both labels the same
            continue
        bins = reliability(fraud, scores)
        steady = [b for b in bins if b.cases >= _STEADY]
        axes.plot([b.risk for b in steady], [b.fraud for b in steady], color=colour, alpha=0.6)
        sizes = [8 + 120 * b.cases / sum(b.cases for b in bins) for b in bins]
        axes.scatter([b.risk for b in bins], [b.fraud for b in bins], sizes, colour, label=label)
    axes.set(xlim=(0, 1), ylim=(0, 1), xlabel="risk score", ylabel="share of fraud (weighted)")
    axes.set_title("Can the risk score be taken at its word?")
    axes.grid(alpha=0.25)
    _add_legend(axes, loc="upper left", frameon=False, fontsize=9)
    return _finished(figure, path)


def draw_all(experiment: Experiment, folder: Path) -> None:
    """Write every picture of an experiment into one folder."""
    draw_learning_curves(experiment.modes, folder / "learning_curves.png")
    draw_bullets(experiment.bullets, folder / "bullets.png")
    draw_precision_recall(experiment, folder / "precision_recall.png")
    draw_reliability(experiment, folder / "reliability.png")


def _pooled(runs: Sequence[Run]) -> tuple[Labels, Scores]:
    if not runs:
        return np.empty(0, bool), np.empty(0)
    return np.concatenate([r.fraud for r in runs]), np.concatenate([r.scores for r in runs])


def _add_legend(axes: "Axes", **looks: str | float | bool) -> None:
    """Add a legend if there is something to name: matplotlib warns of an empty one."""
    if axes.get_legend_handles_labels()[0]:
        axes.legend(**looks)


def _canvas(size: tuple[float, float]) -> "tuple[Figure, Axes]":
    try:
        from matplotlib.figure import Figure
    except ImportError:
        raise InvalidSettings(
            "pictures need matplotlib, the extra `report`: pip install '.[report]'"
        ) from None
    figure = Figure(figsize=size, layout="constrained")
    return figure, figure.subplots()


def _finished(figure: "Figure", path: Path | None) -> "Figure":
    if path is not None:
        private_folder(path.parent)
        with warnings.catch_warnings():
            # The font draws a letter that it lacks as a box; a warning about each adds nothing.
            warnings.filterwarnings("ignore", "Glyph .* missing from", UserWarning)
            figure.savefig(path, dpi=120)
    return figure
