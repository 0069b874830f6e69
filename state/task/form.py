"""How a file writes one column, and the value of a cell that is written so."""

import math
from dataclasses import dataclass
from datetime import datetime
from functools import lru_cache
from typing import ClassVar, Literal

from acegraph.state.values import Scalar, is_nothing, with_point, written_number


@dataclass(frozen=True)
class Form:
    """How the texts of one column are written."""

    __pydantic_config__: ClassVar = {"extra": "forbid"}

    decimal: Literal[".", ","] = "."
    unit: str = ""
    """What stands before or behind every number."""
    date: str = ""
    """The format of dates, as `strptime` has it; empty where they are ISO 8601, or none."""

    def read(self, text: str) -> Scalar:
        """The value of a cell.

        >>> Form(",", unit="EUR").read("1.234,50 EUR"), Form(date="%d.%m.%Y").read("31.01.2026")
        (1234.5, '2026-01-31')
        """
        plain = text.strip()
        if is_nothing(plain):
            return None
        if self.date:
            return in_iso(plain, self.date) or plain
        if self.unit:
            plain = without_unit(plain, self.unit)
        value = read_cell(with_point(plain) if self.decimal == "," else plain)
        return plain if isinstance(value, str) else value


PLAIN = Form()


@lru_cache(maxsize=1 << 16)
def read_cell(text: str) -> Scalar:
    """The value of a plain cell: a number, also with marks in it, a flag, None, or a text.

    >>> [read_cell(text) for text in ("1,234.50", "TRUE", "n/a", "18_25", "007", "12")]
    [1234.5, True, None, '18_25', 7.0, 12]
    """
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
    """The value of a cell for a label, which may be + or -."""
    return "-" if text.strip() == "-" else read_cell(text)


@lru_cache(maxsize=1 << 16)
def in_iso(text: str, date: str) -> str | None:
    """A date in ISO 8601, if it is written in this format; a day alone has no time of day."""
    try:
        moment = datetime.strptime(text, date)
    except ValueError:
        return None
    return moment.isoformat(" ") if has_clock(date) else moment.date().isoformat()


def has_clock(date: str) -> bool:
    """Whether a format of dates has a time of day."""
    return "%H" in date or "%I" in date


def without_unit(text: str, unit: str) -> str:
    """A number without its unit."""
    return text.removeprefix(unit).removesuffix(unit).strip() if unit else text
