"""From few cases the steps of curves stand beside other rules, if held-out cases bear them out."""

import numpy as np

from acegraph.nodes.curator.refinement.candidates import SearchedRows
from acegraph.nodes.curator.refinement.curves import Curves, curves_of
from acegraph.nodes.curator.refinement.held_out import hold_out
from acegraph.nodes.curator.refinement.whole_playbook import best_rules
from acegraph.state import Case, CaseTable, Fields

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


def test_held_out_cases_tell_whether_curves_stand_beside_the_rules() -> None:
    for table, are_curves in ((smooth(150, 3), True), (by_steps(150, 3), False)):
        held_out = hold_out(rows_of(table), (), None, is_ranked=False, has_curves=True)
        shapes = held_out.best_shapes(0.5, is_ranked=False)
        assert [shape.is_curves for shape in shapes].count(True) == are_curves
        assert not shapes[0].is_curves


def test_smooth_risks_become_more_than_one_step_of_a_field() -> None:
    found = best_rules(smooth(150, 3), has_signal=True)
    assert found is not None
    steps = [c.comparisons[0].field for c in found.conditions if len(c.comparisons) == 1]
    assert max(steps.count(field) for field in steps) > 1
    assert "noise" not in steps
    assert len({c.render() for c in found.conditions}) == len(found.conditions)


def test_a_lone_cause_stays_one_rule() -> None:
    rng = np.random.default_rng(5)
    cases = []
    for i in range(150):
        size, noise = (round(float(x), 3) for x in rng.normal(size=2))
        fraud = (size > 0.3) != (rng.random() < 0.1)
        fields: Fields = {"size": size, "noise": noise}
        cases.append(Case(str(i), fields, "DECLINE" if fraud else "APPROVE"))
    found = best_rules(CaseTable(cases), has_signal=True)
    assert found is not None
    assert len(found.conditions) == 1


def test_a_table_without_numbers_and_words_has_no_curves() -> None:
    cases = [
        Case(str(i), {"memo": "send gift cards now" if i % 2 else "rent for the flat"}, label)
        for i, label in enumerate(["APPROVE", "DECLINE"] * 40)
    ]
    rows = rows_of(CaseTable(cases))
    assert all(test.op not in (">=", "is") for test in rows.tests.comparisons)
    assert curves_of(rows) == []
