"""What each bullet did on labelled cases: how often it fired, and how often it was right."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from acegraph.graph.data.files import Item
from acegraph.nodes.evidence.backtest import wilson_interval
from acegraph.nodes.text.reader import fields_to_test
from acegraph.state import Bullet, Case, Transaction
from acegraph.state.values.cases import CaseTable


@dataclass(frozen=True)
class BulletRecord:
    """What one bullet did on labelled cases."""

    bullet: Bullet
    fires: int
    right: int
    marginal: int
    """Cases that this bullet alone gets right: no other active one of its verdict fires there."""
    last_hit: str | None
    """Id of the last case on which the bullet fired and was right."""

    @property
    def precision(self) -> float | None:
        """The share of its fires that were right; None if it never fired."""
        return self.right / self.fires if self.fires else None

    def to_json(self) -> dict[str, object]:
        """The figures, with the interval of the precision."""
        low, high = wilson_interval(self.right, self.fires)
        return {
            "fires": self.fires,
            "precision": self.precision and round(self.precision, 4),
            "precision_low": round(low, 4),
            "precision_high": round(high, 4),
            "marginal": self.marginal,
            "last_confirmed_hit": self.last_hit,
        }


def report_bullets(bullets: Sequence[Bullet], items: Sequence[Item]) -> list[BulletRecord]:
    """The record of each bullet with a condition on labelled cases."""
    table = CaseTable(
        Case(item["id"], fields_to_test(Transaction.of(item["query"])), item["answer"])
        for item in items
    )
    ids = [case.id for case in table]
    checkable = [(b, b.condition.holds_over(table)) for b in bullets if b.condition]
    records = []
    for bullet, fired in checkable:
        right = fired & table.labelled(bullet.verdict)
        others = [
            fires
            for b, fires in checkable
            if b.id != bullet.id and b.status == "active" and b.verdict == bullet.verdict
        ]
        alone = right & ~np.any(others, axis=0) if others else right
        hits = np.flatnonzero(right)
        last = ids[hits[-1]] if len(hits) else None
        counts = (int(fired.sum()), int(right.sum()), int(alone.sum()))
        records.append(BulletRecord(bullet, *counts, last))
    return records


def bullet_json(bullet: Bullet) -> dict[str, object]:
    """A bullet with its counters and its backtest, for machines."""
    return {
        "id": bullet.id,
        "content": bullet.content,
        "rule": bullet.condition.render() if bullet.condition else None,
        "status": bullet.status,
        "proof": bullet.proof,
        "source": bullet.source,
        "fires": bullet.evidence.get("fires"),
        "precision": bullet.evidence.get("precision"),
        "helpful_count": bullet.helpful_count,
        "harmful_count": bullet.harmful_count,
        "times_selected": bullet.times_selected,
        "success_rate": round(bullet.get_success_rate(), 4),
        "weight": bullet.weight,
        "problem_types": list(bullet.problem_types),
    }
