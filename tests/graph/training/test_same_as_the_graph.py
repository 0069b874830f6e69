"""Passes that ask no model do not run LangGraph; they decide and learn what the graph does.

Where the caller gives an agent, the graph runs, also if it is the embedded agent.
"""

from typing import Any

import pytest

from acegraph.graph import Decider, TrainingPipeline, create_ace_graph, generate_transactions
from acegraph.nodes import SimpleFraudAgent
from acegraph.state import AceContext, BulletPlaybook
from acegraph.state.run.context import Mode


@pytest.mark.parametrize("costs", [None, "missed_fraud=1,false_decline=0.1"])
@pytest.mark.parametrize("mode", ["vanilla", "offline_online"])
def test_a_frozen_evaluation_decides_like_the_graph(mode: Mode, costs: str | None) -> None:
    context = AceContext(costs=costs)
    stream = generate_transactions(80, seed=4)
    with BulletPlaybook() as playbook:
        playbook.add_bullet("DECLINE when vpn is true and amount >= 300", context.node)
        playbook.add_bullet("APPROVE when account_age_days >= 300", context.node)
        in_batches = TrainingPipeline(playbook, context=context)
        by_graph = TrainingPipeline(playbook, context=context, agent=SimpleFraudAgent())
        ours = in_batches.evaluate(stream, mode, learn=False)
        theirs = by_graph.evaluate(stream, mode, learn=False)
    assert (ours.decisions, ours.risks) == (theirs.decisions, theirs.risks)
    assert set(ours.decisions) == {"APPROVE", "DECLINE"}


def learned(playbook: BulletPlaybook) -> list[Any]:
    """What a playbook has become, and why."""
    changes = [
        (row["version"], row["bullet"], row["change"], row["reason"]) for row in playbook.history()
    ]
    bullets = playbook.get_bullets_for_node("fraud_detection", status=None)
    records = [(b.content, b.weight, b.helpful_count, b.harmful_count) for b in bullets]
    return [changes, records, playbook.clock]


@pytest.mark.parametrize("way", ["train_offline", "train_online"])
def test_a_pass_learns_like_the_graph(way: str) -> None:
    found = []
    for given in ({}, {"agent": SimpleFraudAgent()}):
        with BulletPlaybook() as playbook:
            report = getattr(TrainingPipeline(playbook, **given), way)(
                generate_transactions(140, seed=8)
            )
            found.append([report.run.decisions, report.run.risks, learned(playbook)])
    assert found[0] == found[1]
    assert found[0][2][0], "something was learned"


def test_a_decider_learns_like_the_graph() -> None:
    payments: list[Any] = [
        {"transaction": dict(e.fields), "ground_truth": e.answer, "decision_id": f"d{i}"}
        for i, e in enumerate(generate_transactions(140, seed=8))
    ]
    with BulletPlaybook() as one, BulletPlaybook() as other:
        answers = Decider(one).decide_many(payments)
        graph = create_ace_graph(playbook=other).compile()
        assert answers == [graph.invoke(payment) for payment in payments]
        assert learned(one) == learned(other)
        assert learned(one)[0], "something was learned"
