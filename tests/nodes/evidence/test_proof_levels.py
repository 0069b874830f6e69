"""How much proof a rule needs, level by level."""

import numpy as np
import pytest

from acegraph.nodes import Curator, SimpleFraudAgent
from acegraph.nodes.evidence.proof_levels import GateLevel, gate_of
from acegraph.nodes.evidence.residuals import residuals
from acegraph.nodes.reflector.induction import induce
from acegraph.nodes.rules.points import scorecard_over
from acegraph.state import BulletPlaybook, Case, InvalidSettings
from acegraph.state.values.cases import CaseTable
from acegraph.state.values.plain import Fields

NODE = "fraud_detection"


def half_explained(n: int, seed: int) -> CaseTable:
    """Fraud is size >= 67, and one in four of the rest without a cause; six fields are noise."""
    rng = np.random.default_rng(seed)
    cases = []
    for i in range(n):
        fields: Fields = {"size": float(rng.integers(0, 100))}
        fields |= {f"n{k}": float(np.round(rng.normal(), 3)) for k in range(4)}
        fields |= {f"k{k}": str(rng.choice(list("abcdef"))) for k in range(2)}
        is_fraud = float(fields["size"] or 0) >= 67 or rng.random() < 0.25
        cases.append(Case(str(i), fields, "DECLINE" if is_fraud else "APPROVE"))
    return CaseTable(cases)


def found_over(table: CaseTable, level: str) -> list[tuple[str, ...]]:
    """The fields of what is found from thirty cases, one by one, beside a proven size rule."""
    size = next(c for c in table if float(c.fields["size"] or 0) >= 90)
    log_odds = scorecard_over(table)
    first = induce(size.fields, "DECLINE", table, log_odds, gate=gate_of(level))
    assert first is not None
    log_odds = log_odds + 3.0 * first.condition.holds_over(table)
    rules = [
        induce(
            c.fields,
            c.label,
            table,
            log_odds,
            known_fields=frozenset(["size"]),
            gate=gate_of(level),
        )
        for c in list(table)[:30]
    ]
    return [rule.condition.fields for rule in rules if rule]


@pytest.mark.slow
def test_noise_beside_a_proven_cause_stays_out() -> None:
    noisy = [f for seed in range(4) for f in found_over(half_explained(400, seed), "standard")]
    assert sum(fields != ("size",) for fields in noisy) <= 2


def test_each_level_lets_in_less_than_the_one_before() -> None:
    table = half_explained(400, 1)
    numbers = [
        sum(fields != ("size",) for fields in found_over(table, level))
        for level in ("off", "lenient", "strict")
    ]
    assert numbers == sorted(numbers, reverse=True)
    assert numbers[0] > 2
    assert numbers[-1] == 0


def test_the_curator_demands_more_at_a_higher_level() -> None:
    """Eight of ten right where half are: chance does as well in one case of twenty."""
    actions = {}
    for level in ("off", "lenient", "standard", "strict"):
        playbook = BulletPlaybook()
        past = [
            Case(f"h{i}", {"x": float(i % 10), "odd": i < 10}, "DECLINE" if i % 2 else "APPROVE")
            for i in range(2, 42)
        ]
        playbook.remember(past, NODE)
        rule = "DECLINE when x >= 9 and odd is false"
        actions[level] = Curator(gate=level).curate(rule, NODE, playbook).action  # type: ignore[arg-type]
    assert actions["off"] == actions["lenient"] == "added"
    assert actions["strict"] == "refused"


def test_an_unknown_level_is_refused_in_one_line() -> None:
    with pytest.raises(InvalidSettings, match="off, lenient, standard, strict"):
        Curator(gate="loose")  # type: ignore[arg-type]


def test_an_outlier_does_not_stretch_a_rule() -> None:
    """A fraud without a cause at size 40 must not make `size >= 40` of `size >= 67`."""
    table = half_explained(400, 2)
    stray = next(
        c for c in table if c.label == "DECLINE" and 30 < float(c.fields["size"] or 0) < 50
    )
    found = induce(stray.fields, "DECLINE", table, scorecard_over(table))
    assert found is None or found.condition.fields != ("size",)


def test_a_contrast_tells_two_groups_apart() -> None:
    fraud = np.array([True] * 30 + [False] * 30)
    rest = residuals(fraud, np.zeros(60), np.ones(60))
    assert rest.contrast(fraud, ~fraud) == pytest.approx(60**0.5, rel=0.01)
    half = np.arange(60) % 2 == 0
    assert abs(rest.contrast(half, ~half)) < 0.01


def payments(n: int, fraud: int, **fields: object) -> list[Case]:
    """Cases of which the first are fraud and large, the others honest and small."""
    return [
        Case(
            f"p{i}",
            {"amount": 600.0 + i if i < fraud else 10.0 + i % 90, **fields},
            "DECLINE" if i < fraud else "APPROVE",
        )
        for i in range(n)
    ]


def test_a_quiet_time_lets_nothing_in() -> None:
    playbook, curator = BulletPlaybook(), Curator()
    rng = np.random.default_rng(0)
    past = []
    for i in range(400):
        is_large = rng.random() < 0.25
        is_fraud = i < 250 and rng.random() < (0.9 if is_large else 0.02)
        fields = {"amount": 150.0 if is_large else 50.0}
        past.append(Case(f"q{i}", fields, "DECLINE" if is_fraud else "APPROVE"))
    playbook.remember(past, NODE)
    playbook.add_bullet("DECLINE when amount >= 100", NODE)
    found = curator.curate("DECLINE when amount < 100", NODE, playbook)
    assert (found.action, "labelled cases" in found.reason) == ("refused", True)


@pytest.mark.parametrize("level", ["lenient", "standard", "strict"])
def test_labels_of_one_kind_refuse_what_they_contradict(level: GateLevel) -> None:
    playbook = BulletPlaybook()
    playbook.remember(payments(50, 0), NODE)
    found = Curator(gate=level).curate("DECLINE when amount < 80", NODE, playbook)
    assert found.reason.startswith("right on none of ")
    assert Curator(gate=level).curate("DECLINE when vpn is true", NODE, playbook).bullet_id


def test_a_rule_that_never_fires_is_not_silenced() -> None:
    playbook, curator = BulletPlaybook(), Curator()
    Curator(gate="off").curate("DECLINE when sanctions_hit is true", NODE, playbook)
    playbook.remember(payments(40, 8, sanctions_hit=False), NODE)
    assert curator.tend(NODE, playbook) == []
    (bullet,) = playbook.get_bullets_for_node(NODE)
    assert bullet.weight is None
    hit = SimpleFraudAgent(bullets=[bullet]).decide({"amount": 20, "sanctions_hit": True})
    assert hit.decision == "DECLINE"


@pytest.mark.parametrize("customers", [7, 9, 12])
def test_support_by_many_customers_stands_without_any_of_them(customers: int) -> None:
    playbook = BulletPlaybook()
    past = [
        Case(
            case.id,
            {"amount": 600.0 if i < customers else 10.0 + i % 90, "customer_id": f"C-{i}"},
            case.label,
        )
        for i, case in enumerate(payments(300, 30))
    ]
    playbook.remember(past, NODE)
    assert Curator().curate("DECLINE when amount >= 600", NODE, playbook).action == "added"


def test_the_case_a_rule_was_drawn_from_does_not_speak_for_it() -> None:
    playbook = BulletPlaybook()
    playbook.remember(payments(60, 4), NODE)
    said = "DECLINE when amount >= 600"
    alone = Curator().curate(said, NODE, playbook.fork()).evidence
    drawn = Curator().curate(said, NODE, playbook, origin={"decision": "p2"}).evidence
    assert (alone["fires"], alone["cases"]) == (4, 60)
    assert (drawn["fires"], drawn["right"], drawn["cases"]) == (3, 3, 59)


def test_what_a_person_retired_waits_for_a_person() -> None:
    playbook, curator = BulletPlaybook(), Curator()
    playbook.remember(payments(200, 40), NODE)
    said = "DECLINE when amount >= 600"
    curator.merge_bullet(said, NODE, playbook)
    playbook.set_status("b1", "retired", "legal says no")
    first, again = (curator.curate(said, NODE, playbook) for _ in range(2))
    assert (first.action, again.action) == ("held", "duplicate")
    assert playbook.get_bullet("b1").status == "candidate"
    playbook.set_status("b1", "active", "legal says yes")
    playbook.set_status("b1", "retired", "worn out", "curator")
    assert curator.curate(said, NODE, playbook).action == "revived"
