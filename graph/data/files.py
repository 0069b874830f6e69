"""Labelled data sets from files: a JSON list, JSON lines or CSV. It knows nothing of learning."""

from __future__ import annotations

import json
import math
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from statistics import median
from typing import TYPE_CHECKING, Final, NotRequired, TypedDict

from acegraph.graph.data.csv_files import read_sheet, read_text
from acegraph.graph.data.synthetic import Example
from acegraph.state import APPROVE, DECLINE, Scalar, Transaction, Verdict, parse_verdict
from acegraph.state.errors import InvalidDataset, InvalidInput
from acegraph.state.values.notation import is_nothing, written_number

if TYPE_CHECKING:
    from acegraph.state.run.schema import GivenTransaction

_WORDS_OF_PROSE: Final = 4


class Item(TypedDict):
    """One labelled row of a data set."""

    query: GivenTransaction
    answer: Verdict
    id: str
    """The id that the row came with, else its place in the data set."""
    copy: NotRequired[int]
    """Only on a row that came without an id: 1 on the first row of its content, 2 on the second."""


def load_dataset(
    path: str | Path,
    *,
    query: str | None = "query",
    answer: str = "answer",
    positive: object = None,
    ids: str | None = "id",
) -> list[Item]:
    """Read a labelled set. Every item has `query`, `answer` (APPROVE or DECLINE) and `id`.

    `query` and `answer` name the keys or columns. With `query=None` all other columns together are
    the fields of the transaction; if only one of them describes it, in prose, that one is its text.
    `positive` is the label that means fraud, if it is not one of the usual words.
    """
    file = Path(path)
    rows = list(_read_rows(file, answer))
    if not rows:
        raise InvalidDataset(f"{file}: no rows")
    if query is None:
        query = _prose_column([row for _, row in rows], answer)
    items: list[Item] = []
    copies: Counter[str] = Counter()
    for number, row in rows:
        where = f"{file}: row {number}"
        label = _label(_need(row, answer, where), positive, answer, where)
        fields = {name: value for name, value in row.items() if name != answer}
        given = fields if query is None else _need(row, query, where)
        try:
            transaction = _checked(given)
        except InvalidInput as error:
            raise InvalidDataset(f"{where}, field {query or 'all'!r}: {error}") from None
        row_id = row.get(ids) if ids else None
        items.append(_item(transaction, label, row_id, f"{file.stem}-{number}", copies))
    if positive is not None and not any(item["answer"] == DECLINE for item in items):
        labels = ", ".join(sorted({str(row[answer]) for _, row in rows})[:6])
        raise InvalidDataset(f"{file}: no row has {positive!r} in {answer!r}; found {labels}")
    return items


def as_items(dataset: Iterable[Mapping[str, object] | Example]) -> list[Item]:
    """The items of a data set given in Python: mappings with `query` and `answer`, or examples."""
    items: list[Item] = []
    copies: Counter[str] = Counter()
    for number, entry in enumerate(dataset, start=1):
        row = entry.item() if isinstance(entry, Example) else entry
        where = f"item {number}"
        label = _label(_need(row, "answer", where), None, "answer", where)
        transaction = _checked(_need(row, "query", where))
        item = _item(transaction, label, row.get("id"), str(number), copies)
        if isinstance(copy := row.get("copy"), int):  # it was an item before
            item["copy"] = copy
        items.append(item)
    return items


def row_name(item: Item) -> str:
    """A name that is the same for the same row, whichever split the row is in."""
    return f"{item['id']} {Transaction.of(item['query']).digest()}"


def _item(
    query: GivenTransaction, answer: Verdict, row_id: object, place: str, copies: Counter[str]
) -> Item:
    """A row under its id; without one under its place, and numbered among its copies."""
    if row_id is not None:
        return {"query": query, "answer": answer, "id": str(row_id)}
    digest = Transaction.of(query).digest()
    copies[digest] += 1
    return {"query": query, "answer": answer, "id": place, "copy": copies[digest]}


def _checked(given: object) -> GivenTransaction:
    """A transaction as it was given; what is neither text nor a mapping of fields is refused."""
    transaction = Transaction.of(given)
    return given if isinstance(given, str | dict) else transaction.fields or transaction.text


def _read_rows(file: Path, answer: str) -> Iterator[tuple[int, Mapping[str, object]]]:
    text = read_text(file)
    if file.suffix.lower() in (".csv", ".tsv"):
        rows = [
            # Labels may be + and -.
            {k: "-" if (k, v.strip()) == (answer, "-") else _cell(v) for k, v in row.items()}
            for _, row in read_sheet(file, text)[1]
        ]
        _blank_na(rows)
        yield from enumerate(rows, start=1)
        return
    for number, entry in enumerate(_json_entries(file, text), start=1):
        if not isinstance(entry, dict):
            raise InvalidDataset(f"{file}: row {number} is not an object")
        yield number, entry


def _blank_na(rows: Sequence[dict[str, Scalar]]) -> None:
    """Replace NA by None in columns of numbers or flags; among words it may mean Namibia."""
    for name in rows[0] if rows else ():
        values = {row[name] for row in rows} - {None}
        words = {value for value in values if isinstance(value, str)}
        if words == {"NA"} and values != words:
            for row in rows:
                row[name] = None if row[name] == "NA" else row[name]


def _json_entries(file: Path, text: str) -> list[object]:
    is_list = text.lstrip().startswith("[")
    entries = []
    for number, part in enumerate([text] if is_list else text.split("\n"), start=1):
        try:
            if part.strip():
                entries.append(json.loads(part))
        except json.JSONDecodeError as error:
            line = error.lineno if is_list else number
            raise InvalidDataset(
                f"{file}: line {line}: not JSON (a list, or one object a line): {error.msg}"
                + ("" if "json" in file.suffix.lower() else "; a CSV is named .csv or .tsv")
            ) from None
        except (ValueError, RecursionError) as error:
            raise InvalidDataset(f"{file}: line {number}: {error}") from None
    return list(entries[0]) if is_list else entries


def _cell(text: str) -> Scalar:
    """The value of a CSV cell: a number (also as people write it), a flag, None, or text."""
    if is_nothing(text):
        return None
    word = text.strip()
    if word.lower() in ("true", "false"):
        return word.lower() == "true"
    if "_" in word:  # Python would read 18_25 as a number
        return word
    try:
        number = float(word)
    except ValueError:
        return word if (as_written := written_number(word)) is None else as_written
    digits = word.lstrip("+-")
    if not digits.isdigit():
        return number if math.isfinite(number) else None
    # Long digit strings are identifiers: as floats they would lose digits.
    if len(digits) > 15:
        return word
    return number if digits.startswith("00") else int(word)


def _prose_column(rows: Sequence[Mapping[str, object]], answer: str) -> str | None:
    """The one column of sentences, if all other columns only name the rows."""
    columns = {name: [row.get(name) for row in rows] for name in rows[0] if name != answer}
    prose = [name for name, values in columns.items() if _is_prose(values)]
    others = [values for name, values in columns.items() if name not in prose]
    return prose[0] if len(prose) == 1 and all(map(_describes_nothing, others)) else None


def _is_prose(values: Sequence[object]) -> bool:
    texts = [value for value in values if isinstance(value, str)]
    is_text = len(texts) > 0.9 * len(values) and len(set(texts)) > 0.5 * len(texts)
    return is_text and median(len(text.split()) for text in texts) >= _WORDS_OF_PROSE


def _describes_nothing(values: Sequence[object]) -> bool:
    """Whether a column has a different value in every row, or the same value in all rows."""
    distinct = len(set(map(str, values)))
    return distinct <= 1 or distinct == len(values)


def _need(row: Mapping[str, object], name: str, where: str) -> object:
    value = row.get(name)
    if value is not None and value != "" and value == value:  # NaN is not even itself
        return value
    if name in row:
        raise InvalidDataset(f"{where}: field {name!r} is empty")
    raise InvalidDataset(
        f"{where}: field {name!r} is missing; it has {', '.join(row)}; "
        "say which one to take (--label, --text)"
    )


def _label(value: object, positive: object, name: str, where: str) -> Verdict:
    if positive is not None:
        return DECLINE if _label_value(value) == _label_value(positive) else APPROVE
    try:
        return parse_verdict(value)
    except InvalidInput as error:
        raise InvalidDataset(f"{where}, field {name!r}: {error}") from None


def _label_value(label: object) -> object:
    """A label as a value to compare: 1, 1.0, "1" and true are equal, words are lower case."""
    word = str(label).strip().lower()
    return word if (value := _cell(word)) is None else value
