"""From few cases rules that are learned case by case are on trial beside sets for all cases."""

from functools import partial

import numpy as np
import pytest

from acegraph.nodes.curator.refinement.by_case import ByCase
from acegraph.nodes.curator.refinement.whole_playbook import RuleSet, best_rules
from acegraph.nodes.evidence.proof_levels import gate_of
from acegraph.nodes.reflector.case_by_case import learn_case_by_case
from acegraph.nodes.rules.points import start_over
from acegraph.state import Case, Condition
from acegraph.state.values.cases import CaseTable
from acegraph.state.values.condition import Comparison
from acegraph.state.values.transaction import Fields

learn = partial(learn_case_by_case, gate=gate_of("standard"))
TRUE = [
    Condition((Comparison("flag", "is", False), Comparison("x0", ">=", 0.5)), "DECLINE"),
    Condition((Comparison("flag", "is", True), Comparison("x0", "<", 0.5)), "DECLINE"),
]
NOISE = [Condition((Comparison("x1", ">=", 0.5),), "DECLINE")]


def table_of(n: int, seed: int, *, rate: float = 0.5, has_cause: bool = True) -> CaseTable:
    """Fraud is a flag or a large x0, but not both; six numbers beside it mean nothing."""
    rng = np.random.default_rng(seed)
    cases: list[Case] = []
    while len(cases) < n:
        fields: Fields = {f"x{i}": round(float(rng.random()), 3) for i in range(7)}
        fields["flag"] = flag = bool(rng.random() < 0.5)
        is_large = float(fields["x0"] or 0) >= 0.5  # type: ignore[arg-type]
        fraud = (flag != is_large) != (rng.random() < 0.05) if has_cause else rng.random() < 0.5
        if not fraud or rng.random() < rate / (1 - rate):
            cases.append(Case(str(len(cases)), fields, "DECLINE" if fraud else "APPROVE"))
    return CaseTable(cases)


class Scripted:
    """Always learns the same rules, and counts how often it is asked."""

    def __init__(self, rules: list[Condition]) -> None:
        self.rules, self.asked = rules, 0

    def __call__(self, table: CaseTable) -> list[Condition]:
        self.asked += 1
        return self.rules


def fields_of(found: RuleSet | None) -> set[str]:
    assert found is not None
    return {name for rule in found.conditions for name in rule.fields}


def test_a_pass_finds_the_cause_and_nothing_in_noise() -> None:
    assert {name for rule in learn(table_of(150, 1)) for name in rule.fields} == {"flag", "x0"}
    assert learn(table_of(150, 1, has_cause=False)) == []


def test_held_out_cases_decide_between_a_pass_and_sets_for_all_cases() -> None:
    table, right, wrong = table_of(100, 2), Scripted(TRUE), Scripted(NOISE)
    found = best_rules(table, has_signal=True, learn=right)
    assert fields_of(found) == {"flag", "x0"}
    assert found is not None
    assert len(found.conditions) == 2
    assert "x1" not in fields_of(best_rules(table, has_signal=True, learn=wrong))
    assert (right.asked, wrong.asked) == (6, 5)  # in each of five parts; all cases if it is best


def test_rules_are_weighed_without_the_cases_that_they_are_tried_on() -> None:
    table = table_of(100, 3)
    held_out = np.arange(len(table)) < 20
    seen: list[set[str]] = []

    def spy(known: CaseTable) -> list[Condition]:
        seen.append({case.id for case in known})
        return TRUE

    log_odds, length = ByCase(spy, table).log_odds(held_out)
    assert (seen, length) == ([{str(i) for i in range(20, 100)}], 2)
    assert np.mean((log_odds > 0) == table.fraud[held_out]) > 0.85
    nothing, length = ByCase(Scripted([]), table).log_odds(held_out)
    assert length == 0
    assert np.ptp(nothing - start_over(table)[held_out]) == pytest.approx(0)


@pytest.mark.parametrize(
    ("table", "is_stream", "has_signal"),
    [
        (table_of(400, 4), False, True),
        (table_of(300, 4, rate=0.1), False, True),
        (table_of(100, 4), True, True),
        (table_of(100, 4), False, False),
    ],
    ids=["many cases", "rare fraud", "a stream", "no signal"],
)
def test_no_pass_is_tried_where_it_tells_little(
    table: CaseTable, is_stream: bool, has_signal: bool
) -> None:
    asked = Scripted(TRUE)
    best_rules(table, has_signal=has_signal, is_stream=is_stream, learn=asked)
    assert asked.asked == 0
