"""Retention: old decisions leave the ledger, and what they counted stays.

Their counts become one adjustment per bullet, so that the counters still follow from the ledger.
Their ids are kept, so that no decision is ever counted a second time. Sightings stay as far back
as payments from then on count.
"""

import logging
from datetime import UTC, datetime, timedelta

import sqlalchemy as sa

from acegraph.state.database import tables
from acegraph.state.database.encoding import as_utc, chunks, now
from acegraph.state.database.writer import LedgerWriter
from acegraph.state.ledger.counters import count
from acegraph.state.playbook.bullets import forget_texts
from acegraph.state.playbook.playbook import BulletPlaybook
from acegraph.state.values import WINDOWS

_OF_CASES = (tables.selections, tables.outcomes, tables.lessons, tables.answers, tables.rights)
_NODES = sa.select(tables.sightings.c.node).distinct()
logger = logging.getLogger(__name__)


def prune(playbook: BulletPlaybook, decisions_before: str | datetime, by: str = "user") -> int:
    """Remove the decisions made before a time, with their cases and labels; gives how many."""
    before = as_utc(decisions_before)
    decisions, outcomes = tables.decisions, tables.outcomes
    is_old = sa.select(decisions.c.case).where(decisions.c.decided_at < before)
    with playbook.writing() as writer:
        since_1970 = datetime.fromisoformat(before) - datetime.fromtimestamp(0, UTC)
        needed = since_1970 // timedelta(microseconds=1) - _farthest(playbook, writer)
        for table in (tables.sightings, tables.marks):
            writer.remove(table, table.c.at < needed)
        old = list(writer.connection.scalars(is_old.order_by(decisions.c.position)))
        if not old:
            return 0
        counted = count(writer.connection, decided_before=before)
        of_old = (
            sa.select(sa.func.max(table.c.position)).where(table.c.case.in_(is_old))
            for table in (decisions, outcomes)
        )
        covers = max(writer.connection.scalar(newest) or 0 for newest in of_old)
        # Stored even if nothing was counted: `as_of` needs to know how far back it can look.
        reason = f"pruned before {before} by {by}"
        playbook.adjust(writer, counted or {0: (0, 0, 0)}, reason, covers)
        writer.add(tables.pruned, [{"case": case, "at": now()} for case in old])
        for part in chunks(old):
            for table in (*_OF_CASES, decisions):
                writer.remove(table, table.c.case.in_(part))
            writer.remove(tables.cases, tables.cases.c.id.in_(part))
        forget_texts(writer)
        playbook.invalidate_cases()
    logger.info("pruned %d decisions made before %s", len(old), before)
    return len(old)


def _farthest(playbook: BulletPlaybook, writer: LedgerWriter) -> int:
    """How far back payments count, in microseconds."""
    tasks = [playbook.task(node) for node in writer.connection.scalars(_NODES)]
    windows = [one.window[0] for task in tasks for one in task.evidence.values()]
    return max(*WINDOWS.values(), *windows)
