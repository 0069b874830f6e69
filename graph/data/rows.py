"""The rows of a file with typed cells: CSV, a JSON list or JSON lines."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import cast

from acegraph.graph.data.csv_files import find_delimiter, read_encoded, read_sheet
from acegraph.graph.data.forms import Forms, find_forms
from acegraph.state.errors import InvalidDataset
from acegraph.state.task.form import label_cell
from acegraph.state.values import Scalar, each_name_once

Progress = Callable[[str, int, int], None]
"""Called with what is under way, how much of it is done, and how much there is."""


@dataclass(frozen=True)
class ReadRows:
    """The rows of a file, and how it writes."""

    rows: list[dict[str, Scalar]]
    notes: list[str] = field(default_factory=list)
    forms: Forms = field(default_factory=lambda: Forms({}))


def read_rows(file: Path, answer: str, forms: Forms | None = None) -> ReadRows:
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
        forms = forms or forms_of(cells, answer, is_continental=is_continental)
        return ReadRows(read_cells(cells, answer, forms), [*notes, *forms.notes], forms)
    entries = _json_entries(file, text)
    for number, entry in enumerate(entries, start=1):
        if not isinstance(entry, dict):
            raise InvalidDataset(f"{file}: row {number} is not an object")
    return ReadRows(cast("list[dict[str, Scalar]]", entries), notes)


def forms_of(cells: Sequence[Mapping[str, str]], answer: str, *, is_continental: bool) -> Forms:
    """How the columns of a CSV are written; its labels are words."""
    names = [name for name in (cells[0] if cells else ()) if name != answer]
    columns = {name: [row.get(name, "") for row in cells] for name in names}
    return find_forms(columns, is_continental=is_continental)


def read_cells(
    cells: Iterable[Mapping[str, str]], answer: str, forms: Forms
) -> list[dict[str, Scalar]]:
    """The values of the cells of a CSV, row by row."""
    rows = [
        {n: label_cell(text) if n == answer else forms.of(n).read(text) for n, text in row.items()}
        for row in cells
    ]
    _blank_na(rows)
    return rows


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
