"""A judge is measured before it is believed."""

from typing import Any

import pytest

from acegraph.graph import create_ace_graph, feedback
from acegraph.graph.operations.monitoring.doctor import model_findings
from acegraph.nodes.judge.agreement import Agreement, agreements
from acegraph.state import AceContext, BulletPlaybook, verify

NODE = "fraud_detection"
RULE = "APPROVE when amount < 5000"


def judged(playbook: BulletPlaybook, number: int, is_correct: bool, **settings: Any) -> Any:
    graph = create_ace_graph(
        playbook=playbook,
        agent=lambda given: "APPROVE",
        judge=lambda given: is_correct,
        context=AceContext(**settings),
    ).compile()
    given = {"transaction": {"amount": number + 1.0}, "decision_id": f"d{number}"}
    return graph.invoke(given)


def measured(playbook: BulletPlaybook, labels: int, agreed: int) -> None:
    """Let the judge be right about some of its opinions, as labels tell that come later."""
    for number in range(labels):
        judged(playbook, number, number >= labels - agreed)
        feedback(playbook, f"d{number}", "APPROVE")


@pytest.mark.parametrize(
    ("labels", "agreed"),
    [
        pytest.param(0, 0, id="never"),
        pytest.param(40, 28, id="70 %", marks=pytest.mark.slow),
        pytest.param(10, 10, id="too few"),
    ],
)
def test_a_judge_below_the_bar_teaches_nothing(labels: int, agreed: int) -> None:
    playbook = BulletPlaybook()
    bullet = playbook.add_bullet(RULE, NODE)
    measured(playbook, labels, agreed)
    before = playbook.get_bullet(bullet)
    for number in range(900, 905):
        result = judged(playbook, number, is_correct=False)
        assert (result["verdict"], result["is_correct"], result["new_bullet"]) == (
            "pending",
            None,
            None,
        )
    after = playbook.get_bullet(bullet)
    assert (after.helpful_count, after.harmful_count) == (before.helpful_count, 0)
    assert after.times_selected == before.times_selected + 5
    assert playbook.decision("d900")["label"] is None
    assert verify(playbook) == []


@pytest.mark.slow
def test_a_judge_above_the_bar_counts_with_its_weight() -> None:
    playbook = BulletPlaybook()
    bullet = playbook.add_bullet(RULE, NODE)
    measured(playbook, 40, 40)
    low = agreements(playbook)["custom judge"].low
    assert low > 0.9
    verdicts = [judged(playbook, n, is_correct=False)["verdict"] for n in range(900, 960)]
    share = verdicts.count("wrong") / len(verdicts)
    assert share == pytest.approx(2 * low - 1, abs=0.15)
    assert set(verdicts) == {"wrong", "pending"}
    assert playbook.get_bullet(bullet).harmful_count == verdicts.count("wrong")
    assert verify(playbook) == []


def test_the_bar_is_for_the_lower_bound() -> None:
    assert Agreement("j", 40, 36).weight(0.8) == 0  # 90 % of 40: perhaps 77 %
    assert Agreement("j", 200, 180).weight(0.8) == pytest.approx(2 * 0.8506 - 1, abs=0.01)
    assert Agreement("j").weight(0) == 1
    assert "never measured" in Agreement("j").in_words(0.8)


def test_the_doctor_shows_the_agreement(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    playbook = BulletPlaybook()
    measured(playbook, 3, 2)
    found = [f.text for f in model_findings(playbook=playbook) if f.name == "agreement"]
    assert found == [
        "custom judge agrees with 2 of 3 labels (at least 0.21; bar 0.8): "
        "its verdicts teach nothing"
    ]
