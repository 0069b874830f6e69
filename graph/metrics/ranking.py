"""Measures of risk scores: ranking and calibration. Cases of equal score share a threshold."""

from typing import Final

import numpy as np
from numpy.typing import NDArray

Labels = NDArray[np.bool_]
Scores = NDArray[np.float64]
Weights = NDArray[np.float64] | None
"""How often each case counts, in one row for each draw of a bootstrap; None: once. A measure gives
one figure for each row."""
_TINY: Final = 1e-12
"""Added to what is divided by, where it may be 0."""


def _counts(fraud: Labels, scores: Scores, weights: Weights = None) -> tuple[Scores, Scores]:
    """Frauds caught and honest cases declined at every threshold, the strictest first."""
    order = np.argsort(-scores, kind="stable")
    last_of_tie = np.diff(scores[order], append=np.nan) != 0  # NaN differs from the last score
    counts = []
    for ranked in (fraud[order], ~fraud[order]):
        cases = order[ranked]
        counted = np.ones(len(cases)) if weights is None else weights[..., cases]
        sums = np.zeros((*counted.shape[:-1], len(cases) + 1))
        np.cumsum(counted, axis=-1, out=sums[..., 1:])
        counts.append(sums[..., np.cumsum(ranked)[last_of_tie]])
    return counts[0], counts[1]


def average_precision(fraud: Labels, scores: Scores, *, weights: Weights = None) -> Scores:
    """The area under the precision-recall curve, taken as a step function."""
    caught, declined = _counts(fraud, scores, weights)
    if not fraud.any():
        return np.zeros(caught.shape[:-1])
    gained = np.diff(caught, prepend=0, axis=-1) * caught / (caught + declined)
    return np.asarray(gained.sum(axis=-1) / caught[..., -1])


def recall_at_1_percent(fraud: Labels, scores: Scores, *, weights: Weights = None) -> Scores:
    """The share of fraud caught when at most 1 % of honest cases may be declined."""
    caught, declined = _counts(fraud, scores, weights)
    if fraud.all() or not fraud.any():
        return np.zeros(caught.shape[:-1])
    allowed = declined <= 0.01 * declined[..., -1:] + 1e-9
    return np.asarray(np.max(caught * allowed, axis=-1) / caught[..., -1])


def calibration_error(fraud: Labels, scores: Scores, *, weights: Weights = None) -> Scores:
    """Mean distance between risk score and share of fraud over ten bins of equal width (Naeini et
    al. 2015), where all fraud weighs as much as all honest cases.
    """
    counted = np.ones(len(scores)) if weights is None else weights
    frauds, honests = (np.sum(counted * of, axis=-1, keepdims=True) for of in (fraud, ~fraud))
    balanced = counted * np.where(fraud, 0.5 / (frauds + _TINY), 0.5 / (honests + _TINY))
    bins = np.eye(10)[np.minimum((scores * 10).astype(int), 9)]
    gaps = np.abs((balanced * (scores - fraud)) @ bins) / (balanced @ bins + _TINY)
    return np.asarray((counted @ bins * gaps).sum(axis=-1) / (counted.sum(axis=-1) + _TINY))
