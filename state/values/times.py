"""Times as all tables write them, UTC and ISO 8601; and dates as people and files write them."""

import re
from collections.abc import Collection
from datetime import UTC, date, datetime, timedelta
from typing import Final

from acegraph.state.errors import InvalidInput, quoted


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


ISO_8601: Final = "ISO 8601"
DAY_FIRST: Final = "the day first"
MONTH_FIRST: Final = "the month first"
YEAR_FIRST: Final = "the year first"
MONTH_IN_LETTERS: Final = "the month in letters"
_EXCEL: Final = "days as Excel counts them"
_SINCE_1970: Final = {
    "seconds since 1970": 1,
    "milliseconds since 1970": 1_000,
    "microseconds since 1970": 1_000_000,
    "nanoseconds since 1970": 1_000_000_000,
}
COUNTED_FORMS: Final = (*_SINCE_1970, _EXCEL, YEAR_FIRST)
"""The forms in which a number is a date."""
MIDNIGHT: Final = " 00:00:00"
COUNTED: Final = re.compile(r"[0-9]{5,19}(?:\.[0-9]{1,12})?")
"""A number that may be a date in one of them."""
_ZONE: Final = r"Z|[+-]\d{2}(?::?\d{2})?"
ISO_DATE: Final = re.compile(
    rf"\d{{4}}-\d{{2}}-\d{{2}}(?:[ T]\d{{2}}:\d{{2}}(?::\d{{2}}(?:\.\d+)?)?(?:{_ZONE})?)?"
)
_CLOCK: Final = (
    r"(?:(?:[T ,:]|\s(?:um|à|at|a las)\s)\s*(\d{1,2})[:.h](\d{2})(?:[:.](\d{2})(?:[.,]\d{1,9})?)?"
    rf"\s*([AaPp]\.?\s?[Mm]\.?|Uhr)?\s*({_ZONE})?)?"
)
_PART: Final = r"(\d{1,4}|[^\W\d_]{3,9})"
_BETWEEN: Final = r"(?:[./-]|[.,]?\s+)"
_WRITTEN: Final = re.compile(
    rf"(?:[^\W\d_]{{2,10}},\s*)?{_PART}{_BETWEEN}{_PART}{_BETWEEN}(\d{{2,4}}){_CLOCK}"
)
_ZONES: Final = dict(
    pair.split("=")
    for pair in "CET=+01:00 CEST=+02:00 MEZ=+01:00 MESZ=+02:00 EET=+02:00 EEST=+03:00 WET=+00:00 "
    "WEST=+01:00 MSK=+03:00 EST=-05:00 EDT=-04:00 MST=-07:00 MDT=-06:00 PST=-08:00 PDT=-07:00 "
    "JST=+09:00 UTC=+00:00 GMT=+00:00".split()
)
"""Names of zones that mean one offset everywhere; CST, IST and BST do not."""
_OTHERWISE: Final = (
    (re.compile(r"\[(.*:.*)\]"), r"\1"),
    (
        re.compile(r"[A-Z]\w\w ([A-Z]\w\w) +(\d+) ([\d:]{8})( [A-Z]{3,4})? (\d{4})"),
        r"\2 \1 \5 \3\4",
    ),
    (re.compile(r"(.*:.*(?:Z|[+-]\d\d:?\d\d))(?:\s?\[[\w/+-]+\]|\s[A-Z]{3,4})"), r"\1"),
    (re.compile(r"(\d{4})(\d\d)(\d\d)[T ](\d\d):?(\d\d)(\D.*|)"), r"\1-\2-\3 \4:\5\6"),
    (re.compile(r"(\d{4})(\d\d)(\d\d)[T ](\d\d)(\d\d)(\d\d.*)"), r"\1-\2-\3 \4:\5:\6"),
    (re.compile(r"(\d{4})年(\d+)月(\d+)日(.*)"), r"\1-\2-\3\4"),
)
"""Other ways to write a date, and how `_WRITTEN` has it."""
_NAMED_ZONE: Final = re.compile(r"(.*:.*) ([A-Z]{3,4})")
_LONGEST: Final = 80
"""No date is written with more characters."""
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


def written_date(text: str) -> re.Match[str] | None:
    """The parts of a date that is written in words and numbers.

    >>> [iso_of(written_date(t), day_first=True) for t in ("20260106T024200Z", "6.1.26 2:42 Uhr")]
    ['2026-01-06 02:42:00+00:00', '2026-01-06 02:42:00']
    >>> iso_of(written_date("Tue Jan 06 02:42:00 CET 2026"), day_first=True)
    '2026-01-06 02:42:00+01:00'
    """
    if len(text) > _LONGEST:
        return None
    for pattern, plain in _OTHERWISE:
        if match := pattern.fullmatch(text):
            text = match.expand(plain)
    if (match := _NAMED_ZONE.fullmatch(text)) and match[2] in _ZONES:
        text = f"{match[1]} {_ZONES[match[2]]}"
    return _WRITTEN.fullmatch(text)


def read_date(value: str | float, form: str) -> str | None:
    """A date in ISO 8601, if it is written in this form or can be read in one way only.

    >>> read_date("03.02.2026 4:05 PM", DAY_FIRST), read_date(46053.5, _EXCEL)
    ('2026-02-03 16:05:00', '2026-01-31 12:00:00')
    """
    if not isinstance(value, str):
        return counted_date(value, form)
    if COUNTED.fullmatch(value):
        return counted_date(float(value), form)
    match = written_date(value)
    if match is None:
        return None
    is_numeric = match[1].isdigit() and match[2].isdigit() and len(match[1]) <= 2
    if is_numeric and form not in (DAY_FIRST, MONTH_FIRST):
        return None
    return iso_of(match, day_first=form == DAY_FIRST)


def counted_date(number: float, form: str) -> str | None:
    """The moment between 2000 and 2035 that a number states in one of the counted forms."""
    try:
        if form == YEAR_FIRST:
            pattern = "%Y%m%d" if number < 1e9 else "%Y%m%d%H%M%S"
            moment = datetime.strptime(str(int(number)), pattern)
        elif form == _EXCEL:
            moment = datetime(1899, 12, 30) + timedelta(seconds=round(86_400 * number))
        else:
            moment = datetime.fromtimestamp(number / _SINCE_1970[form], UTC)
    except (KeyError, ValueError, OverflowError, OSError):
        return None
    if not 2000 <= moment.year < 2036:
        return None
    return moment.replace(tzinfo=None, microsecond=0).isoformat(" ")


def iso_of(match: re.Match[str], *, day_first: bool) -> str | None:
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
    if half and half[0] in "aApP":
        at = at % 12 + (12 if half[0] in "pP" else 0) if 1 <= at <= 12 else 24
    try:
        moment = datetime(number, int(month), int(day), at, int(minute or 0), int(seconds or 0))
    except ValueError:
        return None
    if hour is None:
        return moment.date().isoformat()
    return moment.isoformat(" ") + _zone(zone)


def _zone(zone: str | None) -> str:
    if zone == "Z":
        return "+00:00"
    return f"{zone[:3]}:{zone[3:].strip(':') or '00'}" if zone else ""


_ISO_TIME: Final = re.compile(
    rf"\d{{4}}-\d{{2}}-\d{{2}}[T ]\d{{2}}:\d{{2}}(?::\d{{2}}(?:\.\d+)?)?\s*({_ZONE}|)",
    re.IGNORECASE,
)


def zone_of(text: str) -> str | None:
    """The offset from UTC that a time in ISO 8601 states, or empty; None for any other text.

    >>> zone_of("2026-01-31 13:00"), zone_of("2026-01-31T13:00:00Z"), zone_of("2026-01-31")
    ('', '+00:00', None)
    """
    match = _ISO_TIME.fullmatch(text)
    if match is None:
        return None
    return _zone(match[1].upper())


def in_zone(text: str, zones: Collection[str]) -> str | None:
    """A time in one of these zones: as it is, or as the clock there shows it; None if nobody can
    tell: it has no zone or they have none, or they are several.

    >>> in_zone("2026-01-31T13:00+09:00", {"+00:00"}), in_zone("2026-01-31T13:00Z", {""})
    ('2026-01-31T04:00:00+00:00', None)
    """
    zone = zone_of(text)
    if zone is None or zone in zones:
        return text
    (only, *others) = zones
    if others or not only or not zone:
        return None
    try:
        there = datetime.strptime(only, "%z").tzinfo
        return datetime.fromisoformat(text.replace(" ", "T").upper()).astimezone(there).isoformat()
    except (ValueError, OverflowError):
        return None
