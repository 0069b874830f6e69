"""Versions of a playbook: shown, compared and restored. A date is looked up in `as_of.py`."""

import logging
from dataclasses import dataclass, replace
from typing import Final

import sqlalchemy as sa

from acegraph.state.database.tables import history
from acegraph.state.errors import InvalidInput, quoted
from acegraph.state.ledger.counters import bullet_texts
from acegraph.state.ledger.row_mapping import as_in_history
from acegraph.state.playbook.playbook import BulletPlaybook
from acegraph.state.values import Bullet, number_of

_ROLLBACK: Final = "rolled back"
logger = logging.getLogger(__name__)


@dataclass(frozen=True)
class Difference:
    """One bullet that differs between two versions."""

    bullet_id: str
    before: Bullet | None
    after: Bullet | None

    @property
    def change(self) -> str:
        """What happened to the bullet."""
        if self.before is None:
            return "added"
        if self.after is None:
            return "removed"
        if self.before.content != self.after.content:
            return "reworded"
        return f"{self.before.status} -> {self.after.status}"


def bullets_at(playbook: BulletPlaybook, version: int) -> list[Bullet]:
    """The bullets of a version; their counters are today's."""
    with playbook.database.snapshot() as connection:
        newest = connection.scalar(sa.select(sa.func.max(history.c.version))) or 0
        if not 0 <= version <= newest:
            raise InvalidInput(f"no version {version}; the playbook has versions 0 to {newest}")
        rows = bullet_texts(connection, history.c.version <= version)
    return [
        as_in_history(playbook.get_bullet(f"b{row.bullet}"), row)
        for row in rows
        if row.status != "removed"
    ]


def diff(playbook: BulletPlaybook, before: int, after: int) -> list[Difference]:
    """The bullets that differ between two versions."""
    old = {b.id: b for b in bullets_at(playbook, before)}
    new = {b.id: b for b in bullets_at(playbook, after)}
    return [
        Difference(i, old.get(i), new.get(i))
        for i in sorted(old.keys() | new.keys(), key=number_of)
        if _content(old.get(i)) != _content(new.get(i))
    ]


def rollback(
    playbook: BulletPlaybook, version: int, reason: str = "", source: str = "user"
) -> list[Difference]:
    """Make the bullets those of an earlier version; this change can be rolled back too."""
    if not isinstance(version, int):
        raise InvalidInput(f"a version is a whole number, not {quoted(version)}")
    with playbook.writing() as writer:
        changes = diff(playbook, writer.version, version)
        why = f"{_ROLLBACK} to version {version}" + (f": {reason}" if reason else "")
        for change in changes:
            now = playbook.get_bullet(change.bullet_id)
            then = change.after or replace(now, status="removed")
            then = replace(then, weight=now.weight)  # evidence of today, not part of a version
            playbook.rewrite(writer, [then])
            playbook.log(writer, then, _ROLLBACK, why, source)
    logger.info("rolled %d bullets back to version %d", len(changes), version)
    return changes


def _content(bullet: Bullet | None) -> tuple[object, ...] | None:
    return (bullet.content, bullet.condition, bullet.status) if bullet else None
