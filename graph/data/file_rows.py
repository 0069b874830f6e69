"""The rows of a file with typed cells: CSV, a JSON list or JSON lines."""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import lru_cache, partial
from pathlib import Path
from typing import Final, TypeVar, cast

from acegraph.graph.data.csv_files import find_delimiter, read_encoded, read_sheet
from acegraph.nodes.text.currencies import Exchange
from acegraph.nodes.text.money import read_money
from acegraph.state import Transaction
from acegraph.state.errors import InvalidDataset, InvalidInput
from acegraph.state.values.notation import (
    decimal_marks,
    is_nothing,
    with_point,
    written_number,
)
from acegraph.state.values.transaction import Scalar, each_name_once

_ROWS_A_TICK: Final = 2_000
_NESTED: Final = frozenset((dict, list))
_ENCODINGS: Final = {
    "cp1252": "Windows-1252; save it as UTF-8 if letters look wrong",
    "cp1250": "Windows-1250 (Central European); save it as UTF-8 if letters look wrong",
}
T = TypeVar("T")
Progress = Callable[[str, int, int], None]
"""Called with what is under way, how much of it is done, and how much there is."""


def ticking(rows: Iterable[T], what: str, total: int, progress: Progress | None) -> Iterator[T]:
    """The rows, with word of how many are done."""
    for number, row in enumerate(rows, start=1):
        if progress and number % _ROWS_A_TICK == 0:
            progress(what, number, total)
        yield row
    if progress:
        progress(what, total, total)


def flat_payment(row: dict[str, Scalar], hidden: Collection[str]) -> dict[str, Scalar]:
    """The row, or without the `hidden` fields the payment in it, if JSON has fields inside of
    others; empty if it cannot be a payment: whoever reads the row says why.
    """
    if _NESTED.isdisjoint(map(type, row.values())):
        return row
    try:
        return Transaction.of({n: value for n, value in row.items() if n not in hidden}).fields
    except InvalidInput:
        return {}


@dataclass(frozen=True)
class ReadRows:
    """The rows of a file, and how it writes."""

    rows: list[dict[str, Scalar]]
    notes: list[str] = field(default_factory=list)
    is_continental: bool = False
    """Whether it looks like one of Europe's continent."""
    decimal_marks: Mapping[str, str] = field(default_factory=dict)
    """By column of a CSV the mark before the decimals, where it is known."""


def read_rows(file: Path, answer: str, amount: str | None, progress: Progress | None) -> ReadRows:
    """The rows of a file.

    `answer` is the column of labels, `amount` that of the amount, where it is not a usual name.
    """
    text, encoding = read_encoded(file)
    notes = [f"{file}: read as {_ENCODINGS[encoding]}"] if encoding in _ENCODINGS else []
    name = file.with_suffix("") if file.suffix.lower() == ".gz" else file
    if name.suffix.lower() in (".csv", ".tsv"):
        columns, lines = read_sheet(file, text)
        cells = (row for _, row in ticking(lines, "reading", text.count("\n"), progress))
        is_continental = find_delimiter(text) == ";"
        read = read_cells(cells, columns, answer, amount, is_continental=is_continental)
        return replace(read, notes=notes)
    entries = _json_entries(file, text)
    for number, entry in enumerate(entries, start=1):
        if not isinstance(entry, dict):
            raise InvalidDataset(f"{file}: row {number} is not an object")
    return ReadRows(cast("list[dict[str, Scalar]]", entries), notes)


def read_cells(
    rows: Iterable[Mapping[str, str]],
    columns: Sequence[str],
    answer: str,
    amount: str | None,
    *,
    is_continental: bool,
) -> ReadRows:
    """The values of the cells of a CSV, row by row."""
    rows = list(rows)
    marks = _decimal_marks(rows, [n for n in columns if n != answer], is_continental)
    read_as: dict[str, Callable[[str], Scalar]] = {answer: label_cell}
    for column in Exchange(amount=amount).amount_names(columns):
        read_as.setdefault(column, _money_cell)
    for column in (name for name, mark in marks.items() if mark == ","):
        read_as[column] = partial(_cell_with_comma, read=read_as.get(column, read_cell))
    typed = [{k: read_as.get(k, read_cell)(v) for k, v in row.items()} for row in rows]
    _blank_na(typed)
    return ReadRows(typed, is_continental=is_continental, decimal_marks=marks)


def _decimal_marks(
    rows: Sequence[Mapping[str, str]], columns: Sequence[str], is_continental: bool
) -> dict[str, str]:
    texts = {name: {row.get(name, "").strip() for row in rows} for name in columns}
    given = {name: {t for t in some if not is_nothing(t)} for name, some in texts.items()}
    return decimal_marks(given, is_continental=is_continental)


def _cell_with_comma(text: str, read: Callable[[str], Scalar]) -> Scalar:
    value = read(with_point(text.strip()))
    is_word = isinstance(value, str) and not (read is _money_cell and read_money(value)[1])
    return read(text.strip()) if is_word else value


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
                entries.append(json.loads(part, object_pairs_hook=each_name_once))
        except json.JSONDecodeError as error:
            line = error.lineno if is_list else number
            raise InvalidDataset(
                f"{file}: line {line}: not JSON (a list, or one object a line): {error.msg}"
                + ("" if "json" in file.suffix.lower() else "; a CSV is named .csv or .tsv")
            ) from None
        except (ValueError, RecursionError) as error:
            raise InvalidDataset(f"{file}: line {number}: {error}") from None
    return list(entries[0]) if is_list else entries


@lru_cache(maxsize=1 << 16)
def read_cell(text: str) -> Scalar:
    """The value of a CSV cell: a number (also as people write it), a flag, None, or text."""
    if is_nothing(text):
        return None
    word = text.strip()
    if (flag := word.lower()) in ("true", "false"):
        return flag == "true"
    if "_" in word:  # Python would read 18_25 as a number
        return word
    try:
        number = float(word)
    except ValueError:
        return word if (as_written := written_number(word)) is None else as_written
    digits = word.lstrip("+-")
    if not digits.isdigit():
        if math.isfinite(number):
            return number
        return word if digits[0].isdigit() else None  # 12e999 is a name; inf is nothing
    # Long digit strings are identifiers: as floats they would lose digits.
    if len(digits) > 15:
        return word
    return number if digits.startswith("00") else int(word)


def label_cell(text: str) -> Scalar:
    """The value of a cell for a label."""
    return "-" if text.strip() == "-" else read_cell(text)  # labels may be + and -


@lru_cache(maxsize=1 << 16)
def _money_cell(text: str) -> Scalar:
    """The value of a cell for an amount: the text itself, if it names a currency."""
    number, currency = read_money(text)
    if currency:
        return text.strip()
    value = read_cell(text)
    return number if isinstance(value, str) and number is not None else value
