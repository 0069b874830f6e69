"""The patterns of fields in free text: where an amount, a time, an age or a place is written.

reader.py applies them; phrases that set a flag are in lexicon.py.
"""

import re
from collections.abc import Callable, Iterator
from typing import Final, NamedTuple

from acegraph.nodes.text.difference import NUMBERS
from acegraph.state.values import Scalar, may_be_thousands, written_number

# Bounded, and never starting inside a longer number, so that digits are read in linear time.
_DIGITS = (
    r"\d{1,3}(?:\.\d{3}){1,4},\d{1,2}|\d{1,3}(?:\.\d{3}){2,4}"
    r"|\d{1,3}(?:[\u00a0\u202f'’]\d{3}){1,4}(?:[.,]\d{1,2})?"
    r"|\d{1,15}(?:,\d{1,3}){0,4}(?:\.\d{1,9})?"
)
_NUMBERS: Final = {**{word: number for number, word in enumerate(NUMBERS)}, "a": 1, "an": 1}
"""Numbers that people write in words."""
_WORD = rf"\b(?:{'|'.join(NUMBERS)})"
_NONE = r"\b(?:no|without|never had)"
_COUNT = rf"((?<![\d.,:])(?:\d{{1,3}}(?:,\d{{3}}){{1,3}}|\d{{1,10}})|{_NONE}|{_WORD})"
_SPAN = rf"((?<![\d.,])(?:{_DIGITS})(?!\d)|{_WORD}|\ban?)"
_UNIT = r"(minute|hour|day|week|month|year)s?"
_PLACE = r"([A-Z][\w'’]+(?:\s[A-Z][\w'’]+){0,2})"
_FROM = rf"\b(?:in|from)\s+{_PLACE}"
_CODE = r"(?:usd|eur|gbp)"
_MONEY = (
    rf"(?:(?:\b[a-z]{{1,2}}\$|[$€£¥]|\b{_CODE})\s?(?<![\d.,])({_DIGITS})(?!\d)(?:\b|(?={_CODE}\b))"
    rf"|(?<![\d.,$€£¥])({_DIGITS})(?!\d)\s?"
    # In "card 4242 $500" the sign belongs to the number after it.
    rf"(?:(?<!\s)[$€£¥](?!\d)|[$€£¥](?!\s?\d)|(?:{_CODE}|dollars?|euros?|pounds)\b))"
)
_EVENT = r"(?:transaction|purchase|payment|charge|attempt|order|authori[sz]ation)s?"
_WINDOW = r"(?:per|(?:(?:in|within|over|during)\s+)?(?:the\s+)?(?:last|past|previous))\s+"
# Between an account and its age: "account, opened only 3 days ago", "customer for 2 years".
_AGED = (
    r"(?:\W{1,3}(?:is|was|has|been|opened|created|registered|joined|signed|set|up|active|existed"
    r"|age|aged|since|of|for|only|just|about|around|almost|over|under|less|than|a|an|the)){0,6}\W{1,3}"
)
_NOT_EXACT = r"(?!\s+and\s)"  # "2 years and 3 months"
_OPENED = r"(?:opened|created|registered|joined|signed up)"
_DAYS: Final = {"minute": 1 / 1440, "hour": 1 / 24, "day": 1, "week": 7, "month": 30.4, "year": 365}
_CONTEXT: Final = 45
"""So many letters before and after an amount tell what it is the amount of."""
_USUAL = r"(?:average|usual(?:ly)?|typical(?:ly)?|normal(?:ly)?|mean)\b"
_KEPT = r"(?:limit|balance|fee|salary|income|refund|discount|cashback|overdraft|budget|rate)"
_BEFORE: Final = {
    "usual_amount": rf"\b{_USUAL}[^.;,$€£\d]{{0,25}}$",
    "": (
        rf"\b{_KEPT}(?:\s+(?:of|is|was|at|about|only))*[\s:]+$|\b(?:up|down)\s+from\s+$"
        rf"|\b(?:previous|prior|earlier|last)\s+{_EVENT}(?:\s+(?:of|was|is|for|about))*[\s:]+$"
        r"|\d\s?[-–]\s?$|\bbetween\s(?:[^;]{1,20}\sand\s)?$|\bsav(?:ed|es|ing)\s+$"
    ),
    "now": r"\b(?:now|today|this (?:time|one))(?:\s+(?:pays|paid|spends|is|for|a|of))*\s+$",
}
_AFTER: Final = {
    "usual_amount": rf"\s*(?:(?:is|are|was)\s+(?:the\s+|an?\s+)?{_USUAL}|on average\b)",
    "": rf"\s*(?:(?:service\s+|credit\s+)?{_KEPT}\b|yesterday\b|last\s+(?:week|month|year|time)\b)",
    "now": r"\s*(?:now|this time)\b",
}
_ROLES: Final = tuple(
    (role, re.compile(_BEFORE[role], re.IGNORECASE), re.compile(_AFTER[role], re.IGNORECASE))
    for role in _BEFORE
)
_SCALE = r"(?:[kmb]|bn|mn|mm|mio|mrd|hundred|grand|(?:thousand|million|billion|trillion)s?)\b"
_TORN_BEFORE = re.compile(rf"[^\W_]$|\d[^\w\s]$|e[+-]$|\d\s?{_SCALE}\s*$", re.IGNORECASE)
_PERHAPS_THOUSANDS = re.compile(r"(?<!\d)\d{1,3}\s+$")
_TORN_AFTER = re.compile(
    rf"[.,'’`´·^*_]\d|\s?[-–]\s?\d|,\s+000\b|\s+\d{{3}}(?!\d)|[\s-]?{_SCALE}", re.IGNORECASE
)
"""What stands beside an amount that is only a part of a number: 1e6, 9 Mio."""
_DENIED = re.compile(r"(?:\b(?:not|never)|n['’]t)\s+(?:\w{1,20}\s+)?$", re.IGNORECASE)
_RANGE = re.compile(r"\d\s?(?:-|–|to|or|and)\s?$", re.IGNORECASE)


class FieldPattern(NamedTuple):
    """A field, the pattern of the text that states it, and the function that gives its value."""

    field: str
    pattern: re.Pattern[str]
    convert: Callable[[re.Match[str]], Scalar]


def amounts_in(text: str) -> Iterator[tuple[str, float | None, re.Match[str]]]:
    """The amounts of a text, each with what it is: "amount", "now" where several are told apart,
    "usual_amount", or empty where it is a fee, a limit, an earlier payment or one end of a range.

    None stands for an amount of which it is unclear which number is meant.
    """
    done = 0
    for match in (*MONEY.pattern.finditer(text), None):
        for unread in _UNREAD_MONEY.finditer(text, done, match.start() if match else len(text)):
            yield _role_of(unread)[0], None, unread
        if match:
            role, is_unclear = _role_of(match)
            yield role, None if is_unclear else money(match), match
            done = match.end()


def money(match: re.Match[str]) -> float:
    """The amount in a match of `MONEY`."""
    return _value(match[1] or match[2])


def _role_of(match: re.Match[str]) -> tuple[str, bool]:
    """What an amount is by the words round it, and whether it is a part of another number, or may
    be one in thousands, as 9.000: where it is no amount, that does not matter.
    """
    before = match.string[max(0, match.start() - _CONTEXT) : match.start()]
    after = match.string[match.end() : match.end() + _CONTEXT]
    found = (r for r, lead, follow in _ROLES if lead.search(before) or follow.match(after))
    role = next(found, "amount")
    if match.re is _UNREAD_MONEY or role not in ("amount", "now"):
        return role, False
    if match[1]:  # a currency stands before it
        return role, bool(_TORN_AFTER.match(after)) or may_be_thousands(match[1], ".")
    is_group = re.match(r"\d{3}(?!\d)", match[2]) and _PERHAPS_THOUSANDS.search(before)
    is_torn = is_group or _TORN_BEFORE.search(before)
    return role, bool(is_torn) or may_be_thousands(match[2], ".")


def states(match: re.Match[str]) -> bool:
    """Whether a text states what a pattern found: it does not deny it, nor give a range."""
    text, start = match.string, match.start()
    value = start if match.re.groups == 0 else max(match.start(1), start)
    denied = _DENIED.search(text[max(0, start - _CONTEXT) : start])
    return denied is None and _RANGE.search(text[max(0, value - 8) : value]) is None


def _value(digits: str) -> float:
    if digits.lower() in _NUMBERS:
        return float(_NUMBERS[digits.lower()])
    number = written_number(digits)
    return float(digits.replace(",", "")) if number is None else number


def _number(match: re.Match[str]) -> float:
    return _value(match[1])


def _count(match: re.Match[str]) -> int:
    digits = match[1].replace(",", "")
    return int(digits) if digits.isdecimal() else _NUMBERS.get(digits.lower(), 0)


def _days(match: re.Match[str]) -> float:
    return round(_number(match) * _DAYS[match[2].lower()], 2)


def _days_as_customer(match: re.Match[str]) -> float | None:
    """None for what a customer did some days ago, unless that was to become one."""
    is_past = match.string.startswith(" ago", match.end())
    return None if is_past and not re.search(_OPENED, match[0], re.IGNORECASE) else _days(match)


def _place(match: re.Match[str]) -> str:
    return match[1]


def _pattern(field: str, pattern: str, convert: Callable[[re.Match[str]], Scalar]) -> FieldPattern:
    """A compiled pattern; only places depend on capital letters."""
    flags = re.NOFLAG if convert is _place else re.IGNORECASE
    return FieldPattern(field, re.compile(pattern, flags), convert)


MONEY: Final = _pattern("amount", _MONEY, money)
_UNREAD_MONEY: Final = re.compile(
    rf"[$€£¥]\s?\d+|\b{_CODE}\s?\d+"
    rf"|\d[\s-]?[^\W\d]{{1,9}}\.?\s?(?:[$€£¥]|(?:{_CODE}|dollars?|euros?|pounds)\b)",
    re.IGNORECASE,
)
"""What is an amount, too, where `MONEY` does not read it: $390B, 9 Mio. USD."""


FIELD_PATTERNS: Final = (
    _pattern(
        "hour",
        r"\b(1[0-2]|0?\d)(?::\d{2})?\s?([ap])\.?m\b",
        lambda match: int(match[1]) % 12 + 12 * (match[2].lower() == "p"),
    ),
    _pattern("hour", r"\b([01]?\d|2[0-3]):[0-5]\d\b", lambda match: int(match[1])),
    _pattern("hour", r"\bat (midnight|noon)\b", lambda m: 0 if m[1].lower() == "midnight" else 12),
    _pattern(
        "account_age_days", rf"{_SPAN}[\s-]{_UNIT}[\s-]old\s+(?:\w+\s+)?(?:account|profile)", _days
    ),
    _pattern(
        "account_age_days",
        rf"\b(?:account|profile)\b{_AGED}{_SPAN}[\s-]{_UNIT}\b{_NOT_EXACT}",
        _days,
    ),
    _pattern(  # "customer, 72 years old" is the age of a person
        "account_age_days",
        rf"\b(?:customer|user)\b{_AGED}{_COUNT}[\s-]{_UNIT}\b(?![\s-]old){_NOT_EXACT}",
        _days_as_customer,
    ),
    _pattern("account_age_days", rf"\b{_OPENED}\s+{_SPAN}\s+{_UNIT}\s+ago", _days),
    _pattern(
        "merchant_rating",
        r"\brat(?:ed|ing)\b(?:\s+(?:of|is|at|only))?[:\s]+(\d(?:[.,]\d{1,9})?)"
        r"(?![\d%]|[.,]\d|\s?(?:/|of|out of)\s?10)",
        lambda match: stars if (stars := _number(match)) <= 5 else None,
    ),
    _pattern(
        "merchant_rating",
        r"(?<![\d.,/])(\d(?:[.,]\d{1,9})?)\s?(?:/\s?5|out of 5|[\s-]stars?)(?![\d/])(?!\s+hotel)",
        lambda match: stars if (stars := _number(match)) <= 5 else None,
    ),
    _pattern(
        "tx_last_hour", rf"{_COUNT}\s+(?:\w+\s+)?{_EVENT}\s+{_WINDOW}(?:hour|\d+ minutes)\b", _count
    ),
    _pattern(
        "tx_last_day", rf"{_COUNT}\s+(?:\w+\s+)?{_EVENT}\s+(?:today|{_WINDOW}(?:24 ?h|day))", _count
    ),
    _pattern("failed_attempts", rf"{_COUNT}\s+(?:failed|declined|unsuccessful)\s+\w+", _count),
    _pattern(
        "past_disputes",
        rf"{_COUNT}\s+(?:\w+\s+)?(?:disputes?|chargebacks?|fraud reports?|complaints?)\b",
        _count,
    ),
    _pattern(
        "distance_km",
        rf"(?<![\d.,$€£¥])(?<!\d )({_DIGITS})(?!\d)\s?(km|kilomet(?:er|re)s?|miles?|mi)\b",
        lambda m: round(_number(m) * (1.609 if m[2].lower().startswith("mi") else 1.0), 1),
    ),
    _pattern(
        "ip_country",
        rf"\b(?:IP|[Ll]ogin|[Ll]ogged in|[Cc]onnect\w+)\b[^.;,]{{0,20}}?{_FROM}",
        _place,
    ),
    _pattern(
        "card_country", rf"\b(?:[Cc]ard|[Cc]ardholder|[Cc]ustomer)\b[^.;,]{{0,25}}?{_FROM}", _place
    ),
)
