"""How times, JSON and places are written, and how much one statement may ask for."""

import json
import math
import re
from collections.abc import Iterator
from datetime import UTC, date, datetime
from pathlib import Path
from typing import Any, Final

from acegraph.state.errors import InvalidInput

_ENCODER: Final = json.JSONEncoder(
    sort_keys=True, separators=(",", ":"), ensure_ascii=False, allow_nan=False
)


_ENGLISH: Final = re.compile(r"-?(?:\d{1,3}(?:,\d{3})+|\d+)(?:\.\d+)?")
_CONTINENTAL: Final = re.compile(
    r"-?(?:(?:\d{1,3}(?:\.\d{3})+|\d+),\d{1,2}|\d{1,3}(?:\.\d{3}){2,})"
)
_SPACED: Final = re.compile(r"-?[1-9]\d{0,2}(?:[ \u00a0\u202f]\d{3})+(?:[.,]\d{1,2})?")
# Not "na": in capitals it is the code of Namibia.
_NOTHING: Final = frozenset({"", "none", "null", "nan", "missing", "n/a", "#n/a", "-"})
_MANY: Final = 500
"""Parameters of one statement; some builds of SQLite take no more than 999."""


def chunks(ids: list[str]) -> Iterator[list[str]]:
    """Parts small enough for one statement."""
    for start in range(0, len(ids), _MANY):
        yield ids[start : start + _MANY]


def now() -> str:
    """The time as every table writes it: UTC, ISO 8601."""
    return datetime.now(UTC).isoformat(timespec="microseconds")


def as_utc(time: str | date) -> str:
    """A time given by a person, as the tables write it; without a zone it is UTC.

    >>> as_utc("2026-03-01T12:00:00+02:00")
    '2026-03-01T10:00:00.000000+00:00'
    """
    if isinstance(time, str):
        try:
            time = datetime.fromisoformat(time.strip())
        except ValueError:
            raise InvalidInput(f"a time is ISO 8601, as 2026-03-01T12:00, not {time!r}") from None
    if not isinstance(time, datetime):  # a day alone
        time = datetime(time.year, time.month, time.day)
    aware = time if time.tzinfo else time.replace(tzinfo=UTC)
    try:
        return aware.astimezone(UTC).isoformat(timespec="microseconds")
    except OverflowError:
        raise InvalidInput(f"{time} is beyond the calendar") from None


def as_past(time: str | date) -> str:
    """The same for a time that must have come."""
    found = as_utc(time)
    if found > now():
        raise InvalidInput(f"{time} has not come yet")
    return found


def delimiter_of(header: str) -> str:
    """What parts the columns of a CSV, by its first line."""
    return max(",;\t|", key=header.count)


def written_number(text: str) -> float | None:
    """The number that a person wrote, with a currency sign or without.

    >>> [written_number(t) for t in ("1,234.50", "1.234,56", "1 234,5", "€9.50", "12,50", "1,2,3")]
    [1234.5, 1234.56, 1234.5, 9.5, 12.5, None]
    """
    plain = text.strip().strip("$€£¥").strip()
    if _SPACED.fullmatch(plain):
        plain = re.sub(r"\s", "", plain)
    if _ENGLISH.fullmatch(plain):
        return float(plain.replace(",", ""))
    if _CONTINENTAL.fullmatch(plain):
        return float(plain.replace(".", "").replace(",", "."))
    return None


def is_storable(text: str) -> bool:
    """Whether a database can hold a text: half of a character it cannot."""
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True


def is_nothing(word: str) -> bool:
    """Whether a word stands for a value that is not there."""
    return word.strip().lower() in _NOTHING


def stored_float(value: float | None) -> float | None:
    """A number as every database gives it back: without a sign of zero, and None for none.

    >>> stored_float(-0.0), stored_float(float("nan"))
    (0.0, None)
    """
    return None if value is None or math.isnan(value) else float(value) + 0.0


def to_text(data: Any) -> str:
    """JSON as it is stored.

    >>> to_text({"b": 1, "a": [True, None]})
    '{"a":[true,null],"b":1}'
    """
    return _ENCODER.encode(data)


def file_of(url: str) -> Path | None:
    """The file behind a SQLite URL, where there is one."""
    path = url.removeprefix("sqlite:///")
    return Path(path) if path not in (url, ":memory:", "") else None
