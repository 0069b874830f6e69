"""Population stability: by how much a field of newer cases differs from that of older ones.

The index is the sum of (p - q) ln(p / q) over bins, p and q the shares of both populations. Below
0.1 a field is usually called stable, from 0.25 on it has moved. Where there are few cases chance
alone makes an index: of samples of n and m cases about (1/n + 1/m) times a chi-squared variable
with a degree of freedom for each bin but one (Yurdakul 2018).
"""

from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

from acegraph.state.values.cases import Column

MOVED: Final = 0.25
_BINS: Final = 10
_SURE: Final = 0.999
"""How rarely chance alone may make a field look as if it had moved: many fields are looked at."""


@dataclass(frozen=True)
class Stability:
    """The index of one field, and up to which index chance explains it."""

    index: float
    chance: float

    @property
    def has_moved(self) -> bool:
        """Whether the difference is large, and no chance."""
        return bool(self.index >= MOVED and self.index > self.chance)


def stability(before: NDArray[np.float64], after: NDArray[np.float64]) -> Stability:
    """The stability of two populations, given how many cases of each fall into each bin.

    >>> stability(np.array([50.0, 50.0]), np.array([50.0, 50.0])).index
    0.0
    >>> stability(np.array([500.0, 500.0]), np.array([900.0, 100.0])).has_moved
    True
    """
    from scipy.special import chdtri

    p, q = ((counts + 0.5) / (counts.sum() + 0.5 * len(counts)) for counts in (before, after))
    size = float(1 / max(before.sum(), 1) + 1 / max(after.sum(), 1))
    chance = size * float(chdtri(max(len(before) - 1, 1), 1 - _SURE))
    return Stability(round(float(((p - q) * np.log(p / q)).sum()), 4), round(chance, 4))


def counts_of_numbers(
    before: NDArray[np.float64], after: NDArray[np.float64]
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Both populations counted in tenths of the first; missing numbers have a bin of their own."""
    known = before[~np.isnan(before)]
    cuts = np.unique(np.quantile(known, np.arange(1, _BINS) / _BINS)) if len(known) else known
    counted = []
    for numbers in (before, after):
        bins = np.searchsorted(cuts, numbers, side="right")
        bins[np.isnan(numbers)] = len(cuts) + 1
        counted.append(np.bincount(bins, minlength=len(cuts) + 2).astype(float))
    return counted[0], counted[1]


def counts_of_words(
    before: Column, after: Column
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Both populations counted by the usual words of the first, all others, and missing ones."""
    usual = sorted(before.counts().items(), key=lambda pair: -pair[1])[: _BINS - 1]
    counted = []
    for column in (before, after):
        words = column.counts()
        by_word = [float(words.get(word, 0)) for word, _ in usual]
        missing = len(column.codes) - sum(words.values())
        counted.append(np.array([*by_word, sum(words.values()) - sum(by_word), float(missing)]))
    return counted[0], counted[1]


def field_stability(before: Column, after: Column | None, rows: int) -> Stability:
    """The stability of a field; `after` is None where none of so many newer cases has it."""
    if after is None:
        after = Column(np.full(rows, np.nan), np.full(rows, -1, np.int32), ())
    if before.is_numeric:
        return stability(*counts_of_numbers(before.numbers, after.numbers))
    return stability(*counts_of_words(before, after))
