"""Measures, with scikit-learn and scipy as oracles."""

import numpy as np
import pytest
from scipy import stats
from sklearn import metrics

from acegraph.graph import Run, estimate, mcnemar
from acegraph.graph.evaluation import METRICS, rolling_accuracy


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


def test_an_undecided_case_is_no_score() -> None:
    run = random_run(1)
    before = METRICS["accuracy"](run)
    for _ in range(50):
        run.add("DECLINE", "UNDECIDED", None)
    assert METRICS["accuracy"](run) == before
    assert run.undecided_rate == pytest.approx(0.2)


def test_mcnemar_is_the_binomial_test_on_what_differs() -> None:
    truth = ["DECLINE"] * 20
    ours = Run(truth, ["DECLINE"] * 17 + ["APPROVE"] * 3, [None] * 20)
    theirs = Run(truth, ["APPROVE"] * 10 + ["DECLINE"] * 10, [None] * 20)
    found = mcnemar([ours], [theirs])
    assert (found.gained, found.lost) == (10, 3)
    assert found.p_value == pytest.approx(stats.binomtest(3, 13).pvalue)


def test_intervals_cover_the_truth_about_as_often_as_they_say() -> None:
    covered = 0
    for seed in range(200):
        rng = np.random.default_rng(seed)
        run = Run()
        for i in range(200):
            truth = "DECLINE" if i % 2 else "APPROVE"
            other = "APPROVE" if i % 2 else "DECLINE"
            run.add(truth, truth if rng.random() < 0.8 else other, None)
        found = estimate("balanced_accuracy", [run], rng)
        covered += found.low <= 0.8 <= found.high
    assert covered >= 180


def test_rolling_accuracy_looks_back_a_window() -> None:
    run = Run(["APPROVE"] * 4, ["DECLINE", "DECLINE", "APPROVE", "APPROVE"], [None] * 4)
    assert rolling_accuracy([run], 2).tolist() == [0, 0, 0.5, 1]
