"""What becomes of a transaction or of the columns of a file, for `acegraph read` to print."""

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from acegraph.graph.data.files import Dataset
from acegraph.nodes.evidence.columns.learnable_fields import learnable_fields
from acegraph.nodes.text.reader import find
from acegraph.nodes.text.understand import understand_given
from acegraph.state.task.card_payments import CARD_PAYMENTS
from acegraph.state.task.field import Field
from acegraph.state.task.guess import told
from acegraph.state.task.task import Task
from acegraph.state.values import APPROVE, DECLINE, Case, CaseTable, Column, Transaction, Verdict

_LOOKED_AT: Final = 20_000
_SHOWN: Final = 4
_ONCE: Final = "the rows span each of its values once"
_NO_RULE: Final = {
    "id": "names somebody, or a row: no rule may ask for it",
    "ignored": "left out",
    "currency": "the currency of the amount: another one is a doubt",
}


@dataclass(frozen=True)
class Reading:
    """One line: a field, its value or kind, and where it comes from."""

    field: str
    what: str
    origin: str


@dataclass(frozen=True)
class Readings:
    """The fields that were read, and those that were ignored."""

    read: list[Reading]
    ignored: list[str]


def explain(transaction: Transaction, task: Task = CARD_PAYMENTS) -> Readings:
    """The fields of one transaction as a task reads them; of a text, the words they stand in."""
    understood = understand_given(transaction, task)
    doubts = [f"{name} ({why})" for name, why in understood.doubts.items()]
    if transaction.fields:
        given = transaction.fields
        return Readings(
            [
                Reading(n, str(v), "derived" if n.rpartition(".")[0] in given else "given")
                for n, v in understood.fields.items()
                if v is not None
            ],
            doubts,
        )
    text, words = transaction.text, dict[str, str]()
    for span in find(text):
        words.setdefault(span.field, text[span.start : span.end].strip())
    fields = {name: value for name, value in understood.fields.items() if name != "text"}
    read = [Reading(name, str(v), words.get(name, "derived")) for name, v in fields.items()]
    return Readings(read, doubts)


@dataclass(frozen=True)
class FileReport(Readings):
    """What a labelled file holds: its rows and labels, and what becomes of each column."""

    rows: int
    fraud: int
    unlabelled: int
    labels: dict[str, dict[str, str | int]]
    """By label as the file writes it, what it was `taken_for`, and how many of the `rows` that were
    taken in have it."""
    time: str | None
    """The column that says when a case happened, where one is known."""
    looked_at: int
    """How many of the labelled rows, the newest, tell what the columns hold."""
    guessed: list[str]
    """What a person may correct, with the words for it."""
    warnings: list[str]
    """What to look at: suspected leaks, and readings that nothing in the file settles."""


def explain_dataset(
    dataset: Dataset, leaks: Mapping[str, str], counts: Mapping[Verdict, int] | None = None
) -> FileReport:
    """What a file holds, column by column; `leaks` are the suspected fields with their reasons,
    `counts` the rows of a table that the data set was drawn from.
    """
    counts = counts or Counter(item["answer"] for item in dataset.items)
    table = _table(dataset)
    testable = set(learnable_fields(table))
    read, ignored = [], [f"{name} (looks like a leak: {why})" for name, why in leaks.items()]
    for found in dataset.guesses:
        name, why = found.field.name, _why_ignored(found.field, table, testable)
        parts = found.field.part_names
        ignored += [f"{part} ({_ONCE})" for part in parts if part not in testable and not why]
        if why:
            said = f"; {found.why}" if found.why not in ("", why) else ""
            ignored.append(f"{name} ({why}{said})")
        elif name not in leaks:
            origin = "guessed" if found.correct else found.why or "plain"
            read.append(Reading(name, kind_in_words(found.field, table), origin))
    for derived in dataset.task.derived if dataset.task else ():
        one = Field(derived.name, "flag" if derived.what == "is_new" else "number")
        origin = f"derived from {' and '.join(derived.of[:2])}"
        read.append(Reading(one.name, kind_in_words(one, table), origin))
    warnings = [
        f"{name} looks like a leak: {why}; it is left out, --as {name}=KIND uses it"
        for name, why in leaks.items()
    ]
    return FileReport(
        read,
        ignored,
        rows=sum(counts.values()) + dataset.unlabelled,
        fraud=counts.get(DECLINE, 0),
        unlabelled=dataset.unlabelled,
        labels={
            label: {"taken_for": verdict, "rows": rows}
            for label, (verdict, rows) in dataset.labels.items()
        },
        time=dataset.time,
        looked_at=min(len(dataset.items), _LOOKED_AT),
        guessed=told(dataset.guesses),
        warnings=[*warnings, *dataset.read.notes],
    )


def _table(dataset: Dataset) -> CaseTable:
    """The newest rows as labelled cases in the words of their task."""
    task = dataset.task or CARD_PAYMENTS
    rows = (Transaction.of(item["query"]) for item in dataset.items[-_LOOKED_AT:])
    fields = (understand_given(row, task).fields for row in rows)
    table = CaseTable(Case(str(i), one, APPROVE) for i, one in enumerate(fields))
    table.task = task
    return table


def _why_ignored(field: Field, table: CaseTable, testable: set[str]) -> str:
    """Why no rule may use a field; empty if one may."""
    if field.role in _NO_RULE:
        return _NO_RULE[field.role]
    column = table.column(field.name)
    if column is None:
        return "no value in any row"
    if "time" in (field.kind, field.role):
        parts = [name for name in field.part_names if name in testable]
        return "" if parts or field.role == "time" else _ONCE
    known = int(column.known().sum())
    if known > 1 and len(column.counts()) + len(set(column.known_numbers().tolist())) == 1:
        return "the same in all rows"
    is_asked = field.name in testable or field.kind == "text"
    return "" if is_asked else "too many values, or too few rows"


def kind_in_words(field: Field, table: CaseTable) -> str:
    """What a field holds, in a few words."""
    column = table.column(field.name)
    share = f"{100 * float(column.known().mean()):.0f} % known" if column else "never known"
    role = f", {field.role}" if field.role else ""
    return f"{field.kind}{role}{_range(field, column)}, {share}"


def _range(field: Field, column: Column | None) -> str:
    if field.kind == "number" and column and len(numbers := column.known_numbers()):
        return f" {numbers.min():g} to {numbers.max():g}" + f" {field.unit}" * bool(field.unit)
    if field.kind == "category" and column:
        words = [str(word) for word in column.counts()]
        more = f" and {len(words) - _SHOWN} more" if len(words) > _SHOWN else ""
        return f": {', '.join(words[:_SHOWN])}{more}"
    if field.kind == "time":
        return f" with {', '.join(field.parts)}" if field.parts else ""
    return ": " + " or ".join(field.words) if field.words else ""
