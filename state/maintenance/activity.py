"""What a playbook did lately, for those who watch it: payments, labels, records of bullets."""

import json
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Final, NamedTuple

import sqlalchemy as sa

from acegraph.state.database.encoding import as_utc
from acegraph.state.database.tables import cases, decisions, outcomes
from acegraph.state.ledger.counters import count
from acegraph.state.ledger.lookups import ERASED
from acegraph.state.playbook.playbook import BulletPlaybook
from acegraph.state.values import APPROVE, JUDGE, TABLE, Case, CaseTable

TRAINED: Final = ("history:", "stream:", TABLE)
"""How the ids of cases begin that were learned from a file."""
_MOST: Final = 5_000
"""So many of the newest cases are looked at."""


class Record(NamedTuple):
    """How often a bullet was helpful and harmful."""

    helpful: int = 0
    harmful: int = 0

    def until(self, later: "Record") -> "Record":
        """What was added up to a later moment."""
        return Record(later.helpful - self.helpful, later.harmful - self.harmful)


@dataclass(frozen=True)
class Activity:
    """What was decided and labelled since a moment, beside what was before."""

    trained: CaseTable
    """The newest cases that were learned from files."""
    live: CaseTable
    """The newest payments that were decided since; their labels are not known, nor needed."""
    labels: int
    """Labels that became known since."""
    labels_before: int
    """Labels that became known in the time of the same length before."""
    records: dict[str, tuple[Record, Record]]
    """By bullet: its record on decisions made before, and since."""


def activity_since(playbook: BulletPlaybook, node: str, since: datetime, now: datetime) -> Activity:
    """Read what happened since a moment."""
    start = as_utc(since)
    is_trained = sa.or_(*(cases.c.id.startswith(prefix) for prefix in TRAINED))
    is_live = sa.and_(~is_trained, decisions.c.decided_at >= start)
    given = sa.select(sa.func.count()).where(
        outcomes.c.label.is_not(None),
        outcomes.c.source != JUDGE,
        *(~outcomes.c.case.startswith(prefix) for prefix in TRAINED),
    )
    earlier = as_utc(since - max(now - since, timedelta(0)))
    with playbook.database.snapshot() as connection:
        before, total = count(connection, decided_before=start), count(connection)
        records = {n: (Record(*before.get(n, (0, 0))[:2]), Record(*total[n][:2])) for n in total}
        is_new = outcomes.c.known_at >= start
        is_old = sa.and_(outcomes.c.known_at < start, outcomes.c.known_at >= earlier)
        return Activity(
            _newest(connection, node, is_trained),
            _newest(connection, node, is_live),
            int(connection.scalar(given.where(is_new)) or 0),
            int(connection.scalar(given.where(is_old)) or 0),
            {f"b{n}": (old, old.until(new)) for n, (old, new) in records.items()},
        )


def _newest(connection: sa.Connection, node: str, where: sa.ColumnElement[bool]) -> CaseTable:
    rows = connection.execute(
        sa.select(cases.c.id, cases.c.fields)
        .outerjoin(decisions, decisions.c.case == cases.c.id)
        .where(where, cases.c.node == node, cases.c.digest != ERASED)
        .order_by(cases.c.position.desc())
        .limit(_MOST)
    )
    return CaseTable(Case(row.id, json.loads(row.fields), APPROVE) for row in rows)
