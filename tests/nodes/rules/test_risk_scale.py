"""Risk at the natural rate of fraud, and the threshold that costs or labelled cases give."""

from pathlib import Path

import numpy as np
import pytest
from command_line import invoke

from acegraph.graph import TrainingPipeline, create_ace_graph
from acegraph.graph.data.files import FileLayout, read_dataset
from acegraph.nodes.evidence.residuals import sigmoid
from acegraph.nodes.rules.points import scorecard_over
from acegraph.nodes.rules.ruleset import Ruleset
from acegraph.nodes.rules.scale import RiskScale
from acegraph.state import AceContext, BulletPlaybook, Case, InvalidSettings
from acegraph.state.maintenance.people.review_queue import reason_to_ask
from acegraph.state.values.cases import CaseTable
from acegraph.state.values.costs import CostMatrix

NODE = "fraud_detection"


def table_of(n: int, share: float) -> CaseTable:
    """Payments of which the larger ones are fraud."""
    amounts = np.linspace(1, 1000, n)
    is_fraud = np.arange(n) >= n - round(share * n)
    return CaseTable(
        Case(str(i), {"amount": float(amount)}, "DECLINE" if fraud else "APPROVE")
        for i, (amount, fraud) in enumerate(zip(amounts, is_fraud, strict=True))
    )


@pytest.mark.parametrize("share", [0.5, 0.1, 0.01])
def test_the_risks_of_the_labelled_cases_add_up_to_their_frauds(share: float) -> None:
    table = table_of(960, share)
    scale = RiskScale.of(table, [])
    assert scale.base_rate == pytest.approx(share, abs=0.002)
    risks = sigmoid(scorecard_over(table) + scale.shift)
    assert risks.sum() == pytest.approx(table.fraud.sum(), rel=0.02)


def test_without_costs_balanced_cases_are_declined_from_one_half_on() -> None:
    limits = [RiskScale(base_rate=f).decline_from({}) for f in (0.5, 0.2, 0.09, 0.01, 0.001)]
    assert limits == pytest.approx([0.5, 0.2, 1 / 11, 1 / 11, 1 / 11], abs=0.002)


def test_without_labelled_cases_nothing_is_shifted() -> None:
    scale = RiskScale.of(CaseTable(), [])
    assert (scale.shift, scale.risk(0.0)) == (0.0, 0.5)
    assert scale.limit({}) == pytest.approx(0.0, abs=1e-5)


def test_a_sample_with_another_share_of_fraud_is_corrected() -> None:
    balanced = table_of(960, 0.5)
    scale = RiskScale.of(balanced, [], base_rate=0.01)
    risks = sigmoid(scorecard_over(balanced) + scale.shift)
    assert risks.mean() < 0.05
    assert RiskScale.of(balanced, []).risk(0.0) > scale.risk(0.0)


def test_the_threshold_by_costs_follows_the_amount() -> None:
    costs = CostMatrix.parse("missed_fraud=1,false_decline=0,decline_fee=10,missed_fee=20")
    scale = RiskScale(costs=costs, amount_name="amount")
    small, large = (scale.decline_from({"amount": amount}) for amount in (5.0, 980.0))
    assert small == pytest.approx(10 / 35)
    assert large == pytest.approx(10 / 1010)


def test_costs_wait_until_it_is_known_how_frequent_fraud_is() -> None:
    playbook, usual = BulletPlaybook(), {"transaction": {"amount": 30.0, "hour": 14}}
    graph = create_ace_graph(playbook=playbook).compile()

    def decided(**settings: float) -> tuple[str, str]:
        policy = {"costs": {"false_decline": 0.01}, **settings}
        context = AceContext(learn=False, policy=policy)
        found = graph.invoke(usual, context=context)
        return found["decision"], found["reasons"][-2]

    playbook.remember([Case(str(i), {"amount": 30.0}, "APPROVE") for i in range(40)], NODE)
    unknown = "DECLINE above a risk of 0.5, as long as too few labels tell how frequent DECLINE is"
    assert decided() == ("APPROVE", unknown)
    decision, why = decided(base_rate=0.5)
    assert (decision, "by the costs" in why) == ("DECLINE", True)
    playbook.remember([Case(f"f{i}", {"amount": 30.0}, "DECLINE") for i in range(8)], NODE)
    assert "by the costs" in decided()[1]


def test_costs_change_the_decision_and_are_named() -> None:
    playbook = BulletPlaybook()
    playbook.remember(list(table_of(960, 0.1)), "fraud_detection")
    graph = create_ace_graph(playbook=playbook).compile()
    given = {"transaction": {"amount": 930.0}}
    cheap, dear = (
        graph.invoke(
            given, context=AceContext(learn=False, policy={"costs": {"false_decline": cost}})
        )
        for cost in (0.01, 20)
    )
    assert (cheap["decision"], dear["decision"]) == ("DECLINE", "APPROVE")
    assert cheap["risk_score"] == dear["risk_score"]
    assert any("by the costs" in reason for reason in cheap["reasons"])


def test_unknown_costs_are_refused() -> None:
    with pytest.raises(InvalidSettings, match="no cost 'lost'"):
        AceContext(policy={"costs": {"lost": 1}})


def test_a_payment_like_any_other_is_not_declined() -> None:
    """Where nothing tells the payments apart, each has the risk at which declining would begin."""
    cases = [Case(str(i), {"colour": "red"}, "DECLINE" if i % 3 else "APPROVE") for i in range(96)]
    scale = RiskScale.of(CaseTable(cases), [])
    assert scale.limit({}) >= Ruleset().start  # a tie is no decline


def test_a_person_is_asked_where_that_costs_less_than_the_expected_mistake() -> None:
    playbook = BulletPlaybook()
    playbook.remember(list(table_of(960, 0.1)), "fraud_detection")
    graph = create_ace_graph(playbook=playbook).compile()
    context = AceContext(
        learn=False, policy={"costs": {"missed_fraud": 1, "false_decline": 1, "review": 20}}
    )
    reasons = []
    for amount in (3.0, 600.0):
        given = {"transaction": {"amount": amount}, "decision_id": f"d{amount:g}"}
        graph.invoke(given, context=context)
        stored = playbook.decision(f"d{amount:g}")
        reasons.append(reason_to_ask(stored["decision"], stored["risk_score"], stored["settings"]))
    assert reasons[0] == ""
    assert "asking costs less" in reasons[1]


COSTS_BY_AMOUNT = "false_decline=0,decline_fee=10"


def file_with_an_odd_amount(folder: Path) -> Path:
    lines = [f"{90 if i % 10 == 0 else 5 + i % 50},{int(i % 10 == 0)}" for i in range(80)]
    file = folder / "payments.csv"
    file.write_text("\n".join(["omvang,fraud", *lines]))
    return file


def test_costs_know_an_amount_that_was_named(tmp_path: Path) -> None:
    file = file_with_an_odd_amount(tmp_path)
    pipeline = TrainingPipeline(
        context=AceContext(policy={"costs": CostMatrix.named(COSTS_BY_AMOUNT)})
    )
    read = read_dataset(file, FileLayout(None, "fraud", declared={"omvang": "amount"}))
    pipeline.train_offline(read.items, read.task)
    cases = pipeline.playbook.cases("fraud_detection")
    scale = RiskScale.of(cases, [], CostMatrix.parse(COSTS_BY_AMOUNT))
    assert scale.decline_from({"omvang": 90.0}) == pytest.approx(0.1)


def test_costs_without_an_amount_are_said_to_count_rows(tmp_path: Path) -> None:
    file = str(file_with_an_odd_amount(tmp_path))
    train = ["train", file, "--label", "fraud"]
    url = ["--playbook", f"sqlite:///{tmp_path / 'a.db'}"]
    invoke("policy", f"costs={COSTS_BY_AMOUNT}", "--why", "our prices", "--alone", *url)
    assert "no column is known as the amount" in invoke(*train, *url).stderr
    assert "no column is known" not in invoke(*train, *url, "--as", "omvang=amount").stderr
