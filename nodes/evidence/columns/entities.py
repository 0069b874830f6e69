"""Entities: the fields that say who a customer, card or merchant is, and how much each may weigh.

The task says which ones those are, by the roles `id` and `entity`.

Somebody with many labels could decide alone what is learned, or keep a rule from being learned. So
in every test and every fit an entity weighs at most k cases, and one with m > k cases k * k / m:
the further it goes beyond, the less it weighs (as in a redescending estimator: Hampel 1974).
"""

from collections.abc import Sequence
from functools import lru_cache
from typing import Final

import numpy as np
from numpy.typing import NDArray

from acegraph.nodes.evidence.columns.learnable_fields import names_somebody
from acegraph.nodes.text.lookalikes import skeleton
from acegraph.state.ledger.hidden_fields import REDACTED
from acegraph.state.values import CaseTable, Column

NOBODY: Final = frozenset("unknown guest anonymous anon none null na n/a other - 0".split())
"""Values that many individuals share."""
_MOST: Final = 2.0
"""k is twice the cases of the average entity. With many customers that is two or three cases, less
than a rule needs to fire (induction.py). Where a few merchants are all the evidence, a fixed number
would leave nothing to learn from. EXPERIMENTS.md measures it."""
TEACHES: Final = 0.25
"""A case with a smaller share teaches nothing: its entity has more than twice as many as count."""


def case_shares(table: CaseTable) -> NDArray[np.float64]:
    """How much of a case each case counts: 1, or less where its entity has too many of them."""
    cached = table.shared.get(_key(table))
    if isinstance(cached, np.ndarray) and len(cached) == len(table):
        return cached
    shares = np.ones(len(table))
    for name in parties(table):
        column = table.column(name)
        if column is not None:
            np.minimum(shares, _shares_of(column), out=shares)
    shares.setflags(write=False)  # it is shared
    table.shared[_key(table)] = shares
    return shares


def parties(table: CaseTable) -> list[str]:
    """The fields of cases that say who they belong to."""
    return [name for name in table.field_names if names_somebody(name, table)]


def _key(table: CaseTable) -> str:
    return f"case_shares by {', '.join(parties(table))}"


def _shares_of(column: Column) -> NDArray[np.float64]:
    """The shares by one field; a case without a value counts in full."""
    folded, is_somebody = _individuals([str(value) for value in column.values])
    known = is_somebody[column.codes] | (column.numbers > 0)
    numbers = np.unique(column.numbers, return_inverse=True, equal_nan=True)[1]
    who = numbers * len(folded) + folded[column.codes]
    return _shares(np.unique(who, return_inverse=True)[1], known)


def _individuals(names: Sequence[str]) -> tuple[NDArray[np.int64], NDArray[np.bool_]]:
    """By name the number of an individual, and whether it is one; the last is that of no name.

    Names are folded, so that nobody is two by another way of writing the name.
    """
    words = [_folded(name) for name in names]
    numbered = {word: number for number, word in enumerate(dict.fromkeys(words))}
    numbers = np.array([*(numbered[word] for word in words), len(words)])
    return numbers, np.array([*(word not in NOBODY for word in words), False])


def _shares(who: NDArray[np.int64], known: NDArray[np.bool_]) -> NDArray[np.float64]:
    """The shares of cases of these entities; one that is not known counts in full."""
    counts = np.bincount(who[known])
    most = _MOST * float(counts.sum()) / max(int((counts > 0).sum()), 1)
    share = np.minimum(1.0, most / np.maximum(counts, 1)) ** 2
    shares = np.ones(len(known))
    shares[known] = share[who[known]]
    return shares


@lru_cache(maxsize=1 << 14)
def _folded(word: str) -> str:
    return "none" if word == REDACTED else skeleton(word).strip()


def spread(name: str, table: CaseTable, rows: NDArray[np.bool_]) -> tuple[int, float]:
    """How many customers or merchants some cases have, and the share of the most frequent one."""
    column = table.column(name)
    if column is None:
        return 0, 0.0
    numbers = column.numbers[rows & ~np.isnan(column.numbers)]
    codes = column.codes[rows & (column.codes >= 0)]
    counts = np.concatenate(
        [np.unique(values, return_counts=True)[1] for values in (numbers, codes)]
    )
    return len(counts), float(counts.max() / counts.sum()) if len(counts) else 0.0


def of_largest(name: str, table: CaseTable, rows: NDArray[np.bool_]) -> NDArray[np.bool_]:
    """The cases of the customer or merchant that most of some cases have."""
    column = table.column(name)
    if column is None:
        return np.zeros(len(table), bool)
    who = np.where(column.codes >= 0, -1.0 - column.codes, column.numbers)
    values, counts = np.unique(who[rows & ~np.isnan(who)], return_counts=True)
    return np.asarray(who == values[counts.argmax()])


def distinct_numbers(column: Column) -> NDArray[np.float64]:
    """The numbers of a field, each once."""
    return np.unique(column.known_numbers())
