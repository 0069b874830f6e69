"""Population stability: by how much a field of newer cases differs from that of older ones.

The index is the sum of (p - q) ln(p / q) over bins, p and q the shares of both populations. Below
0.1 a field is usually called stable, from 0.25 on it has moved, unless chance explains so much.
"""

from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

from acegraph.state.values import Column

MOVED: Final = 0.25
_BINS: Final = 10
_SURE: Final = 0.001
"""How rarely chance alone may make a field look as if it had moved: many fields are looked at."""
Numbers = NDArray[np.float64]


@dataclass(frozen=True)
class Stability:
    """The index of one field."""

    index: float
    p_value: float
    """Of the chi-squared test: how often chance alone makes such a difference."""

    @property
    def has_moved(self) -> bool:
        """Whether the difference is large, and no chance."""
        return self.index >= MOVED and self.p_value < _SURE


def stability(before: Numbers, after: Numbers) -> Stability:
    """The stability of two populations, given how many cases of each fall into each bin.

    >>> stability(np.array([50.0, 50.0]), np.array([50.0, 50.0])).index
    0.0
    >>> stability(np.array([500.0, 500.0]), np.array([900.0, 100.0])).has_moved
    True
    """
    from scipy.stats import chi2_contingency

    counts = np.stack([before, after])
    counts = counts[:, counts.any(axis=0)]
    p, q = (counts + 0.5) / (counts + 0.5).sum(axis=1, keepdims=True)
    index = round(float(((p - q) * np.log(p / q)).sum()), 4)
    return Stability(index, float(chi2_contingency(counts).pvalue))


def of_numbers(before: Numbers, after: Numbers) -> Stability:
    """The stability of numbers by tenths of the older ones; a missing number has its own bin."""
    known = before[~np.isnan(before)]
    cuts = np.unique(np.quantile(known, np.arange(1, _BINS) / _BINS)) if len(known) else known
    counted = []
    for numbers in (before, after):
        bins = np.where(np.isnan(numbers), len(cuts) + 1, np.searchsorted(cuts, numbers, "right"))
        counted.append(np.bincount(bins, minlength=len(cuts) + 2).astype(float))
    return stability(*counted)


def of_field(before: Column, after: Column | None, rows: int) -> Stability:
    """The stability of a field; `after` is None where none of so many newer cases has it.

    Words are counted by the usual ones of the older cases, all others, and missing ones.
    """
    if after is None:
        after = Column(np.full(rows, np.nan), np.full(rows, -1, np.int32), ())
    if before.is_numeric:
        return of_numbers(before.numbers, after.numbers)
    usual = sorted(before.counts(), key=lambda word: -before.counts()[word])[: _BINS - 1]
    counted = []
    for column in (before, after):
        words = [float(column.counts().get(word, 0)) for word in usual]
        known = float(sum(column.counts().values()))
        counted.append(np.array([*words, known - sum(words), len(column.codes) - known]))
    return stability(*counted)
