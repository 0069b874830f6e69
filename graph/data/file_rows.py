"""The rows of a file with typed cells: CSV, a JSON list or JSON lines."""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from functools import lru_cache
from pathlib import Path
from typing import Final, TypeVar, cast

from acegraph.graph.data.csv_files import find_delimiter, read_encoded, read_sheet
from acegraph.nodes.text.currencies import Exchange
from acegraph.nodes.text.field_contract import read_money
from acegraph.state import Scalar, Transaction
from acegraph.state.errors import InvalidDataset, InvalidInput
from acegraph.state.values.notation import is_nothing, written_number

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


def read_rows(
    file: Path, answer: str, amount: str | None, progress: Progress | None
) -> tuple[list[dict[str, Scalar]], list[str], bool]:
    """The rows, notes on the reading, and whether the file looks like one of Europe's continent.

    `answer` is the column of labels, `amount` that of the amount, where it is not a usual name.
    """
    text, encoding = read_encoded(file)
    notes = [f"{file}: read as {_ENCODINGS[encoding]}"] if encoding in _ENCODINGS else []
    name = file.with_suffix("") if file.suffix.lower() == ".gz" else file
    if name.suffix.lower() in (".csv", ".tsv"):
        columns, lines = read_sheet(file, text)
        cells = (row for _, row in ticking(lines, "reading", text.count("\n"), progress))
        return read_cells(cells, columns, answer, amount), notes, find_delimiter(text) == ";"
    entries = _json_entries(file, text)
    for number, entry in enumerate(entries, start=1):
        if not isinstance(entry, dict):
            raise InvalidDataset(f"{file}: row {number} is not an object")
    return cast("list[dict[str, Scalar]]", entries), notes, False


def read_cells(
    rows: Iterable[Mapping[str, str]], columns: Sequence[str], answer: str, amount: str | None
) -> list[dict[str, Scalar]]:
    """The values of the cells of a CSV, row by row."""
    read_as: dict[str, Callable[[str], Scalar]] = {answer: label_cell}
    for column in Exchange(amount=amount).amount_names(columns):
        read_as.setdefault(column, _money_cell)
    typed = [{k: read_as.get(k, read_cell)(v) for k, v in row.items()} for row in rows]
    _blank_na(typed)
    return typed


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
        return number if math.isfinite(number) else None
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
    return text.strip() if read_money(text)[1] else read_cell(text)
