"""Categories with very many values, of which a rule names a frequent one."""

from collections.abc import Callable

import numpy as np
import pytest

from acegraph.graph import TrainingPipeline
from acegraph.state import BulletPlaybook


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "bad", "other"),
    [("country", "NG", lambda x: f"L{x % 130}"), ("card_bin", 411111, lambda x: 410_000 + x % 300)],
)
def test_a_frequent_value_among_many_becomes_a_rule(
    name: str, bad: object, other: Callable[[int], object]
) -> None:
    rng = np.random.default_rng(0)
    items = []
    for i in range(400):
        is_bad = rng.random() < 0.2
        value = bad if is_bad else other(int(rng.zipf(1.5)))
        label = "DECLINE" if rng.random() < (0.95 if is_bad else 0.05) else "APPROVE"
        query = {name: value, "amount": float(rng.integers(1, 900))}
        items.append({"id": str(i), "query": query, "answer": label})
    playbook = BulletPlaybook()
    TrainingPipeline(playbook).train_offline(items)
    learned = {b.content for b in playbook.get_bullets_for_node("fraud_detection")}
    # A rule and its opposite say the same.
    assert learned & {f'DECLINE when {name} is "{bad}"', f'APPROVE when {name} is not "{bad}"'}
