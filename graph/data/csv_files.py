"""Data files as people save them: their text, and the rows of a CSV by the names of its columns.

A text may be UTF-8, UTF-16 or Windows-1252, and packed by gzip. Names are stripped
and blank lines skipped. A row with too many cells is refused, and so are two columns of one name:
no cell may end up in the wrong column. The caller knows what the cells mean.
"""

import codecs
import csv
import gzip
import io
import re
import zlib
from collections import Counter
from collections.abc import Iterator, Sequence
from itertools import zip_longest
from pathlib import Path
from typing import TYPE_CHECKING, Final

from acegraph.state import InvalidDataset

if TYPE_CHECKING:
    from _csv import Reader

_BLANK: Final = ' ,;|"\t\r\n'
_GZIP: Final = b"\x1f\x8b"
_BINARY: Final = (b"PAR1", b"PK\x03\x04")
"""How Parquet, Excel workbooks and archives begin."""
_CONTROLS = re.compile("[\x00-\x08\x0e-\x1a\x1c-\x1f]")


def read_text(file: Path) -> str:
    """The text of a data file, which may be a pipe."""
    return read_encoded(file)[0]


def read_encoded(file: Path) -> tuple[str, str]:
    """The text of a data file, and the encoding that it was taken for."""
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
    names, reader = _below_header(file, text)
    return names, _rows(reader, names, file)


def read_header(file: Path, text: str) -> tuple[list[str], int]:
    """The columns of a CSV that begins like this, and after how many lines its rows begin."""
    names, reader = _below_header(file, text)
    return names, reader.line_num


def _below_header(file: Path, text: str) -> "tuple[list[str], Reader]":
    """The columns of a CSV, and a reader of the lines below them; quoted cells end in a mark."""
    lines = io.StringIO(text, newline="")
    reader = csv.reader(lines, strict=True, delimiter=find_delimiter(text))
    try:
        return _column_names(next(filter(_width, reader), []), file), reader
    except csv.Error as error:
        raise InvalidDataset(f"{file}: not CSV: {error}") from None


def _rows(reader: "Reader", names: list[str], file: Path) -> Iterator[tuple[int, dict[str, str]]]:
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
