"""How values are stored: JSON, floats, hashes of texts, lists in parts."""

import hashlib
import json
import math
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

_ENCODER: Final = json.JSONEncoder(
    sort_keys=True, separators=(",", ":"), ensure_ascii=False, allow_nan=False
)
_MANY: Final = 500
"""Parameters of one statement; some builds of SQLite take no more than 999."""


def chunks(ids: list[str]) -> Iterator[list[str]]:
    """Parts small enough for one statement."""
    for start in range(0, len(ids), _MANY):
        yield ids[start : start + _MANY]


def is_storable(text: str) -> bool:
    """Whether a database can hold a text: half of a character it cannot."""
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True


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


def text_hash(text: str) -> str:
    """The name under which a text's vector is kept."""
    return hashlib.sha256(text.encode()).hexdigest()
