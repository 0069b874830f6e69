"""One ruleset decides: a row, columns and a doubt are the same sums."""

import random
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from odd_tables import NODE, playbook_of

from acegraph.graph import Ruleset, create_ace_graph
from acegraph.nodes.rules.columns import DECISIONS, BatchDecider
from acegraph.state import AceContext, Bullet, Condition
from acegraph.state.run.context import settle_settings
from acegraph.state.values.cases import Case, CaseTable, Column
from acegraph.state.values.costs import CostMatrix
from acegraph.state.values.plain import Scalar

Fields = Mapping[str, Scalar]
RULES = (
    "DECLINE when amount >= 500 and hour < 6",
    'DECLINE when channel is "web" and vpn is true',
    'APPROVE when channel is "shop"',
    "APPROVE when score is missing and amount < 20",
    "DECLINE when score is not 3",
    "APPROVE when amount >= 400 and vpn is false",
    'DECLINE when memo mentions "gift card"',
)
VALUES: Mapping[str, Sequence[Scalar]] = {
    "amount": (5.0, 12.5, 499.5, 500.0, 2500.0, -3.0, None),
    "hour": (0, 3, 6, 23, None),
    "channel": ("web", "shop", "fax", None),
    "vpn": (True, False, None),
    "score": (3, 4.5, "3", None),
    "memo": ("a Gift-Card!", "rent", None),
    "unused": (1, None),
}


class Batch:
    """Rows as columns, with what is in doubt."""

    def __init__(self, rows: Sequence[tuple[Fields, Mapping[str, str]]]) -> None:
        self._table = CaseTable(
            [Case(str(i), fields, "APPROVE") for i, (fields, _) in enumerate(rows)]
        )
        self._reasons = ["", *dict.fromkeys(why for _, d in rows for why in d.values())]
        self.doubts: dict[str, NDArray[np.int32]] = {}
        for row, (_, doubts) in enumerate(rows):
            for name, why in doubts.items():
                codes = self.doubts.setdefault(name, np.zeros(len(rows), dtype=np.int32))
                codes[row] = self._reasons.index(why)

    def __len__(self) -> int:
        return len(self._table)

    def column(self, name: str) -> Column | None:
        return self._table.column(name)

    def why(self, number: int) -> str:
        return self._reasons[number]


def odd_rows(count: int) -> list[tuple[Fields, dict[str, str]]]:
    rng = random.Random(count)
    rows = []
    for _ in range(count):
        fields = {name: rng.choice(values) for name, values in VALUES.items()}
        doubted = [name for name in VALUES if rng.random() < 0.15]
        whys = {name: rng.choice(("is missing", "is no number")) for name in doubted}
        rows.append(({n: v for n, v in fields.items() if rng.random() < 0.8}, whys))
    return rows


def ruleset_of(context: AceContext, undecided: str) -> Ruleset:
    labelled: list[tuple[dict[str, Any], str]] = [
        ({"amount": 20.0 * i, "channel": "web", "score": i % 4}, "APPROVE" if i % 5 else "DECLINE")
        for i in range(100)
    ]
    book = playbook_of(labelled, *RULES)
    ruleset = Ruleset.of(book, settle_settings(context))
    return ruleset.expecting(book.cases(NODE)) if undecided == "expect" else ruleset


CONTEXTS = [
    AceContext(),
    AceContext(
        policy={
            "costs": {"missed_fraud": 1, "false_decline": 0.2, "decline_fee": 5},
            "base_rate": 0.05,
        }
    ),
    AceContext(mode="vanilla"),
]


@pytest.mark.parametrize("undecided", ["hold", "expect"])
@pytest.mark.parametrize("context", CONTEXTS)
def test_columns_are_decided_as_their_rows(context: AceContext, undecided: str) -> None:
    ruleset, rows = ruleset_of(context, undecided), odd_rows(1_000)
    found = BatchDecider(ruleset).decide(Batch(rows))
    bullets = [bullet.id for bullet, _ in ruleset.points_by_bullet]
    for row, (fields, doubts) in enumerate(rows):
        one = ruleset.decide(fields, doubts)
        assert DECISIONS[found.decisions[row]] == one.decision, (fields, doubts)
        assert found.undecided.get(row, "") == one.undecided
        assert (one.risk is None) == bool(np.isnan(found.risks[row]))
        if one.risk is not None:
            assert found.risks[row] == one.risk
            fired = np.flatnonzero(found.fired[:, row])
            assert [bullets[place] for place in fired] == [bullet.id for bullet in one.fired]
            assert tuple(np.flatnonzero(found.prior[:, row])) == one.prior
    assert set(found.decisions) == {0, 1, 2}


@pytest.mark.parametrize("context", CONTEXTS)
def test_a_decision_in_doubt_is_that_of_any_value(context: AceContext) -> None:
    ruleset, seen = ruleset_of(context, "hold"), set[str]()
    for fields, doubts in odd_rows(400):
        one = ruleset.decide(fields, doubts)
        if len(doubts) != 1 or one.decision == "UNDECIDED":
            continue
        (name,) = doubts
        others = ({**fields, name: value} for value in VALUES[name])
        assert {ruleset.weigh(other).decision for other in others} == {one.decision}
        seen.add(one.decision)
    assert seen == {"APPROVE", "DECLINE"}


def test_points_lie_between_the_least_and_the_most_that_doubts_allow() -> None:
    ruleset = ruleset_of(AceContext(), "hold")
    for fields, doubts in odd_rows(300):
        least, most = ruleset.bounds(fields, doubts)
        assert least <= ruleset.weigh(fields).points <= most
        assert ruleset.bounds(fields, {}) == (ruleset.weigh(fields).points,) * 2


def test_what_one_field_in_doubt_allows_is_what_its_values_give() -> None:
    ruleset, seen = ruleset_of(AceContext(), "hold"), set[str]()
    for fields, doubts in odd_rows(300):
        if len(doubts) == 1 and doubts.keys() < VALUES.keys() - {"memo"}:
            (name,) = doubts
            others = ({**fields, name: value} for value in VALUES[name])
            points = [ruleset.weigh(other).points for other in others]
            assert ruleset.bounds(fields, doubts) == (min(points), max(points))
            seen.add(name)
    assert {"amount", "hour", "channel", "vpn", "score"} <= seen


def test_a_field_that_no_rule_tests_is_never_a_reason_to_wait() -> None:
    ruleset = ruleset_of(AceContext(), "hold")
    for fields, _ in odd_rows(300):
        assert ruleset.decide(fields, {"unused": "is missing"}) == ruleset.decide(fields)


def test_what_is_expected_lies_between_the_bounds_and_always_decides() -> None:
    ruleset = ruleset_of(AceContext(), "expect")
    for fields, doubts in odd_rows(300):
        least, most = ruleset.bounds(fields, doubts)
        assert least <= ruleset.expected(fields, doubts) <= most
        is_unknown = bool(ruleset.why_unknown(fields, doubts))
        assert (ruleset.decide(fields, doubts).decision == "UNDECIDED") == is_unknown


def test_a_policy_says_what_becomes_of_a_payment_in_doubt() -> None:
    book = playbook_of([({"amount": 20.0, "score": 3}, "APPROVE")] * 30, *RULES)
    payment = {"transaction": {"amount": "twelve", "hour": 3, "vpn": True}}
    graph = create_ace_graph(playbook=book).compile()
    assert graph.invoke(payment)["decision"] == "UNDECIDED"
    content = {"undecided": "expect"}
    book.declare("policy", NODE, content, expected_version=0, by="ann", reason="nobody can look")
    assert graph.invoke(payment)["decision"] != "UNDECIDED"


def test_of_unknown_fields_alone_nothing_is_known() -> None:
    ruling = Ruleset().decide({"shoe_size": 44})
    assert (ruling.decision, ruling.risk) == ("UNDECIDED", None)
    assert "case has no field that a rule asks for" in ruling.undecided
    assert Ruleset().decide({"vpn": False}, {"vpn": "is no flag"}).decision == "UNDECIDED"
    assert Ruleset().decide({"hour": 12}).decision == "APPROVE"


def test_an_amount_in_doubt_may_move_the_limit() -> None:
    scale = ruleset_of(CONTEXTS[1], "hold").scale
    assert scale.costs == CostMatrix(1, 0.2, decline_fee=5)
    low, high = scale.limits_in_doubt({"amount": 20.0}, {"amount": "is missing"})
    assert low < scale.limit({"amount": 20.0}) <= high
    assert (
        scale.limits_in_doubt({"amount": 20.0}, {"hour": ""})
        == (scale.limit({"amount": 20.0}),) * 2
    )


def test_the_reasons_name_rules_prior_and_limit() -> None:
    rule = Condition.parse("DECLINE when hour < 6")
    ruleset = Ruleset((Bullet("b7", rule.render(), NODE, condition=rule),))
    fields = {"hour": 3, "amount": 700.0}
    assert ruleset.explain(fields, ruleset.weigh(fields), prose=2) == [
        "b7: DECLINE when hour < 6 [hour=3; +2.00]",
        "scorecard +0.1: amount >= 500, hour < 6",
        "2 bullet(s) in prose not used: only a language model can read them",
        "embedded analyst: scorecard and checkable bullets, no language model",
    ]
