"""Rates of decisions: accuracy, balanced accuracy, false declines, missed fraud."""

import math
from collections.abc import Callable, Sequence
from functools import partial
from typing import Final

import numpy as np
from numpy.typing import NDArray

from acegraph.graph.metrics import ranking
from acegraph.graph.metrics.intervals import row_numbers
from acegraph.graph.metrics.run import Run

_BOOTSTRAPS: Final = 2000

_AT_ONCE: Final = 1_000_000
"""Weights that memory holds together."""


def accuracy(run: Run) -> float:
    """Share of decided cases that were right."""
    return float(np.mean(run.fraud == run.declined)) if len(run.fraud) else math.nan


def balanced_accuracy(run: Run) -> float:
    """Mean of the shares of fraud declined and of honest cases approved."""
    return 1 - (missed_fraud_rate(run) + false_decline_rate(run)) / 2


def false_decline_rate(run: Run) -> float:
    """Share of honest transactions that were declined."""
    honest = ~run.fraud
    return float(np.mean(run.declined[honest])) if honest.any() else 0.0


def missed_fraud_rate(run: Run) -> float:
    """Share of fraudulent transactions that were approved."""
    return float(np.mean(~run.declined[run.fraud])) if run.fraud.any() else 0.0


RATES: Final = {
    "accuracy": accuracy,
    "balanced_accuracy": balanced_accuracy,
    "false_decline_rate": false_decline_rate,
    "missed_fraud_rate": missed_fraud_rate,
}

RANKINGS: Final[dict[str, Callable[[ranking.Labels, ranking.Scores], float]]] = {
    "average_precision": ranking.average_precision,
    "roc_auc": ranking.roc_auc,
    "recall_at_1_percent": partial(ranking.recall_at, false_positive_rate=0.01),
    "recall_at_5_percent": partial(ranking.recall_at, false_positive_rate=0.05),
    "calibration_error": ranking.calibration_error,
}

METRICS: Final[dict[str, Callable[[Run], float]]] = {
    **RATES,
    **{
        name: partial(lambda run, of: of(run.fraud, run.scores), of=of)
        for name, of in RANKINGS.items()
    },
}


def is_void(metric: str, run: Run) -> bool:
    """Whether nothing was decided that a figure could be of."""
    has_fraud, has_honest = bool(run.fraud.any()), bool((~run.fraud).any())
    wanted = {
        "accuracy": has_fraud or has_honest,
        "false_decline_rate": has_honest,
        "missed_fraud_rate": has_fraud,
    }
    return not wanted.get(metric, has_fraud and has_honest)


def _resampled(
    runs: Sequence[Run], columns: Sequence[NDArray[np.float64]], rng: np.random.Generator
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Sums over the cases of each run, per draw, run and column, with rows weighed at random; and
    what each run weighs in each draw.

    Rows by the Bayesian bootstrap (Rubin 1981), and runs besides: resampling both errs on the side
    of too wide an interval, never of too narrow a one (Owen 2007).
    """
    (rows, size), width = row_numbers(runs), len(columns[0])
    table = np.zeros((size, len(runs) * width), np.float32)
    for i, (own, found) in enumerate(zip(rows, columns, strict=True)):
        np.add.at(table[:, i * width : (i + 1) * width], own, found.T)
    sums, at_once = np.empty((_BOOTSTRAPS, len(runs) * width)), _AT_ONCE // max(size, 1) + 1
    for start in range(0, _BOOTSTRAPS, at_once):
        part = sums[start : start + at_once]
        part[:] = rng.standard_exponential((len(part), size), np.float32) @ table
    picked = rng.multinomial(len(runs), [1 / len(runs)] * len(runs), _BOOTSTRAPS)
    return sums.reshape(_BOOTSTRAPS, len(runs), width), picked / len(runs)


def rolling_accuracy(runs: Sequence[Run], window: int = 100) -> NDArray[np.float64]:
    """Mean over runs of the share right among the last `window` cases, along the stream."""
    length = min(len(run.truths) for run in runs)
    right = np.mean([run.right[:length] for run in runs], axis=0)
    sums = np.cumsum(np.insert(right.astype(float), 0, 0.0))
    ends = np.arange(1, length + 1)
    starts = np.maximum(ends - window, 0)
    return np.asarray((sums[ends] - sums[starts]) / (ends - starts))
