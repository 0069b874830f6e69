"""Decisions for tests of the ledger."""

from acegraph.state import BulletPlaybook, Transaction
from acegraph.state.values.decision import DecisionRecord, Shown

NODE = "fraud_detection"


def record(
    decision_id: str = "d1", *bullets: int, amount: float = 10, **details: object
) -> DecisionRecord:
    """A DECLINE that was shown some bullets, all of which argued for it."""
    given = Transaction.of({"amount": amount})
    shown = tuple(Shown(number, True, "DECLINE") for number in bullets)
    kept = {"decision": "DECLINE", "shown": shown, **details}
    return DecisionRecord(decision_id, NODE, given.text, given.fields, given.digest(), **kept)  # type: ignore[arg-type]


def counters(playbook: BulletPlaybook, bullet_id: str) -> tuple[int, int, int]:
    """Helpful, harmful, selected."""
    b = playbook.get_bullet(bullet_id)
    return b.helpful_count, b.harmful_count, b.times_selected


def content(playbook: BulletPlaybook) -> list[tuple[str, str, str]]:
    """What a version covers, of all bullets."""
    return [(b.id, b.content, b.status) for b in playbook]
