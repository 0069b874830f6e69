"""Pictures of an experiment, drawn with matplotlib (`pip install acegraph[report]`).

A function that draws returns the figure, and writes it to a file if it is given a path.
"""

import textwrap
import warnings
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Final

import numpy as np
from numpy.typing import NDArray

from acegraph.graph.experiments.experiment import RARE_FRAUD, Experiment
from acegraph.graph.experiments.words import BASELINE_NAMES
from acegraph.graph.metrics.costs import cost_curve
from acegraph.graph.metrics.ranking import Labels, Scores, precision_recall, reliability
from acegraph.graph.metrics.rates import rolling_balanced_accuracy
from acegraph.graph.metrics.run import Run
from acegraph.graph.training.refined_bullets import RefinedBullet
from acegraph.state import DECLINE, Bullet, InvalidSettings
from acegraph.state.database.places import private_folder
from acegraph.state.values.times import now

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
    "logistic_regression": ("#9467bd", "--"),
    "depth_3_tree": ("#8c564b", "--"),
    "gradient_boosting": ("#e377c2", "--"),
    "ebm": ("#17becf", "-."),
    "figs": ("#bcbd22", "-."),
    "rulefit": ("#393b79", "-."),
    "boosted_rules": ("#ff9896", "-."),
}
"""Colour and line of each baseline."""
_STYLES: Final = {
    **{name: (*style, "-") for name, style in _MODES.items()},
    **{name: (BASELINE_NAMES[name], *style) for name, style in _BASELINES.items()},
}
_WINDOW: Final = 100
"""Cases over which accuracy along the stream is averaged."""
_BEYOND: Final = 1.02
"""A threshold that no risk score reaches."""
_WIDTH: Final = 60
"""Characters in a line of a bullet's text."""


def check_picture(path: Path) -> None:
    """Refuse, before any work is done, a picture that cannot be drawn or written."""
    _canvas((1, 1))
    if path.suffix.lower() not in (".png", ".svg", ".pdf", ".jpg"):
        raise InvalidSettings(f"a picture is .png, .svg, .pdf or .jpg, not {path.name!r}")
    private_folder(path.parent)


def caption_of(experiment: Experiment) -> str:
    """What a picture of an experiment shows: the data, its rows, and the day."""
    vanilla, training = experiment.modes["vanilla"], experiment.training
    train = sum(report.cases for report in training) / max(len(training), 1)
    test = sum(len(run.truths) for run in vanilla) / max(len(vanilla), 1)
    seeds = f" in each of {len(vanilla)} seeds" if len(vanilla) > 1 else ""
    rows = f"{train:,.0f} training and {test:,.0f} test rows{seeds}"
    return f"{experiment.data or 'labelled cases'}: {rows}; {now()[:10]}"


def draw_learning_curves(
    modes: Mapping[str, Sequence[Run]],
    path: Path | None = None,
    *,
    best: float | None = None,
    caption: str = "",
) -> "Figure":
    """What each mode brings along the stream.

    Where fraud is common: balanced accuracy, and the best one that can be attained. Where it is
    rare a window holds next to none: frauds caught and honest payments declined so far.
    """
    shown = {name: modes[name] for name in _MODES if any(len(r.fraud) for r in modes.get(name, ()))}
    seeds = max((len(runs) for runs in modes.values()), default=0)
    title = f"What the playbook brings{f' (mean of {seeds} seeds)' if seeds > 1 else ''}"
    truths = np.array([truth for runs in shown.values() for run in runs for truth in run.truths])
    if len(truths) and np.mean(truths == DECLINE) < RARE_FRAUD:
        figure = _draw_counts_so_far(shown, title)
    else:
        figure = _draw_balanced_accuracy(shown, title, best)
    return _finished(figure, path, caption)


def _draw_balanced_accuracy(
    modes: Mapping[str, Sequence[Run]], title: str, best: float | None
) -> "Figure":
    figure, axes = _canvas((9, 5))
    lowest = 0.4
    for name, runs in modes.items():
        curve = rolling_balanced_accuracy(runs, _WINDOW)
        start = min(_WINDOW, len(curve)) - 1  # before this case the window is not full
        _plot(axes, np.arange(start + 1, len(curve) + 1), curve[start:], name)
        lowest = min(lowest, float(np.nanmin(curve[start:], initial=1)) - 0.03)
    if best is not None:
        axes.axhline(best, color="black", linestyle=":", linewidth=1.2)
        place = axes.get_yaxis_transform()
        axes.text(0.01, best + 0.008, "best attainable", transform=place, fontsize=9)
    axes.set(
        xlabel="transaction of the held-out stream",
        ylabel=f"balanced accuracy, last {_WINDOW} transactions",
        title=title,
        ylim=(max(lowest, 0.0), 1.01),
    )
    axes.grid(alpha=0.25)
    _add_legend(axes, loc="best", frameon=False)
    return figure


def _draw_counts_so_far(modes: Mapping[str, Sequence[Run]], title: str) -> "Figure":
    figure = _blank((9, 6.5))
    above, below = figure.subplots(2, sharex=True)
    length = min(len(run.truths) for runs in modes.values() for run in runs)
    cases = np.arange(1, length + 1)
    for name, runs in modes.items():
        fraud = np.array([run.truths[:length] for run in runs]) == DECLINE
        declined = np.array([run.decisions[:length] for run in runs]) == DECLINE
        for axes, counted in ((above, fraud & declined), (below, ~fraud & declined)):
            _plot(axes, cases, np.cumsum(counted.mean(axis=0)), name)
        all_fraud = np.cumsum(fraud.mean(axis=0))  # the same in every mode
    above.plot(cases, all_fraud, ":", color="black", linewidth=1.2, label="all fraud")
    above.set(ylabel="frauds caught so far", ylim=(0, None), title=title)
    below.set(ylabel="honest payments declined so far", ylim=(0, None))
    below.set_xlabel("transaction of the held-out stream")
    for axes in (above, below):
        axes.grid(alpha=0.25)
    _add_legend(above, loc="upper left", frameon=False)
    return figure


def _plot(axes: "Axes", cases: NDArray[np.int_], figures: Scores, mode: str) -> None:
    """Draw the line of a mode; one that others may lie on is wide and pale."""
    label, colour = _MODES[mode]
    width, alpha = (5, 0.45) if mode in ("vanilla", "offline") else (2, 1.0)
    axes.plot(cases, figures, label=label, color=colour, linewidth=width, alpha=alpha)


def draw_bullets(
    bullets: Sequence[Bullet], path: Path | None = None, *, caption: str = ""
) -> "Figure":
    """The backtest of every bullet: precision with its interval, and on how many cases it fired.

    Bullets without these figures are left out.
    """
    tested = [b for b in bullets if has_backtest(b)]
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
        axes.plot(e["precision"], row, "o", color=colour, alpha=faded)
        axes.annotate(
            f"n = {e['fires']}",
            (1.02, row),
            (6, 0),
            textcoords="offset points",
            va="center",
            fontsize=8,
            annotation_clip=False,
        )
    axes.set_yticks(rows, labels, fontsize=8, parse_math=False)  # a $ is a dollar
    axes.set(ylim=(total, 0))  # the first bullet on top
    axes.set(xlim=(-0.02, 1.02), xlabel="precision on the labelled cases, 95 % interval")
    # Long texts leave the axes little width: the title may reach to the left of them.
    title = "How often each bullet was right\n"
    axes.set_title(f"{title}red: DECLINE, blue: APPROVE, faded: retired", fontsize=10, loc="right")
    axes.grid(axis="x", alpha=0.25)
    return _finished(figure, path, caption)


def draw_refinement(
    refined: Sequence[RefinedBullet], path: Path | None = None, *, caption: str = ""
) -> "Figure":
    """The weight of every bullet before and after a refinement, and which other one it is like."""
    texts = [b.content + (f"; was: {b.was}" if b.was else "") for b in refined]
    labels = [
        textwrap.fill(f"{text}  [{b.bullet}]", _WIDTH)
        for text, b in zip(texts, refined, strict=True)
    ]
    heights = [0.25 + 0.15 * (1 + label.count("\n")) for label in labels]  # inches
    rows = np.cumsum(heights) - np.array(heights) / 2
    total = max(sum(heights), 0.4)
    figure, axes = _canvas((11, 1.3 + total))
    axes.axvline(0, color="black", linewidth=0.8)
    for row, bullet in zip(rows, refined, strict=True):
        before, after = bullet.weight_before, bullet.weight_after
        colour = "#c0392b" if bullet.verdict == DECLINE else "#2e86c1"
        if before is not None and after is not None:
            axes.plot([before, after], [row, row], color=colour, linewidth=1)
        if before is not None:
            axes.plot(before, row, "o", color=colour, markerfacecolor="white")
        if after is not None:
            axes.plot(after, row, "o", color=colour)
        like = f"\nlike {bullet.like} ({bullet.in_common:.0%})" if bullet.like else ""
        axes.annotate(
            f"{bullet.change}{like}",
            (1, row),
            (6, 0),
            xycoords=axes.get_yaxis_transform(),
            textcoords="offset points",
            va="center",
            fontsize=8,
            annotation_clip=False,
        )
    axes.set_yticks(rows, labels, fontsize=8, parse_math=False)  # a $ is a dollar
    axes.set(ylim=(total, 0), xlabel="weight: what it adds to the log-odds of fraud")
    title = "What refinement did\nhollow: before, filled: after; red: DECLINE, blue: APPROVE"
    axes.set_title(title, fontsize=10, loc="right")
    axes.grid(axis="x", alpha=0.25)
    return _finished(figure, path, caption)


def has_backtest(bullet: Bullet) -> bool:
    """Whether a bullet's evidence holds the figures of a backtest; it may hold anything."""
    names = ("precision", "precision_low", "precision_high", "fires")
    return all(isinstance(bullet.evidence.get(name), int | float) for name in names)


def draw_precision_recall(experiment: Experiment, path: Path | None = None) -> "Figure":
    """Precision against recall of every mode and baseline, over all seeds together."""
    figure, axes = _canvas((9, 5.5))
    for name, (label, colour, line) in _STYLES.items():
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
    _add_legend_outside(figure)
    return _finished(figure, path, caption_of(experiment))


def draw_reliability(experiment: Experiment, path: Path | None = None) -> "Figure":
    """The risk score of each mode against the share of fraud among the cases with that score."""
    figure, axes = _canvas((8.5, 5.5))
    axes.plot([0, 1], [0, 1], color="black", linestyle=":", linewidth=1)
    for name, (label, colour) in _MODES.items():
        bins = reliability(*_pooled(experiment.modes.get(name, ())))
        if bins:
            risks, shares = [b.risk for b in bins], np.array([b.fraud for b in bins])
            spread = np.array([shares - [b.low for b in bins], [b.high for b in bins] - shares])
            spread = spread.clip(0)  # rounding may leave less than nothing
            axes.errorbar(
                risks, shares, spread, color=colour, elinewidth=1, marker="o", label=label
            )
    axes.set(xlim=(-0.02, 1.02), ylim=(-0.02, 1.02), xlabel="risk score, mean of a group of cases")
    axes.set(ylabel="share of fraud in the group, 95 % interval,\nif half of all cases were fraud")
    axes.set_title("Can the risk score be taken at its word?")
    axes.grid(alpha=0.25)
    _add_legend_outside(figure)
    return _finished(figure, path, caption_of(experiment))


def draw_cost_curve(experiment: Experiment, path: Path | None = None) -> "Figure":
    """What 1,000 payments cost if all with at least some risk score are declined."""
    figure, axes = _canvas((9, 5.5))
    approving = lowest = highest = 0.0
    for name, (label, colour, line) in _STYLES.items():
        runs = (experiment.modes | experiment.baselines).get(name, ())
        if not any(len(run.fraud) for run in runs):
            continue
        thresholds, costs = cost_curve(runs, experiment.plan.costs)
        thresholds[0] = _BEYOND  # all is approved
        axes.step(thresholds, costs, line, where="post", label=label, color=colour)
        cheapest = int(np.argmin(costs))
        axes.plot(thresholds[cheapest], costs[cheapest], "o", color=colour)
        approving, lowest = float(costs[0]), min(lowest, float(costs[cheapest]))
        highest = max(highest, float(costs.max()))
    if axes.lines:
        # Declining nearly everything costs most: what is worth looking at is below that.
        axes.set_ylim(lowest, min(1.6 * approving, 1.05 * highest) or None)
        axes.yaxis.set_major_formatter("{x:,.0f}")
        axes.axhline(
            approving, color="black", linestyle=":", linewidth=1, label="approve everything"
        )
    axes.set(
        xlim=(-0.02, _BEYOND), xlabel="decline from this risk score on (dot: where it costs least)"
    )
    axes.set(ylabel="cost per 1,000 payments", title="What a threshold costs")
    axes.grid(alpha=0.25)
    _add_legend_outside(figure)
    return _finished(figure, path, caption_of(experiment))


def draw_all(experiment: Experiment, folder: Path) -> None:
    """Write every picture of an experiment into one folder."""
    caption = caption_of(experiment)
    draw_learning_curves(experiment.modes, folder / "learning_curves.png", caption=caption)
    draw_bullets(experiment.bullets, folder / "bullets.png", caption=caption)
    draw_precision_recall(experiment, folder / "precision_recall.png")
    draw_reliability(experiment, folder / "reliability.png")
    draw_cost_curve(experiment, folder / "cost_curve.png")


def _pooled(runs: Sequence[Run]) -> tuple[Labels, Scores]:
    if not runs:
        return np.empty(0, bool), np.empty(0)
    return np.concatenate([r.fraud for r in runs]), np.concatenate([r.scores for r in runs])


def _add_legend(axes: "Axes", **looks: str | float | bool) -> None:
    """Add a legend if there is something to name: matplotlib warns of an empty one."""
    if axes.get_legend_handles_labels()[0]:
        axes.legend(**looks)


def _add_legend_outside(figure: "Figure") -> None:
    """Add a legend beside the axes, where it covers no curve."""
    if figure.axes[0].get_legend_handles_labels()[0]:
        figure.legend(loc="outside right upper", frameon=False, fontsize=9)


def _blank(size: tuple[float, float]) -> "Figure":
    try:
        from matplotlib.figure import Figure
    except ImportError:
        raise InvalidSettings(
            "pictures need matplotlib, the extra `report`: pip install 'acegraph[report]'"
        ) from None
    return Figure(figsize=size, layout="constrained")


def _canvas(size: tuple[float, float]) -> "tuple[Figure, Axes]":
    figure = _blank(size)
    return figure, figure.subplots()


def _finished(figure: "Figure", path: Path | None, caption: str = "") -> "Figure":
    if caption:
        figure.supxlabel(caption, x=0.01, ha="left", fontsize=8, color="#555555", parse_math=False)
    if path is not None:
        private_folder(path.parent)
        with warnings.catch_warnings():
            # The font draws a letter that it lacks as a box; a warning about each adds nothing.
            warnings.filterwarnings("ignore", "Glyph .* missing from", UserWarning)
            figure.savefig(path, dpi=120)
    return figure
