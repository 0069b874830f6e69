"""Which fields are derived from earlier cases: those of the entities that a task names."""

from collections.abc import Iterator, Sequence
from typing import Final

from acegraph.state.task.field import Field
from acegraph.state.task.task import Derived, Window
from acegraph.state.values.decision import KINDS

_WINDOWS: Final[tuple[Window, ...]] = ("hour", "day", "week")


def derived_of(fields: Sequence[Field]) -> tuple[Derived, ...]:
    """What can be derived from these fields; nothing without an entity and a time.

    >>> fields = (Field("cc", "category", role="entity", entity="card"),)
    >>> [one.name for one in derived_of((*fields, Field("at", "time", role="time")))]
    ['card.payments_last_hour', 'card.payments_last_day', 'card.payments_last_week', \
'card.hours_since_last']
    """
    roles = {str(one.role): one.name for one in fields if one.role}
    entities = {one.entity: one.name for one in fields if one.entity in KINDS}
    if "time" not in roles:
        return ()
    return tuple(one for kind in entities for one in _of_entity(kind, entities, roles))


def _of_entity(kind: str, entities: dict[str, str], roles: dict[str, str]) -> Iterator[Derived]:
    sources = (entities[kind], roles["time"])
    for window in _WINDOWS:
        yield Derived(f"{kind}.payments_last_{window}", "count", sources, window)
        if amount := roles.get("amount"):
            yield Derived(f"{kind}.amount_last_{window}", "sum", (*sources, amount), window)
    yield Derived(f"{kind}.hours_since_last", "hours_since", sources)
    if kind == "merchant":
        return
    if amount := roles.get("amount"):
        yield Derived(f"{kind}.amount_to_usual", "to_usual", (*sources, amount))
    if merchant := entities.get("merchant"):
        yield Derived(f"{kind}.merchant_is_new", "is_new", (*sources, merchant))
    if {"latitude", "longitude"} <= roles.keys():
        place = (roles["latitude"], roles["longitude"])
        yield Derived(f"{kind}.km_since_last", "km_since", (*sources, *place))
        yield Derived(f"{kind}.kmh_since_last", "km_since", (*sources, *place), "hour")
