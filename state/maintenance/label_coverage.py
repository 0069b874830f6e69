"""Labels that lie: what a decline hides, and how much of it there is.

A payment that was declined cannot be charged back. That no chargeback came says nothing about it,
neither that declining was right nor that it was wrong: such a label is missing, not a label.
"""

import re
from dataclasses import asdict, dataclass
from typing import Any

import sqlalchemy as sa

from acegraph.state.database.tables import decisions, outcomes
from acegraph.state.playbook.playbook import BulletPlaybook
from acegraph.state.values.decision import LET_THROUGH
from acegraph.state.values.verdict import APPROVE, DECLINE, JUDGE


@dataclass(frozen=True)
class Coverage:
    """How many decisions have a label that is more than an opinion, and why others have none."""

    decided: int
    labelled: int
    blocked: int
    """Without a label because they were declined: nobody will ever charge them back."""
    pending: int
    """Without a label yet: approved, or let through."""
    let_through: int
    """Would-be declines that were let through."""
    let_through_labelled: int
    let_through_honest: int
    """Of the labelled ones, those that declining would have wronged."""
    expected_honest: float
    """Honest payments among all would-be declines, as those let through tell: each labelled one
    stands for as many as its recorded probability says (Horvitz and Thompson 1952), and the
    labelled ones for those whose label is still to come."""

    def to_json(self) -> dict[str, Any]:
        """For machines."""
        return asdict(self)


def label_coverage(playbook: BulletPlaybook) -> Coverage:
    """Count the labels of a playbook's counted decisions, and those that declines have cost."""
    newest, later = outcomes.alias("newest"), outcomes.alias("later")
    is_newest = ~sa.exists().where(
        later.c.case == newest.c.case, later.c.revision > newest.c.revision
    )
    known = sa.and_(newest.c.case == decisions.c.case, is_newest, newest.c.source != JUDGE)
    rows = (
        sa.select(decisions.c.decision, decisions.c.settings, newest.c.label)
        .select_from(decisions)
        .outerjoin(newest, known)
        .where(decisions.c.counted == 1)
    )
    with playbook.database.reading() as connection:
        return _count(connection.execute(rows).all())


def _count(rows: Any) -> Coverage:
    through = [row for row in rows if LET_THROUGH in row.settings]
    told = [row for row in through if row.label]
    honest = [row for row in told if row.label == APPROVE]
    silent = [row for row in rows if not row.label]
    blocked = sum(row.decision == DECLINE and LET_THROUGH not in row.settings for row in silent)
    return Coverage(
        decided=len(rows),
        labelled=len(rows) - len(silent),
        blocked=blocked,
        pending=len(silent) - blocked,
        let_through=len(through),
        let_through_labelled=len(told),
        let_through_honest=len(honest),
        expected_honest=sum(1 / _probability(row.settings) for row in honest)
        * (len(through) / len(told) if told else 0.0),
    )


def _probability(settings: str) -> float:
    found = re.search(r'"explore":([0-9.e-]+)', settings)
    return float(found[1]) if found else 1.0
