"""Fields that are derived from earlier payments: counts, sums, the usual amount, time and distance.

A payment sees the payments before it in time and, of those at the same time, the ones that came
before it. No label is used. A file is read in one pass (`derive_all`); for a live decision the
ledger sums the past up (state/ledger/sightings.py). `derived_fields` makes the fields of both.
"""

from bisect import bisect_right
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from math import asin, cos, radians, sin, sqrt
from typing import Final

from acegraph.state.values import HOUR, WINDOWS, Fields, Past, Sighting

AMOUNT_UNIT: Final = 10_000
_EARTH_DIAMETER_KM: Final = 12_742.0
_MORE_SOURCES: Final = {
    "amount_to_usual": ("amount",),
    "merchant_is_new": ("merchant",),
    "km_since_last": ("latitude", "longitude"),
    "kmh_since_last": ("latitude", "longitude"),
}
_LEAST_HOURS: Final = 1 / 60
"""Payments at one moment are taken to be a minute apart: no speed is infinite."""


def derived_fields(sighting: Sighting, pasts: Mapping[str, Past]) -> Fields:
    """The derived fields of a payment, by the past of each kind of entity that it names."""
    return {
        f"{kind}.{name}": value
        for kind in sighting.who
        for name, value in _fields_of(kind, sighting, pasts.get(kind, Past())).items()
    }


def sources_of(name: str) -> tuple[str, ...]:
    """What of the payment itself a derived field is computed from, as its columns hold it.

    >>> sources_of("card.amount_to_usual")
    ('card', 'time', 'amount')
    """
    kind, _, what = name.partition(".")
    return (kind, "time", *_MORE_SOURCES.get(what, ()))


def _fields_of(kind: str, sighting: Sighting, past: Past) -> Fields:
    """The fields of one kind: all that the columns allow, without a value where none is known."""
    columns, amount = sighting.columns, sighting.amount
    hours = None if past.last_at is None else (sighting.at - past.last_at) / HOUR
    fields: Fields = {"hours_since_last": None if hours is None else round(hours, 2)}
    for window, payments, total in zip(WINDOWS, past.payments, past.amounts, strict=True):
        fields[f"payments_last_{window}"] = payments
        if "amount" in columns:
            fields[f"amount_last_{window}"] = total / AMOUNT_UNIT
    if kind == "merchant":
        return fields
    if "amount" in columns:
        has_usual = amount is not None and past.all_amounts > 0
        usual = past.all_amounts / past.known_amounts if has_usual else 0.0
        fields["amount_to_usual"] = round((amount or 0) / usual, 2) if has_usual else None
    if "merchant" in columns:
        is_new = not past.knows_merchant
        fields["merchant_is_new"] = is_new if "merchant" in sighting.who else None
    if "latitude" in columns:
        km = None
        if sighting.place and past.last_place and hours is not None:
            km = distance_km(sighting.place, past.last_place)
        fields["km_since_last"] = None if km is None else round(km, 1)
        speed = None if km is None else km / max(hours or 0.0, _LEAST_HOURS)
        fields["kmh_since_last"] = None if speed is None else round(speed, 1)
    return fields


def distance_km(start: tuple[float, float], end: tuple[float, float]) -> float:
    """The distance of two places on the globe by the haversine formula.

    >>> round(distance_km((52.52, 13.405), (48.8566, 2.3522)))  # Berlin and Paris
    877
    """
    north, other_north = radians(start[0]), radians(end[0])
    across = sin((other_north - north) / 2) ** 2
    along = sin(radians(end[1] - start[1]) / 2) ** 2
    chord = across + cos(north) * cos(other_north) * along
    return _EARTH_DIAMETER_KM * asin(sqrt(min(1.0, chord)))


@dataclass
class _Trail:
    """The payments of one entity so far, in the order of time."""

    times: list[int] = field(default_factory=list)
    sums: list[int] = field(default_factory=lambda: [0])
    """The sum of the amounts before each payment, and of all."""
    known_amounts: int = 0
    last_place: tuple[float, float] | None = None
    merchants: set[str] = field(default_factory=set)

    def past_of(self, sighting: Sighting) -> Past:
        times, sums, merchant = self.times, self.sums, sighting.who.get("merchant")
        starts = [bisect_right(times, sighting.at - window) for window in WINDOWS.values()]
        return Past(
            payments=tuple(len(times) - start for start in starts),
            amounts=tuple(sums[-1] - sums[start] for start in starts),
            all_amounts=sums[-1],
            known_amounts=self.known_amounts,
            last_at=times[-1] if times else None,
            last_place=self.last_place,
            knows_merchant=merchant in self.merchants,
        )

    def add(self, sighting: Sighting) -> None:
        self.times.append(sighting.at)
        self.sums.append(self.sums[-1] + (sighting.amount or 0))
        self.known_amounts += sighting.amount is not None
        self.last_place = sighting.place
        self.merchants.add(sighting.who.get("merchant", ""))


def derive_all(sightings: Sequence[Sighting | None]) -> list[Fields]:
    """The derived fields of each payment, from the payments before it; none where none is known.

    Payments may come in any order. Of those at the same time, the first of the sequence is earlier.
    """
    known = [(number, one) for number, one in enumerate(sightings) if one is not None]
    fields: list[Fields] = [{} for _ in sightings]
    trails: dict[tuple[str, str], _Trail] = {}
    for number, sighting in sorted(known, key=lambda pair: pair[1].at):  # stable
        own = {kind: trails.setdefault((kind, i), _Trail()) for kind, i in sighting.who.items()}
        pasts = {kind: trail.past_of(sighting) for kind, trail in own.items()}
        fields[number] = derived_fields(sighting, pasts)
        for trail in own.values():
            trail.add(sighting)
    return fields
