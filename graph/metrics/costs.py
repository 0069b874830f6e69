"""What declines bring and what mistakes cost, with intervals and paired tests.

The prices are those of `CostMatrix`.
"""

import math
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from acegraph.graph.metrics.intervals import NO_ESTIMATE, Estimate, of_draws, resampled_sums, widen
from acegraph.graph.metrics.paired import NO_DIFFERENCE, Difference, permutation_test
from acegraph.graph.metrics.run import Run
from acegraph.state.values.costs import CostMatrix

Figures = NDArray[np.float64]


def cost_estimates(runs: Sequence[Run], costs: CostMatrix) -> dict[str, Estimate]:
    """Frauds per 1,000 alerts, share of the fraudulent money caught, cost per 1,000 payments.

    An alert is a decision to decline. The figures are over the cases of all runs together.
    """
    columns = []
    for run in runs:
        fraud, declined, values = run.fraud, run.declined, run.values
        caught = fraud & declined
        alerts, money = (caught, declined), (values * caught, values * fraud)
        columns.append(np.stack([*alerts, *money, run.paid(costs), np.ones(len(fraud))]))
    precision, value, cost_of_one = _ratios(runs, columns, shares=2)
    return {
        "fraud_per_1000_alerts": _times(1000, precision),
        "value_caught": value,
        "cost_per_1000": _times(1000, cost_of_one),
    }


def cost_if_all_approved(runs: Sequence[Run], costs: CostMatrix) -> float:
    """What approving every case of the runs would cost per case."""
    paid = [costs.of(run.fraud, np.zeros(len(run.fraud), bool), run.values) for run in runs]
    together = np.concatenate(paid)
    return float(together.mean()) if len(together) else math.nan


def cost_difference(ours: Sequence[Run], theirs: Sequence[Run], costs: CostMatrix) -> Difference:
    """What ours costs more than theirs per 1,000 payments, as in paired.py."""
    gaps = [a.paid(costs) - b.paid(costs) for a, b in zip(ours, theirs, strict=True)]
    [gap_of_one] = _ratios(ours, [np.stack([gap, np.ones(len(gap))]) for gap in gaps])
    if math.isnan(gap_of_one.mean):
        return NO_DIFFERENCE
    return Difference(**vars(_times(1000, gap_of_one)), p_value=permutation_test(ours, gaps))


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
            ratios.append(NO_ESTIMATE)
            continue
        if part < 2 * shares:
            widen(pooled, together, part, whole, rng)
        drawn = pooled[pooled[:, whole] > 0]  # a sample may have drawn none of the whole
        mean = float(together[part].sum() / together[whole].sum())
        ratios.append(of_draws(mean, drawn[:, part] / drawn[:, whole]))
    return ratios
