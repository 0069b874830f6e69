"""Paired tests: whether one way of deciding is better than another on the same cases."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

from acegraph.graph.metrics.intervals import Estimate, of_draws, resampled, row_numbers
from acegraph.graph.metrics.rates import balanced_accuracy, is_void
from acegraph.graph.metrics.run import Run

_SIGNS: Final = np.array([-1.0, 1.0])
_SIGNS_AT_MOST: Final = 1_000_000
"""Signs that a permutation test draws at a time."""


def p_words(p: float) -> str:
    """A p-value as reports write it.

    >>> p_words(0.0123), p_words(1e-9)
    ('p = .0123', 'p < .0001')
    """
    return "p < .0001" if p < 1e-4 else f"p = {p:.4f}".replace("0.", ".")


@dataclass(frozen=True)
class Difference(Estimate):
    """The mean difference of two ways of deciding, with its 95 % interval and a p-value."""

    p_value: float
    """Of a permutation test, two-sided: for each row, who of the two decided how is random."""

    def to_json(self) -> dict[str, float | None]:
        """The figures rounded for reading; the p-value as it is."""
        p_value = None if math.isnan(self.p_value) else self.p_value
        return {**super().to_json(), "p_value": p_value}


NO_DIFFERENCE: Final = Difference(math.nan, math.nan, math.nan, math.nan)
"""There are no cases of which a difference could be told."""


def paired_difference(ours: Sequence[Run], theirs: Sequence[Run]) -> Difference:
    """The gain in balanced accuracy, with an interval by resampling seeds and rows.

    An undecided case counts as wrong.
    """
    our, their = Run.together(ours), Run.together(theirs)
    if is_void("balanced_accuracy", our):
        return NO_DIFFERENCE
    (draws,) = resampled(
        ours, [lambda some: balanced_accuracy(our, some) - balanced_accuracy(their, some)]
    )
    sizes = np.where(our.fraud, our.fraud.sum(), (~our.fraud).sum())
    gains = (our.right.astype(float) - their.right) / sizes / 2
    found = of_draws(float(gains.sum()), draws)
    return Difference(**vars(found), p_value=permutation_test(ours, gains))


def permutation_test(runs: Sequence[Run], differences: NDArray[np.float64]) -> float:
    """The p-value of a sum of paired differences, one for each case of all runs; two-sided.

    If the two ways are equally good, each row's difference might as well have the other sign
    (Fisher 1935). A row that several runs tested has one sign for all of them.
    """
    from scipy.stats import monte_carlo_test  # takes a second to import, and only reports need it

    rows, size = row_numbers(runs)
    by_row = np.bincount(np.concatenate(rows), differences, size)
    by_row, rng = by_row[by_row != 0], np.random.default_rng(0)
    found = monte_carlo_test(
        by_row,
        lambda size: by_row * rng.choice(_SIGNS, size),
        lambda sample, axis: np.abs(np.sum(sample, axis)),
        n_resamples=19_999,
        batch=_SIGNS_AT_MOST // max(len(by_row), 1) + 1,
        alternative="greater",
    )
    return float(found.pvalue) if len(by_row) else 1.0
