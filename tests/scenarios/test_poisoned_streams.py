"""One customer's turned labels keep no rule from being learned (at length: benchmarks/)."""

from typing import Any

import pytest

from acegraph.graph import create_ace_graph
from acegraph.state import AceContext, BulletPlaybook

LIES = 40


def learned_from(liar: str | None) -> BulletPlaybook:
    """Gifts are fraud, of the rest one half; every third payment is a gift said to be honest."""
    playbook = BulletPlaybook()
    graph = create_ace_graph(playbook=playbook).compile()
    for i in range(3 * LIES):
        fields = {"amount": 10 + 7 * i % 50, "gift": i % 3 != 1, "customer_id": f"C{i}"}
        label = "DECLINE" if i % 3 == 0 or i % 6 == 1 else "APPROVE"
        if i % 3 == 2:
            if liar is None:
                continue
            fields["customer_id"] = liar.format(i)
        given: Any = {"transaction": fields, "decision_id": f"t{i}", "ground_truth": label}
        graph.invoke(given)
    return playbook


@pytest.mark.parametrize(
    ("liar", "approved"),
    [
        pytest.param(None, 0, id="nobody lies", marks=pytest.mark.slow),
        pytest.param("A", 0, id="one customer"),
        pytest.param("A{}", 20, id="everybody", marks=pytest.mark.slow),
    ],
)
def test_one_customer_cannot_keep_the_rule_against_it_from_being_learned(
    liar: str | None, approved: int
) -> None:
    playbook = learned_from(liar)
    graph = create_ace_graph(playbook=playbook, context=AceContext(learn=False)).compile()
    asked: list[Any] = [
        {"transaction": {"amount": 12 + i, "gift": True, "customer_id": f"N{i}"}} for i in range(20)
    ]
    found = [graph.invoke(one)["decision"] for one in asked]
    assert found.count("APPROVE") == approved
