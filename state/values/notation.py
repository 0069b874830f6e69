"""How people write numbers and absent values, and how we write values in sentences."""

import re
from collections.abc import Mapping
from typing import Any, Final

_ENGLISH: Final = re.compile(r"-?(?:\d{1,3}(?:,\d{3})+|\d+)(?:\.\d+)?")
_CONTINENTAL: Final = re.compile(
    r"-?(?:(?:\d{1,3}(?:\.\d{3})+|\d+),\d{1,2}|\d{1,3}(?:\.\d{3}){2,})"
)
_SPACED: Final = re.compile(r"-?[1-9]\d{0,2}(?:[ \u00a0\u202f]\d{3})+(?:[.,]\d{1,2})?")
# Not "na": in capitals it is the code of Namibia.
_NOTHING: Final = frozenset({"", "none", "null", "nan", "missing", "n/a", "#n/a", "-"})


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


def is_nothing(word: str) -> bool:
    """Whether a word stands for a value that is not there."""
    return word.strip().lower() in _NOTHING


def has_value(fields: Mapping[str, Any], name: str, value: object) -> bool:
    """Whether a field has a value, as a person would write it.

    >>> has_value({"card": 4711.0}, "card", "4711"), has_value({}, "card", "4711")
    (True, False)
    """
    found = fields.get(name)
    return found is not None and written(found) == written(value)


def written(value: object) -> str:
    """A value as a person would write it."""
    whole = isinstance(value, float) and value.is_integer()
    return str(int(value)) if whole else str(value)  # type: ignore[call-overload]
