"""Learning, measured as `acegraph demo` does: a generated balanced stream, 600 held-out cases.

`make prove` asks the same of five seeds together.
"""

import os
from typing import Any

import pytest
from demo_runs import balanced, demo

SEEDS = int(os.environ.get("ACE_SOAK", "1"))


@pytest.fixture(scope="module")
def found(tmp_path_factory: pytest.TempPathFactory) -> Any:
    return demo(tmp_path_factory.mktemp("demo"), "--seeds", str(SEEDS))


def test_vanilla_is_where_a_plain_scorecard_is(found: Any) -> None:
    assert found["test_cases"] == 600 * SEEDS
    assert 0.62 <= balanced(found, "vanilla") <= 0.72


def test_offline_training_gains_ten_points(found: Any) -> None:
    for mode in ("offline", "offline_online"):
        assert balanced(found, mode) - balanced(found, "vanilla") >= 0.10
        assert found["modes"][mode]["against"]["balanced_accuracy"]["p_value"] < 0.01


def test_offline_training_stands_beside_plain_learners(found: Any) -> None:
    for rival in ("logistic_regression", "depth_3_tree"):
        assert balanced(found, "offline") >= balanced(found, rival, "challengers") - 0.04
    assert balanced(found, "offline") <= balanced(found, "best_attainable", "challengers")


def test_online_learning_gains_five_points(found: Any) -> None:
    gain = balanced(found, "online") - balanced(found, "vanilla")
    assert gain >= 0.05
    assert found["modes"]["online"]["against"]["balanced_accuracy"]["p_value"] < 0.05


def test_every_bullet_was_proven_and_is_readable(found: Any) -> None:
    assert 3 <= len(found["bullets"]) <= 25
    for bullet in found["bullets"]:
        assert bullet["proof"] == "proven"
        assert bullet["content"].startswith(("DECLINE when ", "APPROVE when "))
