"""Measures of risk scores: ranking and calibration. Cases of equal score share a threshold."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Labels = NDArray[np.bool_]
Scores = NDArray[np.float64]


def _counts(fraud: Labels, scores: Scores) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Frauds caught and honest cases declined at every threshold, the strictest first."""
    order = np.argsort(-scores, kind="stable")
    caught, declined = np.cumsum(fraud[order]), np.cumsum(~fraud[order])
    last_of_tie = np.diff(scores[order], append=np.nan) != 0  # NaN differs from the last score
    return caught[last_of_tie], declined[last_of_tie]


def average_precision(fraud: Labels, scores: Scores) -> float:
    """The area under the precision-recall curve, taken as a step function."""
    if not fraud.any():
        return 0.0
    caught, declined = _counts(fraud, scores)
    gained = np.diff(caught, prepend=0) / fraud.sum()
    return float(np.sum(gained * caught / (caught + declined)))


def roc_auc(fraud: Labels, scores: Scores) -> float:
    """How often a fraud has a higher score than an honest case; ties count half."""
    if fraud.all() or not fraud.any():
        return 0.5
    caught, declined = _counts(fraud, scores)
    tpr = np.insert(caught / fraud.sum(), 0, 0.0)
    fpr = np.insert(declined / (~fraud).sum(), 0, 0.0)
    return float(np.sum(np.diff(fpr) * (tpr[1:] + tpr[:-1]) / 2))


def recall_at(fraud: Labels, scores: Scores, false_positive_rate: float) -> float:
    """The share of fraud caught when at most this share of honest cases may be declined."""
    if fraud.all() or not fraud.any():
        return 0.0
    caught, declined = _counts(fraud, scores)
    allowed = declined <= false_positive_rate * (~fraud).sum() + 1e-9
    return float(caught[allowed].max(initial=0) / fraud.sum())


def precision_recall(fraud: Labels, scores: Scores) -> tuple[Scores, Scores]:
    """Recall and precision at every threshold, the strictest first."""
    caught, declined = _counts(fraud, scores)
    return caught / max(int(fraud.sum()), 1), caught / (caught + declined)


@dataclass(frozen=True)
class Bin:
    """Cases of about the same risk score."""

    risk: float
    """Their mean risk score."""
    fraud: float
    """The share of fraud among them, where all fraud weighs as much as all honest cases."""
    cases: int


def reliability(fraud: Labels, scores: Scores, bins: int = 10) -> list[Bin]:
    """Mean risk score and share of fraud by bin of the score.

    A score assumes as much fraud as honest cases, so the labels are weighted to that; at another
    rate of fraud the log-odds of the score shift by the log-odds of that rate.
    """
    weights = np.where(fraud, 0.5 / max(fraud.sum(), 1), 0.5 / max((~fraud).sum(), 1))
    numbers = np.minimum((scores * bins).astype(int), bins - 1)
    filled = []
    for number in np.unique(numbers):
        inside = numbers == number
        mass = weights[inside].sum()
        mean_score = float(weights[inside] @ scores[inside] / mass)
        fraud_share = float(weights[inside & fraud].sum() / mass)
        filled.append(Bin(mean_score, fraud_share, int(inside.sum())))
    return filled


def calibration_error(fraud: Labels, scores: Scores) -> float:
    """Mean distance between risk score and share of fraud over ten bins (Naeini et al. 2015)."""
    bins = reliability(fraud, scores)
    cases = sum(b.cases for b in bins)
    return sum(b.cases * abs(b.risk - b.fraud) for b in bins) / cases if cases else 0.0
