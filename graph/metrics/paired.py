"""Paired tests: whether one way of deciding beats another on the same cases."""

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
    """Two ways of deciding on the same cases."""

    gained: int
    """Rows that only the first got right, or in more seeds than the second."""
    lost: int
    """Rows that only the second got right, or in more seeds."""
    p_value: float
    """McNemar's exact test, two-sided."""


def p_words(p: float) -> str:
    """A p-value as reports write it.

    >>> p_words(0.0123), p_words(1e-9)
    ('p = .0123', 'p < .0001')
    """
    return "p < .0001" if p < 1e-4 else f"p = {p:.4f}".replace("0.", ".")


def mcnemar(ours: Sequence[Run], theirs: Sequence[Run]) -> PairedTest:
    """McNemar's exact test on the cases of several runs, paired one to one (McNemar 1947).

    A row that several seeds have tested counts once, for whom it was right more often.
    """
    from scipy.stats import binomtest  # a second to import: only a report pays for it

    rows = np.concatenate(row_numbers(ours)[0])
    balance = np.bincount(rows, np.concatenate(_differences(ours, theirs)))
    gained, lost = int((balance > 0).sum()), int((balance < 0).sum())
    p = binomtest(gained, gained + lost, 0.5).pvalue if gained + lost else 1.0
    return PairedTest(gained, lost, float(p))


def accuracy_gained(ours: Sequence[Run], theirs: Sequence[Run]) -> float:
    """Accuracy gained over all cases; an undecided one is not right."""
    means = [found.mean() for found in _differences(ours, theirs) if len(found)]
    return float(np.mean(means)) if means else math.nan


def paired_difference(ours: Sequence[Run], theirs: Sequence[Run]) -> Estimate:
    """Balanced accuracy gained, with an interval by resampling seeds and pairs of decisions."""
    fraud = [np.array(run.truths) == DECLINE for run in ours]
    if not all(found.any() and not found.all() for found in fraud):
        return Estimate(math.nan, math.nan, math.nan)
    columns = [
        np.stack([here, here * difference, 1 - here, (1 - here) * difference])
        for here, difference in zip(
            (found.astype(float) for found in fraud), _differences(ours, theirs), strict=True
        )
    ]
    sums, weights = resampled_sums(ours, columns, np.random.default_rng(0))
    frauds, of_fraud, honests, of_honest = np.moveaxis(sums, 2, 0)
    draws = ((of_fraud / frauds + of_honest / honests) / 2 * weights).sum(axis=1)
    low, high = np.quantile(draws, [0.025, 0.975])
    means = [(c[1].sum() / c[0].sum() + c[3].sum() / c[2].sum()) / 2 for c in columns]
    return Estimate(float(np.mean(means)), float(low), float(high))


def _differences(ours: Sequence[Run], theirs: Sequence[Run]) -> list[NDArray[np.float64]]:
    """Per run and case: 1 where only ours was right, -1 where only theirs."""
    return [a.right.astype(float) - b.right for a, b in zip(ours, theirs, strict=True)]
