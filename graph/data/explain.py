"""What the reader (nodes/text/reader.py) reads and ignores; graph/cli/tables.py prints it."""

import re
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from acegraph.graph.data.files import Item
from acegraph.nodes.evidence.learnable_fields import is_identifier
from acegraph.nodes.text.reader import find, read_fields
from acegraph.state import APPROVE, Case, CaseTable, Transaction
from acegraph.state.values.cases import Column

_WORDS = re.compile(r"[\w$€£.,:%'-]*\w[\w$€£.,:%'-]*")


@dataclass(frozen=True)
class Reading:
    """One line: a field, its value or kind, and where it comes from."""

    field: str
    what: str
    origin: str


@dataclass(frozen=True)
class Readings:
    """The fields that were read, and the words or fields that were ignored."""

    read: list[Reading]
    ignored: list[str]


def explain(transaction: Transaction) -> Readings:
    """The fields of one transaction with the words they were read from."""
    fields = read_fields(transaction)
    if transaction.fields:
        read = [
            Reading(name, str(value), "given" if name in transaction.fields else "derived")
            for name, value in fields.items()
            if value is not None
        ]
        return Readings(read, [name for name, value in fields.items() if value is None])
    text, spans = transaction.text, list(find(transaction.text))
    words: dict[str, str] = {}
    for span in spans:
        words.setdefault(span.field, text[span.start : span.end].strip())
    read = [Reading(name, str(v), words.get(name, "derived")) for name, v in fields.items()]
    ignored = [
        word[0]
        for word in _WORDS.finditer(text)
        if not any(s.start < word.end() and word.start() < s.end for s in spans)
    ]
    return Readings(read, ignored)


def explain_file(items: Sequence[Item]) -> Readings:
    """The columns of a labelled file: what kind each is, and which are left out as identifiers."""
    transactions = [Transaction.of(item["query"]) for item in items]
    given_names = {name for t in transactions for name in t.fields}
    table = CaseTable(Case(str(i), read_fields(t), APPROVE) for i, t in enumerate(transactions))
    read, ignored = [], []
    for name in table.field_names:
        column = table.column(name)
        assert column is not None
        if is_identifier(name, table):
            ignored.append(f"{name} (names an individual: {_kind(column)})")
        else:
            origin = "given" if name in given_names else "derived"
            read.append(Reading(name, _kind(column), origin))
    return Readings(read, ignored)


def _kind(column: Column) -> str:
    share = f"{100 * float(column.known().mean()):.0f} % known"
    if column.is_numeric:
        numbers = column.numbers[~np.isnan(column.numbers)]
        return f"number, {numbers.min():g} to {numbers.max():g}, {share}"
    if all(isinstance(value, bool) for value in column.values):
        return f"flag, {share}"
    return f"category, {len(column.values)} values, {share}"
