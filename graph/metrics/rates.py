"""Rates of decisions (accuracy, false declines, missed fraud), and all metrics by their names.

A metric of a run is one figure, or one for each draw of a bootstrap where weights are given.
"""

from collections.abc import Callable, Mapping
from functools import partial
from typing import Final

import numpy as np
from numpy.typing import NDArray

from acegraph.graph.metrics import ranking
from acegraph.graph.metrics.run import Run

Figures = NDArray[np.float64]
Column = NDArray[np.bool_] | Figures
"""For each case whether something is so, or how much of it."""
Weights = Figures | None
"""How much each case counts, in one row for each draw. The last column is no case: it counts half
where a share is of all or none, whose draws would not differ else."""

Metric = Callable[..., Figures]
"""A figure of a run; with weights one for each row of them."""


def share(part: Column, whole: Column, weights: Weights) -> Figures:
    """What a part is of a whole, each summed over the cases; of nothing it is 0."""
    if weights is None or not whole.any():
        figure = np.divide(part.sum(), whole.sum() or 1.0)
        return figure if weights is None else np.full(len(weights), figure)
    total = weights[:, :-1] @ whole
    size = whole.sum() / np.count_nonzero(whole)
    return _unsure((weights[:, :-1] @ part) / total, total, size * weights[:, -1])


def _unsure(figures: Figures, total: Figures, extra: Figures) -> Figures:
    """Draws of a share; half a case is added if they are of all or none."""
    is_sure = figures[0] in (0, 1) and (figures == figures[0]).all()
    return (figures * total + extra / 2) / (total + extra) if is_sure else figures


def accuracy(run: Run, weights: Weights = None) -> Figures:
    """The share of cases that were decided rightly."""
    return share(run.right, np.ones(len(run.truths)), weights)


def balanced_accuracy(run: Run, weights: Weights = None) -> Figures:
    """The mean of two shares: of fraud declined, and of honest transactions approved."""
    return 1 - (missed_fraud_rate(run, weights) + false_decline_rate(run, weights)) / 2


def false_decline_rate(run: Run, weights: Weights = None) -> Figures:
    """The share of honest transactions that were declined."""
    return share(run.declined & ~run.fraud, ~run.fraud, weights)


def missed_fraud_rate(run: Run, weights: Weights = None) -> Figures:
    """The share of fraudulent transactions that were approved."""
    return share(run.fraud & ~run.declined, run.fraud, weights)


def _ranked(run: Run, weights: Weights = None, *, measure: Callable[..., Figures]) -> Figures:
    fraud, scores = run.fraud, run.scores
    if weights is None:
        return measure(fraud, scores)
    figures = measure(fraud, scores, weights=weights[:, :-1])
    return _unsure(figures, weights[:, :-1] @ fraud, weights[:, -1])


RATES: Final[Mapping[str, Metric]] = {
    "accuracy": accuracy,
    "balanced_accuracy": balanced_accuracy,
    "false_decline_rate": false_decline_rate,
    "missed_fraud_rate": missed_fraud_rate,
}
RANKINGS: Final[Mapping[str, Metric]] = {
    "average_precision": partial(_ranked, measure=ranking.average_precision),
    "recall_at_1_percent": partial(_ranked, measure=ranking.recall_at_1_percent),
    "calibration_error": partial(_ranked, measure=ranking.calibration_error),
}
METRICS: Final[Mapping[str, Metric]] = {**RATES, **RANKINGS}


def is_void(metric: str, run: Run) -> bool:
    """Whether the run has no case that the metric could be computed from."""
    has_fraud, has_honest = bool(run.fraud.any()), bool((~run.fraud).any())
    wanted = {
        "accuracy": has_fraud or has_honest,
        "false_decline_rate": has_honest,
        "missed_fraud_rate": has_fraud,
    }
    return not wanted.get(metric, has_fraud and has_honest)
