"""How people write numbers and absent values, and how values are written in sentences."""

import re
from collections.abc import Collection, Mapping
from typing import Final, TypeGuard

_PARTED: Final = r"[+-]?(?:[1-9]\d{{0,2}}(?:[{} \u00a0\u202f'’]\d{{3}})+|\d+)(?:{}\d+)?"
_NUMBERS: Final = {
    ".": re.compile(_PARTED.format(",", r"\.")),
    ",": re.compile(_PARTED.format(".", ",")),
}
"""Numbers by the mark before their decimals; between thousands stands the other, or a space."""
_PARTS: Final = re.compile(r"[ \u00a0\u202f'’]")
_TOLD_BY_ITSELF: Final = re.compile(r".*(?:,\d{1,2}|\.\d{3}\.\d{3})|[+-]?0,\d+")
"""A number with a decimal comma that needs no other text of its column to be read."""
_LONGEST: Final = 60
"""No number is written with more characters."""
_NEGATIVE: Final = re.compile(r"\(([^()+-]*\d[^()+-]*)\)|([^()+-]*\d\s*)-")
_DIGIT: Final = re.compile(r"\d")
_THREE_PLACES: Final = re.compile(r"\D*[1-9]\d{0,2}([.,])\d{3}\D*")
_SMALLEST_RISK: Final = 0.0001
# "na" is not in the list: in capitals it is the code of Namibia.
NOTHING: Final = frozenset({"", "none", "null", "nan", "missing", "n/a", "#n/a", "-"})
POINTS: Final = 100
"""Points of a graded rule that make 1 of log-odds."""


def written_number(text: str) -> float | None:
    """The number that a text states, with or without a currency sign; None if it states none.

    >>> [written_number(t) for t in ("1,234.50", "1.234,56", "1 234,5", "€9.50", "12,50", "1,2,3")]
    [1234.5, 1234.56, 1234.5, 9.5, 12.5, None]
    """
    plain = _signed(text.strip()).strip("$€£¥").strip()
    if _is_number(plain, "."):
        return float(_PARTS.sub("", plain.replace(",", "")))
    if _is_number(plain, ",") and _TOLD_BY_ITSELF.fullmatch(plain):
        return float(with_point(plain))
    return None


def _is_number(text: str, mark: str) -> bool:
    return len(text) <= _LONGEST and _NUMBERS[mark].fullmatch(text) is not None


def _signed(text: str) -> str:
    """A number with its sign before it: (1,234.50) and 12.50- are less than nothing."""
    text = text.replace("\u2212", "-")
    match = _NEGATIVE.fullmatch(text) if len(text) <= _LONGEST else None
    return f"-{match[1] or match[2]}".strip() if match else text


def decimal_commas(columns: Mapping[str, Collection[str]], *, is_continental: bool) -> set[str]:
    """The columns of numbers whose texts have a decimal comma, as far as the texts tell.

    Where all texts of a column are like 1.728, the point parts thousands in a file that looks like
    one of Europe's continent.

    >>> columns = {"a": ["1.728,50", "1.728"], "b": ["2.500", "7"], "c": ["1.728", "2.5"]}
    >>> [sorted(decimal_commas(columns, is_continental=is_so)) for is_so in (False, True)]
    [['a'], ['a', 'b']]
    """
    found: set[str] = set()
    for name, texts in columns.items():
        numbers = [_signed(text) for text in texts if _DIGIT.search(text)]
        if numbers and all(_is_number(one, ",") for one in numbers):
            tell = not all(_is_number(one, ".") for one in numbers)
            if tell or (is_continental and any("." in one for one in numbers)):
                found.add(name)
    return found


def with_point(text: str) -> str:
    """A number with a decimal comma as one with a decimal point; any other text as it is.

    >>> with_point("1.728,50"), with_point("1.728"), with_point("0,125"), with_point("2.5")
    ('1728.50', '1728', '0.125', '2.5')
    """
    plain = _signed(text)
    if not _is_number(plain, ","):
        return text
    return _PARTS.sub("", plain.replace(".", "")).replace(",", ".")


def may_be_thousands(text: str, mark: str) -> bool:
    """Whether the decimal mark of a number may be one between thousands, as in 1.728."""
    match = _THREE_PLACES.fullmatch(text)
    return match is not None and match[1] == mark


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


def is_number(value: object) -> TypeGuard[int | float]:
    """Whether a value is a number, and no flag.

    >>> is_number(2.5), is_number(True), is_number("2.5")
    (True, False, False)
    """
    return isinstance(value, int | float) and not isinstance(value, bool)


def is_nothing(word: str) -> bool:
    """Whether a word says that there is no value."""
    return word.strip().lower() in NOTHING


_WRITTEN_OUT: Final = 1e16
"""From here on a float is written with an exponent."""


def written(value: object) -> str:
    """A value as a person would write it: a whole number without a decimal point.

    >>> [written(value) for value in (40.0, 2.5, True)]
    ['40', '2.5', 'true']
    """
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, float) and value.is_integer() and abs(value) < _WRITTEN_OUT:
        return str(int(value))
    return str(value)
