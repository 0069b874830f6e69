"""What the reader (nodes/text/reader.py) reads and ignores; graph/cli/tables.py prints it."""

import re
from collections import deque
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from acegraph.graph.data.files import Dataset, Item, is_prose
from acegraph.nodes.evidence.columns.entities import distinct_numbers, names_somebody
from acegraph.nodes.evidence.columns.learnable_fields import (
    is_identifier,
    learnable_fields,
    occurs_once,
)
from acegraph.nodes.evidence.sightings.columns import origin_of
from acegraph.nodes.text.reader import Found, find, read_fields
from acegraph.state import APPROVE, DECLINE, Case, Transaction
from acegraph.state.values.cases import CaseTable, Column
from acegraph.state.values.memos import is_free_text
from acegraph.state.values.transaction import is_derived

_WORDS = re.compile(r"[\w$€£.,:%'-]++")
_LETTER = re.compile(r"\w")
_LOOKED_AT = 20_000
_FREE_TEXT = "free text: rules may ask which words it mentions, to decline"


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
    text, spans = transaction.text, find(transaction.text)
    words: dict[str, str] = {}
    for span in spans:
        words.setdefault(span.field, text[span.start : span.end].strip())
    read = [Reading(name, str(v), words.get(name, "derived")) for name, v in fields.items()]
    return Readings(read, list(_words_outside(text, spans)))


def _words_outside(text: str, spans: Sequence[Found]) -> Iterator[str]:
    """The words that no span touches."""
    by_start, read_to = deque(sorted(spans, key=lambda span: span.start)), 0
    for word in _WORDS.finditer(text):
        while by_start and by_start[0].start < word.end():
            read_to = max(read_to, by_start.popleft().end)
        if read_to <= word.start() and _LETTER.search(word[0]):
            yield word[0]


@dataclass(frozen=True)
class FileReport(Readings):
    """What a labelled file holds: its rows and labels, and what becomes of each column."""

    rows: int
    fraud: int
    unlabelled: int
    labels: dict[str, dict[str, str | int]]
    """By label as the file writes it, what it was `taken_for` and how many `rows` have it."""
    time: str | None
    """The column that says when a payment happened, where one is known."""
    looked_at: int
    """How many of the labelled rows, the newest, tell what the columns hold."""
    warnings: list[str]
    """What to look at: suspected leaks, and readings that nothing in the file settles."""


def explain_dataset(dataset: Dataset, leaks: Mapping[str, str]) -> FileReport:
    """What a file holds, column by column; `leaks` are the suspected fields with their reasons."""
    readings = explain_file(dataset.items, dataset.forms, dataset.sighting_columns)
    parts = tuple(f"{name}{end}" for name in leaks for end in (" (", ".month", ".weekday", ".hour"))
    read = [r for r in readings.read if not f"{r.field} (".startswith(parts)]
    ignored = [text for text in readings.ignored if not text.startswith(parts)]
    suspected = [f"{name} (looks like a leak: {why})" for name, why in leaks.items()]
    warnings = [
        f"{name} looks like a leak: {why}; it is left out, --keep {name} uses it"
        for name, why in leaks.items()
    ]
    return FileReport(
        read,
        [*ignored, *suspected, *(f"{name} (not read)" for name in dataset.unread)],
        rows=len(dataset.items) + dataset.unlabelled,
        fraud=sum(item["answer"] == DECLINE for item in dataset.items),
        unlabelled=dataset.unlabelled,
        labels={
            label: {"taken_for": verdict, "rows": rows}
            for label, (verdict, rows) in dataset.labels.items()
        },
        time=dataset.time,
        looked_at=min(len(dataset.items), _LOOKED_AT),
        warnings=[*warnings, *dataset.notes],
    )


def explain_file(
    items: Sequence[Item],
    forms: Mapping[str, str] | None = None,
    sighting_columns: Mapping[str, str] | None = None,
) -> Readings:
    """The columns of labelled items: what kind each is, and why a rule may not use it.

    The newest 20,000 rows are looked at. `forms` are those of the dates, `sighting_columns` are
    those that derived fields come from.
    """
    transactions = [Transaction.of(item["query"]) for item in items[-_LOOKED_AT:]]
    given_names = dict.fromkeys(name for t in transactions for name in t.fields)
    table = CaseTable(Case(str(i), read_fields(t), APPROVE) for i, t in enumerate(transactions))
    learnable, read, ignored = set(learnable_fields(table)), [], []
    for name in table.field_names:
        column = table.column(name)
        assert column is not None
        if why := _why_ignored(name, column, table, learnable, forms or {}):
            ignored.append(f"{name} ({why})")
        else:
            origin = "given" if name in given_names else "derived"
            if sighting_columns and is_derived(name):
                origin = origin_of(name, sighting_columns)
            read.append(Reading(name, _FREE_TEXT if is_free_text(name) else _kind(column), origin))
    empty = [name for name in given_names if name not in table.field_names]
    return Readings(read, [*ignored, *(f"{name} (no value in any row)" for name in empty)])


def _why_ignored(
    name: str, column: Column, table: CaseTable, learnable: set[str], forms: Mapping[str, str]
) -> str:
    """Why no rule may use a field; empty if one may."""
    known = int(column.known().sum())
    distinct = len(column.counts()) + len(distinct_numbers(column))
    if distinct == 1 and known == len(table) > 1:
        return "the same in all rows"
    if name in learnable or is_free_text(name):
        return ""
    if occurs_once(name, table):
        return "a calendar artefact: the rows span each of its values once"
    if table.column(f"{name}.weekday") is not None:
        form = forms.get(name, "ISO 8601")
        return f"dates, {form}: only weekday, month and hour are read from them"
    words = [value for value in column.counts() if isinstance(value, str)]
    if words and is_prose(words):
        return "free text: a language model reads it, rules do not"
    if not is_identifier(name, table):
        return "too few rows have it"
    if column.is_numeric or names_somebody(name, table) or 2 * distinct > known:
        return f"names an individual: {_kind(column)}"
    return f"too many values for a category: {_kind(column)}; --keep {name} uses the frequent ones"


def _kind(column: Column) -> str:
    share = f"{100 * float(column.known().mean()):.0f} % known"
    if column.is_numeric:
        numbers = column.known_numbers()
        return f"number, {numbers.min():g} to {numbers.max():g}, {share}"
    if all(isinstance(value, bool) for value in column.values):
        return f"flag, {share}"
    return f"category, {len(column.values)} values, {share}"
