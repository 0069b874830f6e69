"""A playbook as it was when a decision was made, or at another position of the ledger.

It is a playbook of its own, in memory, with the bullets, the counters and the labelled cases of
that moment. Nothing that was written later is in it.
"""

from dataclasses import replace

import sqlalchemy as sa

from acegraph.state.database import tables
from acegraph.state.errors import InvalidInput, PlaybookError
from acegraph.state.ledger.counters import adjusted, bullet_texts, count, was_there
from acegraph.state.ledger.row_mapping import as_in_history, from_row, to_row
from acegraph.state.playbook.playbook import BulletPlaybook
from acegraph.state.values import Bullet, CounterDeltas, add_deltas


def as_of(playbook: BulletPlaybook, until: int) -> BulletPlaybook:
    """The playbook at a position of the ledger, as `clock.position` and what a decision has `seen`
    say it.
    """
    if not isinstance(until, int):
        raise InvalidInput("as_of wants a position of the ledger: a decision has it as `seen`")
    with playbook.database.snapshot() as connection:
        newest_pruned = connection.scalar(sa.select(sa.func.max(tables.adjustments.c.covers))) or 0
        if newest_pruned > until:
            raise PlaybookError(
                f"what the playbook was at position {until} cannot be told any more: decisions up "
                "to a later one were pruned"
            )
        counters = add_deltas(count(connection, until), adjusted(connection, until))
        were_there = was_there(tables.history, until)
        bullets = _bullets(connection, were_there, counters)
        newest = sa.select(sa.func.max(tables.history.c.version)).where(were_there)
        version = connection.scalar(newest)
        kept = (tables.cases, tables.outcomes, tables.tasks, tables.policies)
        rows = {table: _rows(connection, table, until) for table in kept}
    past = BulletPlaybook()
    with past.writing() as writer:
        writer.version = version or 0
        for bullet in bullets:
            writer.add_bullet(to_row(bullet))
        past.adjust(writer, counters, f"as of position {until}")
        for table, were in rows.items():
            writer.add(table, were)
    past.invalidate()
    past.share_vectors(playbook)
    return past


def _rows(connection: sa.Connection, table: sa.Table, until: int) -> list[dict[str, object]]:
    """The rows of a table that were there, oldest first."""
    query = sa.select(table).where(was_there(table, until)).order_by(table.c.position)
    if table is tables.cases:  # those without a label are no evidence
        query = query.where(table.c.id.in_(sa.select(tables.outcomes.c.case)))
    return [dict(row) for row in connection.execute(query).mappings()]


def _bullets(
    connection: sa.Connection, were_there: sa.ColumnElement[bool], counters: CounterDeltas
) -> list[Bullet]:
    today = {b.number: b._asdict() for b in connection.execute(sa.select(tables.bullets))}
    bullets = []
    for row in bullet_texts(connection, were_there):
        helpful, harmful, selected = counters.get(row.bullet, (0, 0, 0))
        bullet = replace(
            as_in_history(from_row(today[row.bullet]), row),
            helpful_count=helpful,
            harmful_count=harmful,
            times_selected=selected,
            weight=None,  # today's weight was fitted on today's labels
        )
        bullets.append(bullet)
    return bullets
