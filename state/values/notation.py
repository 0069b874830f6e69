"""How people write numbers and absent values, and how values are written in sentences."""

import re
from collections.abc import Mapping
from typing import Final

_ENGLISH: Final = re.compile(r"-?(?:\d{1,3}(?:,\d{3})+|\d+)(?:\.\d+)?")
_CONTINENTAL: Final = re.compile(
    r"-?(?:(?:\d{1,3}(?:\.\d{3})+|\d+),\d{1,2}|\d{1,3}(?:\.\d{3}){2,})"
)
_SPACED: Final = re.compile(r"-?[1-9]\d{0,2}(?:[ \u00a0\u202f]\d{3})+(?:[.,]\d{1,2})?")
_SMALLEST_RISK: Final = 0.0001
# "na" is not in the list: in capitals it is the code of Namibia.
NOTHING: Final = frozenset({"", "none", "null", "nan", "missing", "n/a", "#n/a", "-"})


def written_number(text: str) -> float | None:
    """The number that a text states, with or without a currency sign; None if it states none.

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


def rounded_risk(risk: float) -> float:
    """A probability of fraud in two places; a small one in two digits that count."""
    return max(round(risk, 2) if risk >= 0.1 else float(f"{risk:.2g}"), _SMALLEST_RISK)


def written_risk(risk: float) -> str:
    """A probability of fraud in words: that of `rounded_risk`.

    >>> written_risk(0.8734), written_risk(0.00352), written_risk(0.0000352)
    ('0.87', '0.0035', 'below 0.0001')
    """
    if risk < _SMALLEST_RISK:
        return f"below {_SMALLEST_RISK:g}"
    return f"{risk:.2f}" if risk >= 0.1 else f"{risk:.2g}"


def is_nothing(word: str) -> bool:
    """Whether a word says that there is no value."""
    return word.strip().lower() in NOTHING


def has_value(fields: Mapping[str, object], name: str, value: object) -> bool:
    """Whether a field has this value, compared as a person would write both.

    >>> has_value({"card": 4711.0}, "card", "4711"), has_value({}, "card", "4711")
    (True, False)
    """
    stored = fields.get(name)
    return stored is not None and written(stored) == written(value)


def written(value: object) -> str:
    """A value as a person would write it: a whole number without a decimal point."""
    return str(int(value)) if isinstance(value, float) and value.is_integer() else str(value)
