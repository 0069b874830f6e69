"""How people write numbers and absent values, and how values are written in sentences."""

import re
from collections.abc import Collection, Mapping
from typing import Final, TypeGuard

_ENGLISH: Final = re.compile(
    r"-?(?:\d{1,3}(?:,\d{3})+|\d{1,2}(?:,\d{2})+,\d{3}|\d+)(?:\.\d+)?"  # also in lakhs
)
_CONTINENTAL: Final = re.compile(
    r"-?(?:(?:\d{1,3}(?:\.\d{3})+|\d+),\d{1,2}|\d{1,3}(?:\.\d{3}){2,})"
)
_SPACED: Final = re.compile(r"-?[1-9]\d{0,2}(?:[ \u00a0\u202f'’]\d{3})+(?:[.,]\d{1,2})?")
_AROUND: Final = (
    r"(?:[^\W\d_]{2,4}\.?\s*)?[^\w.,]*",
    r"(?:[.,][-–—]+)?[^\w.,]*(?:[^\W\d_]{2,4}\.?\s*)?[^\w.,]*",
)
"""A currency before a number, and behind it."""
_COMMA: Final = re.compile(
    rf"({_AROUND[0]})(\d{{1,3}}(?:\.\d{{3}})+|\d{{1,3}}(?:\s\d{{3}})+|\d+)(?:,(\d+))?({_AROUND[1]})"
)
_ONLY_COMMA: Final = re.compile(
    rf"{_AROUND[0]}(?:\d{{1,3}}(?:[.\s]\d{{3}})+,\d+|\d+,\d{{1,2}}|0,\d+|\d{{4,}},\d+){_AROUND[1]}"
)
_ONLY_POINT: Final = re.compile(
    rf"{_AROUND[0]}(?:\d{{1,3}}(?:,\d{{3}})+\.\d+|\d+\.\d{{1,2}}|0\.\d+|\d{{4,}}\.\d+|\d+\.\d{{4,}})"
    rf"{_AROUND[1]}"
)
_WHOLE: Final = re.compile(rf"{_AROUND[0]}\d{{1,3}}{_AROUND[1]}")
_IN_THOUSANDS: Final = re.compile(rf"{_AROUND[0]}[1-9]\d{{0,2}}(?:\.\d{{3}})+{_AROUND[1]}")
_THOUSANDS: Final = re.compile(r"\d\.\d{3},[-–—]")
_NO_CENTS: Final = re.compile(r"(?<=\d)[.,][-–—]+(?!\d)")
_LONGEST: Final = 60
"""No number is written with more characters."""
_NEGATIVE: Final = re.compile(r"\(([^()+-]*\d[^()+-]*)\)|([^()+-]*\d\s*)-")
_DIGIT: Final = re.compile(r"\d")
_THREE_PLACES: Final = re.compile(r"\D*[1-9]\d{0,2}([.,])\d{3}\D*")
_SMALLEST_RISK: Final = 0.0001
# "na" is not in the list: in capitals it is the code of Namibia.
NOTHING: Final = frozenset({"", "none", "null", "nan", "missing", "n/a", "#n/a", "-"})


def written_number(text: str) -> float | None:
    """The number that a text states, with or without a currency sign; None if it states none.

    >>> [written_number(t) for t in ("1,234.50", "1.234,56", "1 234,5", "€9.50", "12,50", "1,2,3")]
    [1234.5, 1234.56, 1234.5, 9.5, 12.5, None]
    """
    if len(text) > _LONGEST:
        return None
    plain = with_plain_sign(text.strip()).strip("$€£¥").strip()
    if _SPACED.fullmatch(plain):
        plain = re.sub(r"[\s'’]", "", plain)
    if _ENGLISH.fullmatch(plain):
        return float(plain.replace(",", ""))
    if _CONTINENTAL.fullmatch(plain):
        return float(plain.replace(".", "").replace(",", "."))
    return None


def with_plain_sign(text: str) -> str:
    """A number with its sign before it, and without a line for cents that are none.

    >>> [with_plain_sign(t) for t in ("(1,234.50)", "12.50-", "89.--", "1.234,-", "(a)")]
    ['-1,234.50', '-12.50', '89', '1234', '(a)']
    """
    text = text.replace("\u2212", "-")
    if _THOUSANDS.search(text):
        text = text.replace(".", "")
    text = _NO_CENTS.sub("", text)
    match = _NEGATIVE.fullmatch(text)
    return f"-{match[1] or match[2]}".strip() if match else text


def decimal_marks(
    columns: Mapping[str, Collection[str]], *, is_continental: bool
) -> dict[str, str]:
    """By column of numbers in texts the mark before the decimals, as far as the texts tell.

    A text such as 1.728 can be read in two ways: then the other texts of its column tell. If those
    are whole numbers below a thousand, the point parts thousands in a file that looks like one of
    Europe's continent, or has another column with decimal commas.

    >>> decimal_marks({"a": ["1.728,50", "1.728"], "b": ["2.500", "7"]}, is_continental=False)
    {'a': ',', 'b': ','}
    >>> decimal_marks({"a": ["1.728", "2.5"], "b": ["2.500", "7.125"]}, is_continental=True)
    {'a': '.'}
    """
    marks: dict[str, str] = {}
    columns = {n: [t for t in texts if _DIGIT.search(t)] for n, texts in columns.items()}
    columns = {n: texts for n, texts in columns.items() if all(len(t) <= _LONGEST for t in texts)}
    for name, texts in columns.items():
        has_point = any(map(_ONLY_POINT.fullmatch, texts))
        has_comma = any(map(_ONLY_COMMA.fullmatch, texts)) and all(map(_COMMA.fullmatch, texts))
        if has_comma != has_point:
            marks[name] = "," if has_comma else "."
    if is_continental or "," in marks.values():
        marks |= {n: "," for n, texts in columns.items() if n not in marks and _are_whole(texts)}
    return marks


def _are_whole(texts: Collection[str]) -> bool:
    """Whether all texts are whole numbers, those from a thousand on with points."""
    parted = sum(_IN_THOUSANDS.fullmatch(text) is not None for text in texts)
    return 0 < parted < len(texts) == parted + sum(map(bool, map(_WHOLE.fullmatch, texts)))


def with_point(text: str) -> str:
    """A number with a decimal comma as one with a decimal point; any other text as it is.

    >>> with_point("1.728,50 €"), with_point("1.728"), with_point("0,125"), with_point("2.5")
    ('1728.50 €', '1728', '0.125', '2.5')
    """
    match = _COMMA.fullmatch(text) if len(text) <= _LONGEST else None
    if match is None:
        return text
    before, whole, decimals, behind = match.groups()
    whole = re.sub(r"[.\s]", "", whole)
    return before + whole + (f".{decimals}" if decimals else "") + behind


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


def has_value(fields: Mapping[str, object], name: str, value: object) -> bool:
    """Whether a field has this value, compared as a person would write both.

    >>> has_value({"card": 4711.0}, "card", "4711"), has_value({}, "card", "4711")
    (True, False)
    """
    stored = fields.get(name)
    return stored is not None and written(stored) == written(value)


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
