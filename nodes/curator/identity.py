"""Which fields identify somebody, and whether a text repeats their values."""

import re
from collections.abc import Iterator
from typing import Final

import numpy as np

from acegraph.nodes.evidence.columns.learnable_fields import (
    CAN_TELL,
    declared,
    is_identifier,
    names_somebody,
)
from acegraph.nodes.text.lookalikes import skeleton, words_of
from acegraph.nodes.text.understand import read_fields
from acegraph.state.values import SENTENCE, CaseTable, Comparison, Transaction, written

_CARD: Final = 10**12
"""The smallest number of thirteen digits, the length of the shortest card numbers."""
_DOMAIN = re.compile(r"(?!www\.)[\w-]+(?:\.[\w-]+)+", re.IGNORECASE)
_RUN: Final = 5
"""So many words in a row that stand in the transaction too are a copy."""
_SHORTEST: Final = 5
"""So many letters in a row are a copy of a value, wherever the text puts its spaces."""


def is_identifying(name: str, table: CaseTable, value: object = None) -> bool:
    """Whether the values of a field identify somebody, or are free text.

    A text `value` of a field that nobody declared does, until enough cases tell otherwise.
    """
    field = declared(name, table)
    if names_somebody(name, table) or (table.is_text(name) and name != SENTENCE):
        return True
    if table.column(name) is None or len(table) < CAN_TELL:
        return field is None and isinstance(value, str)
    return is_identifier(name, table)


def is_bound(test: Comparison, table: CaseTable) -> bool:
    """Whether a number is a bound within the range of a field that measures, not an identifier."""
    column = table.column(test.field)
    if column is None or not column.is_numeric or len(table) < CAN_TELL:
        return False
    if test.op in ("is", "is not") or is_identifier(test.field, table):
        return False
    low, high = np.nanmin(column.numbers), np.nanmax(column.numbers)
    return isinstance(test.value, int | float) and bool(low <= test.value <= min(high, _CARD))


def is_domain(test: Comparison, table: CaseTable) -> bool:
    """Whether a value is a bare internet domain that is a category of its field."""
    column = table.column(test.field)
    if column is None or len(table) < CAN_TELL or not isinstance(test.value, str):
        return False
    is_category = bool(column.equals(test.value).any()) and not is_identifier(test.field, table)
    return is_category and _DOMAIN.fullmatch(test.value) is not None


def identifying_values(transaction: Transaction, table: CaseTable) -> Iterator[tuple[str, str]]:
    """The values that a heuristic may not repeat: where each stands, and its skeleton."""
    fields = read_fields(transaction)
    for name, value in fields.items():
        if value is None or isinstance(value, bool):
            continue
        text = skeleton(written(value))
        is_sentence = isinstance(value, str) and len(words_of(text)) >= _RUN
        if is_sentence or is_identifying(name, table, value):
            yield name, text
    if not transaction.fields:
        yield "its text", skeleton(transaction.text)


def copied(value: str, text: str) -> bool:
    """Whether a text repeats a value, or of a sentence five words in a row; both are skeletons.

    >>> copied("lucky star trading ltd", "approve payments to lucky star trading ltd")
    True
    >>> copied("pays 40 at a supermarket at noon", "decline at a supermarket")
    False
    """
    words, in_text = words_of(value), words_of(text)
    if not words:
        return False
    size = min(len(words), _RUN)
    runs = {tuple(words[i : i + size]) for i in range(len(words) - size + 1)}
    if any(tuple(in_text[i : i + size]) in runs for i in range(len(in_text) - size + 1)):
        return True
    joined = "".join(words)
    return len(joined) >= _SHORTEST and len(words) <= _RUN and joined in "".join(in_text)
