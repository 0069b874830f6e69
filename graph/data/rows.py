"""Data files as people save them: their text, their rows, of CSV, a JSON list or JSON lines, and
what their labels mean.

A text may be UTF-8, UTF-16 or Windows-1252, and packed by gzip. In a CSV names are stripped
and blank lines skipped. A row with too many cells is refused, and so are two columns of one name:
no cell may end up in the wrong column.
"""

import codecs
import csv
import gzip
import io
import json
import re
import zlib
from _csv import Reader
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import zip_longest
from pathlib import Path
from typing import Final, cast

from acegraph.graph.data.forms import find_forms
from acegraph.state.errors import InvalidDataset, InvalidInput
from acegraph.state.task.form import PLAIN, Form, label_cell, read_cell
from acegraph.state.task.guess import no_or_yes
from acegraph.state.values import APPROVE, DECLINE, Scalar, Verdict, each_name_once, parse_verdict

_BLANK: Final = ' ,;|"\t\r\n'
_GZIP: Final = b"\x1f\x8b"
_BINARY: Final = (b"PAR1", b"PK\x03\x04")
"""How Parquet, Excel workbooks and archives begin."""
_CONTROLS = re.compile("[\x00-\x08\x0e-\x1a\x1c-\x1f]")
Progress = Callable[[str, int, int], None]
"""Called with what is under way, how much of it is done, and how much there is."""


@dataclass(frozen=True)
class ReadRows:
    """The rows of a file, and how it writes."""

    rows: list[dict[str, Scalar]]
    notes: list[str] = field(default_factory=list)
    forms: Mapping[str, Form] = field(default_factory=dict)
    """By column, where they are not plain."""


def read_rows(file: Path, answer: str, forms: Mapping[str, Form] | None = None) -> ReadRows:
    """The rows of a file; `answer` is the column of labels, `forms` are known from another file."""
    text, encoding = read_encoded(file)
    notes = []
    if encoding == "cp1252":
        notes.append(f"{file}: read as Windows-1252; save it as UTF-8 if letters look wrong")
    name = file.with_suffix("") if file.suffix.lower() == ".gz" else file
    if name.suffix.lower() in (".csv", ".tsv"):
        _, lines = read_sheet(file, text)
        cells = [row for _, row in lines]
        is_continental = find_delimiter(text) == ";"
        return read_cells(cells, answer, forms, notes, is_continental=is_continental)
    entries = _json_entries(file, text)
    for number, entry in enumerate(entries, start=1):
        if not isinstance(entry, dict):
            raise InvalidDataset(f"{file}: row {number} is not an object")
    return ReadRows(cast("list[dict[str, Scalar]]", entries), notes)


def read_cells(
    cells: Sequence[Mapping[str, str]],
    answer: str,
    forms: Mapping[str, Form] | None,
    notes: Sequence[str] = (),
    *,
    is_continental: bool,
) -> ReadRows:
    """The values of the cells of a CSV, whose labels are words. NA is no value in columns of
    numbers or flags; among words it may mean Namibia.
    """
    if forms is None:
        names = [name for name in (cells[0] if cells else ()) if name != answer]
        columns = {name: [row.get(name, "") for row in cells] for name in names}
        forms, unsettled = find_forms(columns, is_continental=is_continental)
        notes = [*notes, *unsettled]
    readers = {name: form.read for name, form in forms.items()} | {answer: label_cell}
    rows = [{n: readers.get(n, PLAIN.read)(text) for n, text in row.items()} for row in cells]
    for name in rows[0] if rows else ():
        values = {row[name] for row in rows} - {None}
        words = {value for value in values if isinstance(value, str)}
        if words == {"NA"} and values != words:
            for row in rows:
                row[name] = None if row[name] == "NA" else row[name]
    return ReadRows(rows, list(notes), forms)


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


def read_encoded(file: Path) -> tuple[str, str]:
    """The text of a data file, which may be a pipe, and the encoding that it was taken for."""
    try:
        data = file.read_bytes()
        if data.startswith(_GZIP):
            data = gzip.decompress(data)
    except FileNotFoundError:
        raise InvalidDataset(f"{file}: no such file") from None
    except (EOFError, zlib.error, gzip.BadGzipFile):
        raise InvalidDataset(f"{file}: a damaged gzip file; pack it again") from None
    except OSError as error:
        raise InvalidDataset(f"{file}: cannot be read: {error.strerror}") from None
    return decode(data, file)


def decode(data: bytes, file: Path, *, is_whole: bool = True) -> tuple[str, str]:
    """The text of a file, or of its beginning, and the encoding that it was taken for."""
    is_wide = data.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE))
    # Bytes that are UTF-8 are hardly ever anything else.
    encodings = ("utf-16",) if is_wide else ("utf-8-sig", "cp1252")
    for encoding in () if data.startswith(_BINARY) else encodings:
        try:
            text = codecs.getincrementaldecoder(encoding)().decode(data, is_whole)
        except UnicodeDecodeError:
            continue
        if encoding == "utf-8-sig" or not _CONTROLS.search(text):
            return text, encoding
    raise InvalidDataset(f"{file}: not text of a known encoding; save it as CSV in UTF-8")


def find_delimiter(text: str) -> str:
    """What separates the columns of a CSV: the most frequent in its header."""
    header = next((line for line in io.StringIO(text) if line.strip(_BLANK)), "")
    return max(",;\t|", key=header.count)


def read_sheet(file: Path, text: str) -> tuple[list[str], Iterator[tuple[int, dict[str, str]]]]:
    """The columns of a CSV, and its rows, each with the number of its line."""
    names, reader = below_header(file, text)
    return names, _rows(reader, names, file)


def below_header(file: Path, text: str) -> tuple[list[str], Reader]:
    """The columns of a CSV, and a reader of the lines below them; quoted cells end in a mark."""
    lines = io.StringIO(text, newline="")
    reader = csv.reader(lines, strict=True, delimiter=find_delimiter(text))
    try:
        header = next(filter(_width, reader), [])
    except csv.Error as error:
        raise InvalidDataset(f"{file}: not CSV: {error}") from None
    names = [name.strip() for name in header[: _width(header)]]
    for name, count in Counter(names).items():
        if count > 1:
            problem = f"are named {name!r}" if name else "have no name"
            raise InvalidDataset(f"{file}: two columns {problem}")
    return names, reader


def _rows(reader: Reader, names: list[str], file: Path) -> Iterator[tuple[int, dict[str, str]]]:
    """The rows by the names of their columns; cells that a row lacks at its end are empty."""
    number = 0
    try:
        for number, cells in enumerate(filter(None, reader), start=1):
            if any(map(str.strip, cells[len(names) :])):
                raise InvalidDataset(
                    f"{file}: row {number} has {_width(cells)} cells, the header {len(names)}; "
                    "quote values that hold the delimiter, and name every column"
                )
            yield reader.line_num, dict(zip_longest(names, cells[: len(names)], fillvalue=""))
    except csv.Error as error:
        raise InvalidDataset(
            f"{file}: row {number + 1} is not CSV, as where a quotation mark is not closed: {error}"
        ) from None


def _width(cells: Sequence[str]) -> int:
    """The number of cells up to the last that is not blank."""
    return max((i for i, cell in enumerate(cells, start=1) if cell.strip()), default=0)


def read_label(value: object, positive: object, name: str, where: str) -> Verdict | None:
    """The right answer that the column `name` states; None where it states none."""
    if is_empty(value) or (value == "-" and positive is None):
        return None
    return a_label(value, positive, name, where)


def a_label(value: object, positive: object, name: str, where: str) -> Verdict:
    """The right answer that a label states; `positive` is the one that means fraud."""
    if positive is not None:
        return DECLINE if _label_value(value) == _label_value(positive) else APPROVE
    if (is_fraud := no_or_yes(str(value))) is not None:
        return DECLINE if is_fraud else APPROVE
    try:
        return parse_verdict(value)
    except InvalidInput as error:
        raise InvalidDataset(
            f"{where}, field {name!r}: {error}; --positive WORD names the label that means fraud"
        ) from None


def need(row: Mapping[str, object], name: str, where: str) -> object:
    """The value of a column that a row must have."""
    value = row.get(name)
    if not is_empty(value):
        return value
    if name in row:
        raise InvalidDataset(f"{where}: field {name!r} is empty")
    raise InvalidDataset(
        f"{where}: field {name!r} is missing; it has {', '.join(row)}; "
        "say which one to take (--label, --text)"
    )


def is_empty(value: object) -> bool:
    """Whether a cell holds nothing."""
    return value is None or value == "" or value != value  # NaN is not even itself


def _label_value(label: object) -> object:
    """A label as a value to compare: 1, 1.0, "1" and true are equal, words are lower case."""
    word = str(label).strip().lower()
    return word if (value := read_cell(word)) is None else value
