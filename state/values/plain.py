"""Values as they are kept: cleaned, plain, and fitted to a field.

It knows the standard library alone: a playbook that is exported as Python carries this file as it
is, from the line on that says so (nodes/rules/export/python.py).
"""

from __future__ import annotations

import math
import re
import unicodedata
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from datetime import UTC, date, datetime, time, timedelta
from decimal import Decimal
from functools import lru_cache
from itertools import chain
from typing import TYPE_CHECKING, Final, Literal
from zoneinfo import ZoneInfo

from acegraph.state.errors import InvalidTransaction

if TYPE_CHECKING:
    from acegraph.state.task.field import Field, Part
    from acegraph.state.task.task import Task

# ---- what fits
Scalar = str | bool | int | float | None
Fields = dict[str, Scalar]
Keyed = Mapping[str, object] | Mapping[object, object]
Why = Literal["missing", "kind", "range", "word", "twice", "currency"]
_SEPARATORS: Final = re.compile(r"[_\-. ]+")
MAX_TEXT = 20_000
MAX_FIELDS = 300
MAX_DEPTH = 6
MAX_VALUES = 1_000
MAX_NAME = 200
MAX_EXACT = 2**53
"""Up to it a float holds every whole number."""
_STORABLE = range(-(2**63), 2**64)
"""The whole numbers that a checkpoint can store: a run that gave others would fail at its end."""
_PLAIN = frozenset((str, float, int, bool, type(None)))
_NUMBER: Final = re.compile(r"-?[0-9]{1,400}(?:\.[0-9]{1,400})?(?:[eE][+-]?[0-9]{1,3})?")
_FLAGS: Final = {"0": False, "1": True, "false": False, "true": True}
_UNITS: Final = {"s": 1.0, "ms": 1000.0}
_ASCII_LOWER: Final = str.maketrans({chr(n): chr(n + 32) for n in range(ord("A"), ord("Z") + 1)})
_BLANK = re.compile("[\u115f\u1160\u2028\u2029\u2800\u3164\uffa0]")
"""Fillers and separators that look like a space or like nothing, but do not count as blank."""
_HIDDEN = ("Cc", "Cf", "Cs")
_HALF_WIDTH_MARKS = "\uff9e\uff9f"
"""Letters that become marks in other forms of the same text."""
_MOST_MARKS = 30
"""No writing has more marks on one letter (Unicode Standard Annex 15, stream-safe text)."""
_SELECTOR = re.compile("[\u180b-\u180f\ufe00-\ufe0f\U000e0100-\U000e01ef]")
_KEPT_LENGTH: Final = 500
"""Longer texts are folded anew each time."""
WEEKDAYS: Final = ("Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday")


def clean_text(text: str) -> str:
    """A text in NFC with visible characters only: no controls, no lone surrogates, and none that
    hide or reorder text (bidi marks, zero-width, tag characters, variation selectors).

    >>> clean_text("caf" + "e" + chr(0x301) + chr(0) + " o" + chr(0x200B) + "k" + chr(0xE0041))
    'café ok'
    """
    if text.isascii() and text.isprintable():
        return text.strip()
    whole = text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    spaced = _SELECTOR.sub("", _BLANK.sub(" ", whole))
    kinds = {c: unicodedata.category(c) for c in set(spaced) - {"\n", "\t"}}
    visible = spaced.translate({ord(c): None for c, kind in kinds.items() if kind in _HIDDEN})
    marks = {c for c, kind in kinds.items() if kind[0] == "M" or c in _HALF_WIDTH_MARKS}
    if marks and len(visible) > _MOST_MARKS:
        visible = "".join(_without_piles(visible, marks))
    return unicodedata.normalize("NFC", visible).strip()


def _without_piles(text: str, marks: set[str]) -> Iterator[str]:
    """A text without piles of marks that combine.

    Marks in a row are sorted when a text is normalised, in time that grows with their square.
    """
    pile = 0
    for c in text:
        pile = pile + 1 if c in marks else 0
        if pile <= _MOST_MARKS:
            yield c


def _check_storable(name: str, value: object, depth: int = 1) -> int:
    """How many values it holds; too many and a whole number beyond 64 bits are refused."""
    if isinstance(value, int) and value not in _STORABLE:
        raise InvalidTransaction(
            f"{f'field {name!r}' if name else 'a key of the transaction'} holds a whole number of "
            f"{value.bit_length()} bits; write more than 64 as text"
        )
    if not isinstance(value, Mapping | list | tuple | set | frozenset):
        return 1
    if depth > MAX_DEPTH:
        raise InvalidTransaction(f"field {name!r} is nested deeper than {MAX_DEPTH}")
    held = 1
    for item in chain(value, value.values()) if isinstance(value, Mapping) else value:
        held += _check_storable(name, item, depth + 1)
        if held > MAX_VALUES:
            raise InvalidTransaction(f"field {name!r} holds more than {MAX_VALUES:,} values")
    return held


def plain_value(name: str, value: object) -> Scalar:
    """The value of a field as it is stored: cleaned text, a finite number, a flag, or None."""
    if value is None or isinstance(value, bool):
        return value
    if isinstance(value, str):
        return clean_text(value) or None
    if type(value) is float:
        return value if math.isfinite(value) else None
    if type(value) is int and -MAX_EXACT <= value <= MAX_EXACT:
        return value
    # One of numpy:
    if (kind := getattr(getattr(value, "dtype", None), "kind", "")) and not getattr(
        value, "shape", 1
    ):
        if kind == "M":  # `item` of nanoseconds is a bare number
            value = value.astype("datetime64[us]")  # type: ignore[attr-defined]
        value = value.item()  # type: ignore[attr-defined]
        if value is None or isinstance(value, bool):
            return value
    if isinstance(value, int):
        _check_storable(name, value)
        # A whole number that a float cannot hold exactly is a name, not a quantity.
        return value if abs(value) <= MAX_EXACT else str(value)
    if isinstance(value, float | Decimal):
        if isinstance(value, Decimal) and value.is_snan():
            raise InvalidTransaction(f"field {name!r} holds a signalling NaN; a number wanted")
        number = float(value)
        return number if math.isfinite(number) else None
    if isinstance(value, datetime | date):
        return value.isoformat(" ") if isinstance(value, datetime) else value.isoformat()
    if isinstance(value, time):
        return value.isoformat()
    if isinstance(value, timedelta):
        return value.total_seconds()
    raise InvalidTransaction(f"field {name!r} holds a {type(value).__name__}; plain values wanted")


def collected(given: Keyed) -> Fields:
    """The fields of a mapping by their cleaned names; two keys that become one are refused."""
    fields: Fields = {}
    for name, value in _flatten(given):
        if name in fields:
            raise InvalidTransaction(f"two keys of the transaction are one field, {name[:60]!r}")
        fields[name] = value
    if len(fields) > MAX_FIELDS:
        raise InvalidTransaction(f"{len(fields):,} fields; at most {MAX_FIELDS} are accepted")
    return fields


def _flatten(fields: Keyed, prefix: str = "", depth: int = 1) -> Iterator[tuple[str, Scalar]]:
    if depth > MAX_DEPTH:
        raise InvalidTransaction(f"field {prefix.rstrip('.')!r} is nested deeper than {MAX_DEPTH}")
    if len(fields) > MAX_FIELDS:
        raise InvalidTransaction(f"{len(fields):,} fields; at most {MAX_FIELDS} are accepted")
    for key, value in fields.items():
        if not isinstance(key, str):
            _check_storable("", key)
        clean = _clean_short_text if len(str(key)) <= MAX_NAME else clean_text
        name = prefix + (clean(str(key)) or "unnamed")
        if len(name) > MAX_NAME:
            raise InvalidTransaction(
                f"a field name has {len(name):,} characters; {MAX_NAME} at most"
            )
        if type(value) in _PLAIN:  # nearly all are, and the other questions are slow
            yield name, plain_value(name, value)
        elif isinstance(value, Mapping):
            yield from _flatten(value, name + ".", depth + 1)
        elif isinstance(value, list | tuple | set | frozenset):
            _check_storable(name, value, depth)
            yield f"{name}.count", len(value)
            if value and all(isinstance(item, str) for item in value):
                yield name, clean_text(", ".join(sorted(value)))
            elif len(value) == 1 and not isinstance(next(iter(value)), Mapping | list | tuple):
                yield name, plain_value(name, next(iter(value)))
        else:
            yield name, plain_value(name, value)


_clean_short_text = lru_cache(maxsize=4096)(clean_text)  # payments have the same fields


def mentions(text: str, phrase: str) -> bool:
    """Whether a text has the words of a phrase, whole and one after the other.

    >>> mentions("Gift-cards, as agreed", "gift cards"), mentions("giftcards", "gift cards")
    (True, False)
    """
    return padded_words(phrase) in padded_words(text)


def padded_words(text: str) -> str:
    """The words of a text with a space before and after each, so that only whole ones are found."""
    return _padded(text) if len(text) <= _KEPT_LENGTH else _padded.__wrapped__(text)


@lru_cache(maxsize=1 << 16)  # as many as a table of cases may have
def _padded(text: str) -> str:
    folded = unicodedata.normalize("NFKC", unicodedata.normalize("NFKC", text).casefold())
    return " ".join(["", *re.findall(r"[^\W_]+", folded), ""])


def ascii_lower(text: str) -> str:
    """The text with small ASCII letters: every engine folds these alike, and no others."""
    return text.translate(_ASCII_LOWER)


@dataclass(frozen=True, slots=True)
class Misfit:
    """A field that has no value that fits: why, and what was wanted; never what was found."""

    field: str
    why: Why
    wanted: str

    @property
    def doubt(self) -> str:
        """Why the field is in doubt, without its name."""
        return f"{'is missing' if self.why == 'missing' else 'does not fit'}; {self.wanted} wanted"

    def __str__(self) -> str:
        return f"{self.field} {self.doubt}"


def _number(field: Field, value: Scalar) -> Scalar | Misfit:
    if isinstance(value, str):
        value = float(value) if _NUMBER.fullmatch(value) else None
    if value is None or isinstance(value, bool):
        return None
    number = float(value)
    is_below = field.least is not None and number < field.least
    is_above = field.most is not None and number > field.most
    if is_below or is_above or abs(number) == math.inf:
        return field.misfit("range")
    return value


def _flag(field: Field, value: Scalar) -> Scalar | Misfit:
    if isinstance(value, bool):
        return value
    word = ascii_lower(_digits(value))
    if field.words and word in field.spellings:
        return field.spellings[word] == field.words[1]
    return _FLAGS.get(word)


def _category(field: Field, value: Scalar) -> Scalar | Misfit:
    word = str(value).lower() if isinstance(value, bool) else _digits(value)
    known = field.spellings.get(ascii_lower(word))
    if known is None and field.closed:
        return field.misfit("currency" if field.role == "currency" else "word")
    return value if known == value else known or word  # the same object: nothing is written anew


def _time(field: Field, value: Scalar) -> Scalar | Misfit:
    try:
        if isinstance(value, str):
            return _written_time(field, value)
        if field.epoch and value is not None and not isinstance(value, bool):
            since = timedelta(seconds=value / _UNITS[field.epoch])
            return (datetime(1970, 1, 1, tzinfo=UTC) + since).isoformat()
    except (ValueError, OverflowError):
        return None
    return None


def _written_time(field: Field, text: str) -> str | None:
    """A written time in UTC; a day alone stays a day: it has no hour."""
    if field.epoch and _NUMBER.fullmatch(text):
        fitted = _time(field, float(text))
        return fitted if isinstance(fitted, str) else None
    if len(text) == len("2026-01-31"):
        return date.fromisoformat(text).isoformat()
    if not text[:5].rstrip("-").isdigit() or "-" not in text[:5]:
        return None  # `fromisoformat` also takes 20260131
    moment = datetime.fromisoformat(text)
    aware = moment if moment.tzinfo else moment.replace(tzinfo=ZoneInfo(field.zone))
    return aware.astimezone(UTC).isoformat()


def _text(_: Field, value: Scalar) -> Scalar | Misfit:
    text = _digits(value)
    return text if len(text) <= MAX_TEXT else None


_FITS: Final = {
    "number": _number, "flag": _flag, "category": _category, "time": _time, "text": _text
}  # fmt: skip


def _digits(value: Scalar) -> str:
    """A value as text; a whole number has no decimal point."""
    if isinstance(value, float) and value.is_integer():
        return str(int(value))
    return str(value)


def fit_value(field: Field, value: object) -> Scalar | Misfit:
    """The value as a field keeps it, or why none is; a value that is no plain one does not fit."""
    try:
        plain = plain_value(field.name, value)
    except InvalidTransaction:
        return field.misfit("kind")
    if plain is None:
        return field.misfit("missing") if field.usual else None
    fitted = _FITS[field.kind](field, plain)
    return field.misfit("kind") if fitted is None else fitted


def parts_of(field: Field, value: str) -> dict[str, Scalar]:
    """The fields that a fitted time gives besides."""
    if not field.parts:
        return {}
    has_hour = len(value) > len("2026-01-31")
    moment = datetime.fromisoformat(value)
    if has_hour:
        moment = moment.astimezone(ZoneInfo(field.zone))
    known: dict[Part, Scalar] = {"weekday": WEEKDAYS[moment.weekday()], "month": moment.month}
    if has_hour:
        known["hour"] = moment.hour
    return {f"{field.name}.{part}": known[part] for part in field.parts if part in known}


def fit_case(task: Task, given: Mapping[str, object]) -> tuple[Fields, tuple[Misfit, ...], Fields]:
    """The fields of a case as a task keeps them, what does not fit, and what no field has."""
    values, twice, unknown = _named(task, given)
    fields: Fields = {}
    misfits: dict[str, Misfit] = {}
    for one in task.fields:
        if one.name in values:
            fitted = one.misfit("twice") if one.name in twice else fit_value(one, values[one.name])
        elif one.usual:
            fitted = one.misfit("missing")
        else:
            continue
        fields[one.name] = None if isinstance(fitted, Misfit) else fitted
        if isinstance(fitted, Misfit):
            misfits[one.name] = fitted
            misfits |= {n: replace(fitted, field=n) for n in one.part_names}
        elif one.kind == "time" and isinstance(fitted, str):
            fields |= (parts := parts_of(one, fitted))
            lacking = (n for n in one.part_names if one.usual and n not in parts)
            misfits |= {n: Misfit(n, "missing", "a time of day") for n in lacking}
    for derived in task.differences:
        if not fields.keys().isdisjoint(derived.of):
            fields[derived.name] = derived.between([fields.get(name) for name in derived.of])
        for wrong in (misfits[name] for name in derived.of if name in misfits):
            misfits[derived.name] = replace(wrong, field=derived.name)
    if misfits:
        _doubt_the_amount(task, misfits)
    return fields, tuple(misfits.values()), unknown


def _named(task: Task, given: Mapping[str, object]) -> tuple[dict[str, object], set[str], Fields]:
    """The values by field, the fields that two keys give differently, and all other keys."""
    values: dict[str, object] = {}
    twice: set[str] = set()
    unknown: Fields = {}
    for key, value in given.items():
        one = task.field_of(key)
        if one is None:
            unknown[readable(key)] = plain_value(key, value)
        elif values.get(one.name) is None:
            values[one.name] = value
        elif value is not None and value != values[one.name]:
            twice.add(one.name)
    return values, twice, unknown


def _doubt_the_amount(task: Task, misfits: dict[str, Misfit]) -> None:
    """Another currency is a doubt of the amount."""
    currency, amount = task.of_role("currency"), task.of_role("amount")
    if currency and amount and currency.name in misfits:
        misfits.pop(currency.name)
        misfits.setdefault(amount.name, Misfit(amount.name, "currency", currency.wanted))


@lru_cache(maxsize=8192)
def fold(name: str) -> str:
    """A name without case and separators: two names that fold alike are one.

    >>> fold("TX-Last Hour") == fold("tx_last.hour")
    True
    """
    return _SEPARATORS.sub("", name).lower()


@lru_cache(maxsize=8192)
def readable(name: str) -> str:
    """The name under which an unknown key is kept.

    >>> readable("Claim Value")
    'claim_value'
    """
    return re.sub(r"[\s-]+", "_", name.strip().lower()) or "unnamed"
