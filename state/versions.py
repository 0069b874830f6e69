"""Versions of a playbook: shown, compared, restored, and cleaned of what one source brought in.

A version covers content, condition and status of the bullets. Counters are evidence: no operation
here rolls them back, but a purge takes back the labels of its source and with them what they moved.
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, Final

import sqlalchemy as sa

from acegraph.state.bullet import Bullet
from acegraph.state.errors import InvalidInput, PlaybookError
from acegraph.state.ledger import Label
from acegraph.state.playbook import BulletPlaybook
from acegraph.state.rows import read_condition
from acegraph.state.tables import history, outcomes
from acegraph.state.tally import contents

_ROLLBACK: Final = "rolled back"


@dataclass(frozen=True)
class Difference:
    """One bullet that two versions do not have in common."""

    bullet_id: str
    before: Bullet | None
    after: Bullet | None

    @property
    def change(self) -> str:
        """What became of it."""
        if self.before is None:
            return "added"
        if self.after is None:
            return "removed"
        if self.before.content != self.after.content:
            return "reworded"
        return f"{self.before.status} -> {self.after.status}"


@dataclass(frozen=True)
class Purged:
    """What a purge took back."""

    bullets: tuple[str, ...]
    labels: int


def bullets_at(playbook: BulletPlaybook, version: int) -> list[Bullet]:
    """The bullets of a version; their counters are today's."""
    with playbook.database.snapshot() as connection:
        _check(version, connection)
        rows = contents(connection, history.c.version <= version)
    return [
        replace(
            playbook.get_bullet(f"b{number}"),
            content=content,
            condition=read_condition(condition),
            status=status,
        )
        for number, content, condition, status in rows
        if status != "removed"
    ]


def diff(playbook: BulletPlaybook, before: int, after: int) -> list[Difference]:
    """The bullets that differ between two versions."""
    old = {b.id: b for b in bullets_at(playbook, before)}
    new = {b.id: b for b in bullets_at(playbook, after)}
    return [
        Difference(i, old.get(i), new.get(i))
        for i in sorted(old.keys() | new.keys(), key=lambda i: int(i[1:]))
        if _content(old.get(i)) != _content(new.get(i))
    ]


def rollback(
    playbook: BulletPlaybook, version: int, reason: str = "", source: str = "user"
) -> list[Difference]:
    """Make the bullets those of an earlier version. Itself a change: it can be rolled back too."""
    with playbook.writing() as page:
        changes = diff(playbook, page.version, version)
        why = f"{_ROLLBACK} to version {version}" + (f": {reason}" if reason else "")
        for change in changes:
            now = playbook.get_bullet(change.bullet_id)
            then = change.after or replace(now, status="removed")
            # A weight was fitted beside bullets that may be gone.
            then = replace(then, weight=None if then.status != now.status else now.weight)
            playbook.rewrite(page, [then])
            playbook.log(page, then, _ROLLBACK, why, source)
    return changes


def purge(playbook: BulletPlaybook, source: str, by: str = "user") -> Purged:
    """Take back what a source brought in: its labels, and the bullets learned from them.

    The source is that of a label (`chargeback`, `feedback`), or where a bullet was imported from.
    Retired bullets can be restored one by one, or all by a rollback to the version before.
    """
    if not source.strip():
        raise InvalidInput("purge wants the name of a source")
    with playbook.writing() as page:
        gone = [
            b
            for b in playbook
            if b.status != "retired"
            and source in (b.origin.get("label_source"), b.origin.get("imported_from"))
        ]
        for bullet in gone:
            playbook.set_status(bullet.id, "retired", f"purged: source {source!r}", by)
        standing = _standing_labels(page.connection, source)
        for case, instead in standing.items():
            playbook.withdraw(case, f"purge of {source}", instead)
    if not (gone or standing):
        raise PlaybookError(f"nothing in this playbook came from source {source!r}")
    return Purged(tuple(b.id for b in gone), len(standing))


def _standing_labels(connection: sa.Connection, source: str) -> Mapping[str, Label | None]:
    """The cases on which the source's word stands, and what stood before it."""
    ever = sa.select(outcomes.c.case).where(outcomes.c.source == source)
    rows = connection.execute(
        sa.select(outcomes)
        .where(outcomes.c.case.in_(ever))
        .order_by(outcomes.c.case, outcomes.c.revision)
    )
    before: dict[str, Label | None] = {}
    standing: set[str] = set()
    for row in rows:
        if row.source == source:
            standing.add(row.case)
        else:
            standing.discard(row.case)
            before[row.case] = Label(row.label, row.source, row.known_at) if row.label else None
    return {case: before.get(case) for case in sorted(standing)}


def _content(bullet: Bullet | None) -> tuple[Any, ...] | None:
    return (bullet.content, bullet.condition, bullet.status) if bullet else None


def _check(version: int, connection: sa.Connection) -> None:
    newest = connection.scalar(sa.select(sa.func.max(history.c.version))) or 0
    if not 0 <= version <= newest:
        raise InvalidInput(f"no version {version}; the playbook has versions 0 to {newest}")
