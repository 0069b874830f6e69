"""A bullet with its counters, its backtest, and what it did on test cases, as JSON."""

from acegraph.graph.metrics.records import Counts, Record
from acegraph.state import DECLINE, Bullet


def record_json(record: Record) -> dict[str, object]:
    """What a bullet did on test cases, with the interval of its precision."""
    right, added = record.right, record.added or Counts()
    low, high = right.interval
    return {
        "fires": right.whole,
        "precision": right.value and round(right.value, 4),
        "precision_low": round(low, 4),
        "precision_high": round(high, 4),
        "adds": added.frauds if record.verdict == DECLINE else added.honest,
    }


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
