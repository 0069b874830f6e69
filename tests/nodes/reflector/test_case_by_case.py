"""Where no set of rules is proved, single rules are learned, each around a case."""

import numpy as np

from acegraph.graph import TrainingPipeline
from acegraph.nodes.evidence.proof_levels import gate_of
from acegraph.nodes.reflector.case_by_case import learn_case_by_case
from acegraph.state import Bullet, Case, Condition
from acegraph.state.values.cases import CaseTable
from acegraph.state.values.plain import Fields

GATE = gate_of("standard")


def table_of(n: int, seed: int, *, has_cause: bool = True) -> CaseTable:
    """Fraud is a flag or a large x0, but not both; six numbers beside it mean nothing."""
    rng = np.random.default_rng(seed)
    cases: list[Case] = []
    for i in range(n):
        numbers = rng.random(7).round(3)
        fields: Fields = {f"x{j}": float(x) for j, x in enumerate(numbers)}
        fields["flag"] = flag = bool(rng.random() < 0.5)
        fraud = (flag != (numbers[0] >= 0.5)) != (rng.random() < 0.05)
        if not has_cause:
            fraud = rng.random() < 0.5
        cases.append(Case(str(i), fields, "DECLINE" if fraud else "APPROVE"))
    return CaseTable(cases)


def _fields(table: CaseTable, bullets: list[Bullet]) -> set[str]:
    found = learn_case_by_case(table, bullets, GATE)
    rules = (Condition.from_json(reflection.get("condition") or {}) for _, reflection in found)
    return {name for rule in rules for name in rule.fields}


def test_a_pass_finds_the_cause_and_nothing_in_noise() -> None:
    assert _fields(table_of(150, 1), []) == {"flag", "x0"}
    assert _fields(table_of(150, 1, has_cause=False), []) == set()


def test_each_rule_holds_on_the_case_that_it_was_drawn_from() -> None:
    for case, reflection in learn_case_by_case(table_of(150, 1), [], GATE):
        rule = Condition.from_json(reflection.get("condition") or {})
        assert (rule.holds(case.fields), rule.verdict) == (True, case.label)


def test_what_stands_is_not_learned_again() -> None:
    table = table_of(150, 1)
    found = learn_case_by_case(table, [], GATE)
    stands = [
        Bullet(
            f"b{number}",
            reflection["new_bullet"],
            "node",
            condition=Condition.from_json(reflection.get("condition") or {}),
            weight=3.0,
        )
        for number, (_, reflection) in enumerate(found)
    ]
    again = {reflection["new_bullet"] for _, reflection in learn_case_by_case(table, stands, GATE)}
    assert not again & {reflection["new_bullet"] for _, reflection in found}


def test_a_dozen_frauds_teach_a_rule_although_they_prove_no_set() -> None:
    rng = np.random.default_rng(0)
    rows = [
        {
            "query": {"amount": float(amount), "minutes": int(rng.integers(0, 60))},
            "answer": "DECLINE" if amount >= 940 else "APPROVE",
        }
        for amount in rng.permutation(np.linspace(1, 1_000, 200).round(1))
    ]
    pipeline = TrainingPipeline()
    report = pipeline.train_offline(rows)
    bullets = pipeline.playbook.get_bullets_for_node(pipeline.context.node)
    assert (report.refined, report.frauds, report.bullets_added) == (0, 12, len(bullets))
    assert [b.condition.fields for b in bullets if b.condition] == [("amount",)]
    assert bullets[0].origin["decision"] in {
        case.id for case in pipeline.playbook.cases(bullets[0].node)
    }
