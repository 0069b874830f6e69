"""Retention: old decisions leave the ledger, what they counted for stays.

Their outcomes are folded into one opening balance per bullet, so that the counters remain what the
ledger says; their ids are kept, so that none is ever counted a second time.
"""

from datetime import datetime

import sqlalchemy as sa

from acegraph.state.database import tables
from acegraph.state.database.encoding import chunks
from acegraph.state.ledger.counters import count
from acegraph.state.playbook.playbook import BulletPlaybook
from acegraph.state.playbook.vector_store import forget_vectors
from acegraph.state.values.times import as_utc, now


def prune(playbook: BulletPlaybook, decisions_before: str | datetime) -> int:
    """Remove the decisions made before a time, with their cases and labels; gives how many."""
    before = as_utc(decisions_before)
    decisions, outcomes, selections = tables.decisions, tables.outcomes, tables.selections
    with playbook.writing() as writer:
        old = list(
            writer.connection.scalars(
                sa.select(decisions.c.case)
                .where(decisions.c.decided_at < before)
                .order_by(decisions.c.position)
            )
        )
        if not old:
            return 0
        balance = count(writer.connection, decided_before=before)
        is_old = sa.select(decisions.c.case).where(decisions.c.decided_at < before)
        covers, at = 0, ""
        for table, time in ((decisions, "decided_at"), (outcomes, "known_at")):
            last = sa.select(sa.func.max(table.c.position), sa.func.max(table.c[time]))
            position, newest = writer.connection.execute(last.where(table.c.case.in_(is_old))).one()
            covers, at = max(covers, position or 0), max(at, newest or "")
        # A balance of nothing is noted too: it says how far back nobody can look any more.
        playbook.adjust(writer, balance or {0: (0, 0, 0)}, f"pruned before {before}", at, covers)
        writer.add(tables.pruned, [{"case": case, "at": now()} for case in old])
        for part in chunks(old):
            for table in (selections, outcomes, tables.lessons, decisions):
                writer.remove(table, table.c.case.in_(part))
            writer.remove(tables.rights, tables.rights.c.case.in_(part) & _is_overtaken())
            writer.remove(tables.cases, tables.cases.c.id.in_(part))
        forget_vectors(writer)
        playbook.invalidate_cases()
    return len(old)


def _is_overtaken() -> sa.ColumnElement[bool]:
    """The last right decision of a node stays: the next one is counted on from it."""
    rights, later = tables.rights, tables.rights.alias("later")
    return sa.exists().where(later.c.node == rights.c.node, later.c.number > rights.c.number)
