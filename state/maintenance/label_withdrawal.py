"""Take back the labels and bullets that one source, entity or import brought in."""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any

import sqlalchemy as sa

from acegraph.state.database.tables import cases, history, outcomes
from acegraph.state.errors import InvalidInput, PlaybookError
from acegraph.state.playbook.playbook import BulletPlaybook
from acegraph.state.values.bullet import Bullet
from acegraph.state.values.decision import PURGED, Label
from acegraph.state.values.notation import has_value
from acegraph.state.values.times import as_utc


@dataclass(frozen=True)
class Purged:
    """What a purge took back."""

    bullets: tuple[str, ...]
    labels: int
    restored: tuple[str, ...] = ()
    """Bullets that had been retired on the strength of what was taken back."""
    learned: tuple[str, ...] = ()
    """Bullets that would have been learned without it."""
    note: str = ""
    """Why the playbook may still differ from one that never saw it, where it may."""


@dataclass(frozen=True)
class PurgeFilter:
    """What a purge takes back: labels by their source, entity and time; all that are given hold."""

    source: str | None = None
    """Of a label (`chargeback`, `feedback`), or where a bullet was imported from."""
    entity: tuple[str, object] | None = None
    """A field and its value: the labels of one customer, merchant or card."""
    since: str | None = None
    until: str | None = None
    """When the labels became known."""

    def describe(self) -> str:
        """For the history. The entity's value is not repeated: it may have to be erased."""
        parts = [
            f"source {self.source!r}" if self.source else "",
            f"one {self.entity[0]}" if self.entity else "",
            f"since {self.since[:10]}" if self.since else "",
            f"until {self.until[:10]}" if self.until else "",
        ]
        return ", ".join(part for part in parts if part)

    def matches_import(self, origin: Mapping[str, Any], at: str) -> bool:
        """Whether a bullet that was added then came out of a file of this name."""
        return (
            "imported_from" in origin
            and self.entity is None
            and self.source in (None, origin["imported_from"])
            and (self.since or at) <= at
            and (self.until is None or at < self.until)
        )

    def matches_label(self, label: Any) -> bool:
        """Whether a label is one of them; its entity was looked at before."""
        return (
            (self.source is None or label.source == self.source)
            and (self.since is None or label.known_at >= self.since)
            and (self.until is None or label.known_at < self.until)
        )


def purge_filter(
    source: str | None,
    entity: tuple[str, object] | None,
    since: str | datetime | None,
    until: str | datetime | None,
) -> PurgeFilter:
    """Whom a purge is about; nobody at all is refused."""
    if not ((source or "").strip() or entity or since or until):
        raise InvalidInput("purge wants the name of a source, an entity or a time")
    first, last = (as_utc(time) if time else None for time in (since, until))
    return PurgeFilter(source, entity, first, last)


def withdraw_labels(
    playbook: BulletPlaybook,
    source: str | None = None,
    by: str = "user",
    *,
    entity: tuple[str, object] | None = None,
    since: str | datetime | None = None,
    until: str | datetime | None = None,
) -> Purged:
    """Take back labels, what they moved, the bullets learned from them, and what these displaced.

    Retired bullets can be restored one by one, or all by a rollback to the version before; the
    labels stay in the ledger's history. Weights are fitted anew by `Curator.tend`.
    """
    suspect = purge_filter(source, entity, since, until)
    why = suspect.describe()
    with playbook.writing() as writer:
        labels = _taken_back(writer.connection, suspect)
        touched = _ever_said(writer.connection, suspect)
        gone = [
            b
            for b in playbook
            if b.status in ("active", "candidate") and _from(b, suspect, touched)
        ]
        if not (gone or labels):
            raise PlaybookError(f"nothing in this playbook came from {why}")
        restored = _displaced(playbook, writer.connection, suspect, touched) if touched else []
        for bullet in gone:
            playbook.set_status(bullet.id, "retired", f"{PURGED}{why}", by)
        for case, instead in labels.items():
            playbook.withdraw(case, f"purge of {why}", instead)
        for bullet in restored:
            playbook.set_status(
                bullet.id, "active", f"was retired beside what is {PURGED}{why}", by
            )
    return Purged(tuple(b.id for b in gone), len(labels), tuple(b.id for b in restored))


def _from(bullet: Bullet, suspect: PurgeFilter, touched: Mapping[str, int]) -> bool:
    """Whether a bullet was learned from one of the labels, or imported from the source."""
    origin = bullet.origin
    if origin.get("decision") in touched:
        return suspect.source in (None, origin.get("label_source"))
    if origin.get("imported_from"):
        return suspect.matches_import(origin, bullet.created_at)
    if suspect.entity or suspect.since or suspect.until:
        return False
    return suspect.source == origin.get("label_source")


def _displaced(
    playbook: BulletPlaybook,
    connection: sa.Connection,
    suspect: PurgeFilter,
    touched: Mapping[str, int],
) -> list[Bullet]:
    """Bullets that the curator retired after the first of the labels: they did it, perhaps."""
    last: dict[int, Any] = {}
    for row in connection.execute(sa.select(history).order_by(history.c.version)):
        last[row.bullet] = row
    first = min(touched.values())
    return [
        b
        for b in playbook
        if b.status == "retired"
        and last[b.number].source == "curator"
        and last[b.number].position > first
        and not _from(b, suspect, touched)
    ]


def _ever_said(connection: sa.Connection, suspect: PurgeFilter) -> dict[str, int]:
    """The cases on which the suspect ever had a say, and where in the ledger's order."""
    query = sa.select(outcomes, cases.c.fields).join(cases, cases.c.id == outcomes.c.case)
    found: dict[str, int] = {}
    for row in connection.execute(query.order_by(outcomes.c.position)):
        if suspect.matches_label(row) and row.label and _is_of(row.fields, suspect.entity):
            found.setdefault(row.case, row.position)
    return found


def _is_of(fields: str, entity: tuple[str, object] | None) -> bool:
    return entity is None or has_value(json.loads(fields), *entity)


def _taken_back(connection: sa.Connection, suspect: PurgeFilter) -> Mapping[str, Label | None]:
    """The cases on which the suspect has a say, and what stands without it.

    What was withdrawn before never stands again.
    """
    query = sa.select(outcomes, cases.c.fields).join(cases, cases.c.id == outcomes.c.case)
    others: dict[str, Label] = {}
    said: set[str] = set()
    for row in connection.execute(query.order_by(outcomes.c.case, outcomes.c.revision)):
        if row.label is None:
            said.discard(row.case)
            others.pop(row.case, None)
        elif suspect.matches_label(row) and _is_of(row.fields, suspect.entity):
            said.add(row.case)
        else:
            others[row.case] = Label(row.label, row.source, row.known_at)
    return {case: others.get(case) for case in sorted(said)}
