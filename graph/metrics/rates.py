"""Rates of decisions (accuracy, false declines, missed fraud), and all metrics by their names."""

import math
from collections.abc import Callable
from functools import partial
from typing import Final, Protocol

import numpy as np

from acegraph.graph.metrics import ranking
from acegraph.graph.metrics.run import Run


def accuracy(run: Run) -> float:
    """The share of cases that were decided rightly."""
    return float(np.mean(run.right)) if run.truths else math.nan


def balanced_accuracy(run: Run) -> float:
    """The mean of two shares: of fraud declined, and of honest transactions approved."""
    return 1 - (missed_fraud_rate(run) + false_decline_rate(run)) / 2


def false_decline_rate(run: Run) -> float:
    """The share of honest transactions that were declined."""
    honest = ~run.fraud
    return float(np.mean(run.declined[honest])) if honest.any() else 0.0


def missed_fraud_rate(run: Run) -> float:
    """The share of fraudulent transactions that were approved."""
    return float(np.mean(~run.declined[run.fraud])) if run.fraud.any() else 0.0


RATES: Final[dict[str, Callable[[Run], float]]] = {
    rate.__name__: rate
    for rate in (accuracy, balanced_accuracy, false_decline_rate, missed_fraud_rate)
}


class Ranking(Protocol):
    """A measure of risk scores; `weights` as in ranking.py."""

    def __call__(
        self, fraud: ranking.Labels, scores: ranking.Scores, *, weights: ranking.Weights = None
    ) -> ranking.Scores:
        """The figure, or one for each row of weights."""


RANKINGS: Final[dict[str, Ranking]] = {
    "average_precision": ranking.average_precision,
    "roc_auc": ranking.roc_auc,
    "recall_at_half_percent": partial(ranking.recall_at, false_positive_rate=0.005),
    "recall_at_1_percent": partial(ranking.recall_at, false_positive_rate=0.01),
    "recall_at_5_percent": partial(ranking.recall_at, false_positive_rate=0.05),
    "calibration_error": ranking.calibration_error,
}
METRICS: Final[dict[str, Callable[[Run], float]]] = RATES | {
    name: partial(lambda run, measure: float(measure(run.fraud, run.scores)), measure=measure)
    for name, measure in RANKINGS.items()
}


def is_void(metric: str, run: Run) -> bool:
    """Whether the run has no case that the metric could be computed from."""
    has_fraud, has_honest = bool(run.fraud.any()), bool((~run.fraud).any())
    wanted = {
        "accuracy": has_fraud or has_honest,
        "false_decline_rate": has_honest,
        "missed_fraud_rate": has_fraud,
    }
    return not wanted.get(metric, has_fraud and has_honest)
