"""Dates and times as files write them, turned into ISO 8601 column by column.

Whether the day or the month stands first is decided over all rows of a column: one number above 12
settles it. A number is a time only where the name of its column says so and all values lie between
2000 and 2035, so that an amount is never a date.
"""

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from itertools import pairwise
from typing import Final

from acegraph.nodes.evidence.columns.learnable_fields import words_of_name
from acegraph.state import InvalidDataset, Scalar

Column = Sequence[Scalar]
_CLOCK: Final = (
    r"(?:[T ,]\s*(\d{1,2})[:.](\d{2})(?:[:.](\d{2})(?:[.,]\d{1,9})?)?\s*([AaPp]\.?[Mm]\.?)?"
    r"\s*(Z|UTC|GMT|[+-]\d{2}:?\d{2})?)?"
)
_ISO = re.compile(
    r"\d{4}-\d{2}-\d{2}(?:[ T]\d{2}:\d{2}(?::\d{2}(?:\.\d{1,6})?)?(?:Z|[+-]\d{2}:?\d{2})?)?"
)
_PART: Final = r"(\d{1,4}|[^\W\d_]{3,9})"
_BETWEEN: Final = r"(?:[./-]|[.,]?\s+)"
_WRITTEN = re.compile(
    rf"(?:[^\W\d_]{{2,10}},\s*)?{_PART}{_BETWEEN}{_PART}{_BETWEEN}(\d{{2,4}}){_CLOCK}"
)
_MONTHS: Final = {
    word: number
    for number, words in enumerate(
        "jan january januar|feb february februar|mar march mär märz mrz|apr april|may mai|"
        "jun june juni|jul july juli|aug august|sep sept september|oct october okt oktober|"
        "nov november|dec december dez dezember".split("|"),
        start=1,
    )
    for word in words.split()
}
_SAYS_TIME: Final = frozenset(
    "date time datetime timestamp ts at dt epoch unix unixtime when moment stamp datum zeit "
    "zeitpunkt zeitstempel fecha hora created booked".split()
)
_SAYS_SPAN: Final = frozenset(
    "since per last until elapsed duration diff delta between days hours minutes seconds age avg "
    "count zone".split()
)
_EPOCH: Final = (946_684_800, 2_082_758_400)
"""2000 to 2035 in seconds since 1970."""
_EXCEL: Final = (36_526, 49_675)
"""2000 to 2035 in days since the end of 1899, as Excel counts them."""
_MIDNIGHT: Final = " 00:00:00"
_MOST: Final = 0.9
"""So many values of a column must be dates."""


@dataclass(frozen=True)
class Dates:
    """A column of dates: its values as ISO 8601, and the form in which the file writes them."""

    values: list[Scalar]
    form: str
    doubt: str = ""
    """What to check where nothing in the file settles the form."""


@dataclass(frozen=True)
class _Written:
    """A column of dates in words and numbers, before it is known which number is the day."""

    parsed: dict[str, re.Match[str]]
    is_settled: bool | None
    """Whether the day stands first, if the values tell."""


def find_dates(
    columns: Mapping[str, Column], *, day_first: bool | None, is_continental: bool
) -> dict[str, Dates]:
    """The columns that hold dates. `day_first` is what the user says, if nothing else tells.

    >>> column = {"Datum": ["03.02.2025 4:05 PM", "14.02.2025 9:00 AM"]}
    >>> find_dates(column, day_first=None, is_continental=False)["Datum"].values
    ['2025-02-03 16:05:00', '2025-02-14 09:00:00']
    """
    found: dict[str, Dates] = {}
    written: dict[str, _Written] = {}
    for name, values in columns.items():
        texts = {value for value in values if isinstance(value, str)}
        numbers = [v for v in values if isinstance(v, int | float) and not isinstance(v, bool)]
        if numbers and not texts:
            if (read := _numeric_form(name, numbers)) is not None:
                moments = [_moment(v, read[1]) for v in values]
                found[name] = Dates(_without_midnight(moments), read[0])
        elif texts and all(map(_ISO.fullmatch, texts)):
            found[name] = Dates(list(values), "ISO 8601")
        elif texts and not numbers and (column := _written(name, texts)) is not None:
            written[name] = column
    settled = [column.is_settled for column in written.values() if column.is_settled is not None]
    elsewhere = settled[0] if len(set(settled)) == 1 else None
    for name, column in written.items():
        found[name] = _dates(name, columns[name], column, (day_first, elsewhere), is_continental)
    return found


def _written(name: str, texts: set[str]) -> _Written | None:
    """The column as dates, if nearly all of its values are; two forms in one column are refused."""
    parsed = {text: match for text in texts if (match := _WRITTEN.fullmatch(text)) is not None}
    years = {max(len(m[1]) if m[1].isdigit() else 0, len(m[3])) for m in parsed.values()}
    if len(parsed) < _MOST * len(texts) or (years != {4} and not _says_time(name)):
        return None
    numeric = [m for m in parsed.values() if m[1].isdigit() and m[2].isdigit()]
    pairs = {(int(m[1]), int(m[2])) for m in numeric if len(m[1]) <= 2}
    is_day_first = any(first > 12 for first, _ in pairs)
    is_month_first = any(second > 12 for _, second in pairs)
    if is_day_first and is_month_first:
        raise InvalidDataset(
            f"column {name!r} has dates with the day first and dates with the month first; write "
            f"them in one form, or leave the column out (--drop {name})"
        )
    if is_day_first or is_month_first:
        return _Written(parsed, is_day_first)
    if not any(_iso(match, day_first=True) for match in parsed.values()):
        return None
    return _Written(parsed, None)


def _dates(
    name: str,
    values: Column,
    column: _Written,
    said: tuple[bool | None, bool | None],
    is_continental: bool,
) -> Dates:
    """The dates of a column, in the form that its values, the user, other columns or order tell."""
    day_first, doubt = column.is_settled, ""
    if not _is_numeric(column):
        form = "the year first" if _is_year_first(column) else "the month in letters"
        return Dates(_all_iso(values, column, day_first=True), form)
    if day_first is not None and said[0] not in (None, day_first):
        is_first, option = ("day", "--month-first") if day_first else ("month", "--day-first")
        raise InvalidDataset(
            f"column {name!r} has dates with the {is_first} first; leave out {option}"
        )
    if day_first is None:
        day_first = next((told for told in said if told is not None), None)
    if day_first is None:
        day_first = _told_by_order(values, column)
    if day_first is None:
        sample = next(iter(column.parsed.values()))
        day_first = is_continental or "." in sample[0][: sample.end(3)]
        first, option = ("day", "--month-first") if day_first else ("month", "--day-first")
        if "." not in sample[0][: sample.end(3)]:
            doubt = f"taken with the {first} first, which no value settles; else {option}"
    form = "the day first" if day_first else "the month first"
    return Dates(_all_iso(values, column, day_first=day_first), form, doubt)


def _all_iso(values: Column, column: _Written, *, day_first: bool) -> list[Scalar]:
    """The values in ISO 8601; what is no date stays as it is."""
    iso = {text: _iso(match, day_first=day_first) for text, match in column.parsed.items()}
    return _without_midnight([iso.get(v) or v if isinstance(v, str) else v for v in values])


def _without_midnight(values: list[Scalar]) -> list[Scalar]:
    """Days alone, if no value has another time of day than midnight."""
    texts = {value for value in values if isinstance(value, str)}
    if not all(text.endswith(_MIDNIGHT) for text in texts):
        return values
    return [v.removesuffix(_MIDNIGHT) if isinstance(v, str) else v for v in values]


def _is_numeric(column: _Written) -> bool:
    """Whether the values are numbers of which the first is a day or a month."""
    return any(m[1].isdigit() and m[2].isdigit() and len(m[1]) <= 2 for m in column.parsed.values())


def _is_year_first(column: _Written) -> bool:
    return all(len(match[1]) == 4 and match[1].isdigit() for match in column.parsed.values())


def _told_by_order(values: Column, column: _Written) -> bool | None:
    """Whether the rows are in order of time if the day, or if the month, stands first."""
    in_order = []
    for day_first in (True, False):
        read = [_iso(column.parsed[v], day_first=day_first) for v in values if v in column.parsed]
        moments = [moment for moment in read if moment]
        pairs = list(pairwise(moments))
        in_order.append(
            len(set(moments)) > 2
            and (all(a <= b for a, b in pairs) or all(a >= b for a, b in pairs))
        )
    return in_order[0] if in_order[0] != in_order[1] else None


def _iso(match: re.Match[str], *, day_first: bool) -> str | None:
    """The date in ISO 8601; None if there is no such day or hour."""
    first, second, third, hour, minute, seconds, half, zone = match.groups()
    if not second.isdigit():
        day, month, year = first, str(_MONTHS.get(second.lower(), 0)), third
    elif not first.isdigit():
        day, month, year = second, str(_MONTHS.get(first.lower(), 0)), third
    elif len(first) == 4:
        year, month, day = first, second, third
    else:
        day, month, year = (first, second, third) if day_first else (second, first, third)
    if not (day.isdigit() and len(year) in (2, 4)):
        return None
    number = int(year) + (2000 if len(year) == 2 and int(year) < 70 else 1900 * (len(year) == 2))
    at = int(hour or 0)
    if half:
        at = at % 12 + (12 if half[0] in "pP" else 0) if 1 <= at <= 12 else 24
    try:
        moment = datetime(number, int(month), int(day), at, int(minute or 0), int(seconds or 0))
    except ValueError:
        return None
    if hour is None:
        return moment.date().isoformat()
    return moment.isoformat(" ") + _zone(zone)


def _zone(zone: str | None) -> str:
    if zone in ("Z", "UTC", "GMT"):
        return "+00:00"
    return f"{zone[:3]}:{zone[-2:]}" if zone else ""


def _says_time(name: str) -> bool:
    words = set(words_of_name(name))
    return bool(words & _SAYS_TIME) and not words & _SAYS_SPAN


def _numeric_form(
    name: str, numbers: Sequence[float]
) -> tuple[str, Callable[[float], datetime]] | None:
    """How a column of numbers counts time, if its name and all of its values say that it does."""
    if not _says_time(name):
        return None
    low, high = min(numbers), max(numbers)
    for unit, size in (("seconds", 1), ("milliseconds", 1_000), ("microseconds", 1_000_000)):
        if _EPOCH[0] * size <= low <= high < _EPOCH[1] * size:
            return f"{unit} since 1970", lambda v, size=size: datetime.fromtimestamp(v / size, UTC)
    if _EXCEL[0] <= low <= high < _EXCEL[1]:
        start = datetime(1899, 12, 30)
        return "days as Excel counts them", lambda v: start + timedelta(seconds=round(86_400 * v))
    for form, digits in (("%Y%m%d", 8), ("%Y%m%d%H%M%S", 14)):
        try:
            for number in {low, high, *numbers}:
                if not 2000 <= number // 10 ** (digits - 4) < 2036:
                    raise ValueError
                datetime.strptime(str(int(number)), form)
        except ValueError:
            continue
        return "the year first", lambda v, form=form: datetime.strptime(str(int(v)), form)
    return None


def _moment(value: Scalar, read: Callable[[float], datetime]) -> Scalar:
    if not isinstance(value, int | float):
        return value
    moment = read(float(value))
    return moment.replace(tzinfo=None, microsecond=0).isoformat(" ")
