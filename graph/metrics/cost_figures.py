"""What declines bring and what mistakes cost, with intervals, paired tests and by threshold.

The prices are those of costs.py. A case without a decision is left out.
"""

import math
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from acegraph.graph.metrics.intervals import Estimate, padded, resampled_sums, widen
from acegraph.graph.metrics.paired import NO_DIFFERENCE, Difference, permutation_test
from acegraph.graph.metrics.run import Run
from acegraph.state.run.costs import CostMatrix

Figures = NDArray[np.float64]


def cost_estimates(runs: Sequence[Run], costs: CostMatrix) -> dict[str, Estimate]:
    """Frauds per 1,000 alerts, share of the fraudulent money caught, cost per 1,000 payments.

    An alert is a decision to decline. The figures are over the decided cases of all runs together.
    """
    columns = []
    for run in runs:
        fraud, declined, values = run.fraud, run.declined, run.values
        caught = fraud & declined
        cost = costs.of(fraud, declined, values)
        alerts, money = (caught, declined), (values * caught, values * fraud)
        columns.append(padded(run, *alerts, *money, cost, np.ones(len(fraud))))
    precision, value, cost_of_one = _ratios(runs, columns, shares=2)
    return {
        "fraud_per_1000_alerts": _times(1000, precision),
        "value_caught": value,
        "cost_per_1000": _times(1000, cost_of_one),
    }


def cost_difference(ours: Sequence[Run], theirs: Sequence[Run], costs: CostMatrix) -> Difference:
    """What ours costs more than theirs per 1,000 payments; only payments that both decided count.

    The interval and the test are paired, as in paired.py.
    """
    columns = []
    for a, b in zip(ours, theirs, strict=True):
        gap, both = _costs_by_case(a, costs) - _costs_by_case(b, costs), a.is_decided & b.is_decided
        columns.append(np.stack([gap * both, both]))
    [gap_of_one] = _ratios(ours, columns)
    if math.isnan(gap_of_one.mean):
        return NO_DIFFERENCE
    p_value = permutation_test(ours, [gaps for gaps, _ in columns])
    return Difference(**vars(_times(1000, gap_of_one)), p_value=p_value)


def cost_curve(runs: Sequence[Run], costs: CostMatrix) -> tuple[Figures, Figures]:
    """Thresholds, the highest first, and the cost per 1,000 payments of declining from there on.

    The first threshold is infinite: nothing is declined.
    """
    fraud, scores, values = (
        np.concatenate([getattr(run, name) for run in runs])
        for name in ("fraud", "scores", "values")
    )
    order = np.argsort(-scores, kind="stable")
    approved, declined = (
        costs.of(fraud, np.full(len(fraud), is_declined), values) for is_declined in (False, True)
    )
    more = np.cumsum((declined - approved)[order])
    last_of_tie = np.diff(scores[order], append=np.nan) != 0
    cost = approved.sum() + np.insert(more[last_of_tie], 0, 0.0)
    return np.insert(scores[order][last_of_tie], 0, np.inf), 1000 * cost / max(len(fraud), 1)


def _costs_by_case(run: Run, costs: CostMatrix) -> Figures:
    """The cost of each case, 0 without a decision."""
    (by_case,) = padded(run, costs.of(run.fraud, run.declined, run.values))
    return np.asarray(by_case)


def _times(factor: float, estimate: Estimate) -> Estimate:
    return Estimate(factor * estimate.mean, factor * estimate.low, factor * estimate.high)


def _ratios(runs: Sequence[Run], columns: Sequence[Figures], shares: int = 0) -> list[Estimate]:
    """The ratio of each pair of columns, summed over the cases of all runs, with its interval.

    The first `shares` of them are shares of a whole: all or none of it is no certainty.
    """
    rng, together = np.random.default_rng(0), np.concatenate(columns, axis=1)
    sums, weights = resampled_sums(runs, columns, rng)
    pooled = np.einsum("drc,dr->dc", sums, weights * len(runs))
    ratios = []
    for part, whole in zip(range(0, len(together), 2), range(1, len(together), 2), strict=True):
        if not together[whole].any():
            ratios.append(Estimate(math.nan, math.nan, math.nan))
            continue
        if part < 2 * shares:
            widen(pooled, together, part, whole, rng)
        drawn = pooled[pooled[:, whole] > 0]  # a sample may have drawn none of the whole
        low, high = np.quantile(drawn[:, part] / drawn[:, whole], [0.025, 0.975])
        mean = float(together[part].sum() / together[whole].sum())
        ratios.append(Estimate(mean, min(float(low), mean), max(float(high), mean)))
    return ratios
