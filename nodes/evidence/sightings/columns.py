"""Which fields of a case say who it is about, when, how much and where: its sighting.

A task names them by their roles (`Task.sighting_columns`).
"""

from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from typing import Final

from acegraph.nodes.evidence.columns.entities import NOBODY
from acegraph.nodes.evidence.sightings.derivation import AMOUNT_UNIT
from acegraph.state.ledger.hidden_fields import REDACTED
from acegraph.state.values import SIGHTED, Scalar, Sighting, folded, is_number, written

_MOST: Final = 10**15
"""Sums of so large amounts, in ten-thousandths, still fit into 64 bits."""
_MOST_DEGREES: Final = {"latitude": 90, "longitude": 180}
_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)


def sighting_of(fields: Mapping[str, Scalar], columns: Mapping[str, str]) -> Sighting | None:
    """The payment as later ones see it; None if it names nobody, or no time.

    Where no column holds the time, the payment happens now.
    """
    time = fields.get(columns["time"]) if "time" in columns else datetime.now(UTC).isoformat()
    at = _moment(time)
    ids = {kind: id_of(fields.get(columns[kind])) for kind in columns if kind not in SIGHTED}
    who = {kind: text for kind, text in ids.items() if text}
    if at is None or not who:
        return None
    north, east = (_degrees(fields.get(columns.get(r, "")), r) for r in _MOST_DEGREES)
    amount = fields.get(columns.get("amount", ""))
    return Sighting(
        at=at,
        who=who,
        amount=_whole(amount) if is_number(amount) else None,
        place=None if north is None or east is None else (north, east),
        columns=columns,
    )


def unread(fields: Mapping[str, Scalar], columns: Mapping[str, str]) -> set[str]:
    """What a sighting lacks, because its field is missing or cannot be read.

    >>> sorted(unread({"id": "guest", "amt": "5 EUR"}, {"customer": "id", "amount": "amt"}))
    ['amount', 'customer']
    """
    values = {what: fields.get(name) for what, name in columns.items()}
    return {what for what, value in values.items() if _read(what, value) is None}


def _read(what: str, value: Scalar) -> object:
    if what not in SIGHTED:
        return id_of(value)
    if what == "time":
        return _moment(value)
    if what == "amount":
        return value if is_number(value) else None
    return _degrees(value, what)


def _degrees(value: Scalar, which: str) -> float | None:
    return float(value) if is_number(value) and abs(value) <= _MOST_DEGREES[which] else None


def _whole(amount: float) -> int:
    return round(max(-_MOST, min(_MOST, amount * AMOUNT_UNIT)))


def id_of(value: Scalar) -> str | None:
    """An id, however it is written; None for a value that many share."""
    if value is None or isinstance(value, bool) or value == REDACTED:
        return None
    if isinstance(value, int | float) and value <= 0:
        return None
    text = folded(written(value))
    return None if text in NOBODY else text or None


def _moment(value: Scalar) -> int | None:
    """Microseconds since 1970; a time without a zone is UTC, a number counts seconds."""
    if is_number(value):
        return round(value * 1_000_000)
    if not isinstance(value, str):
        return None
    try:
        moment = datetime.fromisoformat(value)
    except ValueError:
        return None
    aware = moment if moment.tzinfo else moment.replace(tzinfo=UTC)
    return (aware - _EPOCH) // timedelta(microseconds=1)
