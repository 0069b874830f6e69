"""Long passes do not run LangGraph; they decide and learn what the graph does."""

from typing import Any

import pytest

from acegraph.graph import TrainingPipeline, create_ace_graph, generate_transactions
from acegraph.graph.operations.decide import decide_many
from acegraph.state import AceContext, BulletPlaybook
from acegraph.state.run.context import Mode


@pytest.mark.parametrize("costs", [None, {"missed_fraud": 1, "false_decline": 0.1}])
@pytest.mark.parametrize("mode", ["vanilla", "offline_online"])
def test_a_frozen_evaluation_decides_like_the_graph(
    mode: Mode, costs: dict[str, float] | None
) -> None:
    context = AceContext(mode=mode, learn=False, policy={"costs": costs})
    stream = generate_transactions(80, seed=4)
    with BulletPlaybook() as playbook:
        playbook.add_bullet("DECLINE when vpn is true and amount >= 300", context.node)
        playbook.add_bullet("APPROVE when account_age_days >= 300", context.node)
        ours = TrainingPipeline(playbook, context=context).evaluate(stream, mode, learn=False)
        graph = create_ace_graph(playbook=playbook, context=context).compile()
        theirs = [graph.invoke({"transaction": e.query, "ground_truth": e.answer}) for e in stream]
    assert ours.decisions == [result["decision"] for result in theirs]
    assert ours.risks == [result["risk_score"] for result in theirs]
    assert set(ours.decisions) == {"APPROVE", "DECLINE"}


def learned(playbook: BulletPlaybook) -> list[Any]:
    """What a playbook has become, and why."""
    changes = [
        (row["version"], row["bullet"], row["change"], row["reason"]) for row in playbook.history()
    ]
    bullets = playbook.get_bullets_for_node("fraud_detection", status=None)
    records = [(b.content, b.weight, b.helpful_count, b.harmful_count) for b in bullets]
    return [changes, records, playbook.clock]


def test_a_stream_teaches_what_the_graph_learns() -> None:
    stream = generate_transactions(140, seed=8)
    context = AceContext(mode="online", learn_every=7)
    with BulletPlaybook() as one, BulletPlaybook() as other:
        report = TrainingPipeline(one, context=context).train_online(stream)
        graph = create_ace_graph(playbook=other, context=context).compile()
        results = [
            graph.invoke({"transaction": e.query, "ground_truth": e.answer, "decision_id": case.id})
            for e, case in zip(stream, one.cases(context.node), strict=True)
        ]
        assert report.run.decisions == [result["decision"] for result in results]
        assert report.run.risks == [result["risk_score"] for result in results]
        assert learned(one) == learned(other)
        assert learned(one)[0], "something was learned"


def told(answer: Any) -> Any:
    """What an answer says; the graph shows the best rules first."""
    used, reasons = sorted(answer["bullets_used"]), sorted(answer["reasons"])
    return {**answer, "bullets_used": used, "reasons": reasons}


def test_many_decisions_teach_what_the_graph_learns() -> None:
    payments: list[Any] = [
        {"transaction": dict(e.fields), "ground_truth": e.answer, "decision_id": f"d{i}"}
        for i, e in enumerate(generate_transactions(140, seed=8))
    ]
    with BulletPlaybook() as one, BulletPlaybook() as other:
        answers = decide_many(one, payments)
        graph = create_ace_graph(playbook=other).compile()
        assert list(map(told, answers)) == [told(graph.invoke(payment)) for payment in payments]
        assert learned(one) == learned(other)
        assert learned(one)[0], "something was learned"
