"""Refinement: a better set of rules takes over; noise and what a person wrote stay as they are."""

from itertools import combinations

import numpy as np
import pytest

from acegraph.graph import create_ace_graph, feedback
from acegraph.graph.operations.learning.purge import purge
from acegraph.nodes.curator.curator import Curator
from acegraph.nodes.curator.refine import refine
from acegraph.nodes.rules.learner.whole import best_rules
from acegraph.nodes.rules.points import NO_LANGUAGE_MODEL
from acegraph.state import BulletPlaybook, Case, Condition, Field, Task, rollback
from acegraph.state.values.bullet import REFINEMENT
from acegraph.state.values.cases import CaseTable

NODE = "fraud_detection"


def world(n: int, seed: int, *, share: float = 0.03, has_cause: bool = True) -> list[Case]:
    """Payments with two weak causes and two fields of noise."""
    rng = np.random.default_rng(seed)
    cases = []
    for i in range(n):
        size, age = float(rng.integers(1, 1000)), float(rng.integers(1, 100))
        kind, noise = str(rng.choice(["shop", "fuel", "web"])), round(float(rng.normal()), 3)
        odds = share * (1 + has_cause * (12 * (size >= 800) + 10 * (kind == "web" and age < 30)))
        label = "DECLINE" if rng.random() < odds else "APPROVE"
        fields = {"size": size, "age": age, "kind": kind, "noise": noise}
        cases.append(Case(f"c{i}", fields, label))  # type: ignore[arg-type]
    return cases


def test_rules_are_found_where_fraud_is_rare() -> None:
    found = best_rules(CaseTable(world(1500, 1, share=0.02)))
    assert found is not None
    assert found.sureness > 4
    fields = {name for rule in found.conditions for name in rule.fields}
    assert {"size"} <= fields
    assert found.held_out["caught"] > 0.4 * found.held_out["frauds"]
    assert found.held_out["false_declines"] < 0.25


def test_no_rule_is_sought_over_a_protected_field() -> None:
    table = CaseTable(world(700, 1, share=0.1))
    names = {name for rule in best_rules(table).conditions for name in rule.fields}  # type: ignore[union-attr]
    assert "size" in names
    fields = (Field("size", "number", role="protected"), Field("age", "number"))
    table.task = Task("t", (*fields, Field("kind", "category"), Field("noise", "number")))
    found = best_rules(table)
    assert found is None or all("size" not in rule.fields for rule in found.conditions)


def test_whole_numbers_are_tried_as_codes_and_as_quantities() -> None:
    rng = np.random.default_rng(3)
    cases = []
    for i in range(200):
        fields = {"code": float(100 + 7 * rng.integers(0, 12)), "noise": float(rng.normal())}
        risky = rng.random() < (0.9 if fields["code"] in (121, 142, 163) else 0.1)
        cases.append(Case(f"c{i}", fields, "DECLINE" if risky else "APPROVE"))
    found = best_rules(CaseTable(cases))
    assert found is not None
    rules = {f"DECLINE when code is {code}" for code in (121, 142, 163)}
    assert {rule.render() for rule in found.conditions} == rules


@pytest.mark.parametrize("share", [0.03, 0.3])
def test_nothing_is_found_in_noise(share: float) -> None:
    for seed in range(2):
        table = CaseTable(world(700, seed, share=share, has_cause=False))
        assert best_rules(table) is None


def three_weak_causes(n: int, seed: int) -> list[Case]:
    """Payments of which each of three fields makes fraud somewhat more likely."""
    rng = np.random.default_rng(seed)
    cases = []
    for i in range(n):
        fields = {name: float(rng.integers(1, 100)) for name in ("size", "age", "hour", "noise")}
        odds = 0.1 + 0.27 * sum(fields[name] >= 50 for name in ("size", "age", "hour"))
        cases.append(Case(f"c{i}", fields, "DECLINE" if rng.random() < odds else "APPROVE"))
    return cases


def test_where_the_fields_have_a_signal_few_cases_are_enough_for_a_set() -> None:
    cases = three_weak_causes(150, 1)
    assert best_rules(CaseTable(cases), signal=0.0) is None
    playbook = BulletPlaybook()
    playbook.remember(cases, NODE)
    done = refine(playbook, NODE, Curator())
    assert done is not None
    rules = [b.condition for b in playbook.get_bullets_for_node(NODE) if b.condition]
    assert {name for rule in rules for name in rule.fields} == {"size", "age", "hour"}
    assert "chance hardly ever explains as much" in playbook.history()[-1]["reason"]
    strict = BulletPlaybook()
    strict.remember(cases, NODE)
    assert refine(strict, NODE, Curator(gate="strict")) is None


def test_what_a_person_wrote_stays_and_a_rollback_undoes_the_rest() -> None:
    playbook = BulletPlaybook()
    playbook.remember(world(1200, 3), NODE)
    rule = Condition.parse('DECLINE when kind is "web" and age < 20')
    origin: dict[str, object] = {"author": "ann"}
    written = playbook.add_bullet(rule.render(), NODE, condition=rule, origin=origin)
    before = playbook.version
    done = refine(playbook, NODE, Curator())
    assert done is not None
    assert done.added
    assert playbook.get_bullet(written).status == "active"
    assert all(REFINEMENT in playbook.get_bullet(i).origin for i in done.added)
    assert all(playbook.get_bullet(i).weight for i in done.added)
    assert refine(playbook, NODE, Curator()) is None or playbook.version > before
    rollback(playbook, before)
    assert [b.id for b in playbook.get_bullets_for_node(NODE)] == [written]


def test_a_refined_playbook_can_be_purged_as_if_the_labels_had_never_come() -> None:
    refined = BulletPlaybook()
    refined.remember(world(900, 4), NODE)
    assert refine(refined, NODE, Curator()) is not None
    books = []
    for is_poisoned in (False, True):
        playbook = refined.fork()
        graph = create_ace_graph(playbook=playbook).compile()
        for i, case in enumerate(world(40, 5)):
            graph.invoke({"transaction": dict(case.fields), "decision_id": f"d{i}"})
            if i % 4 == 0 and is_poisoned:
                feedback(playbook, f"d{i}", "APPROVE", source="partner feed")
            elif i % 4 == 1:
                feedback(playbook, f"d{i}", case.label, source="analyst:ann")
        books.append(playbook)
    clean, poisoned = books
    assert purge(poisoned, "partner feed").note == ""
    wanted = {b.content: b.weight for b in clean.get_bullets_for_node(NODE)}
    found = {b.content: b.weight for b in poisoned.get_bullets_for_node(NODE)}
    assert found == pytest.approx(wanted, abs=0.02)


def balanced(n: int, seed: int, cut: int = 600) -> list[Case]:
    """Half of the payments are fraud; a large one is, and so is a new customer on the web."""
    rng = np.random.default_rng(seed)
    cases = []
    for i in range(n):
        fields = {"size": float(rng.integers(1, 1000)), "age": float(rng.integers(1, 100))}
        fields |= {f"noise{j}": round(float(rng.normal()), 3) for j in range(6)}
        is_fraud = (fields["size"] >= cut or fields["age"] < 20) ^ (rng.random() < 0.08)
        cases.append(Case(f"c{seed}-{i}", fields, "DECLINE" if is_fraud else "APPROVE"))
    return cases


def test_no_two_rules_of_a_set_say_the_same() -> None:
    table = CaseTable(balanced(500, 5))
    found = best_rules(table)
    assert found is not None
    for left, right in combinations([rule.holds_over(table) for rule in found.conditions], 2):
        assert (left & right).sum() <= 0.9 * (left | right).sum()
        assert (left == right).mean() >= 0.1


def test_a_short_set_has_its_cuts_where_the_cause_is_and_no_noise() -> None:
    for seed in range(2):
        found = best_rules(CaseTable(balanced(500, seed)))
        assert found is not None
        assert len(found.conditions) <= 6
        tests = [test for rule in found.conditions for test in rule.comparisons]
        assert {test.field for test in tests} == {"size", "age"}
        near = {"size": (582, 618), "age": (19.4, 20.6)}
        for field, (low, high) in near.items():
            assert any(low <= t.value <= high for t in tests if t.field == field)  # type: ignore


def test_a_rule_whose_cut_moves_is_a_revision_of_its_bullet() -> None:
    playbook = BulletPlaybook()
    playbook.remember(balanced(600, 1), NODE)
    rule = Condition.parse("APPROVE when size < 450 and age >= 34")
    origin: dict[str, object] = {"author": NO_LANGUAGE_MODEL}
    first = playbook.add_bullet(rule.render(), NODE, condition=rule, origin=origin)
    before = playbook.version
    done = refine(playbook, NODE, Curator())
    assert done is not None
    (revised,) = (b for b in playbook.get_bullets(done.added) if b.revision == 2)
    assert (revised.origin["revises"], revised.related) == (first, (first,))
    assert "revised" in playbook.history(first)[-1]["reason"]
    rollback(playbook, before)
    assert [b.id for b in playbook.get_bullets_for_node(NODE)] == [first]


def test_a_standing_rule_of_three_comparisons_does_not_become_longer() -> None:
    for seed in range(3):
        rng = np.random.default_rng(seed)
        numbers = rng.integers(0, 100, (300, 5))
        is_large = (numbers[:, :4] > (40, 30, 20, 25)).all(axis=1) ^ (rng.random(300) < 0.05)
        cases = [
            Case(f"c{i}", {f"x{j}": float(x) for j, x in enumerate(row)}, label)  # type: ignore[arg-type]
            for i, (row, label) in enumerate(
                zip(numbers, np.where(is_large, "DECLINE", "APPROVE").tolist(), strict=True)
            )
        ]
        stands = Condition.parse("DECLINE when x0 > 40 and x1 > 30 and x2 > 20")
        found = best_rules(CaseTable(cases), [stands])
        assert found is not None
        assert all(len(rule.comparisons) <= 3 for rule in found.conditions)


def test_a_rule_that_the_others_do_without_is_left_out() -> None:
    rng, playbook = np.random.default_rng(3), BulletPlaybook()
    sizes, strange = rng.uniform(0, 100, 600).round(1), rng.random(600) < 0.06
    labels = np.where((sizes >= 60) | strange, "DECLINE", "APPROVE").tolist()
    cases = [
        Case(f"c{i}", {"size": size, "age": age}, label)
        for i, (size, age, label) in enumerate(
            zip(sizes.tolist(), rng.integers(1, 100, 600).tolist(), labels, strict=True)
        )
    ]
    playbook.remember(cases, NODE)
    for text in ("DECLINE when size >= 60", "DECLINE when size >= 57"):
        rule, origin = Condition.parse(text), {"author": NO_LANGUAGE_MODEL}
        playbook.add_bullet(rule.render(), NODE, condition=rule, origin=dict(origin))
    done = refine(playbook, NODE, Curator())
    assert done is not None
    assert (done.added, done.retired) == ((), ("b2",))
    assert done.rule_set.sureness_over_standing < 1.64  # shorter is reason enough
