"""Fields that are derived from earlier payments: counts, sums, the usual amount, time and distance.

A payment sees the payments before it in time and, of those at the same time, the ones that came
before it; and of their labels those that were known by then. A file is read in one pass
(`derive_all`); for a live decision the ledger sums the past up (sightings.py and marks.py in
state/ledger). `derived_fields` makes the fields of both.
"""

from bisect import bisect_right
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from math import asin, cos, radians, sin, sqrt
from typing import Final

from acegraph.state.values import (
    DECLINE,
    HOUR,
    PAYERS,
    WINDOWS,
    Evidence,
    Fields,
    Past,
    Sighting,
    Verdict,
    voice_of,
)

EvidenceByKind = Mapping[str, Evidence]
EVIDENCE: Final = "evidence_to_usual"
"""How often labels call the payments of an entity fraud, in times the usual share."""
_NOTHING: Final[EvidenceByKind] = {}
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


def derived_fields(
    sighting: Sighting, pasts: Mapping[str, Past], evidence: EvidenceByKind
) -> Fields:
    """The derived fields of a payment, by the past of each kind of entity that it names."""
    fields: Fields = {}
    for kind in sighting.who:
        past = pasts.get(kind, Past())
        for name, value in _fields_of(kind, sighting, past).items():
            fields[f"{kind}.{name}"] = value
        if kind in evidence:
            said = evidence[kind].of(past.settled, past.frauds)
            fields[f"{kind}.{EVIDENCE}"] = said
    return fields


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
    if kind not in PAYERS:
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
    frauds: list[int] = field(default_factory=list)
    """When the payments were that labels call fraud, and whose voice each is."""
    voices: list[str] = field(default_factory=list)

    def past_of(self, sighting: Sighting, evidence: Evidence | None) -> Past:
        times, sums, merchant = self.times, self.sums, sighting.who.get("merchant")
        settled, frauds = self.said(sighting.at, evidence) if evidence else (0, 0)
        starts = [bisect_right(times, sighting.at - window) for window in WINDOWS.values()]
        return Past(
            payments=tuple(len(times) - start for start in starts),
            amounts=tuple(sums[-1] - sums[start] for start in starts),
            all_amounts=sums[-1],
            known_amounts=self.known_amounts,
            last_at=times[-1] if times else None,
            last_place=self.last_place,
            knows_merchant=merchant in self.merchants,
            settled=settled,
            frauds=frauds,
        )

    def said(self, at: int, evidence: Evidence) -> tuple[int, int]:
        """How many payments are settled, and how many voices call one of them fraud."""
        ends = [at - ago for ago in evidence.window]
        first, last = (bisect_right(self.times, end) for end in ends)
        voices = self.voices[slice(*(bisect_right(self.frauds, end) for end in ends))]
        return last - first, len(set(voices))

    def add(self, sighting: Sighting, voice: str) -> None:
        self.times.append(sighting.at)
        self.sums.append(self.sums[-1] + (sighting.amount or 0))
        self.known_amounts += sighting.amount is not None
        self.last_place = sighting.place
        self.merchants.add(sighting.who.get("merchant", ""))
        if voice:
            self.frauds.append(sighting.at)
            self.voices.append(voice)


def derive_all(
    sightings: Sequence[Sighting | None],
    labels: Sequence[Verdict | None] = (),
    evidence: EvidenceByKind = _NOTHING,
) -> list[Fields]:
    """The derived fields of each payment, from the payments before it; none where none is known.

    Payments may come in any order. Of those at the same time, the first of the sequence is earlier.
    """
    fields: list[Fields] = [{} for _ in sightings]
    for number, sighting, pasts in in_time(sightings, labels, evidence):
        fields[number] = derived_fields(sighting, pasts, evidence)
    return fields


def in_time(
    sightings: Sequence[Sighting | None], labels: Sequence[Verdict | None], evidence: EvidenceByKind
) -> Iterator[tuple[int, Sighting, dict[str, Past]]]:
    """Each payment with its place and its pasts, in the order of time."""
    known = [(number, one) for number, one in enumerate(sightings) if one is not None]
    trails: dict[tuple[str, str], _Trail] = {}
    for number, sighting in sorted(known, key=lambda pair: pair[1].at):  # stable
        own = {kind: trails.setdefault((kind, i), _Trail()) for kind, i in sighting.who.items()}
        pasts = {kind: own[kind].past_of(sighting, evidence.get(kind)) for kind in own}
        yield number, sighting, pasts
        is_fraud = bool(labels) and labels[number] == DECLINE
        for kind, trail in own.items():
            trail.add(sighting, (voice_of(kind, sighting.who) or str(number)) if is_fraud else "")
