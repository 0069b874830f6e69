"""How many labels are missing because a payment was declined.

A declined payment cannot be charged back. That no chargeback came then does not say whether the
decline was right or wrong: the label is missing.
"""

import re
from dataclasses import asdict, dataclass

import sqlalchemy as sa

from acegraph.state.database.tables import decisions, outcomes
from acegraph.state.ledger.counters import is_label_of_decision
from acegraph.state.playbook.playbook import BulletPlaybook
from acegraph.state.values.decision import LET_THROUGH
from acegraph.state.values.verdict import APPROVE, DECLINE


@dataclass(frozen=True)
class Coverage:
    """How many decisions have a label that is more than an opinion, and why others have none."""

    decided: int
    labelled: int
    blocked: int
    """Without a label because they were declined: no chargeback can come."""
    pending: int
    """Without a label yet: approved, or let through."""
    let_through: int
    """Would-be declines that were let through."""
    let_through_labelled: int
    let_through_honest: int
    """Labelled would-be declines that were honest payments."""
    expected_honest: float
    """An estimate of the honest payments among all would-be declines. Each honest one let through
    stands for as many as its recorded probability says (Horvitz and Thompson 1952), and the
    labelled ones stand for those whose label is still to come."""

    def to_json(self) -> dict[str, object]:
        """The numbers by name."""
        return asdict(self)


def label_coverage(playbook: BulletPlaybook) -> Coverage:
    """Count the labels of a playbook's counted decisions, and the labels that declines hide."""
    newest = outcomes.alias("newest")
    query = (
        sa.select(decisions.c.decision, decisions.c.settings, newest.c.label)
        .select_from(decisions)
        .outerjoin(newest, is_label_of_decision(newest))
        .where(decisions.c.counted == 1)
    )
    with playbook.database.reading() as connection:
        rows = connection.execute(query).all()
    let_through = [row for row in rows if LET_THROUGH in row.settings]
    labelled = [row for row in let_through if row.label]
    honest = [row for row in labelled if row.label == APPROVE]
    unlabelled = [row for row in rows if not row.label]
    blocked = sum(row.decision == DECLINE and LET_THROUGH not in row.settings for row in unlabelled)
    return Coverage(
        decided=len(rows),
        labelled=len(rows) - len(unlabelled),
        blocked=blocked,
        pending=len(unlabelled) - blocked,
        let_through=len(let_through),
        let_through_labelled=len(labelled),
        let_through_honest=len(honest),
        expected_honest=sum(1 / _probability(row.settings) for row in honest)
        * (len(let_through) / len(labelled) if labelled else 0.0),
    )


def _probability(settings: str) -> float:
    """The probability with which a would-be decline was let through."""
    explore = re.search(r'"explore":([0-9.e-]+)', settings)
    return float(explore[1]) if explore else 1.0
