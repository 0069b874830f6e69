"""Dates and times as files write them, turned into ISO 8601 column by column.

Whether the day or the month stands first is decided over all rows of a column: one number above 12
settles it. A number is a time only where the name of its column says so and all values lie between
2000 and 2035, so that an amount is never a date.
"""

import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Final

from acegraph.nodes.evidence.columns.learnable_fields import words_of_name
from acegraph.state import InvalidDataset
from acegraph.state.values.notation import is_number
from acegraph.state.values.times import (
    COUNTED,
    COUNTED_FORMS,
    DAY_FIRST,
    ISO_8601,
    ISO_DATE,
    MIDNIGHT,
    MONTH_FIRST,
    MONTH_IN_LETTERS,
    YEAR_FIRST,
    counted_date,
    iso_of,
    written_date,
)
from acegraph.state.values.transaction import Scalar

Column = Sequence[Scalar]
_SAYS_TIME: Final = frozenset(
    "date time datetime timestamp ts at dt epoch unix unixtime when moment stamp datum zeit "
    "zeitpunkt zeitstempel fecha hora created booked".split()
)
_SAYS_SPAN: Final = frozenset(
    "since per last until elapsed duration diff delta between days hours minutes seconds age avg "
    "count zone".split()
)
_LIKE_A_DATE: Final = re.compile(r"(?:19|20)\d\d|\d[./-]\d{1,2}[./-]\d")
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
        numbers = [v for v in values if is_number(v)]
        if texts and all(map(COUNTED.fullmatch, texts)):  # long numbers stay texts
            numbers, texts = [*numbers, *map(float, texts)], set()
        if numbers and not texts:
            if (form := _numeric_form(name, numbers)) is not None:
                moments = [_moment(v, form) for v in values]
                found[name] = Dates(_without_midnight(moments), form)
        elif texts and all(map(ISO_DATE.fullmatch, texts)):
            found[name] = Dates(list(values), ISO_8601)
        elif texts and not numbers and (column := _written(name, texts)) is not None:
            written[name] = column
    settled = [column.is_settled for column in written.values() if column.is_settled is not None]
    elsewhere = settled[0] if len(set(settled)) == 1 else None
    for name, column in written.items():
        found[name] = _dates(name, columns[name], column, (day_first, elsewhere), is_continental)
    return found


def unread_times(columns: Mapping[str, Column], found: Collection[str]) -> Iterator[str]:
    """What to say of columns that are named like times, and of which no date could be read."""
    for name, values in columns.items():
        texts = {value for value in values if isinstance(value, str)}
        alike = sum(map(bool, map(_LIKE_A_DATE.search, texts)))
        are_dates = len(texts) > 2 and alike > _MOST * len(texts)
        if name not in found and are_dates and _says_time(name):
            yield f"{name} is not read as dates, such as {min(texts)!r}: write 2026-01-31 13:00"


def _written(name: str, texts: set[str]) -> _Written | None:
    """The column as dates, if nearly all of its values are; two forms in one column are refused."""
    parsed = {text: match for text in texts if (match := written_date(text)) is not None}
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
    if not any(iso_of(match, day_first=True) for match in parsed.values()):
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
        form = YEAR_FIRST if _is_year_first(column) else MONTH_IN_LETTERS
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
    form = DAY_FIRST if day_first else MONTH_FIRST
    return Dates(_all_iso(values, column, day_first=day_first), form, doubt)


def _all_iso(values: Column, column: _Written, *, day_first: bool) -> list[Scalar]:
    """The values in ISO 8601; what is no date stays as it is."""
    iso = {text: iso_of(match, day_first=day_first) for text, match in column.parsed.items()}
    return _without_midnight([iso.get(v) or v if isinstance(v, str) else v for v in values])


def _without_midnight(values: list[Scalar]) -> list[Scalar]:
    """Days alone, if no value has another time of day than midnight."""
    texts = {value for value in values if isinstance(value, str)}
    if not all(text.endswith(MIDNIGHT) for text in texts):
        return values
    return [v.removesuffix(MIDNIGHT) if isinstance(v, str) else v for v in values]


def _is_numeric(column: _Written) -> bool:
    """Whether the values are numbers of which the first is a day or a month."""
    return any(m[1].isdigit() and m[2].isdigit() and len(m[1]) <= 2 for m in column.parsed.values())


def _is_year_first(column: _Written) -> bool:
    return all(len(match[1]) == 4 and match[1].isdigit() for match in column.parsed.values())


def _told_by_order(values: Column, column: _Written) -> bool | None:
    """Whether the rows are in order of time if the day, or if the month, stands first."""
    in_order = []
    for day_first in (True, False):
        read = [iso_of(column.parsed[v], day_first=day_first) for v in values if v in column.parsed]
        moments = [moment for moment in read if moment]
        pairs = list(pairwise(moments))
        in_order.append(
            len(set(moments)) > 2
            and (all(a <= b for a, b in pairs) or all(a >= b for a, b in pairs))
        )
    return in_order[0] if in_order[0] != in_order[1] else None


def _says_time(name: str) -> bool:
    words = set(words_of_name(name))
    return bool(words & _SAYS_TIME) and not words & _SAYS_SPAN


def _numeric_form(name: str, numbers: Sequence[float]) -> str | None:
    """How a column of numbers counts time, if its name and all of its values say that it does."""
    if not _says_time(name):
        return None
    ends = (min(numbers), max(numbers))
    for form in COUNTED_FORMS:
        if all(counted_date(n, form) for n in ends) and all(counted_date(n, form) for n in numbers):
            return form
    return None


def _moment(value: Scalar, form: str) -> Scalar:
    return value if value is None or isinstance(value, bool) else counted_date(float(value), form)
