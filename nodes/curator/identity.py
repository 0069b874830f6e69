"""Which fields identify somebody, and whether a text repeats their values.

The name of a field decides, and its values where the name does not tell.
"""

import re
from collections.abc import Iterator
from itertools import pairwise
from typing import Final

import numpy as np

from acegraph.nodes.evidence.columns.entities import (
    distinct_numbers,
    is_kind,
    is_of_kinds,
    is_party,
)
from acegraph.nodes.evidence.columns.learnable_fields import (
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
from acegraph.state import Transaction
from acegraph.state.values.cases import CaseTable, Column
from acegraph.state.values.condition import Comparison
from acegraph.state.values.memos import is_memo
from acegraph.state.values.notation import written

_PERSONAL: Final = frozenset(
    "first last surname firstname lastname fullname name street address addr dob birthdate ssn passport phone mobile "
    "email mail ip imei mac iban pan cvv username login nickname url token uuid guid hash".split()
)
_LARGEST_COUNT: Final = 100
_CARD: Final = 10**12
"""The smallest number of thirteen digits, the length of the shortest card numbers."""
_DOMAIN = re.compile(r"(?!www\.)[\w-]+(?:\.[\w-]+)+", re.IGNORECASE)
_QUOTATION = re.compile(r"[\"“'‘](?=\w)(?P<words>(?:[^\"”'’]|'(?=\w))++)(?P<end>[\"”'’](?!\w))?")
"""A quotation. A match without an `end` is none: it only keeps its text from a second search."""
_RUN: Final = 5
"""So many words in a row that stand in the transaction too are a copy."""
_GENERIC: Final = frozenset(
    "company limited service services trading international global group general center centre world online shop store "
    "market mart super house star best first national american united city king trade products solutions digital media "
    "customer payment order thanks thank please hello dear from with this that approve decline transaction".split()
)


def is_identifying(name: str, table: CaseTable) -> bool:
    """Whether the values of a field identify somebody, or are free text."""
    column, last = table.column(name), set(words_of_name(name)[-1:])
    if PROPERTIES & last or (column is not None and is_flag(column)):
        return False
    if is_memo(name):
        return True
    if is_party(name) and (column is None or not is_of_kinds(column)):
        return True
    if _PERSONAL & last and not describes(name):
        return column is None or not _is_count(column)
    return column is not None and len(table) >= CAN_TELL and is_identifier(name, table)


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
        if is_sentence or (is_identifying(name, table) and not is_kind(text)):
            yield name, text
    if not transaction.fields:
        text = transaction.text
        described = {w for v in fields.values() for w in words_of(skeleton(str(v)))}
        yield "its text", skeleton(text)
        for quote in _QUOTATION.finditer(text):
            if quote["end"]:
                yield "quotation marks", skeleton(quote["words"])
        for name in re.findall(r"(?<=[a-z,:] )[A-Z][\w'&-]{2,}(?: [A-Z][\w'&-]+)*", text):
            if not all(w in described or is_plain(w) for w in words_of(skeleton(name))):
                yield "a name", skeleton(name)


def copied(value: str, text: str) -> bool:
    """Whether a text repeats a value, or a part of it that identifies; both are skeletons.

    >>> copied("lucky star trading ltd", "approve payments to lucky star")
    True
    >>> copied("pays 40 at a supermarket at noon", "decline at a supermarket")
    False
    """
    words, in_text = words_of(value), words_of(text)
    if not words:
        return False
    if len(words) > _RUN + 1:  # of a sentence only the wording can be copied
        runs = {tuple(words[i : i + _RUN]) for i in range(len(words) - _RUN + 1)}
        return any(tuple(in_text[i : i + _RUN]) in runs for i in range(len(in_text) - _RUN + 1))
    if len("".join(words)) >= 5 and "".join(words) in "".join(in_text) and not is_kind(value):
        return True
    pairs = set(pairwise(words))
    if any(pair in pairs and not is_kind(" ".join(pair)) for pair in pairwise(in_text)):
        return True
    identifying = {w for w in words if len(w) >= 3 and not is_plain(w) and w not in _GENERIC}
    identifying |= {w for w in words if w.isdigit() and len(w) >= 5}
    return bool(identifying & set(in_text))


def _is_count(column: Column) -> bool:
    """Whether the column holds small numbers that repeat, and nothing else."""
    filled, numbers = int(column.known().sum()), distinct_numbers(column)
    if column.counts() or filled < CAN_TELL:
        return False
    return 2 * len(numbers) <= filled and bool(np.abs(numbers).max() < _LARGEST_COUNT)
