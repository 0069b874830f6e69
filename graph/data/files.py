"""Labelled data sets from files: a JSON list, JSON lines or CSV. It knows nothing of learning."""

from __future__ import annotations

import re
import shlex
from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from difflib import get_close_matches
from pathlib import Path
from statistics import median
from typing import TYPE_CHECKING, Final, NotRequired, TypedDict, Unpack

from acegraph.graph.data.currencies import convert_amounts
from acegraph.graph.data.dates import Dates, find_dates, unread_times
from acegraph.graph.data.earlier_rows import EarlierRows
from acegraph.graph.data.file_rows import Progress, ReadRows, read_cell, read_rows, ticking
from acegraph.graph.data.synthetic import Example
from acegraph.nodes.evidence.sightings.columns import is_time_of_payment, says_payment
from acegraph.nodes.evidence.sightings.derivation import comes_from
from acegraph.nodes.rules.points import amount_of
from acegraph.nodes.text.reader import read_fields
from acegraph.state import APPROVE, DECLINE, Transaction
from acegraph.state.errors import InvalidDataset, InvalidInput
from acegraph.state.values.decision import KINDS
from acegraph.state.values.file_form import FileForm
from acegraph.state.values.notation import is_number
from acegraph.state.values.times import written_date
from acegraph.state.values.transaction import Scalar
from acegraph.state.values.verdict import Verdict, parse_verdict

if TYPE_CHECKING:
    from acegraph.state.run.schema import GivenTransaction
    from acegraph.state.values.transaction import Fields

_WORDS_OF_PROSE: Final = 4
_MAX_GROUPS: Final = 50
_A_GROUP: Final = 5
_OTHERS: Final = "*"
_START: Final = datetime(1970, 1, 1, tzinfo=UTC)
_LABEL_NAMES: Final = (
    "isfraud fraud fraudlabel fraudflag fraudind fraudulent fraudreported fraudbool label class "
    "target answer outcome betrug istbetrug chargeback ischargeback y".split()
)
"""Usual names of the column of labels, folded."""


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
    amount_field: NotRequired[str]
    """The field of the amount, where one was named."""
    amount: NotRequired[float]
    """The amount, where it is in a named column beside the text that is the transaction."""
    given: NotRequired[Fields]
    """The amounts as they came, where `query` has them converted, or as numbers only."""
    converted: NotRequired[bool]
    """Only on a row whose amounts are in the base currency: they are not converted again."""
    sighting_columns: NotRequired[Mapping[str, str]]
    """The fields that derived fields come from, by what they hold; only where some are derived."""


@dataclass(frozen=True)
class FileLayout:
    """Which columns of a file hold what, and how it is read."""

    query: str | None = "query"
    """The text of the transaction; None: all other columns together are its fields."""
    answer: str = "answer"
    positive: object = None
    """The label that means fraud, if it is not one of the usual words."""
    ids: str | None = "id"
    drop: Sequence[str] = ()
    """Columns that are kept out of the transaction."""
    keep: Sequence[str] = ()
    """Columns that rules may use although they have too many values, or look like a leak."""
    time: str | None = None
    """When a case happened: a date, or a number that counts seconds."""
    amount: str | None = None
    day_first: bool | None = None
    """Which number of a date is the day, where no value settles it."""
    rates: Mapping[str, float] = field(default_factory=dict)
    """What one unit of each currency is worth in the base currency; amounts are converted."""


_GUESSED: Final = FileLayout()


class Reading(TypedDict, total=False):
    """Those options of a layout that are seldom needed."""

    drop: Sequence[str]
    keep: Sequence[str]
    time: str | None
    amount: str | None
    day_first: bool | None
    rates: Mapping[str, float]


@dataclass(frozen=True)
class Dataset:
    """The labelled rows of a file, and how the file was read."""

    items: list[Item]
    unlabelled: int
    """How many rows have no label; they are left out."""
    labels: dict[str, tuple[Verdict, int]]
    """What each label was taken for, and how many rows have it."""
    forms: dict[str, str]
    """By column of dates, the form in which the file writes them."""
    form: FileForm
    """How the file writes, as far as that is settled."""
    notes: list[str]
    """What a person should know of the reading, in sentences."""
    unread: list[str]
    """Columns beside the text that is the transaction, and columns that were dropped."""
    kept: tuple[str, ...] = ()
    time: str | None = None
    """The column that says when a case happened, where it is known."""
    sighting_columns: Mapping[str, str] = field(default_factory=dict)
    """The columns that derived fields come from, by what they hold."""

    @property
    def has_amounts(self) -> bool:
        """Whether a row has a number that is known as its amount."""
        payments = (read_fields(transaction_of(item)) for item in self.items)
        return any(amount_of(fields, self.form.amount) is not None for fields in payments)

    def without(self, names: Collection[str]) -> Dataset:
        """The same rows without these fields; rows that are equal then are numbered as copies."""
        if not names:
            return self
        items: list[Item] = []
        copies: Counter[str] = Counter()
        columns = {what: n for what, n in self.sighting_columns.items() if n not in names}
        if "time" not in columns or columns.keys().isdisjoint(KINDS):
            columns = {}
        lost = self.sighting_columns.keys() - columns.keys()
        for item in self.items:
            given, item = item["query"], {**item}
            if isinstance(given, Mapping):
                left = {
                    name: value
                    for name, value in given.items()
                    if name not in names and not (lost and comes_from(name, lost))
                }
                item["query"] = left
                if not any(value is not None for value in left.values()):
                    raise InvalidDataset(
                        f"nothing to learn from is left without {', '.join(names)}"
                    )
            if item.pop("sighting_columns", None) and columns:
                item["sighting_columns"] = columns
            if "copy" in item:
                digest = transaction_of(item).digest()
                copies[digest] += 1
                item["copy"] = copies[digest]
            items.append(item)
        unread = [*self.unread, *names]
        return replace(self, items=items, unread=unread, sighting_columns=columns)


def load_dataset(
    path: str | Path,
    *,
    query: str | None = "query",
    answer: str = "answer",
    positive: object = None,
    ids: str | None = "id",
    derive: bool = False,
    **reading: Unpack[Reading],
) -> list[Item]:
    """Read a labelled set. Every item has `query`, `answer` (APPROVE or DECLINE) and `id`.

    `query` and `answer` name the keys or columns. With `query=None` all other columns together are
    the fields of the transaction; if only one of them describes it, in prose, that one is its text.
    `positive` is the label that means fraud, if it is not one of the usual words. `FileLayout`
    says what the others mean. Rows without a label are left out. With `derive` fields are derived
    from the rows before each row, by the columns of ids and the time.
    """
    layout = FileLayout(query, answer, positive, ids, **reading)
    return read_dataset(path, layout, earlier=EarlierRows() if derive else None).items


def read_dataset(
    path: str | Path,
    layout: FileLayout = _GUESSED,
    progress: Progress | None = None,
    earlier: EarlierRows | None = None,
) -> Dataset:
    """Read a labelled set, and say how it was read; fields are derived from `earlier` rows."""
    read = read_rows(Path(path), layout.answer, layout.amount, progress)
    return understand_rows(Path(path), read, layout, progress, earlier)


def understand_rows(
    file: Path,
    read: ReadRows,
    layout: FileLayout,
    progress: Progress | None = None,
    earlier: EarlierRows | None = None,
) -> Dataset:
    """The rows of a file as a labelled set."""
    answer, rows, notes = layout.answer, read.rows, [*read.notes]
    if not rows:
        raise InvalidDataset(f"{file}: no rows")
    check_names(file, names := list(dict.fromkeys(n for row in rows for n in row)), layout)
    query = _prose_column(rows, answer) if layout.query is None else layout.query
    columns = {
        name: [row.get(name) for row in rows]
        for name in names
        if name not in (answer, query, *layout.drop)
    }
    forms, settled = dict[str, str](), dict[str, str]()
    for name, dates in _dates(file, columns, layout, read.is_continental).items():
        forms[name] = dates.form
        if dates.doubt:
            notes.append(f"{name}: dates {dates.doubt}")
        else:
            settled[name] = dates.form
        for row, value in zip(rows, dates.values, strict=True):
            row[name] = value
    hidden = {name for name in (answer, query, layout.ids, *layout.drop) if name}
    conversion = convert_amounts(rows, layout.rates, layout.amount, hidden)
    time, of_time = (layout.time, "") if layout.time else _time_of_payment(rows, forms)
    said = [*conversion.notes, *unread_times(columns, forms), of_time]
    if earlier is not None and query is not None:
        said.append("its rows are texts: nothing is derived from earlier ones")
    elif earlier and not earlier.derive(rows, {answer, *layout.drop}, time, layout.amount):
        wanted = ", ".join(earlier.columns.values())
        said.append(f"nothing is derived: no row has an id and a time in {wanted}")
    for name in columns.keys() & set(layout.keep):
        _group(rows, name)
    layout = replace(layout, query=query, time=time)
    items, labels = _items(file, rows, conversion.given, layout, progress)
    said += [_ids_that_come_again(items), _taken_for_honest(labels, layout.positive)]
    sighting_columns = earlier.columns if earlier is not None else {}
    for item in items if sighting_columns else ():
        item["sighting_columns"] = sighting_columns
    beside = [] if query is None else [n for n in columns if n not in (layout.ids, time)]
    return Dataset(
        items=items,
        unlabelled=len(rows) - len(items),
        labels=labels,
        forms=forms,
        form=FileForm(
            settled, conversion.rates, layout.amount, conversion.currency, read.decimal_marks
        ),
        notes=[*notes, *(f"{file}: {note}" for note in said if note)],
        unread=[*beside, *(name for name in layout.drop if name in names)],
        kept=tuple(layout.keep),
        time=time,
        sighting_columns=sighting_columns,
    )


def _items(
    file: Path,
    rows: Sequence[Mapping[str, object]],
    amounts: Sequence[Fields],
    layout: FileLayout,
    progress: Progress | None,
) -> tuple[list[Item], dict[str, tuple[Verdict, int]]]:
    """The labelled rows as items, and what each label was taken for.

    `amounts` are those of each row as they came, where they were changed.
    """
    query, answer, ids = layout.query, layout.answer, layout.ids
    hidden = {*layout.drop, answer, ids}  # an id names a row, and says nothing about it
    items: list[Item] = []
    copies: Counter[str] = Counter()
    labels: dict[str, tuple[Verdict, int]] = {}
    for number, row in enumerate(ticking(rows, "checking", len(rows), progress), start=1):
        where = f"{file}: row {number}"
        word = row.get(answer)
        label = read_label(word, layout.positive, answer, where)
        if label is None:
            continue
        labels[str(word)] = (label, labels.get(str(word), (label, 0))[1] + 1)
        fields = {name: value for name, value in row.items() if name not in hidden}
        given = fields if query is None else _need(row, query, where)
        try:
            transaction = Transaction.of(given)
        except InvalidInput as error:
            raise InvalidDataset(f"{where}, field {query or 'all'!r}: {error}") from None
        row_id = row.get(ids) if ids else None
        transaction = transaction.as_given(amounts[number - 1])
        item = _item(transaction, given, label, row_id, f"{file.stem}-{number}", copies)
        if layout.rates:
            item["converted"] = True
        if layout.time and (time := time_of(row.get(layout.time))):
            item["time"] = time
        amount = row.get(layout.amount) if layout.amount and query else None
        if layout.amount and query is None:
            item["amount_field"] = layout.amount
        elif is_number(amount):
            item["amount"] = float(amount)
        items.append(item)
    if not items:
        raise InvalidDataset(f"{file}: field {answer!r} is empty in all {len(rows)} rows")
    if layout.positive is not None and not any(item["answer"] == DECLINE for item in items):
        words = ", ".join(sorted(labels)[:6])
        raise InvalidDataset(f"{file}: no row has {layout.positive!r} in {answer!r}; found {words}")
    return items, labels


def as_items(dataset: Iterable[Mapping[str, object] | Example]) -> list[Item]:
    """The items of a data set given in Python: mappings with `query` and `answer`, or examples."""
    items: list[Item] = []
    copies: Counter[str] = Counter()
    for number, entry in enumerate(dataset, start=1):
        row = entry.item() if isinstance(entry, Example) else entry
        where = f"item {number}"
        label = _label(_need(row, "answer", where), None, "answer", where)
        given = _need(row, "query", where)
        transaction = Transaction.of(given)
        if isinstance(amounts := row.get("given"), dict):
            transaction = transaction.as_given(amounts)
        item = _item(transaction, given, label, row.get("id"), str(number), copies)
        if row.get("converted"):
            item["converted"] = True
        if isinstance(copy := row.get("copy"), int):  # it was an item before
            item["copy"] = copy
        if isinstance(time := row.get("time"), str):
            item["time"] = time
        if isinstance(amount := row.get("amount"), float):
            item["amount"] = amount
        if isinstance(named := row.get("amount_field"), str):
            item["amount_field"] = named
        if isinstance(columns := row.get("sighting_columns"), Mapping):
            item["sighting_columns"] = columns
        items.append(item)
    return items


def transaction_of(item: Item) -> Transaction:
    """The transaction of an item, which also knows the amounts as they came."""
    return Transaction.of(item["query"]).as_given(item.get("given", {}))


def row_name(item: Item) -> str:
    """A name that is the same for the same row, whichever split the row is in."""
    return f"{item['id']} {transaction_of(item).digest()}"


def _item(
    transaction: Transaction,
    given: object,
    answer: Verdict,
    row_id: object,
    place: str,
    copies: Counter[str],
) -> Item:
    """A row under its id; without one under its place, and numbered among its copies."""
    query = given if isinstance(given, str | dict) else transaction.fields or transaction.text
    item: Item = {"query": query, "answer": answer, "id": place if row_id is None else str(row_id)}
    if transaction.given:
        item["given"] = transaction.given
    if row_id is None:
        digest = transaction.digest()
        copies[digest] += 1
        item["copy"] = copies[digest]
    return item


def time_of(value: object) -> str | None:
    """The moment that a field states, in ISO 8601; a number counts seconds from some start."""
    try:
        if is_number(value):
            return (_START + timedelta(seconds=value)).isoformat()
        return datetime.fromisoformat(value if isinstance(value, str) else "").isoformat()
    except (ValueError, OverflowError):
        return None


def _dates(
    file: Path, columns: Mapping[str, list[Scalar]], layout: FileLayout, is_continental: bool
) -> dict[str, Dates]:
    try:
        return find_dates(columns, day_first=layout.day_first, is_continental=is_continental)
    except InvalidDataset as error:
        raise InvalidDataset(f"{file}: {error}") from None


def _time_of_payment(
    rows: Sequence[Mapping[str, object]], dated: Iterable[str]
) -> tuple[str | None, str]:
    """The column of dates that no row lacks, and that is the only one or named after the payment;
    and what to say if there are several.
    """
    named = [name for name in dated if is_time_of_payment(name)]
    complete = [name for name in named if all(time_of(row.get(name)) for row in rows)]
    of_payment = [name for name in complete if says_payment(name)]
    times = of_payment if len(of_payment) == 1 else complete
    if len(times) < 2:
        return next(iter(times), None), ""
    return None, (
        f"{', '.join(times[:-1])} and {times[-1]} may be the time of the payment; without --time "
        "no order in time is known, nor which dates come after the payment"
    )


def _ids_that_come_again(items: Sequence[Item]) -> str:
    """A note on ids that several rows have; empty if each has its own."""
    labels: dict[str, list[Verdict]] = {}
    for item in items:
        if "copy" not in item:  # then it came with an id
            labels.setdefault(item["id"], []).append(item["answer"])
    again = [given for given in labels.values() if len(given) > 1]
    if not again:
        return ""
    two_labels = sum(len(set(given)) > 1 for given in again)
    both = f", {two_labels:,} of them with both labels" if two_labels else ""
    return f"at least {len(again):,} ids come more than once{both}: give each payment one row"


def _taken_for_honest(labels: Mapping[str, tuple[Verdict, int]], positive: object) -> str:
    """A note on the labels beside the one for fraud, if they are several; else empty."""
    honest = [f"{word} ({count:,})" for word, (label, count) in labels.items() if label == APPROVE]
    if positive is None or len(honest) < 2:
        return ""
    some = ", ".join(honest[:6]) + ", ..." * (len(honest) > 6)
    return f"all labels but {positive!r} are taken for honest: {some}"


def _group(rows: Sequence[dict[str, Scalar]], name: str) -> None:
    """Keep the frequent words of a column, so that it has groups; the others become one value.

    No rule can name that value: it is no word.
    """
    counts = Counter(word for row in rows if isinstance(word := row.get(name), str))
    if len(counts) <= _MAX_GROUPS:
        return
    frequent = {word for word, count in counts.most_common(_MAX_GROUPS) if count >= _A_GROUP}
    for row in rows:
        if isinstance(word := row.get(name), str) and word not in frequent:
            row[name] = _OTHERS


def _prose_column(rows: Sequence[Mapping[str, object]], answer: str) -> str | None:
    """The one column of sentences, if all other columns only name the rows."""
    columns = {name: [row.get(name) for row in rows] for name in rows[0] if name != answer}
    prose = [name for name, values in columns.items() if is_prose(values)]
    others = [values for name, values in columns.items() if name not in prose]
    return prose[0] if len(prose) == 1 and all(map(_describes_nothing, others)) else None


def is_prose(values: Sequence[object]) -> bool:
    """Whether the values of a column are sentences, most of them different."""
    texts = [value for value in values if isinstance(value, str)]
    is_text = len(texts) > 0.9 * len(values) and len(set(texts)) > 0.5 * len(texts)
    has_words = is_text and median(len(text.split()) for text in texts) >= _WORDS_OF_PROSE
    return has_words and not all(map(written_date, texts))


def _describes_nothing(values: Sequence[object]) -> bool:
    """Whether a column has a different value in every row, or the same value in all rows."""
    distinct = len(set(map(str, values)))
    return distinct <= 1 or distinct == len(values)


def check_names(file: Path, names: Sequence[str], layout: FileLayout) -> None:
    """Refuse a name that no column has, with a guess at the one that was meant."""
    wanted = {"--label": layout.answer, "--text": layout.query, "--time": layout.time}
    others = [("--amount", layout.amount), *(("--keep", name) for name in layout.keep)]
    if layout.ids != "id":
        others.append(("--id", layout.ids))
    for option, name in (*wanted.items(), *others, *(("--drop", name) for name in layout.drop)):
        if name is not None and name not in names:
            guess = guess_column(name, names, is_label=option == "--label")
            hint = f"did you mean {guess!r}? ({option} {shlex.quote(guess)})" if guess else ""
            options = "--label, --text" if option in ("--label", "--text") else option
            hint = hint or f"say which one to take ({options})"
            raise InvalidDataset(
                f"{file}: row 1: field {name!r} is missing; it has {', '.join(names)}; {hint}"
            )


def guess_column(name: str, names: Sequence[str], *, is_label: bool) -> str | None:
    """The column that was probably meant: one of almost that name, or one named like a label.

    >>> guess_column("answer", ["Time", "Amount", "Class"], is_label=True)
    'Class'
    """
    by_fold = {re.sub(r"[\W_]+", "", other).casefold(): other for other in reversed(names)}
    fold = re.sub(r"[\W_]+", "", name).casefold()
    if close := get_close_matches(fold, by_fold, n=1, cutoff=0.8):
        return by_fold[close[0]]
    return (
        next((by_fold[word] for word in _LABEL_NAMES if word in by_fold), None)
        if is_label
        else None
    )


def _is_empty(value: object) -> bool:
    return value is None or value == "" or value != value  # NaN is not even itself


def _need(row: Mapping[str, object], name: str, where: str) -> object:
    value = row.get(name)
    if not _is_empty(value):
        return value
    if name in row:
        raise InvalidDataset(f"{where}: field {name!r} is empty")
    raise InvalidDataset(
        f"{where}: field {name!r} is missing; it has {', '.join(row)}; "
        "say which one to take (--label, --text)"
    )


def read_label(value: object, positive: object, name: str, where: str) -> Verdict | None:
    """The right answer that the column `name` states; None where it states none."""
    if _is_empty(value) or (value == "-" and positive is None):
        return None
    return _label(value, positive, name, where)


def _label(value: object, positive: object, name: str, where: str) -> Verdict:
    if positive is not None:
        return DECLINE if _label_value(value) == _label_value(positive) else APPROVE
    try:
        return parse_verdict(value)
    except InvalidInput as error:
        raise InvalidDataset(
            f"{where}, field {name!r}: {error}; --positive WORD names the label that means fraud"
        ) from None


def _label_value(label: object) -> object:
    """A label as a value to compare: 1, 1.0, "1" and true are equal, words are lower case."""
    word = str(label).strip().lower()
    return word if (value := read_cell(word)) is None else value
