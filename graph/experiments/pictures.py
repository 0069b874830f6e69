"""Pictures of learning, with matplotlib (`pip install acegraph[report]`)."""

import textwrap
import warnings
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from acegraph.graph.experiments.experiment import Experiment
from acegraph.graph.metrics.ranking import Labels, Scores, precision_recall, reliability
from acegraph.graph.metrics.rates import rolling_accuracy
from acegraph.graph.metrics.run import Run
from acegraph.state import Bullet, InvalidSettings

_LABELS = {
    "vanilla": ("vanilla (learns nothing)", "#8a8a8a"),
    "offline": ("offline, frozen", "#1f77b4"),
    "offline_online": ("offline + online", "#2ca02c"),
    "online": ("online only", "#d95f02"),
}
_RIVALS = {
    "logistic_regression": ("logistic regression", "#9467bd", "--"),
    "depth_3_tree": ("depth-3 tree", "#8c564b", "--"),
    "gradient_boosting": ("gradient boosting", "#e377c2", "--"),
}
_WINDOW = 100
_STEADY = 5
"""Cases from which on a point of the reliability curve is joined to others."""
_WIDTH = 60
"""Characters in a line of a bullet's text."""


def check_picture(path: Path) -> None:
    """Say before the work, not after it, that a picture cannot be drawn or written."""
    _canvas((1, 1))
    if path.suffix.lower() not in (".png", ".svg", ".pdf", ".jpg"):
        raise InvalidSettings(f"a picture is .png, .svg, .pdf or .jpg, not {path.name!r}")
    path.parent.mkdir(parents=True, exist_ok=True)


def draw_learning_curves(
    modes: Mapping[str, Sequence[Run]], path: Path | None = None, *, best: float | None = None
) -> Any:
    """Accuracy along the stream, one line per mode; written to `path` where one is given."""
    figure, axes = _canvas((9, 5))
    lowest = 0.4
    for name, (label, colour) in _LABELS.items():
        curve = _curve(modes.get(name, ()))
        if not len(curve):
            continue
        start = min(_WINDOW, len(curve)) - 1  # before that the window is not full
        axes.plot(
            range(start + 1, len(curve) + 1),
            curve[start:],
            label=label,
            color=colour,
            linewidth=5 if name == "offline" else 2,  # the next may lie right on it
            alpha=0.45 if name == "offline" else 1.0,
        )
        lowest = min(lowest, float(curve[start:].min()) - 0.03)
    if best is not None:
        axes.axhline(best, color="black", linestyle=":", linewidth=1.2)
        place = axes.get_yaxis_transform()
        axes.text(0.01, best + 0.008, "best attainable", transform=place, fontsize=9)
    seeds = max((len(runs) for runs in modes.values()), default=0)
    axes.set(
        xlabel="transaction of the held-out stream",
        ylabel=f"accuracy, last {_WINDOW} transactions",
        title=f"What the playbook brings (mean of {seeds} seeds)"
        if seeds > 1
        else "What the playbook brings",
        ylim=(max(lowest, 0.0), 1.01),
    )
    axes.grid(alpha=0.25)
    _add_legend(axes, loc="best", frameon=False)
    return _finished(figure, path)


def _curve(runs: Sequence[Run]) -> Scores:
    """Accuracy along the stream, of no length where nothing was decided."""
    if not any(len(run.fraud) for run in runs):
        return np.empty(0)
    return rolling_accuracy(runs, _WINDOW)


def draw_bullets(bullets: Sequence[Bullet], path: Path | None = None) -> Any:
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
    """Evidence is free: it may hold other figures, or none."""
    wanted = ("precision", "precision_low", "precision_high", "fires")
    return all(isinstance(bullet.evidence.get(name), int | float) for name in wanted)


def draw_precision_recall(found: Experiment, path: Path | None = None) -> Any:
    """Precision against recall of every mode and rival, over all seeds together."""
    figure, axes = _canvas((7, 5.5))
    styles = {**{name: (*style, "-") for name, style in _LABELS.items()}, **_RIVALS}
    for name, (label, colour, line) in styles.items():
        fraud, scores = _pooled((found.modes | found.challengers).get(name, ()))
        if fraud.any():  # without fraud there is no share of it
            recall, precision = precision_recall(fraud, scores)
            # Each precision holds back to the recall before it: the area is average precision.
            recall, precision = np.insert(recall, 0, 0.0), np.insert(precision, 0, precision[0])
            axes.plot(recall, precision, line, label=label, color=colour, drawstyle="steps-pre")
    if any(run.truths for run in found.modes["vanilla"]):
        declined = f"declining everything ({found.fraud_rate:.2f})"
        axes.axhline(found.fraud_rate, color="black", linestyle=":", linewidth=1, label=declined)
    axes.set(xlim=(0, 1.005), ylim=(0, 1.02), xlabel="share of fraud caught (recall)")
    axes.set(ylabel="share of declines that are fraud (precision)", title="Precision and recall")
    axes.grid(alpha=0.25)
    _add_legend(axes, loc="lower left", framealpha=0.9, edgecolor="none", fontsize=9)
    return _finished(figure, path)


def draw_reliability(found: Experiment, path: Path | None = None) -> Any:
    """The risk that was said against the fraud that was seen."""
    figure, axes = _canvas((6, 5.5))
    axes.plot([0, 1], [0, 1], color="black", linestyle=":", linewidth=1)
    for name, (label, colour) in _LABELS.items():
        fraud, scores = _pooled(found.modes.get(name, ()))
        if fraud.all() or not fraud.any():  # one label alone cannot be weighed against the other
            continue
        bins = reliability(fraud, scores)
        steady = [b for b in bins if b.cases >= _STEADY]
        axes.plot([b.said for b in steady], [b.seen for b in steady], color=colour, alpha=0.6)
        sizes = [8 + 120 * b.cases / sum(b.cases for b in bins) for b in bins]
        axes.scatter([b.said for b in bins], [b.seen for b in bins], sizes, colour, label=label)
    axes.set(xlim=(0, 1), ylim=(0, 1), xlabel="risk score", ylabel="share of fraud (weighted)")
    axes.set_title("Can the risk score be taken at its word?")
    axes.grid(alpha=0.25)
    _add_legend(axes, loc="upper left", frameon=False, fontsize=9)
    return _finished(figure, path)


def draw_all(found: Experiment, folder: Path) -> None:
    """Every picture of an experiment into one folder."""
    draw_learning_curves(found.modes, folder / "learning_curves.png")
    draw_bullets(found.bullets, folder / "bullets.png")
    draw_precision_recall(found, folder / "precision_recall.png")
    draw_reliability(found, folder / "reliability.png")


def _pooled(runs: Sequence[Run]) -> tuple[Labels, Scores]:
    if not runs:
        return np.empty(0, bool), np.empty(0)
    return np.concatenate([r.fraud for r in runs]), np.concatenate([r.scores for r in runs])


def _add_legend(axes: Any, **looks: Any) -> None:
    """What is drawn, named; matplotlib warns of a legend of nothing."""
    if axes.get_legend_handles_labels()[0]:
        axes.legend(**looks)


def _canvas(size: tuple[float, float]) -> tuple[Any, Any]:
    try:
        from matplotlib.figure import Figure
    except ImportError:
        raise InvalidSettings(
            "pictures need matplotlib, the extra `report`: pip install '.[report]'"
        ) from None
    figure = Figure(figsize=size, layout="constrained")
    return figure, figure.subplots()


def _finished(figure: Any, path: Path | None) -> Any:
    if path is not None:
        path.parent.mkdir(parents=True, exist_ok=True)
        with warnings.catch_warnings():
            # A letter that the font lacks is drawn as a box; that is seen without a warning each.
            warnings.filterwarnings("ignore", "Glyph .* missing from", UserWarning)
            figure.savefig(path, dpi=120)
    return figure
