"""Measures of risk scores: how well they rank, how far they can be taken at their word.

Arrays in, numbers out; scikit-learn is the oracle in the tests. Equal scores share a threshold.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Labels = NDArray[np.bool_]
Scores = NDArray[np.float64]


def _counts(fraud: Labels, scores: Scores) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Frauds caught and honest cases declined at every threshold, from the strictest on."""
    order = np.argsort(-scores, kind="stable")
    caught, declined = np.cumsum(fraud[order]), np.cumsum(~fraud[order])
    last_of_tie = np.diff(scores[order], append=np.nan) != 0  # nothing equals the end
    return caught[last_of_tie], declined[last_of_tie]


def average_precision(fraud: Labels, scores: Scores) -> float:
    """Area under the precision-recall curve as a step function."""
    if not fraud.any():
        return 0.0
    caught, declined = _counts(fraud, scores)
    gained = np.diff(caught, prepend=0) / fraud.sum()
    return float(np.sum(gained * caught / (caught + declined)))


def roc_auc(fraud: Labels, scores: Scores) -> float:
    """How often a fraud has the higher score than an honest case; ties count half."""
    if fraud.all() or not fraud.any():
        return 0.5
    caught, declined = _counts(fraud, scores)
    tpr = np.insert(caught / fraud.sum(), 0, 0.0)
    fpr = np.insert(declined / (~fraud).sum(), 0, 0.0)
    return float(np.sum(np.diff(fpr) * (tpr[1:] + tpr[:-1]) / 2))


def recall_at(fraud: Labels, scores: Scores, false_positive_rate: float) -> float:
    """Share of fraud caught when at most this share of honest cases may be declined."""
    if fraud.all() or not fraud.any():
        return 0.0
    caught, declined = _counts(fraud, scores)
    allowed = declined <= false_positive_rate * (~fraud).sum() + 1e-9
    return float(caught[allowed].max(initial=0) / fraud.sum())


def precision_recall(fraud: Labels, scores: Scores) -> tuple[Scores, Scores]:
    """Recall and precision at every threshold, from the strictest on."""
    caught, declined = _counts(fraud, scores)
    return caught / max(int(fraud.sum()), 1), caught / (caught + declined)


@dataclass(frozen=True)
class Bin:
    """Cases of about the same risk score."""

    said: float
    """Their mean score."""
    seen: float
    """The share of fraud among them, both labels weighing the same in total."""
    cases: int


def reliability(fraud: Labels, scores: Scores, bins: int = 10) -> list[Bin]:
    """Risk said against fraud seen. The score speaks of as much fraud as honest cases, so the
    labels are weighed to that; at another rate the log-odds shift by that rate's.
    """
    weights = np.where(fraud, 0.5 / max(fraud.sum(), 1), 0.5 / max((~fraud).sum(), 1))
    places = np.minimum((scores * bins).astype(int), bins - 1)
    found = []
    for place in np.unique(places):
        here = places == place
        mass = weights[here].sum()
        said = float(weights[here] @ scores[here] / mass)
        found.append(Bin(said, float(weights[here & fraud].sum() / mass), int(here.sum())))
    return found


def calibration_error(fraud: Labels, scores: Scores) -> float:
    """Mean distance between risk said and fraud seen over ten bins (Naeini et al. 2015)."""
    found = reliability(fraud, scores)
    cases = sum(b.cases for b in found)
    return sum(b.cases * abs(b.said - b.seen) for b in found) / cases if cases else 0.0
