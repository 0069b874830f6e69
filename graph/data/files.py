"""Labelled data sets from files: a JSON list, JSON lines or CSV. It knows nothing of learning.

The columns are what `guess` takes them for (state/task/guess.py), or what was said of them.
"""

from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Final, NotRequired, TypedDict

from acegraph.graph.data.derived import with_derived, with_evidence
from acegraph.graph.data.rows import ReadRows, a_label, need, read_label, read_rows
from acegraph.graph.data.synthetic import Example
from acegraph.state.errors import InvalidDataset, InvalidInput
from acegraph.state.run.schema import GivenTransaction
from acegraph.state.task.form import Form
from acegraph.state.task.guess import Guess, guess, guess_task, told
from acegraph.state.task.task import Task
from acegraph.state.values import (
    DECLINE,
    KINDS,
    Scalar,
    Transaction,
    Verdict,
    is_derived,
    is_number,
)

_TOLD: Final = ("time", "ignored")
_LOOKED_AT: Final = 20_000
"""So many rows tell what the columns are."""


class Item(TypedDict):
    """One labelled row of a data set."""

    query: GivenTransaction
    answer: Verdict
    id: str
    """The id that the row came with, else its place in the data set."""
    copy: NotRequired[int]
    """Only on a row that came without an id: 1 on the first row of its content, 2 on the second."""
    time: NotRequired[str]
    """When the case happened, in ISO 8601, where that is known."""
    sighting_columns: NotRequired[Mapping[str, str]]
    """The fields that derived fields come from, by what they hold; only where some are derived."""


@dataclass(frozen=True)
class FileLayout:
    """Which columns of a file hold what."""

    query: str | None = "query"
    """The text of the transaction; None: all other columns together are its fields."""
    answer: str = "answer"
    positive: object = None
    """The label that means fraud, if it is not one of the usual words."""
    ids: str | None = "id"
    declared: Mapping[str, str] = field(default_factory=dict)
    """By column a kind or a role, where the guess is wrong: `{"card1": "category"}`."""
    task: Task | None = None
    """What the columns are and how they are written, where that is known: nothing is guessed."""
    late_days: float | None = None
    """After how many days labels are known; without it nothing is derived from them."""

    @property
    def forms(self) -> Mapping[str, Form] | None:
        """How the columns are written, where that is known."""
        return self.task.forms if self.task else None

    @property
    def names_somebody(self) -> bool:
        """Whether a column is declared to say who a row is about."""
        if self.task:
            return bool(self.task.sighting_columns)
        return any(word in KINDS or ":" in word for word in self.declared.values())

    @property
    def left_out(self) -> frozenset[str]:
        """The columns that are no part of a transaction."""
        return frozenset(name for name, word in self.declared.items() if word == "ignored")


_GUESSED: Final = FileLayout()


@dataclass(frozen=True)
class Dataset:
    """The labelled rows of a file, and how the file was read."""

    items: list[Item]
    unlabelled: int
    """How many rows have no label; they are left out."""
    labels: dict[str, tuple[Verdict, int]]
    """What each label was taken for, and how many rows have it."""
    guesses: list[Guess]
    """What the columns were taken for; empty for texts."""
    task: Task | None
    """The task that these columns make; None for texts."""
    notes: list[str]
    """What a person should know of the reading, in sentences."""
    file: Path
    read: ReadRows
    layout: FileLayout

    @property
    def time(self) -> str | None:
        """The field that says when a case happened, where one is known."""
        found = self.task.of_role("time") if self.task else None
        return found.name if found else None

    @property
    def has_amounts(self) -> bool:
        """Whether a field is known as the amount."""
        return bool(self.task and self.task.of_role("amount"))

    def without(self, names: Iterable[str]) -> "Dataset":
        """The same rows, understood again without these columns, those of them that they have."""
        known = {name for row in self.read.rows for name in row}
        ignored = {**self.layout.declared, **dict.fromkeys(known.intersection(names), "ignored")}
        found = understand_rows(self.file, self.read, replace(self.layout, declared=ignored))
        return replace(found, unlabelled=self.unlabelled)


def load_dataset(
    path: str | Path,
    *,
    query: str | None = "query",
    answer: str = "answer",
    positive: object = None,
    ids: str | None = "id",
    declared: Mapping[str, str] | None = None,
    task: Task | None = None,
) -> list[Item]:
    """Read a labelled set. Every item has `query`, `answer` (APPROVE or DECLINE) and `id`.

    `query` and `answer` name the keys or columns. With `query=None` all other columns together are
    the fields of the transaction.

    `positive` is the label that means fraud, if it is not one of the usual words. `FileLayout`
    says what the others mean. Rows without a label are left out.
    """
    return read_dataset(path, FileLayout(query, answer, positive, ids, declared or {}, task)).items


def read_dataset(path: str | Path, layout: FileLayout = _GUESSED) -> Dataset:
    """Read a labelled set, and say how it was read."""
    read = read_rows(Path(path), layout.answer, layout.forms)
    return understand_rows(Path(path), read, layout)


def understand_rows(file: Path, read: ReadRows, layout: FileLayout) -> Dataset:
    """The rows of a file as a labelled set."""
    rows = read.rows
    if not rows:
        raise InvalidDataset(f"{file}: no rows")
    names = list(dict.fromkeys(name for row in rows for name in row))
    check_names(file, names, layout)
    guesses: list[Guess] = []
    task = None
    if layout.query is None:
        guesses = guesses_of(rows, layout, read.forms)
        task = (layout.task or guess_task(file.stem, guesses)).without(layout.left_out)
        if not layout.task:
            task = replace(task, forms=dict(read.forms))
    derived, said = task.sighting_columns if task else {}, list[str]()
    if task and derived:
        verdicts = [_verdict(file, n, row, layout) for n, row in enumerate(rows, start=1)]
        task, said = with_evidence(task, rows, verdicts, layout.late_days)
        rows = with_derived(rows, derived, verdicts, task.evidence)
    time = task.of_role("time") if task else None
    items, labels = _items(file, rows, layout, time.name if time else None)
    for item in items if derived else ():
        item["sighting_columns"] = derived
    return Dataset(
        items=items,
        unlabelled=len(rows) - len(items),
        labels=labels,
        guesses=guesses,
        task=task,
        notes=[*read.notes, *said, *told(one for one in guesses if one.field.role in _TOLD)],
        file=file,
        read=read,
        layout=layout,
    )


def guesses_of(
    rows: Sequence[Mapping[str, object]], layout: FileLayout, forms: Mapping[str, Form]
) -> list[Guess]:
    """What the columns of rows are, by their values or by what was said of them, with the units
    that stood beside their numbers.
    """
    hidden = {layout.answer, layout.ids, *layout.left_out}
    some = [_flat(row, hidden) for row in rows[:_LOOKED_AT]]
    names = dict.fromkeys(name for row in some for name in row if not is_derived(name))
    columns = {name: [row.get(name) for row in some] for name in names}
    return [
        replace(one, field=replace(one.field, unit=forms[one.field.name].unit))
        if one.field.kind == "number" and one.field.name in forms
        else one
        for one in guess(columns, layout.declared)
    ]


def _flat(row: Mapping[str, object], hidden: Collection[str | None]) -> dict[str, Scalar]:
    """The fields of a row, also of objects inside of it; empty if it cannot be a transaction:
    whoever reads the row says why.
    """
    try:
        return Transaction.of({n: v for n, v in row.items() if n not in hidden}).fields
    except InvalidInput:
        return {}


def _items(
    file: Path, rows: Sequence[Mapping[str, object]], layout: FileLayout, time: str | None
) -> tuple[list[Item], dict[str, tuple[Verdict, int]]]:
    """The labelled rows as items, and what each label was taken for."""
    query, answer, ids = layout.query, layout.answer, layout.ids
    hidden = {*layout.left_out, answer, ids}  # an id names a row, and says nothing about it
    items: list[Item] = []
    copies: Counter[str] = Counter()
    labels: dict[str, tuple[Verdict, int]] = {}
    for number, row in enumerate(rows, start=1):
        where = f"{file}: row {number}"
        word = row.get(answer)
        label = _verdict(file, number, row, layout)
        if label is None:
            continue
        labels[str(word)] = (label, labels.get(str(word), (label, 0))[1] + 1)
        fields = {name: value for name, value in row.items() if name not in hidden}
        given = fields if query is None else need(row, query, where)
        row_id = row.get(ids) if ids else None
        try:
            item = _item(given, label, row_id, f"{file.stem}-{number}", copies)
        except InvalidInput as error:
            raise InvalidDataset(f"{where}, field {query or 'all'!r}: {error}") from None
        if time and (moment := time_of(row.get(time))):
            item["time"] = moment
        items.append(item)
    if not items:
        raise InvalidDataset(f"{file}: field {answer!r} is empty in all {len(rows)} rows")
    if layout.positive is not None and not any(item["answer"] == DECLINE for item in items):
        words = ", ".join(sorted(labels)[:6])
        raise InvalidDataset(f"{file}: no row has {layout.positive!r} in {answer!r}; found {words}")
    return items, labels


def _verdict(
    file: Path, number: int, row: Mapping[str, object], layout: FileLayout
) -> Verdict | None:
    """What the label of a row says; None if it has none."""
    where = f"{file}: row {number}"
    return read_label(row.get(layout.answer), layout.positive, layout.answer, where)


def as_items(dataset: Iterable[Mapping[str, object] | Example]) -> list[Item]:
    """The items of a data set given in Python: mappings with `query` and `answer`, or examples."""
    items: list[Item] = []
    copies: Counter[str] = Counter()
    for number, entry in enumerate(dataset, start=1):
        row = entry.item() if isinstance(entry, Example) else entry
        where = f"item {number}"
        label = a_label(need(row, "answer", where), None, "answer", where)
        item = _item(need(row, "query", where), label, row.get("id"), str(number), copies)
        if isinstance(copy := row.get("copy"), int):  # it was an item before
            item["copy"] = copy
        if isinstance(time := row.get("time"), str):
            item["time"] = time
        if isinstance(columns := row.get("sighting_columns"), Mapping):
            item["sighting_columns"] = columns
        items.append(item)
    return items


def transaction_of(item: Item) -> Transaction:
    """The transaction of an item, as it came."""
    return Transaction.of(item["query"])


def row_name(item: Item) -> str:
    """A name that is the same for the same row, whichever split the row is in."""
    return f"{item['id']} {transaction_of(item).digest()}"


def _item(given: object, answer: Verdict, row_id: object, place: str, copies: Counter[str]) -> Item:
    """A row under its id; without one under its place, and numbered among its copies."""
    transaction = Transaction.of(given)
    query = given if isinstance(given, str | dict) else transaction.fields or transaction.text
    if row_id is not None:
        return {"query": query, "answer": answer, "id": str(row_id)}
    digest = transaction.digest()
    copies[digest] += 1
    return {"query": query, "answer": answer, "id": place, "copy": copies[digest]}


def time_of(value: object) -> str | None:
    """The moment that a field states, in ISO 8601; a number counts seconds from some start."""
    try:
        if is_number(value):
            return datetime.fromtimestamp(value, UTC).isoformat()
        return datetime.fromisoformat(value if isinstance(value, str) else "").isoformat()
    except (ValueError, OverflowError, OSError):
        return None


def check_names(file: Path, names: Sequence[str], layout: FileLayout) -> None:
    """Refuse a name that no column has."""
    ids = layout.ids if layout.ids != "id" else None
    given = {"--label": layout.answer, "--text": layout.query, "--as NAME=id": ids}
    options = [*given.items(), *(("--as", name) for name in layout.declared)]
    for option, name in options:
        if name is not None and name not in names:
            raise InvalidDataset(
                f"{file}: row 1: field {name!r} is missing; it has {', '.join(names)}; "
                f"say which one to take ({option})"
            )
