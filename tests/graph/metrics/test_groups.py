"""False declines by group: who stands out, and who only seems to."""

import numpy as np
import pytest
from scipy.stats import fisher_exact

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


def test_a_group_that_is_declined_more_often_stands_out() -> None:
    run, groups = decided({"a": 0.05, "b": 0.05, "c": 0.16})
    found = {g.group: g for g in rates_by_group([run], {"band": [groups]})["band"]}
    assert found["c"].stands_out
    assert found["c"].false_decline_rate.low > found["b"].false_decline_rate.mean
    assert {g.honest for g in found.values()} == {285}
    assert {g.fraud for g in found.values()} == {15}


def test_two_groups_are_one_question() -> None:
    run, groups = decided({"F": 0.05, "M": 0.11})
    women, men = rates_by_group([run], {"gender": [groups]})["gender"]
    false = [round(g.false_decline_rate.mean * g.honest) for g in (women, men)]
    exact = fisher_exact([[false[0], 285 - false[0]], [false[1], 285 - false[1]]]).pvalue
    assert women.p_value == men.p_value == pytest.approx(exact)
    half = [str(i % 2) for i in range(len(groups))]
    both = rates_by_group([run], {"gender": [groups], "half": [half]})
    assert both["gender"][0].p_value == pytest.approx(2 * exact)


def test_among_many_equal_groups_hardly_one_stands_out() -> None:
    run, _ = decided({"all": 0.1}, each=2000)
    rng = np.random.default_rng(2)
    fields = {f"f{i}": [[str(x) for x in rng.integers(0, 4, 2000)]] for i in range(20)}
    found = rates_by_group([run], fields)
    assert sum(group.stands_out for groups in found.values() for group in groups) <= 1


def test_a_row_that_several_seeds_tested_counts_once() -> None:
    run, groups = decided({"a": 0.05, "b": 0.1})
    once = rates_by_group([run], {"x": [groups]})
    assert rates_by_group([run] * 5, {"x": [groups] * 5}) == once


def test_a_case_without_a_decision_counts_as_a_mistake_of_its_group() -> None:
    run = Run(["APPROVE"] * 4, ["APPROVE", "DECLINE", "UNDECIDED", "APPROVE"], [None] * 4)
    a, b = rates_by_group([run], {"x": [["a", "a", "b", "a"]]})["x"]
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
