"""How many labels are missing because a payment was declined.

A declined payment cannot be charged back. That no chargeback came then does not say whether the
decline was right or wrong: the label is missing.
"""

from dataclasses import dataclass

from acegraph.state.playbook.decision_index import HONEST, UNLABELLED, DecisionColumns


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


def label_coverage(columns: DecisionColumns) -> Coverage:
    """Count the labels of counted decisions, and the labels that declines hide."""
    counted, has_label = columns.counted, columns.label != UNLABELLED
    let_through = counted & (columns.let_through > 0)
    blocked = int((counted & ~has_label & columns.declined & ~let_through).sum())
    decided, labelled = int(counted.sum()), int((counted & has_label).sum())
    honest = let_through & (columns.label == HONEST)
    let, known = int(let_through.sum()), int((let_through & has_label).sum())
    return Coverage(
        decided=decided,
        labelled=labelled,
        blocked=blocked,
        pending=decided - labelled - blocked,
        let_through=let,
        let_through_labelled=known,
        let_through_honest=int(honest.sum()),
        expected_honest=float((1 / columns.let_through[honest]).sum()) * let / max(known, 1),
    )
