"""How values are stored: JSON, floats, hashes of texts. The hashes of rows are in writer.py."""

import hashlib
import json
import math
from collections.abc import Iterator
from pathlib import Path
from typing import Final

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
