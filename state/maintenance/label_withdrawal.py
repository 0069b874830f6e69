"""Take back the labels and bullets that one source, entity or import brought in.

Learning again without them is in `graph/operations/purge.py`.
"""

import json
import logging
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime

import sqlalchemy as sa

from acegraph.state.database.tables import cases, history, outcomes
from acegraph.state.errors import InvalidInput, PlaybookError
from acegraph.state.playbook.playbook import BulletPlaybook
from acegraph.state.values.bullet import Bullet
from acegraph.state.values.decision import PURGED, Label
from acegraph.state.values.notation import has_value
from acegraph.state.values.times import as_utc

logger = logging.getLogger(__name__)


@dataclass(frozen=True)
class Purged:
    """What a purge took back."""

    bullets: tuple[str, ...]
    labels: int
    restored: tuple[str, ...] = ()
    """Bullets that had been retired because of what was taken back."""
    learned: tuple[str, ...] = ()
    """Bullets that are learned when the labels taken back are left out."""
    note: str = ""
    """Why the playbook may differ from one that never saw those labels; empty if it does not."""


@dataclass(frozen=True)
class PurgeFilter:
    """Which labels and imports a purge takes back: those that match every field that is set."""

    source: str | None = None
    """The source of a label (`chargeback`, `feedback`), or the file a bullet was imported from."""
    entity: tuple[str, object] | None = None
    """A field and its value: labels of one customer, merchant or card."""
    since: str | None = None
    until: str | None = None
    """When the labels became known: from `since` on, before `until`."""

    def describe(self) -> str:
        """The filter in words for the history, without the entity's value: it may be erased."""
        parts = [
            f"source {self.source!r}" if self.source else "",
            f"one {self.entity[0]}" if self.entity else "",
            f"since {self.since[:10]}" if self.since else "",
            f"until {self.until[:10]}" if self.until else "",
        ]
        return ", ".join(part for part in parts if part)

    def matches_import(self, origin: Mapping[str, object], at: str) -> bool:
        """Whether a bullet with this origin, added at this time, came from the imported file."""
        return (
            "imported_from" in origin
            and self.entity is None
            and self.source in (None, origin["imported_from"])
            and (self.since or at) <= at
            and (self.until is None or at < self.until)
        )

    def matches_label(self, label: Label) -> bool:
        """Whether source and time of a label match; the entity is not looked at."""
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
    """The filter of a purge; one that would match everything is refused."""
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
    """Withdraw labels, retire the bullets learned from them, restore those retired because of them.

    Retired bullets can be restored one by one, or all by a rollback to the version before; the
    labels stay in the ledger's history. `Curator.tend` fits the weights again.
    """
    purge = purge_filter(source, entity, since, until)
    why = purge.describe()
    with playbook.writing() as writer:
        labels, touched = _purged_labels(writer.connection, purge)
        in_use = [b for b in playbook if b.status in ("active", "candidate")]
        gone = [b for b in in_use if _came_from(b, purge, touched)]
        if not (gone or labels):
            raise PlaybookError(f"nothing in this playbook came from {why}")
        restored = _displaced(playbook, writer.connection, purge, touched) if touched else []
        for bullet in gone:
            playbook.set_status(bullet.id, "retired", f"{PURGED}{why}", by)
        for case, instead in labels.items():
            playbook.withdraw(case, f"purge of {why}", instead)
        reason = f"was retired beside what is {PURGED}{why}"
        for bullet in restored:
            playbook.set_status(bullet.id, "active", reason, by)
    counts = len(labels), len(gone), len(restored)
    logger.info("withdrew %d labels, retired %d bullets, restored %d", *counts)
    return Purged(tuple(b.id for b in gone), len(labels), tuple(b.id for b in restored))


def _came_from(bullet: Bullet, purge: PurgeFilter, touched: Mapping[str, int]) -> bool:
    """Whether a bullet was learned from a label, or imported from a file, that is purged."""
    origin = bullet.origin
    if origin.get("decision") in touched:
        return purge.source in (None, origin.get("label_source"))
    if origin.get("imported_from"):
        return purge.matches_import(origin, bullet.created_at)
    if purge.entity or purge.since or purge.until:
        return False
    return purge.source == origin.get("label_source")


def _displaced(
    playbook: BulletPlaybook,
    connection: sa.Connection,
    purge: PurgeFilter,
    touched: Mapping[str, int],
) -> list[Bullet]:
    """Bullets that the curator retired after the first purged label, perhaps because of it."""
    changes = connection.execute(sa.select(history).order_by(history.c.version))
    last = {row.bullet: row for row in changes}
    first = min(touched.values())
    return [
        b
        for b in playbook
        if b.status == "retired"
        and last[b.number].source == "curator"
        and last[b.number].position > first
        and not _came_from(b, purge, touched)
    ]


def _purged_labels(
    connection: sa.Connection, purge: PurgeFilter
) -> tuple[dict[str, Label | None], dict[str, int]]:
    """The cases to withdraw, with the other label that stays, and the cases ever touched.

    A touched case comes with the position of its first purged label. A label that was withdrawn
    before never comes back.
    """
    query = sa.select(outcomes, cases.c.fields).join(cases, cases.c.id == outcomes.c.case)
    others: dict[str, Label] = {}
    purged: set[str] = set()
    touched: dict[str, int] = {}
    for row in connection.execute(query.order_by(outcomes.c.case, outcomes.c.revision)):
        if row.label is None:
            purged.discard(row.case)
            others.pop(row.case, None)
            continue
        label = Label(row.label, row.source, row.known_at)
        if purge.matches_label(label) and _is_of(row.fields, purge.entity):
            purged.add(row.case)
            touched.setdefault(row.case, row.position)
        else:
            others[row.case] = label
    return {case: others.get(case) for case in sorted(purged)}, touched


def _is_of(fields: str, entity: tuple[str, object] | None) -> bool:
    return entity is None or has_value(json.loads(fields), *entity)
