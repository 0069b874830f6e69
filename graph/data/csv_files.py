"""CSV files as people save them: rows by the names of their columns, every cell accounted for.

Names are stripped and blank lines skipped; a row with too many cells, or two columns of one name,
is refused: nobody can know which cell belongs where. What the cells mean is for others.
"""

import csv
import io
from collections import Counter
from collections.abc import Iterator, Sequence
from itertools import zip_longest
from pathlib import Path
from typing import Any, Final

from acegraph.state import InvalidDataset


def delimiter_of(header: str) -> str:
    """What parts the columns of a CSV, by its first line."""
    return max(",;\t|", key=header.count)


_BLANK: Final = ' ,;|"\t\r\n'


def read_text(file: Path) -> str:
    """What a file of data holds; it may be a pipe."""
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
    first = next((line for line in io.StringIO(text) if line.strip(_BLANK)), "")
    lines = csv.reader(io.StringIO(text, newline=""), delimiter=delimiter_of(first))
    try:
        names = _column_names(next(filter(_width, lines), []), file)
    except csv.Error as error:
        raise InvalidDataset(f"{file}: not CSV: {error}") from None
    return names, _rows(lines, names, file)


def _rows(lines: Any, names: list[str], file: Path) -> Iterator[tuple[int, dict[str, str]]]:
    """A cell that is not there is empty."""
    try:
        for number, row in enumerate(filter(None, lines), start=1):
            if any(map(str.strip, row[len(names) :])):
                raise InvalidDataset(
                    f"{file}: row {number} has {_width(row)} cells, the header {len(names)}; "
                    "quote values that hold the delimiter, and name every column"
                )
            yield lines.line_num, dict(zip_longest(names, row[: len(names)], fillvalue=""))
    except csv.Error as error:
        raise InvalidDataset(f"{file}: not CSV: {error}") from None


def _column_names(header: Sequence[str], file: Path) -> list[str]:
    names = [name.strip() for name in header[: _width(header)]]
    for name, count in Counter(names).items():
        if count > 1:
            what = f"are named {name!r}" if name else "have no name"
            raise InvalidDataset(f"{file}: two columns {what}")
    return names


def _width(row: Sequence[str]) -> int:
    """Cells up to the last that is not blank."""
    return max((i for i, cell in enumerate(row, start=1) if cell.strip()), default=0)
