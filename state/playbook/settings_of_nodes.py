"""Tasks and policies of nodes: every version stays as it was set, and the newest one counts.

A task follows from what was set, or has grown from labelled cases.
"""

import json
from collections.abc import Iterable, Mapping, Sequence
from functools import cache
from typing import Any, Final, cast

import sqlalchemy as sa

from acegraph.state.database.base import Database
from acegraph.state.database.encoding import to_text
from acegraph.state.database.writer import Fetch, LedgerWriter, Statement, fetch_by
from acegraph.state.errors import OutdatedVersion, quoted
from acegraph.state.task.card_payments import CARD_PAYMENTS
from acegraph.state.task.growth import cases_to_look_at, grown
from acegraph.state.task.task import Task
from acegraph.state.values.bullet import Bullet
from acegraph.state.values.cases import CaseTable
from acegraph.state.values.times import now
from acegraph.state.values.transaction import clean_text

Stored = tuple[int, Mapping[str, Any]]
"""The number of a version, and its content; nobody changes the content."""
_CACHED: Final = "task"


def newest(fetch: Fetch, table: sa.Table, node: str) -> Stored | None:
    """The newest version of what is set for a node; None if nothing is."""
    rows = fetch(_newest_of(table), node)
    return (rows[0][0], json.loads(rows[0][1])) if rows else None


@cache
def _newest_of(table: sa.Table) -> Statement:
    later, columns = table.alias(), (table.c[n] for n in ("version", "content", "set_by", "at"))
    is_later = sa.and_(later.c.node == table.c.node, later.c.version > table.c.version)
    of_node = sa.select(*columns).where(table.c.node == sa.bindparam("node"))
    return Statement(of_node.where(~sa.exists().where(is_later)))


def append_version(
    writer: LedgerWriter,
    table: sa.Table,
    node: str,
    content: Mapping[str, object],
    expected_version: int,
    said: Mapping[str, object],
) -> int:
    """Store the version after the expected one, unless that is not the newest; give its number.

    Writers queue for the ledger, so of two that expect the same version one finds the other's.
    """
    rows = fetch_by(writer.connection)(_newest_of(table), node)
    version, _, by, at = rows[0] if rows else (0, "", "", "")
    if version != expected_version:
        set_by = f", which {by} set at {at[:16]}" if rows else ""
        raise OutdatedVersion(
            f"{table.name} of node {quoted(node)}: version {expected_version} was expected as the "
            f"newest and version {version} is{set_by}; nothing was changed: look at it and set "
            "yours again"
        )
    texts = {name: clean_text(v) if isinstance(v, str) else v for name, v in said.items()}
    row = {"node": node, "version": version + 1, "at": now(), **texts}
    writer.add(table, [{**row, "content": to_text(dict(content))}])
    return version + 1


def versions(database: Database, table: sa.Table, node: str) -> list[dict[str, Any]]:
    """Every version of what was set for a node, oldest first."""
    columns = [column for column in table.c if column.name not in ("node", "position", "hash")]
    query = sa.select(*columns).where(table.c.node == node).order_by(table.c.version)
    with database.reading() as connection:
        rows = connection.execute(query).mappings()
        return [{**row, "content": json.loads(row["content"])} for row in rows]


def task_of(
    stored: Stored | None, table: CaseTable, bullets: Iterable[Bullet], version: int
) -> Task:
    """The task of a node as of some labelled cases and a version of its bullets.

    It follows from them and from what was set, so that every process has the same one.
    """
    key = (stored and stored[0], cases_to_look_at(len(table)), version)
    kept = table.shared.get(_CACHED)
    if isinstance(kept, tuple) and kept[0] == key:
        return cast(Task, kept[1])
    base = Task.from_json(stored[1]) if stored else CARD_PAYMENTS
    conditions = (b.condition for b in bullets if b.condition)
    task = grown(base, table, [test for one in conditions for test in one.comparisons])
    table.shared[_CACHED] = (key, task)
    return task


def rules_that_lose(older: Task, newer: Task, active: Iterable[Bullet]) -> list[tuple[Bullet, str]]:
    """The rules that test a field which another task has not or has otherwise, and why."""
    changed = newer.differs(older)
    found = []
    for bullet in active:
        tested = bullet.condition.fields if bullet.condition else ()
        bases = [name if name in older.by_name else name.rpartition(".")[0] for name in tested]
        why = [f"{name} {changed[name]}" for name in dict.fromkeys(bases) if name in changed]
        if why:
            found.append((bullet, ", ".join(why)))
    return found


def in_words(changed: Sequence[tuple[Bullet, str]]) -> str:
    """Why a task is refused: which rules would lose what they test."""
    lost = "; ".join(f"{bullet.id} ({why})" for bullet, why in changed)
    return (
        f"active rules test what this task changes: {lost}; keep these fields as they are, "
        "or set_task(..., retire=True) makes candidates of the rules"
    )
