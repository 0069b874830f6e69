"""Entities: which fields say who a customer, card or merchant is, and how much each may weigh.

Somebody with many labels could decide alone what is learned, or keep a rule from being learned. So
in every test and every fit an entity weighs at most k cases, and one with m > k cases k * k / m:
the further it goes beyond, the less it weighs (as in a redescending estimator: Hampel 1974).
"""

from collections.abc import Sequence
from functools import lru_cache
from typing import Final

import numpy as np
from numpy.typing import NDArray

from acegraph.nodes.evidence.columns.learnable_fields import (
    describes,
    is_flag,
    is_identifier,
    words_of_name,
)
from acegraph.nodes.text.lookalikes import skeleton
from acegraph.state.ledger.hidden_fields import REDACTED
from acegraph.state.values.cases import CaseTable, Column

_PARTIES: Final = frozenset(
    "customer client user cardholder holder account card cc payer payee sender recipient receiver "
    "beneficiary merchant store shop seller vendor buyer member subscriber owner person employee "
    "iban pan".split()
)
_ROLES: Final = frozenset(
    "customer client user cardholder payer payee sender recipient receiver beneficiary merchant "
    "seller vendor buyer".split()
)
_BARE: Final = _ROLES | {"username", "iban", "pan", "email"}
ID_WORDS: Final = frozenset(
    "id num number nr no name hash token key uuid guid ref email iban".split()
)
_ADDRESSES: Final = frozenset("ip imei mac email mail phone mobile fingerprint wallet uid".split())
"""What belongs to one individual, whatever else the name of its field says."""
_BELONGINGS: Final = _PARTIES | frozenset("device browser session terminal cust acct usr".split())
"""What has a number or a name that stands for an individual: `device_id`, but not `device`."""
NOBODY: Final = frozenset("unknown guest anonymous anon none null na n/a other - 0".split())
"""Values that many individuals share."""
_FEW: Final = 4
_MANY: Final = 4
"""At most so few values, each in so many cases, are kinds of customers, not single ones."""
_MOST: Final = 2.0
"""k is twice the cases of the average entity. With many customers that is two or three cases, less
than a rule needs to fire (induction.py). Where a few merchants are all the evidence, a fixed number
would leave nothing to learn from. EXPERIMENTS.md measures it."""
TEACHES: Final = 0.25
"""A case with a smaller share teaches nothing: its entity has more than twice as many as count."""
_CACHED: Final = "case_shares"


def case_shares(table: CaseTable) -> NDArray[np.float64]:
    """How much of a case each case counts: 1, or less where its entity has too many of them."""
    cached = table.shared.get(_CACHED)
    if isinstance(cached, np.ndarray) and len(cached) == len(table):
        return cached
    shares = np.ones(len(table))
    for name in table.field_names:
        column = table.column(name)
        if column is not None and names_somebody(name, table):
            np.minimum(shares, _shares_of(column), out=shares)
    set_case_shares(table, shares)
    return shares


def set_case_shares(table: CaseTable, shares: NDArray[np.float64]) -> None:
    """Say how much each case of a table counts, where one may stand for many."""
    shares.setflags(write=False)  # it is shared
    table.shared[_CACHED] = shares


def _shares_of(column: Column) -> NDArray[np.float64]:
    """The shares by one field; a case without a value counts in full."""
    folded, is_somebody = _individuals([str(value) for value in column.values])
    known = is_somebody[column.codes] | (column.numbers > 0)
    numbers = np.unique(column.numbers, return_inverse=True, equal_nan=True)[1]
    who = numbers * len(folded) + folded[column.codes]
    return _shares(np.unique(who, return_inverse=True)[1], known)


def shares_of_names(codes: NDArray[np.int32], names: Sequence[str]) -> NDArray[np.float64]:
    """How much of a case each row counts whose entity has one of these names; -1 stands for none.

    >>> shares_of_names(np.array([0, 0, 0, 0, 0, 1, 2, -1], np.int32), ["x", "y", "z"]).round(2)
    array([0.87, 0.87, 0.87, 0.87, 0.87, 1.  , 1.  , 1.  ])
    """
    folded, is_somebody = _individuals(names)
    return _shares(folded[codes], is_somebody[codes])


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


def names_somebody(name: str, table: CaseTable) -> bool:
    """Whether a field names a customer or merchant, or a device or address of theirs."""
    if is_entity(name, table):
        return True
    words = words_of_name(name) or ("",)
    is_named = bool(_ADDRESSES & set(words)) or words[0] == "name" or words[-1] in _PARTIES
    is_named = is_named or (words[-1] in ID_WORDS and bool(_BELONGINGS & set(words)))
    return is_named and not describes(name) and is_identifier(name, table)


def is_entity(name: str, table: CaseTable) -> bool:
    """Whether the values of a field tell one customer or merchant from another.

    >>> [is_entity(name, CaseTable()) for name in ("customer_id", "merchant", "merchant_category")]
    [True, True, False]
    """
    if not is_party(name):
        return False
    column, is_role = table.column(name), words_of_name(name)[-1] in _ROLES
    if column is None:
        return True
    return not (is_flag(column) or (is_role and _has_few_values(column)))


def is_party(name: str) -> bool:
    """Whether the name of a field says that it holds a customer or merchant, or their number."""
    words = words_of_name(name)
    if describes(name) or not _PARTIES & set(words):
        return False
    return words[-1] in ID_WORDS or words[-1] in _BARE


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


def _has_few_values(column: Column) -> bool:
    distinct = len(column.counts()) + len(distinct_numbers(column))
    return 0 < distinct <= _FEW and int(column.known().sum()) >= _MANY * distinct


def distinct_numbers(column: Column) -> NDArray[np.float64]:
    """The numbers of a field, each once."""
    return np.unique(column.known_numbers())
