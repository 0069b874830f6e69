"""What declines bring and what mistakes cost, with intervals and paired tests.

The prices are those of `CostMatrix`.
"""

import math
from collections.abc import Callable, Sequence
from functools import partial

import numpy as np

from acegraph.graph.metrics.intervals import NO_ESTIMATE, Estimate, of_draws, resampled
from acegraph.graph.metrics.paired import NO_DIFFERENCE, Difference, permutation_test
from acegraph.graph.metrics.rates import Column, Figures, Weights, share
from acegraph.graph.metrics.run import Run
from acegraph.state.values import CostMatrix


def cost_estimates(runs: Sequence[Run], costs: CostMatrix) -> dict[str, Estimate]:
    """Frauds per 1,000 alerts, share of the fraudulent money caught, cost per 1,000 payments.

    An alert is a decision to decline. The figures are over the cases of all runs together.
    """
    run = Run.together(runs)
    fraud, values, caught = run.fraud, run.values, run.fraud & run.declined
    return {
        "fraud_per_1000_alerts": _times(1000, _over_all(runs, share, caught, run.declined)),
        "value_caught": _over_all(runs, share, values * caught, values * fraud),
        "cost_per_1000": _times(1000, _over_all(runs, _mean, run.paid(costs))),
    }


def cost_if_all_approved(runs: Sequence[Run], costs: CostMatrix) -> float:
    """What approving every case of the runs would cost per case."""
    run = Run.together(runs)
    paid = costs.of(run.fraud, np.zeros(len(run.fraud), bool), run.values)
    return float(paid.mean()) if len(paid) else math.nan


def cost_difference(ours: Sequence[Run], theirs: Sequence[Run], costs: CostMatrix) -> Difference:
    """What ours costs more than theirs per 1,000 payments, as in paired.py."""
    gaps = Run.together(ours).paid(costs) - Run.together(theirs).paid(costs)
    found = _times(1000, _over_all(ours, _mean, gaps))
    if math.isnan(found.mean):
        return NO_DIFFERENCE
    return Difference(**vars(found), p_value=permutation_test(ours, gaps))


def _times(factor: float, estimate: Estimate) -> Estimate:
    return Estimate(factor * estimate.mean, factor * estimate.low, factor * estimate.high)


def _mean(of_cases: Figures, weights: Weights) -> Figures:
    if weights is None:
        return np.asarray(of_cases.mean())
    return np.asarray(weights[:, :-1] @ of_cases / weights[:, :-1].sum(axis=1))


def _over_all(runs: Sequence[Run], measure: Callable[..., Figures], *columns: Column) -> Estimate:
    """A measure of columns over the cases of all runs, with its interval."""
    if not columns[-1].size or (measure is share and not columns[-1].any()):
        return NO_ESTIMATE
    (draws,) = resampled(runs, [partial(measure, *columns)])
    return of_draws(float(measure(*columns, None)), draws)
