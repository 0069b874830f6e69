"""From few cases the steps of curves stand beside other rules, if held-out cases bear them out."""

from collections import Counter

import numpy as np
import pytest

from acegraph.nodes.curator.refinement.candidates import (
    BY_CASE,
    SearchedRows,
    Shape,
    curves_of_fields,
)
from acegraph.nodes.curator.refinement.curves import Curves, curves_of
from acegraph.nodes.curator.refinement.held_out import HeldOut, hold_out
from acegraph.nodes.curator.refinement.polishing import needed
from acegraph.nodes.curator.refinement.whole_playbook import best_rules
from acegraph.state import Case, Condition
from acegraph.state.values.cases import CaseTable
from acegraph.state.values.condition import Comparison
from acegraph.state.values.transaction import Fields

SHOPS = ("fuel", "food", "web", "gems")


def smooth(n: int, seed: int) -> CaseTable:
    """The risk rises evenly with the size and falls with the age; shops differ; noise means
    nothing.
    """
    rng = np.random.default_rng(seed)
    cases = []
    for i in range(n):
        size, age, noise = (round(float(x), 3) for x in rng.normal(size=3))
        shop = int(rng.integers(4))
        risk = 1 / (1 + np.exp(-(2 * size - 1.5 * age + shop - 1.5)))
        fields: Fields = {"size": size, "age": age, "noise": noise, "shop": SHOPS[shop]}
        cases.append(Case(str(i), fields, "DECLINE" if rng.random() < risk else "APPROVE"))
    return CaseTable(cases)


def by_steps(n: int, seed: int) -> CaseTable:
    """Fraud is a size and an age that do not go together: neither has a curve."""
    rng = np.random.default_rng(seed)
    cases = []
    for i in range(n):
        size, age = (round(float(x), 3) for x in rng.normal(size=2))
        fraud = ((size > 0) != (age > 0)) != (rng.random() < 0.05)
        cases.append(Case(str(i), {"size": size, "age": age}, "DECLINE" if fraud else "APPROVE"))
    return CaseTable(cases)


def rows_of(table: CaseTable) -> SearchedRows:
    return SearchedRows.of(table, (), (), None, 6_000)


def fields_of(curves: Curves, rows: SearchedRows) -> list[str]:
    return list(dict.fromkeys(rows.tests.comparisons[i].field for i in curves.steps))


def test_a_curve_follows_the_risk_and_fields_come_in_the_order_of_what_they_explain() -> None:
    table = smooth(200, 1)
    rows = rows_of(table)
    found = curves_of(rows)
    assert [fields_of(curves, rows) for curves in found] == [
        ["size"],
        ["size", "age"],
        ["size", "age", "shop"],
        ["size", "age", "shop", "noise"],
    ]
    sizes = table.column("size")
    assert sizes is not None
    log_odds = found[0].log_odds(rows)
    assert np.corrcoef(log_odds, sizes.numbers)[0, 1] > 0.9
    unseen = smooth(1_000, 2)
    right = [np.mean(_decided(curves, rows, unseen) == unseen.fraud) for curves in found]
    assert right[0] < right[1] < right[2]


def _decided(curves: Curves, rows: SearchedRows, table: CaseTable) -> np.ndarray:
    tests = rows.tests.comparisons
    holds = np.array([tests[i].holds_over(table) for i in curves.steps])
    return np.asarray(curves.weights @ holds + curves.shift > 0)


def test_a_few_steps_of_each_curve_are_rules() -> None:
    rows = rows_of(smooth(200, 1))
    rules = curves_of(rows)[2].rules(rows)
    by_field: dict[str, list[tuple[str, str]]] = {}
    for rule in rules:
        (test,) = rule.comparisons
        by_field.setdefault(test.field, []).append((test.op, rule.verdict))
    assert {field: len(steps) for field, steps in by_field.items()} == dict.fromkeys(by_field, 3)
    assert set(by_field["size"]) == {("<", "APPROVE"), (">=", "DECLINE")}
    assert set(by_field["age"]) == {("<", "DECLINE"), (">=", "APPROVE")}
    assert {op for op, _ in by_field["shop"]} == {"is"}
    assert all(rule.holds_over(smooth(200, 1)).mean() <= 0.5 for rule in rules)


def held_out(likelihood: dict[Shape, float]) -> HeldOut:
    """Cases that sets of these shapes explain so well in the mean, some better and some worse."""
    some = np.linspace(0, 0.2, 100)
    found = {shape: mean + some for shape, mean in likelihood.items()}
    lengths = {shape: float(shape.length) for shape in found}
    return HeldOut(found, found, lengths, np.zeros(100), np.zeros(100))


CURVES = curves_of_fields(2)
SET = Shape(1, 3)


@pytest.mark.parametrize(
    ("likelihood", "shapes"),
    [
        ({SET: 0.3, CURVES: 0.4}, [SET, CURVES]),
        ({SET: 0.4, CURVES: 0.3}, [SET]),
        ({BY_CASE: 0.3, CURVES: 0.4}, [BY_CASE]),
        ({SET: -0.3, CURVES: 0.4}, [CURVES]),
        ({SET: -0.3, CURVES: -0.2}, [SET]),
    ],
    ids=["better", "worse", "beside a pass", "nothing else is proved", "nothing is proved"],
)
def test_curves_stand_beside_the_best_set_if_held_out_cases_say_that_they_are_better(
    likelihood: dict[Shape, float], shapes: list[Shape]
) -> None:
    assert held_out(likelihood).best_shapes(0.5, is_ranked=False) == shapes


def test_held_out_cases_tell_a_smooth_risk_from_one_without_a_curve() -> None:
    for table, are_curves in ((smooth(150, 2), True), (by_steps(150, 3), False)):
        found = hold_out(rows_of(table), (), None, is_ranked=False, has_curves=True)
        shapes = found.best_shapes(0.5, is_ranked=False)
        assert [shape.is_curves for shape in shapes].count(True) == are_curves


def test_a_smooth_risk_becomes_several_steps_of_a_field() -> None:
    found = best_rules(smooth(150, 2), has_signal=True)
    assert found is not None
    steps = Counter(rule.comparisons[0].field for rule in found.conditions)
    assert steps["size"] >= 3
    assert steps["age"] >= 3
    assert "noise" not in steps


def test_beside_a_single_rule_no_step_stands() -> None:
    """Here curves explain held-out cases better, and the best set is the rule."""
    rng = np.random.default_rng(0)
    cases = []
    for i in range(120):
        size, noise = (round(float(x), 3) for x in rng.normal(size=2))
        fraud = (size > 0.3) != (rng.random() < 0.2)
        fields: Fields = {"size": size, "noise": noise}
        cases.append(Case(str(i), fields, "DECLINE" if fraud else "APPROVE"))
    table = CaseTable(cases)
    found = hold_out(rows_of(table), (), None, is_ranked=False, has_curves=True)
    assert found.best_shapes(0.5, is_ranked=False)[-1].is_curves
    rules = best_rules(table, has_signal=True)
    assert rules is not None
    assert [rule.fields for rule in rules.conditions] == [("size",)]


def test_a_rule_that_the_cases_turn_around_is_not_needed() -> None:
    table = smooth(200, 1)
    right = Condition((Comparison("size", ">=", 0.5),), "DECLINE")
    wrong = Condition((Comparison("age", "<", -0.5),), "APPROVE")
    assert needed([right, wrong], table, 0.5) == [right]
    assert needed([right, wrong], table, 0.5, frozenset([wrong])) == [right, wrong]


def test_a_table_without_numbers_and_words_has_no_curves() -> None:
    cases = [
        Case(str(i), {"memo": "send gift cards now" if i % 2 else "rent for the flat"}, label)
        for i, label in enumerate(["APPROVE", "DECLINE"] * 40)
    ]
    rows = rows_of(CaseTable(cases))
    assert all(test.op not in (">=", "is") for test in rows.tests.comparisons)
    assert curves_of(rows) == []
