"""The patterns of fields in free text: where an amount, a time, an age or a place is written.

reader.py applies them; phrases that set a flag are in lexicon.py.
"""

import re
from collections.abc import Callable
from typing import Final, NamedTuple

from acegraph.state import Scalar
from acegraph.state.values.notation import written_number

# Bounded, and never starting inside a longer number, so that digits are read in linear time.
_DIGITS = (
    r"\d{1,3}(?:\.\d{3}){1,4},\d{1,2}|\d{1,3}(?:\.\d{3}){2,4}"
    r"|\d{1,3}(?:[\u00a0\u202f]\d{3}){1,4}(?:[.,]\d{1,2})?"
    r"|\d{1,15}(?:,\d{1,3}){0,4}(?:\.\d{1,9})?"
)
_NUMBER = rf"(?<![\d.,])({_DIGITS})(?!\d)"
# Before a unit, a plain space may separate thousands too.
_MEASURE = rf"(?<![\d.,])([1-9]\d{{0,2}}(?: \d{{3}}){{1,4}}(?:[.,]\d{{1,2}})?|{_DIGITS})(?!\d)"
_COUNT = r"(?<![\d.,:])(\d{1,3}(?:,\d{3}){1,3}|\d{1,10}|no|zero|one|two|three|four|five)"
_UNIT = r"(minute|hour|day|week|month|year)s?"
_PLACE = r"([A-Z][\w'’]+(?:\s[A-Z][\w'’]+){0,2})"
_FROM = rf"\b(?:in|from)\s+{_PLACE}"
_MONEY = (
    rf"(?:(?:[$€£¥]|\b(?:usd|eur|gbp)\s)\s?{_NUMBER}\s?(k|m|thousand|million)?\b"
    rf"|{_MEASURE}\s?(k|m|thousand|million)?\s?"
    # In "card 4242 $500" the sign belongs to the number after it.
    r"(?:(?<!\s)[$€£¥](?!\d)|[$€£¥](?!\s?\d)|(?:usd|eur|gbp|dollars|euros|pounds)\b))"
)
_EVENT = r"(?:transaction|purchase|payment|charge|attempt|order|authori[sz]ation)s?"
_WINDOW = r"(?:per|(?:(?:in|within|over|during)\s+)?(?:the\s+)?(?:last|past|previous))\s+"
# Between an account and its age: "account, opened only 3 days ago", "customer for 2 years".
_AGED = (
    r"(?:\W{1,3}(?:is|was|has|been|opened|created|registered|joined|signed|set|up|active|existed"
    r"|age|aged|since|of|for|only|just|about|around|almost|over|under|less|than|a|an|the)){0,6}\W{1,3}"
)
_AGE_HINT = rf"\d[\s-]{_UNIT}\b"
_DAYS: Final = {"minute": 1 / 1440, "hour": 1 / 24, "day": 1, "week": 7, "month": 30.4, "year": 365}
_COUNT_WORDS: Final = {"no": 0, "zero": 0, "one": 1, "two": 2, "three": 3, "four": 4, "five": 5}
USUAL_AMOUNT: Final = re.compile(
    r"\b(?:average|usual(?:ly)?|typical(?:ly)?|normal(?:ly)?|mean)\b[^.;$€£\d]{0,25}" + _MONEY,
    re.IGNORECASE,
)


class FieldPattern(NamedTuple):
    """A field, the pattern of the text that states it, and the function that gives its value."""

    field: str
    pattern: re.Pattern[str]
    convert: Callable[[re.Match[str]], Scalar]
    words: tuple[str, ...] = ()
    """Small letters of which a text that matches has at least one: to look for them is faster."""
    hint: re.Pattern[str] | None = None
    """A part of the pattern, for the same reason: one that starts with a digit is found faster."""

    def may_match(self, text: str, lowered: str) -> bool:
        """Whether the pattern has to be tried on a text; it is given in small letters as well."""
        if self.hint is not None:
            return self.hint.search(text) is not None
        return not self.words or not lowered or any(word in lowered for word in self.words)


def money(match: re.Match[str]) -> float:
    """The amount in a match of `MONEY`."""
    digits, scale = match[1] or match[3], (match[2] or match[4] or "").lower()
    return _value(digits) * {"k": 1e3, "t": 1e3, "m": 1e6}.get(scale[:1], 1.0)


def _value(digits: str) -> float:
    number = written_number(digits)
    return float(digits.replace(",", "")) if number is None else number


def _number(match: re.Match[str]) -> float:
    return _value(match[1])


def _count(match: re.Match[str]) -> int:
    word = match[1].lower()
    return _COUNT_WORDS[word] if word in _COUNT_WORDS else int(word.replace(",", ""))


def _clock(match: re.Match[str]) -> int:
    return int(match[1])


def _twelve_hour_clock(match: re.Match[str]) -> int:
    return int(match[1]) % 12 + 12 * (match[2].lower() == "p")


def _midnight_or_noon(match: re.Match[str]) -> int:
    return 0 if match[1].lower() == "midnight" else 12


def _days(match: re.Match[str]) -> float:
    return round(_number(match) * _DAYS[match[2].lower()], 2)


def _kilometres(match: re.Match[str]) -> float:
    return round(_number(match) * (1.609 if match[2].lower().startswith("mi") else 1.0), 1)


def _place(match: re.Match[str]) -> str:
    return match[1]


def _pattern(
    field: str,
    pattern: str,
    convert: Callable[[re.Match[str]], Scalar],
    words: str = "",
    hint: str = "",
) -> FieldPattern:
    """A compiled pattern; only places depend on capital letters."""
    flags = re.NOFLAG if convert is _place else re.IGNORECASE
    part = re.compile(hint, flags) if hint else None
    return FieldPattern(field, re.compile(pattern, flags), convert, tuple(words.split()), part)


_EVENT_WORDS: Final = "transaction purchase payment charge attempt order authori"
MONEY: Final = _pattern("amount", _MONEY, money, "$ € £ ¥ usd eur gbp dollars euros pounds")


FIELD_PATTERNS: Final = (
    _pattern(
        "hour",
        r"\b(1[0-2]|0?\d)(?::\d{2})?\s?([ap])\.?m\b",
        _twelve_hour_clock,
        hint=r"\d\s?[ap]\.?m\b",
    ),
    _pattern("hour", r"\b([01]?\d|2[0-3]):[0-5]\d\b", _clock, hint=r"\d:[0-5]\d\b"),
    _pattern("hour", r"\bat (midnight|noon)\b", _midnight_or_noon, "midnight noon"),
    _pattern(
        "account_age_days",
        rf"{_NUMBER}[\s-]{_UNIT}[\s-]old\s+(?:\w+\s+)?(?:account|profile)",
        _days,
        "old",
    ),
    _pattern(
        "account_age_days",
        rf"\b(?:account|profile)\b{_AGED}{_NUMBER}[\s-]{_UNIT}\b",
        _days,
        hint=_AGE_HINT,
    ),
    _pattern(  # "customer, 72 years old" is the age of a person
        "account_age_days",
        rf"\b(?:customer|user)\b{_AGED}{_NUMBER}[\s-]{_UNIT}\b(?![\s-]old)",
        _days,
        "customer user",
    ),
    _pattern(
        "account_age_days",
        rf"\b(?:opened|created|registered|joined|signed up)\s+{_NUMBER}\s+{_UNIT}\s+ago",
        _days,
        "ago",
    ),
    _pattern(
        "merchant_rating",
        r"\brat(?:ed|ing)\b(?:\s+(?:of|is|at|only))?[:\s]+(\d(?:\.\d+)?)"
        r"(?![\d%]|\.\d|\s?(?:/|out of)\s?10)",
        _number,
        "rated rating",
    ),
    _pattern(
        "merchant_rating",
        r"\b(\d(?:\.\d+)?)\s?(?:/\s?5|out of 5|[\s-]stars?)",
        _number,
        "/ out star",
    ),
    _pattern(
        "tx_last_hour",
        rf"{_COUNT}\s+(?:\w+\s+)?{_EVENT}\s+{_WINDOW}(?:hour|\d+ minutes)\b",
        _count,
        _EVENT_WORDS,
    ),
    _pattern(
        "tx_last_day",
        rf"{_COUNT}\s+(?:\w+\s+)?{_EVENT}\s+(?:today|{_WINDOW}(?:24 ?h|day))",
        _count,
        _EVENT_WORDS,
    ),
    _pattern(
        "failed_attempts",
        rf"{_COUNT}\s+(?:failed|declined|unsuccessful)\s+\w+",
        _count,
        "failed declined unsuccessful",
    ),
    _pattern(
        "past_disputes",
        rf"{_COUNT}\s+(?:\w+\s+)?(?:disputes?|chargebacks?|fraud reports?|complaints?)\b",
        _count,
        "dispute chargeback report complaint",
    ),
    _pattern(
        "distance_km",
        rf"{_MEASURE}\s?(km|kilomet(?:er|re)s?|miles?|mi)\b",
        _kilometres,
        hint=r"\d\s?(?:k|mi)",
    ),
    _pattern(
        "ip_country",
        rf"\b(?:IP|[Ll]ogin|[Ll]ogged in|[Cc]onnect\w+)\b[^.;,]{{0,20}}?{_FROM}",
        _place,
        "ip log connect",
    ),
    _pattern(
        "card_country",
        rf"\b(?:[Cc]ard|[Cc]ardholder|[Cc]ustomer)\b[^.;,]{{0,25}}?{_FROM}",
        _place,
        "card customer",
    ),
    _pattern(
        "shipping_country",
        rf"\b(?:[Ss]hip\w*|[Dd]eliver\w*)\b[^.;,]{{0,15}}?\bto\s+{_PLACE}",
        _place,
        "ship deliver",
    ),
)
MEASURED: Final = {"amount", *(p.field for p in FIELD_PATTERNS if p.convert is not _place)}
"""The fields that are numbers, even if a payment system writes them as text."""
