"""Which fields of a payment say who paid, when, how much and where: its sighting.

The names of the fields decide, as in columns/entities.py.
"""

from collections.abc import Iterable, Mapping
from datetime import UTC, datetime, timedelta
from functools import lru_cache
from typing import Final

from acegraph.nodes.evidence.columns.entities import ID_WORDS, NOBODY, is_party
from acegraph.nodes.evidence.columns.learnable_fields import describes, words_of_name
from acegraph.nodes.evidence.sightings.derivation import AMOUNT_UNIT
from acegraph.nodes.text.currencies import amount_fields
from acegraph.nodes.text.money import read_number
from acegraph.state.ledger.hidden_fields import REDACTED
from acegraph.state.values.decision import KINDS, Sighting
from acegraph.state.values.folded import folded
from acegraph.state.values.notation import written
from acegraph.state.values.transaction import Scalar

_WORDS: Final = {
    "customer": "customer client user payer sender buyer cardholder holder member subscriber "
    "account owner person iban cust acct usr",
    "card": "card pan cc",
    "device": "device browser imei fingerprint",
    "merchant": "merchant store shop seller vendor payee recipient receiver beneficiary",
}
_KIND_OF: Final = {word: kind for kind, words in _WORDS.items() for word in words.split()}
_RANK: Final = {word: rank for rank, word in enumerate(_KIND_OF)}
_NO_PAYMENT: Final = frozenset(
    "birth dob born expiry expiration expires valid opened opening since".split()
)
"""Dates of something else than the payment."""
_PAYMENT: Final = frozenset(
    "transaction trans tx txn payment paid purchase order auth authorization authorisation booked "
    "booking event".split()
)
_NORTH: Final = frozenset({"lat", "latitude"})
_EAST: Final = frozenset({"lon", "long", "lng", "longitude"})
_WHERE_PAID: Final = frozenset(
    "merch merchant store shop terminal pos atm transaction trans tx payment purchase ip".split()
)
_MOST: Final = 10**15
"""Sums of so large amounts, in ten-thousandths, still fit into 64 bits."""
_MOST_DEGREES: Final = {"latitude": 90, "longitude": 180}
_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)
_LONGEST_SECONDS: Final = 10**11
"""A larger number counts milliseconds, or microseconds."""


def is_time_of_payment(name: str) -> bool:
    """Whether dates of this name may be those of the payment.

    >>> is_time_of_payment("trans_date"), is_time_of_payment("date_of_birth")
    (True, False)
    """
    return not _NO_PAYMENT & set(words_of_name(name))


def says_payment(name: str) -> bool:
    """Whether a name speaks of the payment itself."""
    return bool(_PAYMENT & set(words_of_name(name)))


@lru_cache(maxsize=256)
def find_columns(names: tuple[str, ...], time: str | None, amount: str | None) -> dict[str, str]:
    """The names of the fields that a sighting is read from, by what they hold.

    >>> find_columns(("cc_num", "merchant", "amt", "merch_lat", "merch_long"), "at", None)
    {'card': 'cc_num', 'merchant': 'merchant', 'time': 'at', 'amount': 'amt', \
'latitude': 'merch_lat', 'longitude': 'merch_long'}
    """
    columns: dict[str, str] = {}
    named = [(word, name) for name in names if (word := says_who(name))]
    for word, name in sorted(named, key=lambda pair: _RANK[pair[0]]):  # stable
        columns.setdefault(_KIND_OF[word], name)
    if time:
        columns["time"] = time
    if amount := amount or next(iter(amount_fields(names)), None):
        columns["amount"] = amount
    return columns | _place_columns(names)


def says_who(name: str) -> str | None:
    """The word in a name that says whose number or name it holds; the last such word decides."""
    words = words_of_name(name)
    parties = [word for word in words if word in _KIND_OF]
    if not parties or describes(name):
        return None
    if not (is_party(name) or words[-1] in ID_WORDS or words in (("imei",), ("fingerprint",))):
        return None
    if parties[-1] in ("account", "acct"):  # whose account it is counts
        return next((word for word in parties if _KIND_OF[word] == "merchant"), parties[0])
    return parties[-1]


def _place_columns(names: Iterable[str]) -> dict[str, str]:
    """The latitude and longitude at which was paid; those of a home do not count."""
    pairs: dict[frozenset[str], dict[str, str]] = {}
    for name in names:
        words = frozenset(words_of_name(name))
        for role, said in (("latitude", _NORTH), ("longitude", _EAST)):
            if words & said:
                pairs.setdefault(words - said, {})[role] = name
    whole = {words: pair for words, pair in pairs.items() if len(pair) == 2}
    paid_there = (pair for words, pair in whole.items() if words & _WHERE_PAID)
    return next(paid_there, whole.get(frozenset(), {}))


def origin_of(name: str, columns: Mapping[str, str]) -> str:
    """What a derived field comes from, in words.

    >>> origin_of("card.payments_last_day", {"card": "cc_num", "time": "paid_at"})
    'derived from cc_num and paid_at'
    """
    kind = name.partition(".")[0]
    sources = [columns[role] for role in (kind, "time") if role in columns]
    return f"derived from {' and '.join(sources)}" if sources else "derived"


def columns_of(fields: Mapping[str, Scalar]) -> dict[str, str]:
    """The columns of one payment, where none are known: its only date is the time."""
    dates = [
        name
        for name, value in fields.items()
        if isinstance(value, str)
        and value[4:5] == "-"  # else the digits of an id may pass for a date
        and _moment(value) is not None
        and is_time_of_payment(name)
    ]
    return find_columns(tuple(fields), dates[0] if len(dates) == 1 else None, None)


def sighting_of(fields: Mapping[str, Scalar], columns: Mapping[str, str]) -> Sighting | None:
    """The payment as later ones see it; None if it names nobody, or no time.

    Where no column holds the time, the payment happens now.
    """
    time = fields.get(columns["time"]) if "time" in columns else datetime.now(UTC).isoformat()
    at = _moment(time)
    ids = {kind: _id(fields.get(columns[kind])) for kind in KINDS if kind in columns}
    who = {kind: text for kind, text in ids.items() if text}
    if at is None or not who:
        return None
    north, east = (_degrees(fields.get(columns.get(r, "")), r) for r in _MOST_DEGREES)
    amount = read_number(fields.get(columns.get("amount", "")))
    return Sighting(
        at=at,
        who=who,
        amount=None if amount is None else _whole(amount),
        place=None if north is None or east is None else (north, east),
        columns=columns,
    )


def unread(fields: Mapping[str, Scalar], columns: Mapping[str, str]) -> set[str]:
    """What a sighting lacks, because its field is missing or cannot be read.

    >>> sorted(unread({"id": "guest", "amt": "5 EUR"}, {"customer": "id", "amount": "amt"}))
    ['customer']
    """
    values = {what: fields.get(name) for what, name in columns.items()}
    return {what for what, value in values.items() if _read(what, value) is None}


def _read(what: str, value: Scalar) -> object:
    if what in KINDS:
        return _id(value)
    if what == "time":
        return _moment(value)
    return read_number(value) if what == "amount" else _degrees(value, what)


def _degrees(value: Scalar, which: str) -> float | None:
    number = read_number(value)
    return None if number is None or abs(number) > _MOST_DEGREES[which] else number


def _whole(amount: float) -> int:
    return round(max(-_MOST, min(_MOST, amount * AMOUNT_UNIT)))


def _id(value: Scalar) -> str | None:
    """An id, however it is written; None for a value that many share."""
    if value is None or isinstance(value, bool) or value == REDACTED:
        return None
    if isinstance(value, int | float) and value <= 0:
        return None
    text = folded(written(value))
    return None if text in NOBODY else text or None


def _moment(value: Scalar) -> int | None:
    """Microseconds since 1970; a time without a zone is UTC, a number counts seconds."""
    if value is None or isinstance(value, bool):
        return None
    if isinstance(value, str):
        try:
            moment = datetime.fromisoformat(value)
        except ValueError:
            return None
        aware = moment if moment.tzinfo else moment.replace(tzinfo=UTC)
        return (aware - _EPOCH) // timedelta(microseconds=1)
    while abs(value) > _LONGEST_SECONDS:
        value /= 1000
    return round(value * 1_000_000)
