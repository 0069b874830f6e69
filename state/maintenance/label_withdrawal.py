"""Take back the labels and bullets that a source, entities or an import brought in.

Learning again without them is in `graph/operations/learning/purge.py`.
"""

import json
import logging
from collections import Counter
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from typing import Final

import sqlalchemy as sa

from acegraph.state.database.tables import cases, history, outcomes, pruned
from acegraph.state.errors import InvalidInput, PlaybookError
from acegraph.state.playbook.playbook import BulletPlaybook
from acegraph.state.values import PURGED, REFINEMENT, Bullet, Label, kind_of, written

logger = logging.getLogger(__name__)

_PRUNED_PART: Final = "a part of its decisions was pruned: what they counted for stays"
_NEVER: Final = 2**62
"""A position that no row has."""
Entity = tuple[str, object]
"""A field and its value: one customer, merchant or card."""


@dataclass(frozen=True)
class Purged:
    """What a purge took back."""

    bullets: tuple[str, ...]
    labels: int
    restored: tuple[str, ...] = ()
    """Bullets that had been retired because of what was taken back."""
    learned: tuple[str, ...] = ()
    """Bullets of the set of rules that was found for the labels that are left."""
    later_labels: int = 0
    """Labels of others that came after the first that was taken back, and were learned from beside
    it."""
    note: str = ""
    """What could not be taken back; empty if all was."""


@dataclass(frozen=True)
class PurgeFilter:
    """Which labels and imports a purge takes back: those that match every field that is set."""

    source: str | None = None
    """The source of a label (`chargeback`, `feedback`), or the file a bullet was imported from."""
    entities: tuple[Entity, ...] = ()
    """Fields with their values: labels of any of these customers, merchants or cards."""

    def __post_init__(self) -> None:
        if not ((self.source or "").strip() or self.entities):
            raise InvalidInput("purge wants the name of a source or an entity")

    def describe(self) -> str:
        """The filter in words for the history, without the entity's value: it may be erased."""
        counts = Counter(name for name, _ in self.entities)
        parts = [f"source {self.source!r}"] if self.source else []
        parts += [f"one {name}" if n == 1 else f"{n} of {name}" for name, n in counts.items()]
        return ", ".join(parts)

    def matches_bullet(self, bullet: Bullet, touched: Collection[str]) -> bool:
        """Whether a bullet is of a touched label, of the source, or of an imported file."""
        origin = bullet.origin
        if origin.get("decision") in touched:
            return self._is_of(origin.get("label_source"))
        source = origin.get("imported_from") or origin.get("label_source")
        return not self.entities and self._is_of(source)

    def _is_of(self, source: object) -> bool:
        """Whether it is this source, this kind of source, or what this user sent (`@NAME`)."""
        kinds = (kind_of(source), source[source.rfind("@") :]) if isinstance(source, str) else ()
        return self.source in (None, source, *kinds)

    def matches_label(self, label: Label, fields: Mapping[str, object]) -> bool:
        """Whether a label of a transaction with these fields is taken back."""
        return self._is_of(label.source) and (
            not self.entities
            or any(
                fields.get(name) is not None and written(fields[name]) == written(value)
                for name, value in self.entities
            )
        )


def withdraw_labels(playbook: BulletPlaybook, purge: PurgeFilter, by: str = "user") -> Purged:
    """Withdraw labels, retire the bullets learned from them, restore those retired because of them.

    Retired bullets can be restored one by one, or all by a rollback to the version before; the
    labels stay in the ledger's history. `Curator.tend` fits the weights again.
    """
    why = purge.describe()
    with playbook.writing() as writer:
        was_pruned = writer.connection.scalar(sa.select(pruned.c.case).limit(1)) is not None
        labels, touched = _purged_labels(writer.connection, purge)
        in_use = [b for b in playbook if b.status in ("active", "candidate")]
        gone = [b for b in in_use if purge.matches_bullet(b, touched)]
        if not (gone or touched):  # those withdrawn before are learned from again
            raise PlaybookError(f"nothing in this playbook came from {why}")
        suspect = {b.number for b in playbook if purge.matches_bullet(b, touched)}
        first = min(touched.values(), default=_NEVER)
        restored = _displaced(playbook, writer.connection, suspect, first)
        cases_after = sa.select(outcomes.c.case).where(outcomes.c.position > first)
        later = sum(case not in touched for case in writer.connection.scalars(cases_after))
        for bullet in gone:
            playbook.set_status(bullet.id, "retired", f"{PURGED}{why}", by)
        for case, instead in labels.items():
            playbook.withdraw(case, f"purge of {why}", instead)
        reason = f"{PURGED}{why}; it was retired beside that"
        for bullet in restored:
            playbook.set_status(bullet.id, "active", reason, by)
    counts = len(labels), len(gone), len(restored)
    logger.info("withdrew %d labels, retired %d bullets, restored %d", *counts)
    taken = tuple(b.id for b in gone), len(labels), tuple(b.id for b in restored)
    return Purged(*taken, later_labels=later, note=_PRUNED_PART if was_pruned else "")


def _displaced(
    playbook: BulletPlaybook, connection: sa.Connection, suspect: Collection[int], first: int
) -> list[Bullet]:
    """Bullets that the curator retired after the first purged label."""
    changes = list(connection.execute(sa.select(history).order_by(history.c.version)))
    last = {row.bullet: row for row in changes}
    refined = {b.number: b.origin.get(REFINEMENT) for b in playbook if b.number not in suspect}
    sets: dict[int, int] = {}  # of refinements that stay: between which versions they were adopted
    for row in changes:
        before = refined.get(row.bullet)
        if row.change == "added" and isinstance(before, int):
            sets[before] = row.version
    return [
        b
        for b in playbook
        if b.status == "retired"
        and last[b.number].source == "curator"
        and last[b.number].position > first
        and b.number not in suspect
        and not any(v < last[b.number].version <= until for v, until in sets.items())
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
        if purge.matches_label(label, json.loads(row.fields)):
            purged.add(row.case)
            touched.setdefault(row.case, row.position)
        else:
            others[row.case] = label
    return {case: others.get(case) for case in sorted(purged)}, touched
