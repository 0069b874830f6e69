"""Which field says when a case happened, which numbers are clocks, and what a time lets us derive.

The values tell, no name does.
"""

from collections.abc import Iterator, Sequence
from typing import Final, get_args

import numpy as np

from acegraph.state.task.field import Epoch, Field
from acegraph.state.task.task import Derived, Window
from acegraph.state.values import PAYERS

_WINDOWS: Final[tuple[Window, ...]] = get_args(Window)[1:]
_RISES: Final = 0.5
"""A date goes along with the rows if it rises so much."""
_EPOCHS: Final[tuple[tuple[Epoch, float, float, str], ...]] = (
    ("s", 946_684_800.0, 2_051_222_400.0, "seconds"),
    ("ms", 946_684_800e3, 2_051_222_400e3, "milliseconds"),
)


def epoch_of(lowest: float, highest: float) -> tuple[Epoch, str]:
    """What all numbers between the two count since 1970, and its name; empty if they do not.

    >>> epoch_of(1_700_000_000, 1_700_086_400), epoch_of(5, 90)
    (('s', 'seconds'), ('', ''))
    """
    for epoch, first, last, unit in _EPOCHS:
        if first <= lowest < highest < last:
            return epoch, unit
    return "", ""


def tells_when(moments: Sequence[str]) -> tuple[float, str]:
    """How surely a date tells when a case happened: it rises with the rows, else it is late."""
    rising = round(rises(moments), 2)
    return (rising, "") if rising >= _RISES else (0.0, sorted(moments)[len(moments) // 2])


def rises(values: Sequence[float | str]) -> float:
    """How closely the ranks of at least three values go along with the rows, at most 1.

    >>> rises([n // 7 for n in range(200)]), round(rises([1, 2, 3, 4] * 50), 2)
    (1.0, 0.02)
    """
    _, at, counts = np.unique(np.array(values), return_inverse=True, return_counts=True)
    if len(counts) < 3:
        return 0.0
    ranks, rows = (np.cumsum(counts) - counts / 2)[at], np.arange(len(at))
    found, most = (np.cov(one, rows)[0, 1] for one in (ranks, np.sort(ranks)))
    return float(found / most)


def derived_of(fields: Sequence[Field]) -> tuple[Derived, ...]:
    """What can be derived from these fields; nothing without a time and an entity, or other times.

    >>> fields = (Field("cc", "category", role="entity", entity="card"),)
    >>> [one.name for one in derived_of((*fields, Field("at", "time", role="time")))]
    ['card.payments_last_hour', 'card.payments_last_day', 'card.payments_last_week', \
'card.hours_since_last']
    """
    roles = {str(one.role): one.name for one in fields if one.role}
    entities = {one.entity: one.name for one in fields if one.entity}
    if "time" not in roles:
        return ()
    of_entities = (one for kind in entities for one in _of_entity(kind, entities, roles))
    times = {one.name: one for one in fields if one.kind == "time" and one.stored}
    time = times.pop(roles["time"], None)
    others = (one for one in times.values() if not one.role)
    return (*of_entities, *(before(time, one) for one in others if time))


def before(time: Field, other: Field) -> Derived:
    """How long before the time of a case another one was."""
    unit: Window = "hour" if "hour" in time.parts and "hour" in other.parts else "day"
    return Derived(f"{other.name}.{unit}s_before", "minus", (time.name, other.name), unit)


def _of_entity(kind: str, entities: dict[str, str], roles: dict[str, str]) -> Iterator[Derived]:
    sources = (entities[kind], roles["time"])
    for window in _WINDOWS:
        yield Derived(f"{kind}.payments_last_{window}", "count", sources, window)
        if amount := roles.get("amount"):
            yield Derived(f"{kind}.amount_last_{window}", "sum", (*sources, amount), window)
    yield Derived(f"{kind}.hours_since_last", "hours_since", sources)
    if kind not in PAYERS:
        return
    if amount := roles.get("amount"):
        yield Derived(f"{kind}.amount_to_usual", "to_usual", (*sources, amount))
    if merchant := entities.get("merchant"):
        yield Derived(f"{kind}.merchant_is_new", "is_new", (*sources, merchant))
    if {"latitude", "longitude"} <= roles.keys():
        place = (roles["latitude"], roles["longitude"])
        yield Derived(f"{kind}.km_since_last", "km_since", (*sources, *place))
        yield Derived(f"{kind}.kmh_since_last", "km_since", (*sources, *place), "hour")
