"""Figures that mean something where fraud is rare: alerts, value, cost, and their paired tests."""

from itertools import product

import numpy as np
import pytest
from scipy.stats import binomtest

from acegraph.graph.metrics import ranking
from acegraph.graph.metrics.costs import cost_difference, cost_estimates
from acegraph.graph.metrics.paired import paired_difference, permutation_test
from acegraph.graph.metrics.rates import METRICS
from acegraph.graph.metrics.run import Run
from acegraph.state.values.costs import CostMatrix

COSTS = CostMatrix(missed_fraud=1, false_decline=0.2)


def stream(
    caught: float, false: float, *, seed: int = 0, cases: int = 1000, frauds: int = 20
) -> Run:
    """Payments of which few are fraud, decided with so many caught and so many false declines."""
    rng = np.random.default_rng([seed, 7])
    run = Run()
    for i, (luck, risk, amount) in enumerate(rng.random((cases, 3))):
        is_fraud = i % (cases // frauds) == 0
        declined = luck < (caught if is_fraud else false)
        run.add(
            "DECLINE" if is_fraud else "APPROVE",
            "DECLINE" if declined else "APPROVE",
            0.5 + risk / 2 if declined else risk / 2,
            f"r{i}",
        )
        run.amounts.append(10 + 300 * amount)
    return run


def test_a_mode_that_catches_fraud_is_better_though_its_accuracy_is_not() -> None:
    nothing, good = stream(0, 0), stream(0.95, 0.018)
    assert METRICS["accuracy"](good) - METRICS["accuracy"](nothing) < 0.01
    gain = paired_difference([good], [nothing])
    assert gain.mean > 0.4
    assert gain.p_value < 0.001
    assert cost_difference([good], [nothing], COSTS).p_value < 0.01


def test_intervals_stand_where_only_one_of_several_runs_declines_anything() -> None:
    runs = [stream(0, 0), stream(0.5, 0.01, seed=1), stream(0, 0, seed=2)]
    for name, estimate in cost_estimates(runs, COSTS).items():
        assert estimate.low <= estimate.mean <= estimate.high, name


@pytest.mark.parametrize("seed", range(3))
def test_the_permutation_test_is_the_exact_one(seed: int) -> None:
    rng = np.random.default_rng(seed)
    differences = np.array([*rng.normal(0.4, 1, 10), 0.0, 0.0])
    signs = np.array(list(product((-1, 1), repeat=len(differences))))
    exact = np.mean(np.abs(signs @ differences) >= abs(differences.sum()) - 1e-9)
    run = Run(["APPROVE"] * 12, ["APPROVE"] * 12, [None] * 12)
    assert permutation_test([run], differences) == pytest.approx(exact, abs=0.01)
    many = Run(["APPROVE"] * 40, ["APPROVE"] * 40, [None] * 40)
    drawn = permutation_test([many], np.array([*differences, *np.arange(1, 29) * 1e-6]))
    assert drawn == pytest.approx(exact, abs=0.01)


def test_where_both_labels_are_as_frequent_the_test_is_mcnemars() -> None:
    truth = ["DECLINE", "APPROVE"] * 100
    rng = np.random.default_rng(4)
    ours, theirs = (
        Run(truth, [str(d) for d in rng.choice(["DECLINE", "APPROVE"], 200)], [None] * 200)
        for _ in range(2)
    )
    gained = ours.right & ~theirs.right
    exact = binomtest(int(gained.sum()), int((ours.right != theirs.right).sum())).pvalue
    assert paired_difference([ours], [theirs]).p_value == pytest.approx(exact, abs=0.01)


def test_where_nothing_differs_the_tests_are_seldom_significant() -> None:
    balanced = cost = 0
    for seed in range(30):
        ours, theirs = (stream(0.5, 0.1, seed=s, cases=300) for s in (seed, seed + 1000))
        theirs.amounts = ours.amounts
        balanced += paired_difference([ours], [theirs]).p_value < 0.05
        cost += cost_difference([ours], [theirs], COSTS).p_value < 0.05
    assert balanced <= 5
    assert cost <= 5


def test_the_figures_are_those_of_all_cases_together() -> None:
    runs = [stream(0.7, 0.05, seed=1), stream(0.3, 0.1, seed=2)]
    found = cost_estimates(runs, COSTS)
    fraud, declined, values = (
        np.concatenate([getattr(run, name) for run in runs])
        for name in ("fraud", "declined", "values")
    )
    caught = values[fraud & declined].sum() / values[fraud].sum()
    assert found["value_caught"].mean == pytest.approx(caught)
    paid = np.concatenate([run.paid(COSTS) for run in runs]).mean()
    assert found["cost_per_1000"].mean == pytest.approx(1000 * paid)
    assert found["fraud_per_1000_alerts"].mean == pytest.approx(1000 * fraud[declined].mean())
    for figure in found.values():
        assert figure.low < figure.mean < figure.high


def test_intervals_of_money_cover_the_truth() -> None:
    mean_amount, frauds, honest = 160, 20, 280
    cost = mean_amount * (0.5 * frauds + 0.1 * 0.2 * honest)
    truths = {"value_caught": 0.5, "cost_per_1000": 1000 * cost / (frauds + honest)}
    covered = dict.fromkeys(truths, 0)
    for seed in range(30):
        found = cost_estimates([stream(0.5, 0.1, seed=seed, cases=300)], COSTS)
        for name, truth in truths.items():
            covered[name] += found[name].low <= truth <= found[name].high
    assert all(count >= 25 for count in covered.values()), covered


def test_three_alerts_that_were_all_right_are_no_certainty() -> None:
    run = Run(["DECLINE"] * 3 + ["APPROVE"] * 50, ["DECLINE"] * 3 + ["APPROVE"] * 50, [None] * 53)
    found = cost_estimates([run], COSTS)
    for name, most in (("fraud_per_1000_alerts", 1000), ("value_caught", 1)):
        assert found[name].mean == found[name].high == most
        assert found[name].low < 0.9 * most


def test_without_an_alert_there_is_no_share_of_alerts() -> None:
    found = cost_estimates([stream(0, 0)], COSTS)
    assert np.isnan(found["fraud_per_1000_alerts"].mean)
    assert found["value_caught"].mean == 0
    assert np.isnan(cost_difference([Run()], [Run()], COSTS).mean)


def test_all_payments_are_compared_in_cost_pair_by_pair() -> None:
    truth, amounts = ["DECLINE", "APPROVE", "DECLINE"], [100.0, 50.0, 1000.0]
    ours = Run(truth, ["APPROVE", "DECLINE", "UNDECIDED"], [None] * 3, [*amounts])
    theirs = Run(truth, ["DECLINE", "APPROVE", "APPROVE"], [None] * 3, [*amounts])
    found = cost_difference([ours], [theirs], COSTS)
    assert found.mean == pytest.approx(1000 * (100 + 10 + 0) / 3)


def test_a_weight_is_how_often_a_case_counts() -> None:
    rng = np.random.default_rng(3)
    scores, fraud = np.round(rng.random(80), 1), rng.random(80) < 0.3
    times = rng.integers(0, 4, (5, 80))
    for measure in (
        ranking.average_precision,
        ranking.calibration_error,
        ranking.recall_at_1_percent,
    ):
        weighted = measure(fraud, scores, weights=times.astype(float))
        repeated = [measure(np.repeat(fraud, t), np.repeat(scores, t)) for t in times]
        assert weighted.tolist() == pytest.approx([float(figure) for figure in repeated])
