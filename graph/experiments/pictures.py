"""Pictures of an experiment, drawn with matplotlib (`pip install acegraph[report]`).

A function that draws returns the figure; `save_picture` writes one to a file.
"""

import warnings
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from acegraph.graph.experiments.experiment import RARE_FRAUD, Experiment
from acegraph.graph.experiments.words import BASELINE_NAMES
from acegraph.graph.metrics.ranking import precision_recall
from acegraph.graph.metrics.rates import rolling_balanced_accuracy
from acegraph.graph.metrics.run import Run
from acegraph.state import DECLINE, InvalidSettings
from acegraph.state.database.places import private_folder
from acegraph.state.values.times import now

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

Look = dict[str, Any]
"""How a line is drawn, and its name in the legend."""
_MODES: Final = {
    "vanilla": ("vanilla (learns nothing)", "#8a8a8a", "-"),
    "offline": ("offline, frozen", "#1f77b4", "-"),
    "offline_online": ("offline + online", "#2ca02c", "-"),
    "online": ("online only", "#d95f02", "-"),
}
"""Label, colour and line of each mode."""
_COLOURS: Final = "#9467bd #8c564b #e377c2 #17becf #bcbd22 #393b79 #ff9896 #7f7f7f".split()
"""Those of the other learners, in the order of their names."""
_STYLES: Final = _MODES | {
    name: (label, colour, "--")
    for (name, label), colour in zip(BASELINE_NAMES.items(), _COLOURS, strict=False)
}
_WINDOW: Final = 100
"""Cases over which accuracy along the stream is averaged."""


def save_picture(figure: "Figure", path: Path, experiment: Experiment) -> None:
    """Write a figure to a file; it then names the data, its rows and the day."""
    vanilla, training = experiment.modes["vanilla"], experiment.training
    train = sum(report.cases for report in training) / max(len(training), 1)
    test = sum(len(run.truths) for run in vanilla) / max(len(vanilla), 1)
    seeds = f" in each of {len(vanilla)} seeds" if len(vanilla) > 1 else ""
    rows = f"{train:,.0f} training and {test:,.0f} test rows{seeds}"
    caption = f"{experiment.data or 'labelled cases'}: {rows}; {now()[:10]}"
    figure.supxlabel(caption, x=0.01, ha="left", fontsize=8, color="#555555", parse_math=False)
    private_folder(path.parent)
    with warnings.catch_warnings():
        # The font draws a letter that it lacks as a box; a warning about each adds nothing.
        warnings.filterwarnings("ignore", "Glyph .* missing from", UserWarning)
        figure.savefig(path, dpi=120)


def draw_learning_curves(
    modes: Mapping[str, Sequence[Run]], *, best: float | None = None
) -> "Figure":
    """What each mode brings along the stream.

    Where fraud is common: balanced accuracy, and the best one that can be attained. Where it is
    rare a window holds next to none: frauds caught and honest payments declined so far.
    """
    shown = {name: modes[name] for name in _MODES if any(r.truths for r in modes.get(name, ()))}
    seeds = max((len(runs) for runs in modes.values()), default=0)
    truths = [truth for runs in shown.values() for run in runs for truth in run.truths]
    is_rare = bool(truths) and truths.count(DECLINE) / len(truths) < RARE_FRAUD
    figure = (_draw_counts_so_far if is_rare else _draw_balanced_accuracy)(shown, best)
    figure.axes[0].set_title(
        f"What the playbook brings{f' (mean of {seeds} seeds)' if seeds > 1 else ''}"
    )
    figure.axes[-1].set_xlabel("transaction of the held-out stream")
    if shown:
        figure.axes[0].legend(loc="best", frameon=False)
    return figure


def _draw_balanced_accuracy(modes: Mapping[str, Sequence[Run]], best: float | None) -> "Figure":
    figure, axes = _chart("", f"balanced accuracy, last {_WINDOW} transactions", size=(9, 5))
    lowest = 0.4
    for name, runs in modes.items():
        curve = rolling_balanced_accuracy(runs, _WINDOW)
        start = min(_WINDOW, len(curve)) - 1  # before this case the window is not full
        axes.plot(np.arange(start + 1, len(curve) + 1), curve[start:], **_wide(name))
        lowest = min(lowest, float(np.nanmin(curve[start:], initial=1)) - 0.03)
    if best is not None:
        axes.axhline(best, color="black", linestyle=":", linewidth=1.2)
        place = axes.get_yaxis_transform()
        axes.text(0.01, best + 0.008, "best attainable", transform=place, fontsize=9)
    axes.set_ylim(max(lowest, 0.0), 1.01)
    return figure


def _draw_counts_so_far(modes: Mapping[str, Sequence[Run]], _: float | None) -> "Figure":
    figure = _blank((9, 6.5))
    above, below = figure.subplots(2, sharex=True)
    length = min(len(run.truths) for runs in modes.values() for run in runs)
    cases = np.arange(1, length + 1)
    for name, runs in modes.items():
        fraud = np.array([run.fraud[:length] for run in runs])
        declined = np.array([run.decisions[:length] for run in runs]) == DECLINE
        for axes, counted in ((above, fraud & declined), (below, ~fraud & declined)):
            axes.plot(cases, np.cumsum(counted.mean(axis=0)), **_wide(name))
        all_fraud = np.cumsum(fraud.mean(axis=0))  # the same in every mode
    above.plot(cases, all_fraud, ":", color="black", linewidth=1.2, label="all fraud")
    for axes, counted in ((above, "frauds caught"), (below, "honest payments declined")):
        axes.set(ylabel=f"{counted} so far", ylim=(0, None))
        axes.grid(alpha=0.25)
    return figure


def draw_precision_recall(experiment: Experiment) -> "Figure":
    """Precision against recall of every mode and baseline, over all seeds together."""
    xlabel, ylabel = "share of fraud caught (recall)", "share of declines that are fraud"
    figure, axes = _chart(xlabel, f"{ylabel} (precision)", "Precision and recall")
    for runs, look in _shown(experiment):
        fraud, scores = (np.concatenate([getattr(r, x) for r in runs]) for x in ("fraud", "scores"))
        if fraud.any():  # else there is no recall
            recall, precision = precision_recall(fraud, scores)
            # Each precision holds back to the recall before it: the area is average precision.
            recall, precision = np.insert(recall, 0, 0.0), np.insert(precision, 0, precision[0])
            axes.plot(recall, precision, drawstyle="steps-pre", **look)
    if any(run.truths for run in experiment.modes["vanilla"]):
        label = f"declining everything ({experiment.fraud_rate:.2f})"
        axes.axhline(experiment.fraud_rate, color="black", linestyle=":", linewidth=1, label=label)
    axes.set(xlim=(0, 1.005), ylim=(0, 1.02))
    return _with_legend_beside(figure)


def _shown(experiment: Experiment) -> Iterator[tuple[Sequence[Run], Look]]:
    """The runs that have cases, and how their lines are drawn."""
    runs = experiment.modes | experiment.baselines
    for name, (label, colour, line) in _STYLES.items():
        if any(run.truths for run in runs.get(name, ())):
            yield runs[name], {"label": label, "color": colour, "linestyle": line}


def _wide(mode: str) -> Look:
    """How the line of a mode is drawn; one that others may lie on is wide and pale."""
    label, colour, _ = _MODES[mode]
    width, alpha = (5, 0.45) if mode in ("vanilla", "offline") else (2, 1.0)
    return {"label": label, "color": colour, "linewidth": width, "alpha": alpha}


def _with_legend_beside(figure: "Figure") -> "Figure":
    """The figure with a legend where it covers no curve, if there is something to name."""
    if figure.axes[0].get_legend_handles_labels()[0]:
        figure.legend(loc="outside right upper", frameon=False, fontsize=9)
    return figure


def _blank(size: tuple[float, float]) -> "Figure":
    try:
        from matplotlib.figure import Figure
    except ImportError:
        raise InvalidSettings(
            "pictures need matplotlib, the extra `report`: pip install 'acegraph[report]'"
        ) from None
    return Figure(figsize=size, layout="constrained")


def _chart(
    xlabel: str, ylabel: str, title: str = "", size: tuple[float, float] = (9, 5.5)
) -> "tuple[Figure, Axes]":
    figure = _blank(size)
    axes = figure.subplots()
    axes.set(xlabel=xlabel, ylabel=ylabel, title=title)
    axes.grid(alpha=0.25)
    return figure, axes
