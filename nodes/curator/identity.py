"""Who a transaction belongs to: which fields say so, and whether a text repeats what they say.

By the name of a field where that tells, by its values where it does not.
"""

import re
from collections.abc import Iterator
from itertools import pairwise
from typing import Final

import numpy as np
from numpy.typing import NDArray

from acegraph.nodes.evidence.learnable_fields import (
    CAN_TELL,
    PROPERTIES,
    describes,
    is_flag,
    is_identifier,
    words_of_name,
)
from acegraph.nodes.text.lookalikes import skeleton, words_of
from acegraph.nodes.text.reader import read_fields
from acegraph.nodes.text.trade_words import is_plain
from acegraph.state import CaseTable, Comparison, Scalar, Transaction
from acegraph.state.values.cases import Column
from acegraph.state.values.memos import is_memo

_PARTIES: Final = frozenset(
    "customer client user cardholder holder account card cc payer payee sender recipient receiver beneficiary merchant "
    "store shop seller vendor buyer member subscriber owner person employee iban pan".split()
)
_ROLES: Final = frozenset(
    "customer client user cardholder payer payee sender recipient receiver beneficiary merchant seller vendor "
    "buyer".split()
)
_BARE: Final = _ROLES | {"username", "iban", "pan", "email"}
_MARKS: Final = frozenset(
    "id num number nr no name hash token key uuid guid ref email iban".split()
)
_PERSONAL: Final = frozenset(
    "first last surname firstname lastname fullname name street address addr dob birthdate ssn passport phone mobile "
    "email mail ip imei mac iban pan cvv username login nickname url token uuid guid hash".split()
)
_FEW: Final = 4
_MANY: Final = 50
"""So few values, each in so many cases: kinds of customers or merchants, not some of them."""
_LARGEST_COUNT: Final = 100
_CARD: Final = 10**12
"""The least number of thirteen digits, as the shortest card numbers have."""
_DOMAIN = re.compile(r"(?!www\.)[\w-]+(?:\.[\w-]+)+", re.IGNORECASE)
_RUN: Final = 5
"""So many words in a row, the same as in the transaction, are a copy."""
_GENERIC: Final = frozenset(
    "company limited service services trading international global group general center centre world online shop store "
    "market mart super house star best first national american united city king trade products solutions digital media "
    "customer payment order thanks thank please hello dear from with this that approve decline transaction".split()
)


def is_entity(name: str, table: CaseTable) -> bool:
    """Whether a field says which customer or merchant it is.

    >>> [is_entity(name, CaseTable()) for name in ("customer_id", "merchant", "merchant_category")]
    [True, True, False]
    """
    if not _is_party(name):
        return False
    column, is_role = table.column(name), words_of_name(name)[-1] in _ROLES
    if column is None:
        return True
    return not (is_flag(column) or _is_of_kinds(column) or (is_role and _has_few_values(column)))


def is_identifying(name: str, table: CaseTable) -> bool:
    """Whether the values of a field belong to somebody, or are a stranger's words."""
    column, last = table.column(name), set(words_of_name(name)[-1:])
    if PROPERTIES & last or (column is not None and is_flag(column)):
        return False
    if is_memo(name):
        return True
    if _is_party(name) and (column is None or not _is_of_kinds(column)):
        return True
    if _PERSONAL & last and not describes(name):
        return column is None or not _is_count(column)
    return column is not None and len(table) >= CAN_TELL and is_identifier(name, table)


def is_bound(test: Comparison, table: CaseTable) -> bool:
    """Whether a number lies between those of a field that measures: then it is nobody's number."""
    column = table.column(test.field)
    if column is None or not column.is_numeric or len(table) < CAN_TELL:
        return False
    if test.op in ("is", "is not") or is_identifier(test.field, table):
        return False
    low, high = np.nanmin(column.numbers), np.nanmax(column.numbers)
    return isinstance(test.value, int | float) and bool(low <= test.value <= min(high, _CARD))


def is_domain(test: Comparison, table: CaseTable) -> bool:
    """Whether a word is a bare domain, and one of the categories of its field."""
    column = table.column(test.field)
    if column is None or len(table) < CAN_TELL or not isinstance(test.value, str):
        return False
    is_category = bool(column.equals(test.value).any()) and not is_identifier(test.field, table)
    return is_category and _DOMAIN.fullmatch(test.value) is not None


def identifying_values(source: Transaction, table: CaseTable) -> Iterator[tuple[str, str]]:
    """Name and value of what a heuristic may not repeat, as skeletons."""
    fields = read_fields(source)
    for name, value in fields.items():
        if value is None or isinstance(value, bool):
            continue
        text = skeleton(_plain(value))
        is_sentence = isinstance(value, str) and len(words_of(text)) >= _RUN
        if is_sentence or (is_identifying(name, table) and not _is_kind(text)):
            yield name, text
    if not source.fields:
        described = {w for v in fields.values() for w in words_of(skeleton(str(v)))}
        yield "its text", skeleton(source.text)
        for found in re.finditer(r"[\"“'‘](?=\w)([^\"”’]+?)[\"”'’](?!\w)", source.text):
            yield "quotation marks", skeleton(found[1])
        for found in re.finditer(r"(?<=[a-z,:] )[A-Z][\w'&-]{2,}(?: [A-Z][\w'&-]+)*", source.text):
            name = skeleton(found[0])
            if not all(w in described or is_plain(w) for w in words_of(name)):
                yield "a name", name


def copied(value: str, text: str) -> bool:
    """Whether a text repeats a value, or a telling part of it; both are skeletons.

    >>> copied("lucky star trading ltd", "approve payments to lucky star")
    True
    >>> copied("pays 40 at a supermarket at noon", "decline at a supermarket")
    False
    """
    words, theirs = words_of(value), words_of(text)
    if not words:
        return False
    if len(words) > _RUN + 1:  # a sentence: only its wording can be copied
        runs = {tuple(words[i : i + _RUN]) for i in range(len(words) - _RUN + 1)}
        return any(tuple(theirs[i : i + _RUN]) in runs for i in range(len(theirs) - _RUN + 1))
    if len("".join(words)) >= 5 and "".join(words) in "".join(theirs) and not _is_kind(value):
        return True
    pairs = set(pairwise(words))
    if any(pair in pairs and not _is_kind(" ".join(pair)) for pair in pairwise(theirs)):
        return True
    telling = {w for w in words if len(w) >= 3 and not is_plain(w) and w not in _GENERIC}
    telling |= {w for w in words if w.isdigit() and len(w) >= 5}
    return bool(telling & set(theirs))


def _is_party(name: str) -> bool:
    """Whether a field is a customer, a merchant, or a mark of one, by its name."""
    words = words_of_name(name)
    if describes(name) or not _PARTIES & set(words):
        return False
    return words[-1] in _MARKS or words[-1] in _BARE


def _is_of_kinds(column: Column) -> bool:
    """Whether "merchant: supermarket" is a kind of merchant, not one of them."""
    words = column.counts()
    return bool(words) and not len(_distinct_numbers(column)) and all(map(_is_kind, words))


def _has_few_values(column: Column) -> bool:
    distinct = len(column.counts()) + len(_distinct_numbers(column))
    return 0 < distinct <= _FEW and int(column.known().sum()) >= _MANY * distinct


def _is_count(column: Column) -> bool:
    """Whether small numbers come again and again, and nothing else."""
    known, numbers = int(column.known().sum()), _distinct_numbers(column)
    if column.counts() or known < CAN_TELL:
        return False
    return 2 * len(numbers) <= known and bool(np.abs(numbers).max() < _LARGEST_COUNT)


def _distinct_numbers(column: Column) -> NDArray[np.float64]:
    return np.unique(column.numbers[~np.isnan(column.numbers)])


def _is_kind(value: Scalar) -> bool:
    """Whether a value is made of the trade's words only."""
    if isinstance(value, bool):
        return True
    return isinstance(value, str) and all(is_plain(w) for w in words_of(skeleton(value)))


def _plain(value: Scalar) -> str:
    if isinstance(value, float) and value.is_integer():
        return str(int(value))
    return str(value)
