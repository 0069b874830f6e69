"""Paired tests: whether one way of deciding is better than another on the same cases."""

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from acegraph.graph.metrics.intervals import Estimate, resampled_sums, row_numbers
from acegraph.graph.metrics.run import Run
from acegraph.state import DECLINE


@dataclass(frozen=True)
class PairedTest:
    """The result of comparing two ways of deciding on the same cases."""

    gained: int
    """Rows that the first got right in more seeds than the second."""
    lost: int
    """Rows that the second got right in more seeds than the first."""
    p_value: float
    """The p-value of McNemar's exact test, two-sided."""


def p_words(p: float) -> str:
    """A p-value as reports write it.

    >>> p_words(0.0123), p_words(1e-9)
    ('p = .0123', 'p < .0001')
    """
    return "p < .0001" if p < 1e-4 else f"p = {p:.4f}".replace("0.", ".")


def mcnemar(ours: Sequence[Run], theirs: Sequence[Run]) -> PairedTest:
    """McNemar's exact test on the cases of several runs, paired one to one (McNemar 1947).

    A row that several seeds have tested counts once, for the side that was right more often.
    """
    from scipy.stats import binomtest  # takes a second to import, and only reports need it

    rows = np.concatenate(row_numbers(ours)[0])
    balance = np.bincount(rows, np.concatenate(_differences(ours, theirs)))
    gained, lost = int((balance > 0).sum()), int((balance < 0).sum())
    p = binomtest(gained, gained + lost, 0.5).pvalue if gained + lost else 1.0
    return PairedTest(gained, lost, float(p))


def accuracy_gained(ours: Sequence[Run], theirs: Sequence[Run]) -> float:
    """The mean gain in accuracy over all cases; an undecided case counts as wrong."""
    means = [gains.mean() for gains in _differences(ours, theirs) if len(gains)]
    return float(np.mean(means)) if means else math.nan


def paired_difference(ours: Sequence[Run], theirs: Sequence[Run]) -> Estimate:
    """The gain in balanced accuracy, with an interval by resampling seeds and rows."""
    is_fraud = [np.array(run.truths) == DECLINE for run in ours]
    if not all(some.any() and not some.all() for some in is_fraud):
        return Estimate(math.nan, math.nan, math.nan)
    columns = []
    for some, gains in zip(is_fraud, _differences(ours, theirs), strict=True):
        fraud, honest = some.astype(float), 1 - some.astype(float)
        columns.append(np.stack([fraud, fraud * gains, honest, honest * gains]))
    sums, weights = resampled_sums(ours, columns, np.random.default_rng(0))
    frauds, of_fraud, honests, of_honest = np.moveaxis(sums, 2, 0)
    draws = ((of_fraud / frauds + of_honest / honests) / 2 * weights).sum(axis=1)
    low, high = np.quantile(draws, [0.025, 0.975])
    means = [(c[1].sum() / c[0].sum() + c[3].sum() / c[2].sum()) / 2 for c in columns]
    return Estimate(float(np.mean(means)), float(low), float(high))


def _differences(ours: Sequence[Run], theirs: Sequence[Run]) -> list[NDArray[np.float64]]:
    """Per run and case: 1 where only ours was right, -1 where only theirs."""
    return [a.right.astype(float) - b.right for a, b in zip(ours, theirs, strict=True)]
