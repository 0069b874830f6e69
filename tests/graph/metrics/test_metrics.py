"""Measures, with scikit-learn and scipy as oracles."""

import numpy as np
import pytest
from sklearn import metrics

from acegraph.graph.experiments.experiment import Experiment
from acegraph.graph.metrics.costs import cost_estimates, cost_if_all_approved
from acegraph.graph.metrics.intervals import estimate
from acegraph.graph.metrics.paired import paired_difference
from acegraph.graph.metrics.ranking import calibration_error
from acegraph.graph.metrics.rates import METRICS
from acegraph.graph.metrics.run import Run
from acegraph.nodes.rules.points import amount_of
from acegraph.state import InvalidSettings
from acegraph.state.values.costs import CostMatrix


def random_run(seed: int, n: int = 200) -> Run:
    rng = np.random.default_rng(seed)
    run = Run()
    for _ in range(n):
        risk = float(np.round(rng.random(), 1))
        truth = "DECLINE" if rng.random() < 0.2 + 0.6 * risk else "APPROVE"
        run.add(truth, "DECLINE" if risk > 0.5 else "APPROVE", risk)
    return run


@pytest.mark.parametrize("seed", range(5))
def test_metrics_agree_with_scikit_learn(seed: int) -> None:
    run = random_run(seed)
    truth, said, risk = run.fraud, run.declined, run.scores
    assert METRICS["accuracy"](run) == pytest.approx(metrics.accuracy_score(truth, said))
    assert METRICS["balanced_accuracy"](run) == pytest.approx(
        metrics.balanced_accuracy_score(truth, said)
    )
    assert METRICS["missed_fraud_rate"](run) == pytest.approx(1 - metrics.recall_score(truth, said))
    assert METRICS["false_decline_rate"](run) == pytest.approx(
        1 - metrics.recall_score(~truth, ~said)
    )
    assert METRICS["average_precision"](run) == pytest.approx(
        metrics.average_precision_score(truth, risk)
    )

    false, caught, _ = metrics.roc_curve(truth, risk, drop_intermediate=False)
    recall = METRICS["recall_at_1_percent"](run)
    assert recall == pytest.approx(caught[false <= 0.01].max())


def test_a_score_that_is_true_to_its_word_has_no_calibration_error() -> None:
    rng = np.random.default_rng(0)
    risk = rng.random(40_000)
    fraud = rng.random(40_000) < risk
    assert calibration_error(fraud, risk) < 0.02
    assert calibration_error(fraud, risk**3) > 0.1


def test_money_follows_the_matrix() -> None:
    truth = ["DECLINE", "DECLINE", "APPROVE", "APPROVE", "APPROVE"]
    said = ["DECLINE", "APPROVE", "DECLINE", "APPROVE", "DECLINE"]
    run = Run(truth, said, [None] * 5, [100.0, 300.0, 50.0, 10.0, 20.0])
    costs = CostMatrix.parse("missed_fraud=1, false_decline=0.2")
    found = cost_estimates([run], costs)
    assert found["value_caught"].mean == pytest.approx(0.25)
    assert found["cost_per_1000"].mean == pytest.approx(1000 * (300 + 10 + 4) / 5)
    assert found["fraud_per_1000_alerts"].mean == pytest.approx(1000 / 3)
    assert cost_if_all_approved([run], costs) == pytest.approx(400 / 5)
    with pytest.raises(InvalidSettings, match="costs are of"):
        CostMatrix.parse("lost=1")


def test_a_run_that_decided_nothing_is_wrong_in_every_figure() -> None:
    nothing = Run(["APPROVE", "DECLINE"], ["UNDECIDED", "UNDECIDED"], [None, 0.9])
    # Who declines the honest one first, and the fraud last, has half of the precision.
    expected = {"average_precision": 0.5, "false_decline_rate": 1, "missed_fraud_rate": 1}
    expected["calibration_error"] = 1
    for metric in METRICS:
        found = estimate(metric, [nothing]).mean
        assert found == pytest.approx(expected.get(metric, 0)), metric
    assert nothing.undecided_rate == 1


def test_a_run_without_cases_has_no_figures() -> None:
    for metric in METRICS:
        assert set(estimate(metric, [Run()]).to_json().values()) == {None}
    assert np.isnan(cost_if_all_approved([Run()], CostMatrix()))


def test_an_undecided_case_costs_a_review_or_its_mistake() -> None:
    truth, amounts = ["DECLINE", "APPROVE", "DECLINE"], [100.0, 50.0, 1000.0]
    run = Run(truth, ["APPROVE", "UNDECIDED", "UNDECIDED"], [None] * 3, [*amounts])
    reviewed = CostMatrix(false_decline=0.2, review=3)
    assert run.paid(reviewed).tolist() == [100, 3, 3]
    assert run.paid(CostMatrix(false_decline=0.2)).tolist() == [100, 10, 1000]


def test_the_share_of_fraud_is_that_of_all_test_cases() -> None:
    some = Run(["APPROVE", "DECLINE"], ["APPROVE", "UNDECIDED"], [None, None])
    assert Experiment(modes={"vanilla": [some]}).fraud_rate == 0.5


def test_an_amount_is_that_of_the_field_that_is_one() -> None:
    assert amount_of({"V1": 2.0, "Amount": 12.5}, "Amount") == 12.5
    assert amount_of({"V1": 2.0}, "Amount") is None
    assert amount_of({"V1": 2.0}, None) is None


def test_the_paired_interval_is_that_of_paired_differences() -> None:
    rng = np.random.default_rng(1)
    truth = ["DECLINE", "APPROVE"] * 300
    flip = {"DECLINE": "APPROVE", "APPROVE": "DECLINE"}
    ours = Run(truth, [t if rng.random() < 0.9 else flip[t] for t in truth], [None] * 600)
    theirs = Run(truth, [t if rng.random() < 0.8 else flip[t] for t in truth], [None] * 600)
    found = paired_difference([ours], [theirs])
    both = METRICS["balanced_accuracy"]
    assert found.mean == pytest.approx(both(ours) - both(theirs))
    spread = np.std(ours.right.astype(int) - theirs.right.astype(int)) / 600**0.5
    assert (found.high - found.low) / 3.92 == pytest.approx(spread, rel=0.15)
    nothing = {"mean": 0, "low": 0, "high": 0, "p_value": 1}
    assert paired_difference([ours], [ours]).to_json() == nothing


def test_an_undecided_case_counts_as_wrong() -> None:
    run = random_run(1)
    before = METRICS["accuracy"](run)
    for _ in range(50):
        run.add("DECLINE", "UNDECIDED", None)
    assert METRICS["accuracy"](run) == pytest.approx(before * 200 / 250)
    assert run.undecided_rate == pytest.approx(0.2)


def test_intervals_cover_the_truth_about_as_often_as_they_say() -> None:
    covered = 0
    for seed in range(100):
        rng = np.random.default_rng(seed)
        run = Run()
        for i in range(200):
            truth = "DECLINE" if i % 2 else "APPROVE"
            other = "APPROVE" if i % 2 else "DECLINE"
            run.add(truth, truth if rng.random() < 0.8 else other, None)
        found = estimate("balanced_accuracy", [run])
        covered += found.low <= 0.8 <= found.high
    assert covered >= 89
