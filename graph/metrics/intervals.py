"""The 95 % intervals of all figures: of shares and means, and of figures over runs by resampling.

Wilson's interval itself is in nodes/evidence, since the nodes need it without a table of cases.
"""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Final, TypeVar

import numpy as np
from numpy.typing import NDArray

from acegraph.graph.metrics.rates import METRICS, RANKINGS, RATES, Figures, is_void
from acegraph.graph.metrics.run import Run
from acegraph.nodes.evidence.backtest import wilson_interval

_DRAWS: Final = 1000
_RANKING_DRAWS: Final = 200
_HARDLY: Final = 1e-9
"""The weight of a run that was not drawn: what only it has is no part of nothing."""
_AT_ONCE: Final = 5_000_000
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


AnEstimate = TypeVar("AnEstimate", bound=Estimate)


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


def band(figures: Sequence[AnEstimate]) -> AnEstimate:
    """What is known of a figure of which labels are missing because of the decisions: its ends,
    given what it is if all of them are honest and if all are fraud. A single one stays as it is.
    """
    low, high = np.min([one.low for one in figures]), np.max([one.high for one in figures])
    ends = dict.fromkeys(vars(figures[0]), math.nan) | {"low": float(low), "high": float(high)}
    return replace(figures[0], **ends) if len(figures) > 1 else figures[0]


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


def estimate(metric: str, runs: Sequence[Run]) -> Estimate:
    """A metric over the cases of all runs, with an interval by resampling runs and rows.

    A row that several runs tested is drawn for all of them or for none: it is evidence only once.
    """
    return estimates(runs, [metric])[metric]


def estimates(runs: Sequence[Run], metrics: Sequence[str] = ()) -> dict[str, Estimate]:
    """Several metrics by their names, or all: rates share their draws, and rankings do."""
    run, found = Run.together(runs), dict[str, Estimate]()
    for kind, count in ((RATES, _DRAWS), (RANKINGS, _RANKING_DRAWS)):
        names = [name for name in kind if name in (metrics or METRICS)]
        draws = resampled(runs, [partial(kind[name], run) for name in names], count)
        for name, drawn in zip(names, draws, strict=True):
            is_none = is_void(name, run)
            found[name] = NO_ESTIMATE if is_none else of_draws(float(kind[name](run)), drawn)
    return found


def resampled(
    runs: Sequence[Run], figures: Sequence[Callable[[Figures], Figures]], count: int = _DRAWS
) -> Figures:
    """Figures with random weights on the rows of the data and on the runs: a row of draws of each.

    Rows are resampled by the Bayesian bootstrap (Rubin 1981), and runs as well: resampling both may
    give too wide an interval, never too narrow a one (Owen 2007).
    """
    (rows, size), rng = row_numbers(runs), np.random.default_rng(0)
    picked = rng.multinomial(len(runs), [1 / len(runs)] * len(runs), count)
    picked = np.maximum(picked, _HARDLY)
    found = []
    for some in np.array_split(picked, count * size // _AT_ONCE + 1) if figures else ():
        drawn = rng.standard_exponential((len(some), size + 1))
        cases = [drawn[:, of_run] * n[:, None] for of_run, n in zip(rows, some.T, strict=True)]
        weights = np.concatenate([*cases, drawn[:, -1:]], axis=1)
        found.append(np.stack([figure(weights) for figure in figures]))
    return np.concatenate(found, axis=1) if found else np.empty((0, count))


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
