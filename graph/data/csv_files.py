"""CSV files as people save them: rows by the names of their columns, every cell accounted for.

Names are stripped and blank lines skipped. A row with too many cells is refused, and so are two
columns of one name: no cell may end up in the wrong column. The caller knows what the cells mean.
"""

import csv
import io
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from itertools import zip_longest
from pathlib import Path
from typing import Final

from acegraph.state import InvalidDataset

_BLANK: Final = ' ,;|"\t\r\n'


def read_text(file: Path) -> str:
    """The text of a data file, which may be a pipe."""
    try:
        return file.read_text(encoding="utf-8-sig")
    except FileNotFoundError:
        raise InvalidDataset(f"{file}: no such file") from None
    except UnicodeDecodeError:
        raise InvalidDataset(f"{file}: not UTF-8 text; save it as UTF-8") from None
    except OSError as error:
        raise InvalidDataset(f"{file}: cannot be read: {error.strerror}") from None


def read_sheet(file: Path, text: str) -> tuple[list[str], Iterator[tuple[int, dict[str, str]]]]:
    """The columns of a CSV, and its rows, each with the number of its line."""
    header = next((line for line in io.StringIO(text) if line.strip(_BLANK)), "")
    delimiter = max(",;\t|", key=header.count)
    reader = csv.reader(io.StringIO(text, newline=""), delimiter=delimiter)
    try:
        names = _column_names(next(filter(_width, reader), []), file)
    except csv.Error as error:
        raise InvalidDataset(f"{file}: not CSV: {error}") from None
    return names, _rows(((reader.line_num, cells) for cells in reader if cells), names, file)


def _rows(
    lines: Iterable[tuple[int, list[str]]], names: list[str], file: Path
) -> Iterator[tuple[int, dict[str, str]]]:
    """The rows by the names of their columns; cells that a row lacks at its end are empty."""
    try:
        for number, (line, cells) in enumerate(lines, start=1):
            if any(map(str.strip, cells[len(names) :])):
                raise InvalidDataset(
                    f"{file}: row {number} has {_width(cells)} cells, the header {len(names)}; "
                    "quote values that hold the delimiter, and name every column"
                )
            yield line, dict(zip_longest(names, cells[: len(names)], fillvalue=""))
    except csv.Error as error:
        raise InvalidDataset(f"{file}: not CSV: {error}") from None


def _column_names(header: Sequence[str], file: Path) -> list[str]:
    names = [name.strip() for name in header[: _width(header)]]
    for name, count in Counter(names).items():
        if count > 1:
            problem = f"are named {name!r}" if name else "have no name"
            raise InvalidDataset(f"{file}: two columns {problem}")
    return names


def _width(cells: Sequence[str]) -> int:
    """The number of cells up to the last that is not blank."""
    return max((i for i, cell in enumerate(cells, start=1) if cell.strip()), default=0)
