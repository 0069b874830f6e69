"""No customer, card or merchant weighs more than a few cases."""

import random
from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import pytest
from declared_tables import declared

from acegraph.nodes.evidence.backtest import backtest
from acegraph.nodes.evidence.columns.entities import case_shares
from acegraph.nodes.evidence.drift import change_point
from acegraph.nodes.reflector.induction import induce
from acegraph.nodes.rules.points import scorecard_over
from acegraph.nodes.rules.weights import fired_over, fitted_weights, reason_to_retire
from acegraph.state import Bullet, Case, Condition
from acegraph.state.values.cases import CaseTable
from acegraph.state.values.plain import Scalar

RULE = Condition.parse('DECLINE when kind is "gift"')
BULLET = Bullet("b1", RULE.render(), "node", condition=RULE)


def cases_of(
    customers: Sequence[Scalar], frauds: Sequence[bool], kind: str, name: str = "customer_id"
) -> list[Case]:
    fields: list[dict[str, Scalar]] = [{"kind": kind, name: who} for who in customers]
    labels = ["DECLINE" if fraud else "APPROVE" for fraud in frauds]
    return [Case("", f, label) for f, label in zip(fields, labels, strict=True)]  # type: ignore[arg-type]


def table_of(cases: Sequence[Case]) -> CaseTable:
    """The cases, with the customer declared as one."""
    return declared(CaseTable(cases), customer_id="entity")


def people(n: int, first: int = 0) -> list[str]:
    return [f"C{first + i}" for i in range(n)]


def known_cause() -> list[Case]:
    """Gifts are nearly always fraud, food is in one of three; every customer comes once."""
    gifts = cases_of(people(30), [i % 10 > 0 for i in range(30)], "gift")
    return [*gifts, *cases_of(people(60, 100), [i % 3 == 0 for i in range(60)], "food")]


def lies(n: int, who: str | None = "A") -> list[Case]:
    """Gifts of one customer, or of many, that are said to be honest."""
    return cases_of([who] * n if who else people(n, 500), [False] * n, "gift")


@pytest.mark.parametrize(
    ("word", "is_limited"),
    [("entity", True), ("id", True), ("category", False), ("protected", False), ("text", False)],
)
@pytest.mark.parametrize("name", ["customer_id", "c1"])
def test_one_entity_weighs_at_most_three_cases(name: str, word: str, is_limited: bool) -> None:
    crowd = [f"x{i}@mail.example" for i in range(70)]
    table = CaseTable(cases_of(crowd + ["A"] * 30, [False] * 100, "food", name))
    shares = case_shares(declared(table, **{name: word}))
    assert (shares[70:].sum() <= 3) == is_limited
    assert shares[:70].tolist() == [1.0] * 70


def test_cards_written_as_numbers_are_entities_too() -> None:
    cards: list[Scalar] = [4111_1111_0000_0000 + 7 * i for i in range(60)]
    shares = case_shares(table_of(cases_of(cards + [42] * 30, [False] * 90, "food")))
    assert shares[60:].sum() <= 3 < 60 == shares[:60].sum()


def test_the_role_decides_and_where_nobody_gave_one_an_id() -> None:
    table = CaseTable(cases_of(["A"] * 30 + people(70), [False] * 100, "food", "c_id"))
    assert case_shares(table)[:30].sum() <= 3
    assert (case_shares(declared(table, c_id="category")) == 1).all()
    assert case_shares(declared(table, c_id="id"))[:30].sum() <= 3


def test_nobody_is_two_by_another_way_of_writing() -> None:
    ways = ["Ann-1", "ann-1", "ANN-1", "\uff21nn-1"] * 5
    shares = case_shares(table_of(cases_of([*people(80), *ways], [False] * 100, "food")))
    assert shares[80:].sum() <= 3


def test_where_all_have_many_cases_nobody_is_limited() -> None:
    shops = [f"Q{i % 8}" for i in range(400)]
    assert (case_shares(table_of(cases_of(shops, [False] * 400, "food"))) == 1).all()


@pytest.mark.parametrize("nobody", ["[redacted]", "guest", "Unknown", 0])
def test_customers_without_a_name_are_not_one_customer(nobody: Scalar) -> None:
    who = [nobody] * 50 + people(50)
    assert (case_shares(table_of(cases_of(who, [False] * 100, "food"))) == 1).all()


def test_figures_without_a_large_entity_are_those_without_any() -> None:
    named = table_of(known_cause())
    nameless = declared(CaseTable(Case(c.id, {"kind": c.fields["kind"]}, c.label) for c in named))
    tested = [backtest(RULE, table, scorecard_over(table)) for table in (named, nameless)]
    assert tested[0] == tested[1]
    assert fitted_weights(named, [BULLET]) == fitted_weights(nameless, [BULLET])


def test_the_shares_of_a_table_follow_its_growth() -> None:
    table = table_of(known_cause())
    assert (case_shares(table) == 1).all()
    for case in lies(12):
        table.add(case)
    assert len(case_shares(table)) == 102
    assert case_shares(table.snapshot()).sum() < 93


def test_one_customer_cannot_keep_a_rule_from_being_learned() -> None:
    for who, learned in (("A", True), (None, False)):
        table = table_of([*known_cause(), *lies(60, who)])
        log_odds = scorecard_over(table)
        assert (backtest(RULE, table, log_odds).p_chance < 0.001) is learned
        found = induce({"kind": "gift"}, "DECLINE", table, log_odds)
        assert (found is not None and found.condition.same_as(RULE)) is learned


def test_one_customer_cannot_get_a_rule_retired_or_its_weight_down() -> None:
    clean = table_of(known_cause())
    for who, stays in (("A", True), (None, False)):
        table = table_of([*known_cause(), *lies(200, who)])
        (weight,), (fired,) = fitted_weights(table, [BULLET]), fired_over([BULLET.condition], table)
        assert (abs((weight or 0) - (fitted_weights(clean, [BULLET])[0] or 0)) < 0.3) is stays
        log_odds = scorecard_over(table) + (weight or 0) * fired
        weighed = replace(BULLET, weight=weight)
        assert (reason_to_retire(weighed, fired, table, log_odds) == "") is stays


def test_one_customer_makes_no_drift() -> None:
    for who, changed in (("A", False), (None, True)):
        elsewhere = cases_of(people(40, 900), [True] * 40, "food")
        before, since = known_cause(), [*lies(40, who), *elsewhere]
        random.Random(1).shuffle(before)
        random.Random(1).shuffle(since)
        table = table_of([*before, *since])
        assert (change_point(RULE, table) > 0) is changed


def test_one_customer_makes_no_rule_alone() -> None:
    crowd = [*cases_of(people(60), [i % 2 == 0 for i in range(60)], "food")]
    table = table_of([*crowd, *cases_of(["A"] * 30, [True] * 30, "odd")])
    assert induce({"kind": "odd"}, "DECLINE", table, np.zeros(90)) is None
    many = table_of([*crowd, *cases_of(people(30, 500), [True] * 30, "odd")])
    assert induce({"kind": "odd"}, "DECLINE", many, np.zeros(90)) is not None
