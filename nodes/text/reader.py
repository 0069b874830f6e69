"""The reader: from a transaction to fields that conditions can be tested on.

Mappings keep their fields (dates gain hour, weekday and month). Free text is read for amounts,
times, ages, ratings, counts, distances, places and the flags of lexicon.py; what is not recognised
is ignored. It gives facts and no opinion.
"""

import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime
from functools import lru_cache
from typing import Final

from acegraph.nodes.text.lexicon import FLAGS, mentions
from acegraph.state import Fields, Scalar, Transaction
from acegraph.state.values.memos import without_remarks
from acegraph.state.values.notation import is_nothing, written_number

# Bounded, and never begun inside a longer number: a text of digits is read in linear time.
_DIGITS = (
    r"\d{1,3}(?:\.\d{3}){1,4},\d{1,2}|\d{1,3}(?:\.\d{3}){2,4}"
    r"|\d{1,3}(?:[\u00a0\u202f]\d{3}){1,4}(?:[.,]\d{1,2})?"
    r"|\d{1,15}(?:,\d{1,3}){0,4}(?:\.\d{1,9})?"
)
_NUMBER = rf"(?<![\d.,])({_DIGITS})(?!\d)"
# Before a unit a plain space may part thousands too.
_MEASURE = rf"(?<![\d.,])([1-9]\d{{0,2}}(?: \d{{3}}){{1,4}}(?:[.,]\d{{1,2}})?|{_DIGITS})(?!\d)"
_COUNT = r"(?<![\d.,:])(\d{1,3}(?:,\d{3}){1,3}|\d{1,10}|no|zero|one|two|three|four|five)"
_UNIT = r"(minute|hour|day|week|month|year)s?"
_PLACE = r"([A-Z][\w'’]+(?:\s[A-Z][\w'’]+){0,2})"
_MONEY = (
    rf"(?:(?:[$€£¥]|\b(?:usd|eur|gbp)\s)\s?{_NUMBER}\s?(k|m|thousand|million)?\b"
    rf"|{_MEASURE}\s?(k|m|thousand|million)?\s?"
    # In "card 4242 $500" the sign belongs to what follows.
    r"(?:(?<!\s)[$€£¥](?!\d)|[$€£¥](?!\s?\d)|(?:usd|eur|gbp|dollars|euros|pounds)\b))"
)
_EVENT = r"(?:transaction|purchase|payment|charge|attempt|order|authori[sz]ation)s?"
_WINDOW = r"(?:per|(?:(?:in|within|over|during)\s+)?(?:the\s+)?(?:last|past|previous))\s+"
# Between an account and its age: "account, opened only 3 days ago", "customer for 2 years".
_AGED = (
    r"(?:\W{1,3}(?:is|was|has|been|opened|created|registered|joined|signed|set|up|active|existed"
    r"|age|aged|since|of|for|only|just|about|around|almost|over|under|less|than|a|an|the)){0,6}\W{1,3}"
)
_WEEKDAYS: Final = ("Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday")
_DAYS: Final = {"minute": 1 / 1440, "hour": 1 / 24, "day": 1, "week": 7, "month": 30.4, "year": 365}
_ANSWERS: Final = {
    **dict.fromkeys(("yes", "true", "1", "1.0"), True),
    **dict.fromkeys(("no", "false", "0", "0.0"), False),
}
_COUNT_WORDS: Final = {"no": 0, "zero": 0, "one": 1, "two": 2, "three": 3, "four": 4, "five": 5}


_READ_AT_MOST: Final = 8_000
_AMOUNT = re.compile(_MONEY, re.IGNORECASE)
_USUAL_AMOUNT = re.compile(
    r"\b(?:average|usual(?:ly)?|typical(?:ly)?|normal(?:ly)?|mean)\b[^.;$€£\d]{0,25}" + _MONEY,
    re.IGNORECASE,
)
_DATE = re.compile(
    r"\d{4}-\d{2}-\d{2}(?:[ T]\d{2}:\d{2}(?::\d{2}(?:\.\d+)?)?(?:Z|[+-]\d{2}:?\d{2})?)?"
)
# A comma between two digits is part of a number.
_BREAK = r"[;|\n]|(?<!\d),|,(?!\d)"
_PAIR = re.compile(
    rf"(?:^|{_BREAK})\s*([A-Za-z][\w /-]{{0,39}}?)\s*[:=]\s*"
    rf"((?:[^;,|\n]|(?<=\d),(?=\d)){{1,60}}?)\s*(?={_BREAK}|$)"
)
_QUANTITY = re.compile(r"[.,$€£¥-]")


def read_fields(transaction: Transaction) -> Fields:
    """The fields of a transaction: its own, or those its text tells.

    >>> read_fields(Transaction.of("User pays $2,500 at 3 AM via VPN, account is 2 days old"))
    {'amount': 2500.0, 'hour': 3, 'account_age_days': 2.0, 'vpn': True}
    """
    if transaction.fields:
        return _with_dates(transaction.fields)
    return dict(_read_whole(transaction.text))


@lru_cache(maxsize=1024)
def _read_whole(text: str) -> tuple[tuple[str, Scalar], ...]:
    """Selector, agent and reflector of one run read the same text: it is read once."""
    text = without_remarks(text[:_READ_AT_MOST])
    return tuple(_with_ratio({**_read_pairs(text), **read_text(text)}).items())


@dataclass(frozen=True)
class Found:
    """One field, its value, and where in the text it stands."""

    field: str
    value: Scalar
    start: int
    end: int


def read_text(text: str) -> Fields:
    """What the sentences of a text say."""
    return dict(_read_sentences(text))


@lru_cache(maxsize=256)
def _read_sentences(text: str) -> tuple[tuple[str, Scalar], ...]:
    """Reader and embedder look at the same text: it is read once."""
    fields: Fields = {}
    for found in find(text):
        fields.setdefault(found.field, found.value)
    if "ip_country" in fields and "card_country" in fields:
        is_same = fields["ip_country"] == fields["card_country"]
        fields.setdefault("country_changed", None if is_same else True)
    return tuple((name, value) for name, value in fields.items() if value is not None)


def find(text: str) -> Iterator[Found]:
    """Every reading of a text; of several for one field the first counts."""
    usual = _USUAL_AMOUNT.search(text)
    for amount in _AMOUNT.finditer(text):
        is_usual = usual is not None and amount.end() == usual.end()
        name = "usual_amount" if is_usual else "amount"
        yield Found(name, _money(amount), amount.start(), amount.end())
    seen = set()
    for name, pattern, convert in _PATTERNS:
        match = pattern.search(text) if name not in seen else None
        if match:
            seen.add(name)
            yield Found(name, convert(match), match.start(), match.end())
    for mention in mentions(text):
        end = mention.start + len(mention.phrase)
        if mention.group == "flag":
            yield Found(mention.concept, not mention.negated, mention.start, end)
        elif mention.group in _KINDS and not mention.negated:
            yield Found(_KINDS[mention.group], mention.concept, mention.start, end)


_KINDS: Final = {"category": "merchant_category", "channel": "channel"}


def _read_pairs(text: str) -> Fields:
    """`name: value` and `name=value` pairs, where a text is made of at least two of them."""
    pairs = _PAIR.findall(text)
    if len(pairs) < 2:
        return {}
    fields: Fields = {}
    for name, value in pairs:
        field = re.sub(r"\W+", "_", name.strip().lower()).strip("_")
        fields.setdefault(field, _pair_value(field, value.strip()))
    return _with_dates(fields)


def _pair_value(name: str, value: str) -> Scalar:
    plain = value.rstrip("%")
    if (number := written_number(plain)) is not None:
        return number
    if re.fullmatch(r"-?\d+(?:\.\d+)?e[+-]?\d+", plain, re.IGNORECASE):
        return float(plain)
    if value.lower() in _ANSWERS and "country" not in name:  # NO is Norway
        return _ANSWERS[value.lower()]
    return None if is_nothing(value) else value


def _with_dates(fields: Mapping[str, Scalar]) -> Fields:
    read: Fields = {}
    for name, value in fields.items():
        read[name] = _meant(name, value)
        moment = _moment(value)
        if moment is not None:
            read[f"{name}.weekday"] = _WEEKDAYS[moment.weekday()]
            read[f"{name}.month"] = moment.month
            if len(str(value)) > 10:
                read[f"{name}.hour"] = moment.hour
    return read


def _meant(name: str, value: Scalar) -> Scalar:
    """What a payment system means by "9000.00", "true" or a flag of 1; digits alone may be a code.

    >>> [_meant(*pair) for pair in (("amount", "9000.00"), ("mcc", "5411"), ("vpn", 1))]
    [9000.0, '5411', True]
    """
    if name in FLAGS and not isinstance(value, bool):
        return _ANSWERS.get(str(value).lower(), value)
    if not isinstance(value, str):
        return value
    if value.lower() in ("true", "false"):
        return value.lower() == "true"
    if name in _MEASURED or _QUANTITY.search(value):
        number = written_number(value)
        return value if number is None else number
    return value


def _moment(value: Scalar) -> datetime | None:
    """The date that a text is, where it is one."""
    if not isinstance(value, str) or not _DATE.fullmatch(value):
        return None
    try:
        return datetime.fromisoformat(value.replace("Z", "+00:00"))
    except ValueError:  # the thirtieth of February
        return None


def _with_ratio(fields: Fields) -> Fields:
    amount, usual = fields.get("amount"), fields.get("usual_amount")
    if isinstance(amount, float) and isinstance(usual, float) and usual > 0:
        fields.setdefault("amount_ratio", round(amount / usual, 2))
    return fields


def _number(found: re.Match[str]) -> float:
    return _value(found[1])


def _value(digits: str) -> float:
    number = written_number(digits)
    return float(digits.replace(",", "")) if number is None else number


def _count(found: re.Match[str]) -> int:
    word = found[1].lower()
    return _COUNT_WORDS[word] if word in _COUNT_WORDS else int(word.replace(",", ""))


def _money(found: re.Match[str]) -> float:
    digits, scale = found[1] or found[3], (found[2] or found[4] or "").lower()
    return _value(digits) * {"k": 1e3, "t": 1e3, "m": 1e6}.get(scale[:1], 1.0)


def _clock(found: re.Match[str]) -> int:
    return int(found[1])


def _twelve_hour_clock(found: re.Match[str]) -> int:
    return int(found[1]) % 12 + 12 * (found[2].lower() == "p")


def _midnight_or_noon(found: re.Match[str]) -> int:
    return 0 if found[1].lower() == "midnight" else 12


def _days(found: re.Match[str]) -> float:
    return round(_number(found) * _DAYS[found[2].lower()], 2)


def _kilometres(found: re.Match[str]) -> float:
    return round(_number(found) * (1.609 if found[2].lower().startswith("mi") else 1.0), 1)


def _place(found: re.Match[str]) -> str:
    return found[1]


Reading = tuple[str, re.Pattern[str], Callable[[re.Match[str]], Scalar]]


def _reading(name: str, pattern: str, convert: Callable[[re.Match[str]], Scalar]) -> Reading:
    """A field, where it stands in a text, what to make of it. Places need their capitals."""
    return name, re.compile(pattern, 0 if convert is _place else re.IGNORECASE), convert


_PATTERNS: Final[tuple[Reading, ...]] = (
    _reading("hour", r"\b(1[0-2]|0?\d)(?::\d{2})?\s?([ap])\.?m\b", _twelve_hour_clock),
    _reading("hour", r"\b([01]?\d|2[0-3]):[0-5]\d\b", _clock),
    _reading("hour", r"\bat (midnight|noon)\b", _midnight_or_noon),
    _reading(
        "account_age_days",
        rf"{_NUMBER}[\s-]{_UNIT}[\s-]old\s+(?:\w+\s+)?(?:account|profile)",
        _days,
    ),
    _reading(
        "account_age_days",
        rf"\b(?:account|profile)\b{_AGED}{_NUMBER}[\s-]{_UNIT}\b",
        _days,
    ),
    _reading(  # a customer of 72 years is one thing, one who is 72 years old another
        "account_age_days",
        rf"\b(?:customer|user)\b{_AGED}{_NUMBER}[\s-]{_UNIT}\b(?![\s-]old)",
        _days,
    ),
    _reading(
        "account_age_days",
        rf"\b(?:opened|created|registered|joined|signed up)\s+{_NUMBER}\s+{_UNIT}\s+ago",
        _days,
    ),
    _reading(
        "merchant_rating",
        r"\brat(?:ed|ing)\b(?:\s+(?:of|is|at|only))?[:\s]+(\d(?:\.\d+)?)"
        r"(?![\d%]|\.\d|\s?(?:/|out of)\s?10)",
        _number,
    ),
    _reading("merchant_rating", r"\b(\d(?:\.\d+)?)\s?(?:/\s?5|out of 5|[\s-]stars?)", _number),
    _reading(
        "tx_last_hour",
        rf"{_COUNT}\s+(?:\w+\s+)?{_EVENT}\s+{_WINDOW}(?:hour|\d+ minutes)\b",
        _count,
    ),
    _reading(
        "tx_last_day",
        rf"{_COUNT}\s+(?:\w+\s+)?{_EVENT}\s+(?:today|{_WINDOW}(?:24 ?h|day))",
        _count,
    ),
    _reading("failed_attempts", rf"{_COUNT}\s+(?:failed|declined|unsuccessful)\s+\w+", _count),
    _reading(
        "past_disputes",
        rf"{_COUNT}\s+(?:\w+\s+)?(?:disputes?|chargebacks?|fraud reports?|complaints?)\b",
        _count,
    ),
    _reading("distance_km", rf"{_MEASURE}\s?(km|kilomet(?:er|re)s?|miles?|mi)\b", _kilometres),
    _reading(
        "ip_country",
        rf"\b(?:IP|[Ll]ogin|[Ll]ogged in|[Cc]onnect\w+)\b[^.;,]{{0,20}}?\b(?:in|from)\s+{_PLACE}",
        _place,
    ),
    _reading(
        "card_country",
        rf"\b(?:[Cc]ard|[Cc]ardholder|[Cc]ustomer)\b[^.;,]{{0,25}}?\b(?:in|from)\s+{_PLACE}",
        _place,
    ),
    _reading(
        "shipping_country",
        rf"\b(?:[Ss]hip\w*|[Dd]eliver\w*)\b[^.;,]{{0,15}}?\bto\s+{_PLACE}",
        _place,
    ),
)
_MEASURED: Final = {"amount", *(name for name, _, convert in _PATTERNS if convert is not _place)}
"""Fields that are numbers, however they are written."""
