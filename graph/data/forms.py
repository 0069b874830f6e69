"""How a file writes the values of a column: its decimal mark, its unit, its dates.

A form is found from all texts of a column, and stands in task.json, since tomorrow's file is
written like today's. This is the one lenient reader; what it cannot settle it says.
"""

import re
from collections.abc import Collection, Mapping, Sequence
from itertools import islice
from typing import Final

from acegraph.state.task.form import Form, in_iso, without_unit
from acegraph.state.values import decimal_commas, is_nothing, written_number

_DAY_FIRST: Final = ("%d.%m.%Y", "%d/%m/%Y", "%d-%m-%Y", "%d.%m.%y", "%d/%m/%y", "%d-%m-%y")
_MONTH_FIRST: Final = ("%m/%d/%Y", "%m-%d-%Y", "%m/%d/%y", "%m-%d-%y")
_OTHER_DAYS: Final = (
    "%Y/%m/%d", "%Y.%m.%d", "%d %b %Y", "%d-%b-%Y", "%d %B %Y", "%b %d, %Y", "%B %d, %Y"
)  # fmt: skip
_CLOCKS: Final = (
    "", " %H:%M", " %H:%M:%S", " %H:%M:%S.%f", " %I:%M %p", " %I:%M:%S %p", ", %H:%M", ", %H:%M:%S"
)  # fmt: skip
_LOOKED_AT: Final = 500
_NEARLY: Final = 0.98
_LIKE_A_DATE: Final = re.compile(r"\d.*[./ -].*\d")
_UNIT: Final = re.compile(
    r"([^\w\s.,()+\u2212-]|[A-Za-z]{1,4}(?=\s))?\s?([-+]?\d[\d.,'\s]*)\s?([^\s()+\u2212-]{0,4})"
)


def find_forms(
    columns: Mapping[str, Sequence[str]], *, is_continental: bool
) -> tuple[dict[str, Form], list[str]]:
    """The forms of columns of texts, where they are not plain, and what no value settles; a
    continental file has semicolons between its cells.

    >>> forms, _ = find_forms({"paid": ["31.01.2026"], "sum": ["1,5"]}, is_continental=True)
    >>> forms["paid"].date, forms["sum"].decimal
    ('%d.%m.%Y', ',')
    """
    given = {
        name: [text for cell in cells if not is_nothing(text := cell.strip())]
        for name, cells in columns.items()
    }
    dates, notes = _dates(given, is_continental)
    units = {name: _unit(texts) for name, texts in given.items() if name not in dates}
    numbers = {name: {without_unit(text, units[name]) for text in given[name]} for name in units}
    commas = decimal_commas(numbers, is_continental=is_continental)
    forms = {name: Form(date=date) for name, date in dates.items()}
    forms |= {
        name: Form("," if name in commas else ".", unit)
        for name, unit in units.items()
        if unit or name in commas
    }
    return forms, notes


def _dates(
    columns: Mapping[str, Sequence[str]], is_continental: bool
) -> tuple[dict[str, str], list[str]]:
    """The formats of the columns of dates, and what no value settles."""
    dates, notes = {}, []
    for name, texts in columns.items():
        formats = _formats(texts)
        if len(formats) > 1:
            first = "day" if is_continental else "month"
            notes.append(f"{name}: the {first} is taken to stand first, which no value settles")
            formats = [one for one in formats if _is_day_first(one) == is_continental]
        if formats:
            dates[name] = formats[0]
    return dates, notes


def _formats(texts: Sequence[str]) -> list[str]:
    """The formats in which nearly all texts are dates: none, one, or two of another order."""
    days = list({text[: len("31.01.2026")]: text for text in texts}.values())
    some = days[:: len(days) // _LOOKED_AT + 1]  # of the whole file: its days go on
    is_iso = some and some[0][4:5] == "-" and some[0][:4].isdigit()
    if not some or is_iso or not all(map(_LIKE_A_DATE.search, some[:5])):
        return []
    counts: dict[str, int] = {}
    for date in (*_DAY_FIRST, *_MONTH_FIRST, *_OTHER_DAYS):
        for clock in _CLOCKS:
            if in_iso(some[0], date + clock) or in_iso(some[-1], date + clock):
                counts[date + clock] = sum(bool(in_iso(text, date + clock)) for text in some)
    most = max(counts.values(), default=0)
    if most < _NEARLY * len(some):
        return []
    best = [one for one, count in counts.items() if count == most]
    orders = {_is_day_first(one): one for one in reversed(best)}
    return list(orders.values())


def _is_day_first(date: str) -> bool | None:
    """Whether the day stands before the month; None where that is no question."""
    if date.startswith(_DAY_FIRST):
        return True
    return False if date.startswith(_MONTH_FIRST) else None


def _unit(texts: Collection[str]) -> str:
    """The unit that stands beside every number of a column; empty if there is none."""
    units = set()
    for text in islice(texts, _LOOKED_AT):
        match = _UNIT.fullmatch(text)
        if match is None or bool(match[1]) == bool(match[3]) or written_number(match[2]) is None:
            return ""
        units.add(match[1] or match[3])
    return units.pop() if len(units) == 1 else ""
