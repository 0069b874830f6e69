"""The queue of judged decisions that are learned from in the background, in order.

A decision is queued in the write that records it or its label, and leaves the queue in the write
that stores its lesson: whatever is killed, it is learned from once.
"""

import json
from collections.abc import Mapping

import sqlalchemy as sa

from acegraph.state.database.encoding import chunks
from acegraph.state.database.tables import waiting_lessons
from acegraph.state.database.writer import LedgerWriter
from acegraph.state.ledger import queries as sql
from acegraph.state.values.decision import Recorded

_case = waiting_lessons.c.case


def queue_lesson(writer: LedgerWriter, case_id: str) -> None:
    """Queue a decision, unless it waits already."""
    if writer.connection.scalar(sa.select(_case).where(_case == case_id)) is None:
        row = {"case": case_id, "position": writer.position}
        writer.connection.execute(waiting_lessons.insert(), [row])


def queue_mistakes(writer: LedgerWriter, recorded: Mapping[str, Recorded]) -> None:
    """Queue the mistakes of runs with `learn_later`, in the write of the labels that show them."""
    mistakes = [case_id for case_id, one in recorded.items() if one.is_lesson]
    for ids in chunks(mistakes):
        for row in writer.connection.execute(sql.AGED, {"ids": ids}).all():
            if row.settings and json.loads(row.settings).get("learn_later"):
                queue_lesson(writer, row.id)


def leave_queue(writer: LedgerWriter, case_id: str) -> None:
    """Take a decision out of the queue, if it is there."""
    writer.connection.execute(waiting_lessons.delete().where(_case == case_id))


def read_queue(connection: sa.Connection) -> list[str]:
    """The decisions that wait, in the order in which they came."""
    order = (waiting_lessons.c.position, _case)
    return list(connection.scalars(sa.select(_case).order_by(*order)))
