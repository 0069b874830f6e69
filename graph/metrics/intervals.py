"""Bootstrap intervals of the figures that rates.py and ranking.py compute."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

from acegraph.graph.metrics.rates import METRICS, RANKINGS, RATES, is_void
from acegraph.graph.metrics.run import Run

_BOOTSTRAPS: Final = 2000
_RANKING_BOOTSTRAPS: Final = 100
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


def estimate(metric: str, runs: Sequence[Run], rng: np.random.Generator | None = None) -> Estimate:
    """A metric's mean over runs, with an interval by resampling the runs and the rows of the data.

    A row that several runs tested is drawn for all of them or for none: it is evidence only once.
    """
    rng = rng or np.random.default_rng(0)
    if metric in RANKINGS:
        draws = _ranking_draws([metric], runs, rng)[metric]
    else:
        draws = _rate_draws(metric, runs, rng)
    return _with_interval(metric, runs, draws)


def estimates(runs: Sequence[Run]) -> dict[str, Estimate]:
    """Every metric by its name; the rankings share their draws."""
    ranked = _ranking_draws(list(RANKINGS), runs, np.random.default_rng(0))
    return {name: estimate(name, runs) for name in RATES} | {
        name: _with_interval(name, runs, draws) for name, draws in ranked.items()
    }


def _with_interval(metric: str, runs: Sequence[Run], draws: NDArray[np.float64]) -> Estimate:
    if any(is_void(metric, run) for run in runs):
        return Estimate(math.nan, math.nan, math.nan)
    low, high = np.quantile(draws, [0.025, 0.975])
    mean = float(np.mean([METRICS[metric](run) for run in runs]))
    return Estimate(mean, min(float(low), mean), max(float(high), mean))


def row_numbers(runs: Sequence[Run]) -> tuple[list[NDArray[np.intp]], int]:
    """The row number of every case, by run, counted from 0 over all runs; and the count of rows."""
    numbers: dict[object, int] = {}
    rows_by_run = []
    for i, run in enumerate(runs):
        names: Sequence[object] = run.rows or [(i, n) for n in range(len(run.truths))]
        rows = [numbers.setdefault(name, len(numbers)) for name in names]
        rows_by_run.append(np.array(rows, dtype=np.intp))
    return rows_by_run, len(numbers)


def _ranking_draws(
    metrics: Sequence[str], runs: Sequence[Run], rng: np.random.Generator
) -> dict[str, NDArray[np.float64]]:
    rows_by_run, size = row_numbers(runs)
    decided = [
        (run.fraud, run.scores, rows[run.is_decided])
        for run, rows in zip(runs, rows_by_run, strict=True)
    ]
    draws = {name: np.zeros(_RANKING_BOOTSTRAPS) for name in metrics}
    for draw in range(_RANKING_BOOTSTRAPS):
        times = np.bincount(rng.integers(0, max(size, 1), size), minlength=size)
        for run in rng.integers(0, len(runs), len(runs)):
            fraud, scores, rows = decided[run]
            drawn = np.repeat(np.arange(len(rows)), times[rows])
            for name in metrics:
                draws[name][draw] += RANKINGS[name](fraud[drawn], scores[drawn]) / len(runs)
    return draws


def _rate_draws(metric: str, runs: Sequence[Run], rng: np.random.Generator) -> NDArray[np.float64]:
    columns = []
    for run in runs:
        fraud, declined = np.zeros((2, len(run.truths)))
        fraud[run.is_decided], declined[run.is_decided] = run.fraud, run.declined
        honest = run.is_decided - fraud
        columns.append(np.stack([fraud, fraud * (1 - declined), honest, honest * declined]))
    sums, weights = resampled_sums(runs, columns, rng)
    for i, column in enumerate(columns):
        for whole, part in ((0, 1), (2, 3)):
            if column[part].sum() in (0, column[whole].sum()):
                # All or none: half a case is added, or the interval would have no width.
                extra = rng.standard_exponential(_BOOTSTRAPS)
                sums[:, i, whole] += extra
                sums[:, i, part] += extra / 2
    frauds, missed, honests, false = np.moveaxis(sums, 2, 0)
    miss_rate, false_rate = missed / frauds, false / honests
    draws = {
        "accuracy": 1 - (missed + false) / (frauds + honests),
        "balanced_accuracy": 1 - (miss_rate + false_rate) / 2,
        "false_decline_rate": false_rate,
        "missed_fraud_rate": miss_rate,
    }[metric]
    return np.asarray((draws * weights).sum(axis=1))


def resampled_sums(
    runs: Sequence[Run], columns: Sequence[NDArray[np.float64]], rng: np.random.Generator
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Sums over the cases of each run by draw, run and column, with random weights on the rows;
    and the weight of each run in each draw.

    Rows are resampled by the Bayesian bootstrap (Rubin 1981), and runs as well: resampling both may
    give too wide an interval, never too narrow a one (Owen 2007).
    """
    (rows_by_run, size), width = row_numbers(runs), len(columns[0])
    table = np.zeros((size, len(runs) * width), np.float32)
    for i, (rows, column) in enumerate(zip(rows_by_run, columns, strict=True)):
        np.add.at(table[:, i * width : (i + 1) * width], rows, column.T)
    sums, at_once = np.empty((_BOOTSTRAPS, len(runs) * width)), _AT_ONCE // max(size, 1) + 1
    for start in range(0, _BOOTSTRAPS, at_once):
        part = sums[start : start + at_once]
        part[:] = rng.standard_exponential((len(part), size), np.float32) @ table
    picked = rng.multinomial(len(runs), [1 / len(runs)] * len(runs), _BOOTSTRAPS)
    return sums.reshape(_BOOTSTRAPS, len(runs), width), picked / len(runs)
