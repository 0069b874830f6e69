"""What each bullet did on labelled cases: the table that people who run rules ask for."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from acegraph.graph.data.files import Item
from acegraph.nodes.evidence.backtest import wilson_interval
from acegraph.nodes.text.reader import read_fields
from acegraph.state import DECLINE, Bullet, Case, CaseTable, Transaction


@dataclass(frozen=True)
class BulletRecord:
    """One bullet on held-out cases."""

    bullet: Bullet
    fires: int
    right: int
    marginal: int
    """Cases that it alone gets right: no other active bullet says the same of them."""
    last_hit: str | None
    """Id of the last case on which it fired and was right."""

    @property
    def precision(self) -> float | None:
        """Share of its fires that were right."""
        return self.right / self.fires if self.fires else None

    def to_json(self) -> dict[str, Any]:
        """The figures, with the interval of the precision."""
        low, high = wilson_interval(self.right, self.fires)
        precision = None if self.precision is None else round(self.precision, 4)
        return {
            "fires": self.fires,
            "precision": precision,
            "precision_low": round(low, 4),
            "precision_high": round(high, 4),
            "marginal": self.marginal,
            "last_confirmed_hit": self.last_hit,
        }


def report_bullets(bullets: Sequence[Bullet], items: Sequence[Item]) -> list[BulletRecord]:
    """Replay the bullets that have a condition over labelled cases."""
    table = CaseTable(
        Case(item["id"], read_fields(Transaction.of(item["query"])), item["answer"])
        for item in items
    )
    ids = [case.id for case in table]
    checkable = [(b, b.condition.holds_over(table)) for b in bullets if b.condition]
    records = []
    for bullet, fired in checkable:
        right = fired & (table.fraud if bullet.verdict == DECLINE else ~table.fraud)
        others = [
            theirs
            for b, theirs in checkable
            if b.id != bullet.id and b.status == "active" and b.verdict == bullet.verdict
        ]
        alone = right & ~np.any(others, axis=0) if others else right
        hits = np.flatnonzero(right)
        last = ids[hits[-1]] if len(hits) else None
        records.append(
            BulletRecord(bullet, int(fired.sum()), int(right.sum()), int(alone.sum()), last)
        )
    return records


def bullet_json(bullet: Bullet) -> dict[str, Any]:
    """A bullet with its record and its backtest."""
    return {
        "id": bullet.id,
        "content": bullet.content,
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
