"""Pictures of learning, with matplotlib (`pip install acegraph[report]`)."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from acegraph.graph.evaluation import Run, rolling_accuracy
from acegraph.graph.experiment import Experiment
from acegraph.graph.ranking import precision_recall, reliability
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
    for name, (label, colour) in _LABELS.items():
        if name in modes:
            curve = rolling_accuracy(modes[name], _WINDOW)
            start = min(_WINDOW, len(curve)) - 1  # before that the window is not full
            axes.plot(
                range(start + 1, len(curve) + 1),
                curve[start:],
                label=label,
                color=colour,
                linewidth=5 if name == "offline" else 2,  # the next may lie right on it
                alpha=0.45 if name == "offline" else 1.0,
            )
    if best is not None:
        axes.axhline(best, color="black", linestyle=":", linewidth=1.2)
        place = axes.get_yaxis_transform()
        axes.text(0.01, best + 0.008, "best attainable", transform=place, fontsize=9)
    seeds = len(next(iter(modes.values())))
    axes.set(
        xlabel="transaction of the held-out stream",
        ylabel=f"accuracy, last {_WINDOW} transactions",
        title=f"What the playbook brings (mean of {seeds} seeds)"
        if seeds > 1
        else "What the playbook brings",
        ylim=(0.4, 1.01),
    )
    axes.grid(alpha=0.25)
    axes.legend(loc="lower right", frameon=False)
    return _finished(figure, path)


def draw_bullets(bullets: Sequence[Bullet], path: Path | None = None) -> Any:
    """The backtest of every bullet: precision with its interval, and on how many cases it fired."""
    proven = [b for b in bullets if b.evidence]
    figure, axes = _canvas((10, 1.2 + 0.4 * max(len(proven), 1)))
    for row, bullet in enumerate(reversed(proven)):
        e = bullet.evidence
        colour = "#c0392b" if bullet.verdict == "DECLINE" else "#2e86c1"
        faded = 0.35 if bullet.status == "retired" else 1.0
        axes.plot([e["precision_low"], e["precision_high"]], [row, row], color=colour, alpha=faded)
        axes.plot(e["precision"], row, "o", color=colour, alpha=faded, clip_on=False)
        axes.annotate(
            f"n = {e['fires']}", (1.02, row), va="center", fontsize=8, annotation_clip=False
        )
    axes.set_yticks(
        range(len(proven)), [f"{b.content}  [{b.id}]" for b in reversed(proven)], fontsize=8
    )
    axes.set(xlim=(0, 1), xlabel="precision on the labelled cases, 95 % interval")
    axes.set_title("How often each bullet was right", loc="left")
    axes.set_title("red: DECLINE, blue: APPROVE, faded: retired", fontsize=9, loc="right")
    axes.grid(axis="x", alpha=0.25)
    return _finished(figure, path)


def draw_precision_recall(found: Experiment, path: Path | None = None) -> Any:
    """Precision against recall of every mode and rival, over all seeds together."""
    figure, axes = _canvas((7, 5.5))
    styles = {**{name: (*style, "-") for name, style in _LABELS.items()}, **_RIVALS}
    for name, (label, colour, line) in styles.items():
        runs = found.modes.get(name) or found.challengers.get(name)
        if runs:
            fraud, scores = _pooled(runs)
            recall, precision = precision_recall(fraud, scores)
            axes.plot(recall, precision, line, label=label, color=colour, drawstyle="steps-post")
    declined = f"declining everything ({found.fraud_rate:.2f})"
    axes.axhline(found.fraud_rate, color="black", linestyle=":", linewidth=1, label=declined)
    axes.set(xlim=(0, 1.005), ylim=(0, 1.02), xlabel="share of fraud caught (recall)")
    axes.set(ylabel="share of declines that are fraud (precision)", title="Precision and recall")
    axes.grid(alpha=0.25)
    axes.legend(loc="lower left", framealpha=0.9, edgecolor="none", fontsize=9)
    return _finished(figure, path)


def draw_reliability(found: Experiment, path: Path | None = None) -> Any:
    """The risk that was said against the fraud that was seen."""
    figure, axes = _canvas((6, 5.5))
    axes.plot([0, 1], [0, 1], color="black", linestyle=":", linewidth=1)
    for name, (label, colour) in _LABELS.items():
        bins = reliability(*_pooled(found.modes[name]))
        steady = [b for b in bins if b.cases >= _STEADY]
        axes.plot([b.said for b in steady], [b.seen for b in steady], color=colour, alpha=0.6)
        sizes = [8 + 120 * b.cases / sum(b.cases for b in bins) for b in bins]
        axes.scatter([b.said for b in bins], [b.seen for b in bins], sizes, colour, label=label)
    axes.set(xlim=(0, 1), ylim=(0, 1), xlabel="risk score", ylabel="share of fraud (weighted)")
    axes.set_title("Can the risk score be taken at its word?")
    axes.grid(alpha=0.25)
    axes.legend(loc="upper left", frameon=False, fontsize=9)
    return _finished(figure, path)


def draw_all(found: Experiment, folder: Path) -> None:
    """Every picture of an experiment into one folder."""
    draw_learning_curves(found.modes, folder / "learning_curves.png")
    draw_bullets(found.bullets, folder / "bullets.png")
    draw_precision_recall(found, folder / "precision_recall.png")
    draw_reliability(found, folder / "reliability.png")


def _pooled(runs: Sequence[Run]) -> tuple[Any, Any]:
    return np.concatenate([r.fraud for r in runs]), np.concatenate([r.scores for r in runs])


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
        figure.savefig(path, dpi=120)
    return figure
