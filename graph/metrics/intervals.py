"""The 95 % intervals of all figures: of shares and means, and of figures over runs by resampling.

Wilson's interval itself is in nodes/evidence, since the nodes need it without a table of cases.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

from acegraph.graph.metrics.rates import METRICS, RANKINGS, RATES, is_void
from acegraph.graph.metrics.run import Run
from acegraph.nodes.evidence.backtest import wilson_interval

_BOOTSTRAPS: Final = 2000
_RANKING_BOOTSTRAPS: Final = 200
_AT_ONCE: Final = 1_000_000
"""How many weights are drawn at a time, so that memory stays small."""


@dataclass(frozen=True)
class Estimate:
    """A figure with its 95 % interval."""

    mean: float
    low: float
    high: float

    def to_json(self) -> dict[str, float | None]:
        """The figures rounded for reading; None stands for a figure that does not exist."""
        return {name: rounded(value) for name, value in vars(self).items()}


def rounded(figure: float) -> float | None:
    """A figure as JSON holds it: four digits, and None instead of NaN."""
    return None if math.isnan(figure) else round(figure, 4)


NO_ESTIMATE: Final = Estimate(math.nan, math.nan, math.nan)
"""There are no cases of which a figure could be told."""


@dataclass(frozen=True)
class Share:
    """A part of a whole, with the 95 % interval of the share (Wilson 1927)."""

    part: int
    whole: int

    @property
    def value(self) -> float | None:
        """The share; None of nothing."""
        return self.part / self.whole if self.whole else None

    @property
    def interval(self) -> tuple[float, float]:
        """From nothing to all, where nothing is known."""
        return wilson_interval(self.part, self.whole)

    @property
    def estimate(self) -> Estimate:
        """The share as a figure among others."""
        return of_share(self.part, self.whole)


def of_share(part: float, whole: int) -> Estimate:
    """A share with its interval, as a figure among others.

    >>> of_share(8, 10).to_json()
    {'mean': 0.8, 'low': 0.4902, 'high': 0.9433}
    """
    return Estimate(part / whole if whole else math.nan, *wilson_interval(part, whole))


def of_mean(values: NDArray[np.float64]) -> Estimate:
    """The mean of many values, whose mean is about normal."""
    if not len(values):
        return NO_ESTIMATE
    mean, half = float(values.mean()), 1.96 * float(values.std()) / math.sqrt(len(values))
    return Estimate(mean, mean - half, mean + half)


def of_draws(mean: float, draws: NDArray[np.float64]) -> Estimate:
    """A figure with the interval that holds 95 % of its draws, and the figure itself."""
    low, high = np.quantile(draws, [0.025, 0.975])
    return Estimate(mean, min(float(low), mean), max(float(high), mean))


def estimate(metric: str, runs: Sequence[Run], rng: np.random.Generator | None = None) -> Estimate:
    """A metric's mean over runs, with an interval by resampling the runs and the rows of the data.

    A row that several runs tested is drawn for all of them or for none: it is evidence only once.
    """
    return estimates(runs, [metric], rng)[metric]


def estimates(
    runs: Sequence[Run], metrics: Sequence[str] = (), rng: np.random.Generator | None = None
) -> dict[str, Estimate]:
    """Several metrics by their names, or all: rates share their draws, and rankings do."""
    rates, ranked = ([n for n in metrics or METRICS if n in kind] for kind in (RATES, RANKINGS))
    draws = _rate_draws(runs, rng or np.random.default_rng(0)) if rates else {}
    draws |= _ranking_draws(ranked, runs, rng or np.random.default_rng(0)) if ranked else {}
    return {name: _with_interval(name, runs, draws[name]) for name in (*rates, *ranked)}


def _with_interval(metric: str, runs: Sequence[Run], draws: NDArray[np.float64]) -> Estimate:
    if any(is_void(metric, run) for run in runs):
        return NO_ESTIMATE
    return of_draws(float(np.mean([METRICS[metric](run) for run in runs])), draws)


def row_numbers(runs: Sequence[Run]) -> tuple[list[NDArray[np.intp]], int]:
    """The row number of every case, by run, counted from 0 over all runs; and the count of rows."""
    numbers: dict[object, int] = {}
    rows_by_run = []
    for i, run in enumerate(runs):
        names: Sequence[object] = run.rows or [(i, n) for n in range(len(run.truths))]
        rows = [numbers.setdefault(name, len(numbers)) for name in names]
        rows_by_run.append(np.array(rows, dtype=np.intp))
    return rows_by_run, len(numbers)


def share_of_rows(
    rows: NDArray[np.intp], counted: NDArray[np.bool_], relevant: NDArray[np.bool_]
) -> tuple[float, int]:
    """How many relevant rows there are, and how many of them are counted.

    A row that several seeds tested counts once, by its mean.
    """
    times = np.bincount(rows[relevant])
    shares = np.bincount(rows[relevant], counted[relevant])[times > 0] / times[times > 0]
    return float(shares.sum()), len(shares)


def _ranking_draws(
    metrics: Sequence[str], runs: Sequence[Run], rng: np.random.Generator
) -> dict[str, NDArray[np.float64]]:
    """The rankings with random weights on the rows and on the runs, as in `resampled_sums`."""
    rows_by_run, size = row_numbers(runs)
    picked = rng.multinomial(len(runs), [1 / len(runs)] * len(runs), _RANKING_BOOTSTRAPS)
    draws = {name: np.zeros(_RANKING_BOOTSTRAPS) for name in metrics}
    at_once = _AT_ONCE // max(size, 1) + 1
    for start in range(0, _RANKING_BOOTSTRAPS, at_once):
        part = slice(start, start + at_once)
        weights = rng.standard_exponential((len(picked[part]), size))
        for i, (run, rows) in enumerate(zip(runs, rows_by_run, strict=True)):
            fraud, scores, drawn = run.fraud, run.scores, weights[:, rows]
            for name in metrics:
                figures = RANKINGS[name](fraud, scores, weights=drawn)
                if name.startswith("recall") and METRICS[name](run) in (0, 1):
                    # All or none: half a case is added, or the interval would have no width.
                    extra, frauds = rng.standard_exponential(len(drawn)), drawn @ fraud
                    figures = (figures * frauds + extra / 2) / (frauds + extra)
                draws[name][part] += figures * picked[part, i] / len(runs)
    return draws


def _rate_draws(runs: Sequence[Run], rng: np.random.Generator) -> dict[str, NDArray[np.float64]]:
    columns = [
        np.stack([run.fraud, run.fraud & ~run.right, ~run.fraud, ~run.fraud & ~run.right]) * 1.0
        for run in runs
    ]
    sums, weights = resampled_sums(runs, columns, rng)
    for i, column in enumerate(columns):
        for whole, part in ((0, 1), (2, 3)):
            widen(sums[:, i], column, part, whole, rng)
    frauds, missed, honests, false = np.moveaxis(sums, 2, 0)
    miss_rate, false_rate = missed / frauds, false / honests
    draws = {
        "accuracy": 1 - (missed + false) / (frauds + honests),
        "balanced_accuracy": 1 - (miss_rate + false_rate) / 2,
        "false_decline_rate": false_rate,
        "missed_fraud_rate": miss_rate,
    }
    return {name: np.asarray((figures * weights).sum(axis=1)) for name, figures in draws.items()}


def widen(
    sums: NDArray[np.float64],
    columns: NDArray[np.float64],
    part: int,
    whole: int,
    rng: np.random.Generator,
) -> None:
    """Add half a case to the draws of a share of all or none: its interval would have no width."""
    total = columns[whole].sum()
    if columns[part].sum() in (0, total):
        extra = rng.standard_exponential(len(sums))
        extra *= total / max(np.count_nonzero(columns[whole]), 1) or 1.0
        sums[:, whole] += extra
        sums[:, part] += extra / 2


def resampled_sums(
    runs: Sequence[Run], columns: Sequence[NDArray[np.float64]], rng: np.random.Generator
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Sums over the cases of each run by draw, run and column, with random weights on the rows;
    and the weight of each run in each draw.

    Rows are resampled by the Bayesian bootstrap (Rubin 1981), and runs as well: resampling both may
    give too wide an interval, never too narrow a one (Owen 2007).
    """
    (rows_by_run, size), width = row_numbers(runs), len(columns[0])
    table = np.zeros((size, len(runs) * width))
    for i, (rows, column) in enumerate(zip(rows_by_run, columns, strict=True)):
        np.add.at(table[:, i * width : (i + 1) * width], rows, column.T)
    # The weight of k rows that are alike is one draw: the sum of k exponentials.
    kinds, counts = np.unique(table, axis=0, return_counts=True)
    sums, at_once = np.empty((_BOOTSTRAPS, len(runs) * width)), _AT_ONCE // max(len(counts), 1) + 1
    for start in range(0, _BOOTSTRAPS, at_once):
        part = sums[start : start + at_once]
        part[:] = rng.standard_gamma(counts, (len(part), len(counts))) @ kinds
    picked = rng.multinomial(len(runs), [1 / len(runs)] * len(runs), _BOOTSTRAPS)
    return sums.reshape(_BOOTSTRAPS, len(runs), width), picked / len(runs)
