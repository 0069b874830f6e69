"""A playbook as it was: at a time, or when a decision was made.

The past is a playbook of its own, in memory: the bullets as they read then, the counters as they
stood, and the labelled cases that were known. What became known later is not in it.
"""

from dataclasses import replace
from datetime import datetime
from typing import Any

import sqlalchemy as sa

from acegraph.state.database import tables
from acegraph.state.errors import PlaybookError
from acegraph.state.ledger.counters import AsOf, adjusted, bullet_texts, count, is_current_label
from acegraph.state.ledger.row_mapping import from_row, read_condition, to_row
from acegraph.state.playbook.playbook import BulletPlaybook
from acegraph.state.values.bullet import Bullet
from acegraph.state.values.cases import EVIDENCE_WINDOW
from acegraph.state.values.decision import add_deltas
from acegraph.state.values.times import as_utc
from acegraph.state.values.verdict import JUDGE


def as_of(playbook: BulletPlaybook, moment: str | datetime | int) -> BulletPlaybook:
    """The playbook at a time (ISO 8601), or at a position of the ledger.

    By time, a label counts from when it was known; by position, from when it was written.
    """
    until = AsOf(position=moment) if isinstance(moment, int) else AsOf(time=as_utc(moment))
    with playbook.database.snapshot() as connection:
        _refuse_pruned(connection, until)
        stood = add_deltas(count(connection, until), adjusted(connection, until))
        bullets = _bullets(connection, until, stood)
        version = connection.scalar(
            sa.select(sa.func.max(tables.history.c.version)).where(
                until.holds(tables.history, "at")
            )
        )
        cases, outcomes = _labelled(connection, until)
    past = BulletPlaybook()
    with past.writing() as writer:
        writer.version = version or 0
        for bullet in bullets:
            writer.add_bullet(to_row(bullet))
        past.adjust(writer, stood, f"as of {until.describe()}")
        writer.add(tables.cases, cases)
        writer.add(tables.outcomes, outcomes)
    past.invalidate()
    past.share_vectors(playbook)
    return past


def _bullets(
    connection: sa.Connection, until: AsOf, stood: dict[int, tuple[int, int, int]]
) -> list[Bullet]:
    today = {b.number: b._asdict() for b in connection.execute(sa.select(tables.bullets))}
    found = []
    for number, content, condition, status in bullet_texts(
        connection, until.holds(tables.history, "at")
    ):
        helpful, harmful, selected = stood.get(number, (0, 0, 0))
        found.append(
            replace(
                from_row(today[number]),
                content=content,
                condition=read_condition(condition),
                status=status,
                helpful_count=helpful,
                harmful_count=harmful,
                times_selected=selected,
                weight=None,  # what is fitted today knows today's labels
            )
        )
    return found


def _labelled(
    connection: sa.Connection, until: AsOf
) -> tuple[list[dict[str, Any]], list[dict[str, Any]]]:
    """The newest labelled cases that were known, and their labels, oldest first."""
    cases, newest = tables.cases, tables.outcomes
    found = connection.execute(
        sa.select(cases, newest.c.label, newest.c.source, newest.c.known_at)
        .join(newest, newest.c.case == cases.c.id)
        .where(
            is_current_label(newest, until),
            newest.c.label.is_not(None),
            newest.c.source != JUDGE,
            cases.c.evidence == 1,
        )
        .order_by(newest.c.known_at.desc(), newest.c.position.desc())
        .limit(EVIDENCE_WINDOW)
    ).mappings()
    rows = [dict(row) for row in found][::-1]
    labels = [
        {"case": row["id"], "revision": 1}
        | {name: row.pop(name) for name in ("label", "source", "known_at")}
        for row in rows
    ]
    return rows, labels


def _refuse_pruned(connection: sa.Connection, until: AsOf) -> None:
    kept = tables.adjustments
    covers = sa.select(sa.func.max(kept.c.covers), sa.func.max(kept.c.at)).where(kept.c.covers > 0)
    position, time = connection.execute(covers).one()
    if position is None:
        return
    if until.position is not None:
        is_gone = position > until.position
    else:  # up to the prune itself the pruned cases were evidence
        at = connection.scalar(sa.select(sa.func.max(tables.pruned.c.at)))
        is_gone = max(time, at or "") > (until.time or "")
    if is_gone:
        raise PlaybookError(
            f"what the playbook was at {until.describe()} cannot be told any more: "
            f"decisions up to {time[:10]} were pruned"
        )
