"""What each bullet did on labelled cases: how often it fired, and how often it was right."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from acegraph.graph.data.files import Item
from acegraph.graph.metrics.records import Counts, Record
from acegraph.nodes.text.reader import fields_to_test
from acegraph.state import DECLINE, Bullet, Case, Transaction
from acegraph.state.values.cases import CaseTable


@dataclass(frozen=True)
class BulletRecord:
    """What one bullet did on labelled cases."""

    bullet: Bullet
    record: Record

    @property
    def marginal(self) -> int:
        """Cases that it alone gets right: no other active bullet of its verdict fires there."""
        added = self.record.added or Counts()
        return added.frauds if self.record.verdict == DECLINE else added.honest

    def to_json(self) -> dict[str, object]:
        """The figures, with the interval of the precision."""
        right = self.record.right
        low, high = right.interval
        return {
            "fires": right.whole,
            "precision": right.value and round(right.value, 4),
            "precision_low": round(low, 4),
            "precision_high": round(high, 4),
            "marginal": self.marginal,
        }


def report_bullets(bullets: Sequence[Bullet], items: Sequence[Item]) -> list[BulletRecord]:
    """The record of each bullet with a condition on labelled cases."""
    table = CaseTable(
        Case(item["id"], fields_to_test(Transaction.of(item["query"])), item["answer"])
        for item in items
    )
    checkable = [(b, b.condition, b.condition.holds_over(table)) for b in bullets if b.condition]
    records = []
    for bullet, condition, fired in checkable:
        says_so = np.zeros(len(table), bool)
        for other, one, fires in checkable:
            if other is not bullet and other.status == "active" and one.verdict == bullet.verdict:
                says_so |= fires
        record = Record(bullet.id, condition.verdict)
        record.add(fired, table.fraud, ~table.fraud, np.full(len(table), np.nan), says_so)
        records.append(BulletRecord(bullet, record))
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
