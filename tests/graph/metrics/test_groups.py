"""False declines and missed fraud by group."""

import numpy as np
import pytest

from acegraph.graph.metrics.groups import groups_of, rates_by_group
from acegraph.graph.metrics.run import Run


def decided(false_by_group: dict[str, float], each: int = 300) -> tuple[Run, list[str]]:
    """Honest payments and a little fraud, with the share of false declines of each group."""
    rng = np.random.default_rng(1)
    run, groups = Run(), []
    for group, false in false_by_group.items():
        for i in range(each):
            truth = "DECLINE" if i % 20 == 0 else "APPROVE"
            said = "DECLINE" if rng.random() < (0.5 if truth == "DECLINE" else false) else "APPROVE"
            run.add(truth, said, None, f"{group}{i}")
            groups.append(group)
    return run, groups


def test_the_interval_of_a_group_that_is_declined_more_often_lies_above_the_others() -> None:
    run, groups = decided({"a": 0.05, "b": 0.05, "c": 0.16})
    found = {g.group: g for g in rates_by_group([run], [groups])}
    assert found["c"].false_decline_rate.low > found["b"].false_decline_rate.mean
    assert {g.honest for g in found.values()} == {285}
    assert {g.fraud for g in found.values()} == {15}


def test_a_row_that_several_seeds_tested_counts_once() -> None:
    run, groups = decided({"a": 0.05, "b": 0.1})
    assert rates_by_group([run] * 5, [groups] * 5) == rates_by_group([run], [groups])


def test_a_case_without_a_decision_counts_as_a_mistake_of_its_group() -> None:
    run = Run(["APPROVE"] * 4, ["APPROVE", "DECLINE", "UNDECIDED", "APPROVE"], [None] * 4)
    a, b = rates_by_group([run], [["a", "a", "b", "a"]])
    assert (a.honest, b.honest) == (3, 1)
    assert (a.false_decline_rate.mean, b.false_decline_rate.mean) == (pytest.approx(1 / 3), 1)
    assert b.to_json()["missed_fraud_rate"] == {"mean": None, "low": 0, "high": 1}


def test_groups_are_few_whatever_the_values() -> None:
    names = [f"n{i % 30}" for i in range(300)]
    assert len(groups_of(names)) == 9
    assert sum(inside.sum() for inside in groups_of(names).values()) == 300
    mixed = [*range(100), None, "unknown", True]
    assert list(groups_of(mixed)) == [
        "under 24.75", "24.75 to 49.5", "49.5 to 74.25", "74.25 and over",
        "missing", "unknown", "yes",
    ]  # fmt: skip
    assert list(groups_of([1, 2, 2.5, 1])) == ["1", "2", "2.5"]
    assert list(groups_of([0.0] * 50 + [1, 2, 3, 4])) == ["0 and over"]
