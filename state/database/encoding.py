"""How values are stored: JSON, floats, times, hashes of texts; writer.py hashes rows."""

import hashlib
import json
import math
from collections.abc import Iterator
from datetime import UTC, date, datetime
from pathlib import Path
from typing import Final

from acegraph.state.errors import InvalidInput, quoted

_ENCODER: Final = json.JSONEncoder(
    sort_keys=True, separators=(",", ":"), ensure_ascii=False, allow_nan=False
)
_MAX_PARAMETERS: Final = 500
"""The parameters of one statement; some builds of SQLite allow no more than 999."""


def chunks(ids: list[str]) -> Iterator[list[str]]:
    """The ids in parts that are small enough for one statement."""
    for start in range(0, len(ids), _MAX_PARAMETERS):
        yield ids[start : start + _MAX_PARAMETERS]


def is_storable(text: str) -> bool:
    """Whether a database can hold a text: a lone surrogate cannot be encoded."""
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True


def stored_float(value: float | None) -> float | None:
    """A number as every database returns it: zero has no sign, and NaN becomes None.

    >>> stored_float(-0.0), stored_float(float("nan"))
    (0.0, None)
    """
    return None if value is None or math.isnan(value) else float(value) + 0.0


def to_text(data: object) -> str:
    """A value as the JSON text that is stored.

    >>> to_text({"b": 1, "a": [True, None]})
    '{"a":[true,null],"b":1}'
    """
    return _ENCODER.encode(data)


def file_of(url: str) -> Path | None:
    """The file that a SQLite URL names, or None for a database in memory."""
    path = url.removeprefix("sqlite:///")
    return Path(path) if path not in (url, ":memory:", "") else None


def text_hash(text: str) -> str:
    """The key under which the vector of a text is stored."""
    return hashlib.sha256(text.encode()).hexdigest()


def now() -> str:
    """The present time as all tables write it."""
    return datetime.now(UTC).isoformat(timespec="microseconds")


def as_utc(time: str | date) -> str:
    """A given time as all tables write it; a time without a zone is taken as UTC.

    >>> as_utc("2026-03-01T12:00:00+02:00")
    '2026-03-01T10:00:00.000000+00:00'
    """
    if isinstance(time, str):
        try:
            time = datetime.fromisoformat(time.strip())
        except ValueError:
            raise InvalidInput(
                f"a time is ISO 8601, as 2026-03-01T12:00, not {quoted(time)}"
            ) from None
    if not isinstance(time, datetime):  # a day alone
        time = datetime(time.year, time.month, time.day)
    aware = time if time.tzinfo else time.replace(tzinfo=UTC)
    try:
        return aware.astimezone(UTC).isoformat(timespec="microseconds")
    except OverflowError:
        raise InvalidInput(f"{time} is beyond the calendar") from None


def as_past(time: str | date) -> str:
    """A given time as all tables write it; a time in the future is refused."""
    utc = as_utc(time)
    if utc > now():
        raise InvalidInput(f"{time} has not come yet")
    return utc
