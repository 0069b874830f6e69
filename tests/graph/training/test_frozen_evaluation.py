"""A frozen evaluation is decided in batches; the graph decides each case in the same way."""

import pytest

from acegraph.graph import TrainingPipeline, generate_transactions
from acegraph.nodes import SimpleFraudAgent
from acegraph.state import AceContext, BulletPlaybook, Mode


@pytest.mark.parametrize("costs", [None, "missed_fraud=1,false_decline=0.1"])
@pytest.mark.parametrize("mode", ["vanilla", "offline_online"])
def test_batches_decide_like_the_graph(mode: Mode, costs: str | None) -> None:
    context = AceContext(costs=costs)
    past, stream = generate_transactions(60, seed=3), generate_transactions(80, seed=4)
    with BulletPlaybook() as playbook:
        in_batches = TrainingPipeline(playbook, context=context)
        in_batches.train_offline(past)
        playbook.add_bullet("DECLINE when vpn is true and amount >= 300", context.node)
        playbook.add_bullet("APPROVE when account_age_days >= 300", context.node)
        # Where the caller gives a part, the graph runs.
        by_graph = TrainingPipeline(playbook, context=context, agent=SimpleFraudAgent())
        ours = in_batches.evaluate(stream, mode, learn=False)
        theirs = by_graph.evaluate(stream, mode, learn=False)
    assert (ours.decisions, ours.risks) == (theirs.decisions, theirs.risks)
    assert set(ours.decisions) == {"APPROVE", "DECLINE"}
