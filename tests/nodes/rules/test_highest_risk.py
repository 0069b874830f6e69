"""The highest risk that labelled cases bear out: none is told, and none acts, above it."""

from dataclasses import replace

import numpy as np
import pytest

from acegraph.graph import create_ace_graph
from acegraph.nodes.curator.curator import Curator
from acegraph.nodes.curator.refine import refine
from acegraph.nodes.evidence.backtest import wilson_interval
from acegraph.nodes.evidence.residuals import sigmoid
from acegraph.nodes.rules.points import NO_LANGUAGE_MODEL, log_odds_over
from acegraph.nodes.rules.scale import HIGHEST_RISK, HighestRisk, RiskScale
from acegraph.state import AceContext, Bullet, BulletPlaybook, Case, Condition
from acegraph.state.values.bullet import REFINEMENT
from acegraph.state.values.cases import CaseTable

NODE = "fraud_detection"


@pytest.mark.parametrize("highest", [0.1, 0.3, 1.0])
def test_held_out_cases_tell_the_highest_risk(highest: float) -> None:
    rng = np.random.default_rng(8)
    log_odds = rng.normal(-5.0, 3.0, 60_000)
    fraud = rng.random(len(log_odds)) < highest * sigmoid(log_odds)
    found = HighestRisk.of(fraud, log_odds, np.ones(len(log_odds)), len(log_odds))
    assert found.risk == pytest.approx(highest, rel=0.25)
    assert found.rate == pytest.approx(fraud.mean(), abs=1e-6)


def test_cases_that_stand_for_others_count_as_many() -> None:
    rng = np.random.default_rng(9)
    log_odds = rng.normal(-5.0, 3.0, 80_000)
    fraud = rng.random(len(log_odds)) < 0.2 * sigmoid(log_odds)
    drawn = fraud | (rng.random(len(fraud)) < 1 / 8)
    weights = np.where(fraud, 1.0, 8.0)[drawn]
    shifted = log_odds[drawn] + 2.0
    found = HighestRisk.of(fraud[drawn], shifted, weights, len(shifted))
    assert found.risk == pytest.approx(0.2, rel=0.3)
    assert found.rate == pytest.approx(fraud.mean(), rel=0.05)


def test_one_wrong_label_does_not_tell_what_all_others_are_worth() -> None:
    rng = np.random.default_rng(5)
    log_odds = np.where(rng.random(4000) < 0.01, 14.0, -6.0)
    fraud = rng.random(len(log_odds)) < sigmoid(log_odds)
    fraud[int(np.argmax(log_odds))] = False
    assert HighestRisk.of(fraud, log_odds, np.ones(len(log_odds)), len(log_odds)).risk == 1


def cases(n: int, seed: int) -> list[Case]:
    """Payments with 4 % fraud: one in ten of those that are odd in two fields or in more."""
    rng = np.random.default_rng(seed)
    found = []
    for i in range(n):
        fields = {f"field{j}": float(rng.integers(0, 100)) for j in range(8)}
        odd = sum(value >= 85 for value in fields.values())
        is_fraud = rng.random() < (0.003, 0.02, 0.1)[min(odd, 2)]
        found.append(Case(f"c{seed}-{i}", fields, "DECLINE" if is_fraud else "APPROVE"))
    return found


ODD = dict.fromkeys((f"field{j}" for j in range(8)), 95.0)


@pytest.fixture(scope="module")
def refined() -> BulletPlaybook:
    playbook = BulletPlaybook()
    playbook.remember(cases(8000, 1), NODE)
    assert refine(playbook, NODE, Curator()) is not None
    return playbook


def test_a_refined_set_promises_no_more_than_was_borne_out(refined: BulletPlaybook) -> None:
    bullets, table = refined.get_bullets_for_node(NODE), refined.cases(NODE)
    given = bullets[0].origin[HIGHEST_RISK]
    assert isinstance(given, dict)
    assert given["rate"] == pytest.approx(table.fraud.mean(), abs=1e-6)
    scale = RiskScale.of(table, bullets)
    assert 0.1 < scale.highest < 0.4
    assert sigmoid(log_odds_over(table, bullets) + scale.shift).max() > 0.5
    later = CaseTable(cases(20_000, 2))
    risks = scale.risks(log_odds_over(later, bullets))
    assert risks.max() <= scale.highest
    assert later.fraud.sum() / risks.sum() == pytest.approx(1, abs=0.25)
    top = np.argsort(-risks)[:2000]
    assert later.fraud[top].sum() / risks[top].sum() == pytest.approx(1, abs=0.25)


@pytest.mark.parametrize("base_rate", [None, 0.2])
def test_the_risks_still_add_up_and_decide(
    refined: BulletPlaybook, base_rate: float | None
) -> None:
    bullets, table = refined.get_bullets_for_node(NODE), refined.cases(NODE)
    scale = RiskScale.of(table, bullets, base_rate=base_rate)
    log_odds = log_odds_over(table, bullets)
    risks = scale.risks(log_odds)
    if base_rate is None:
        assert risks.sum() == pytest.approx(table.fraud.sum(), rel=0.02)
    else:
        assert risks.mean() == pytest.approx(base_rate, abs=0.1)
    assert (scale.declines(log_odds, {}) == (risks > scale.decline_from({}))).all()


def test_where_a_good_customer_is_dear_nothing_is_declined_and_a_reason_says_so(
    refined: BulletPlaybook,
) -> None:
    graph = create_ace_graph(playbook=refined.fork()).compile()
    given = {"transaction": ODD}
    cheap, dear = (
        graph.invoke(
            given, context=AceContext(learn=False, policy={"costs": {"false_decline": cost}})
        )
        for cost in (0.01, 4)
    )
    assert (cheap["decision"], dear["decision"]) == ("DECLINE", "APPROVE")
    assert "labelled cases bear out no risk above" in " ".join(dear["reasons"])
    assert "bear out" not in " ".join(cheap["reasons"])


@pytest.mark.parametrize(
    ("author", "later", "is_limited"),
    [("ann", 0, False), (NO_LANGUAGE_MODEL, 1, False), (NO_LANGUAGE_MODEL, 0, True)],
)
def test_what_comes_later_is_not_limited(
    refined: BulletPlaybook, author: str, later: int, *, is_limited: bool
) -> None:
    playbook = refined.fork()
    rule = Condition.parse("DECLINE when field0 >= 99")
    playbook.add_bullet(
        rule.render(),
        NODE,
        condition=rule,
        origin={"author": author},
        evidence={"cases": len(playbook.cases(NODE)) + later},
    )
    scale = RiskScale.of(playbook.cases(NODE), playbook.get_bullets_for_node(NODE))
    assert (scale.highest < 1) == is_limited


def test_what_stood_before_the_set_is_part_of_it() -> None:
    written = Bullet("b1", "", NODE, condition=Condition.parse("DECLINE when field0 >= 99"))
    origin = {REFINEMENT: 3, HIGHEST_RISK: {"risk": 0.2, "rate": 0.01, "cases": 40}}
    of_set = replace(written, id="b2", origin=origin)
    prose = Bullet("b3", "be careful", NODE)
    assert HighestRisk.behind([written, of_set, prose]) == HighestRisk(0.2, 0.01, 40)
    assert HighestRisk.behind([written]) == HighestRisk()


def test_of_ten_cases_or_more_the_riskiest_tell_the_highest_risk() -> None:
    log_odds = np.repeat([3.0, 2.0, 0.0], [4, 8, 988])
    fraud = np.zeros(1000, bool)
    fraud[[0, 1, 5, 20]] = True
    ones = np.ones(1000)
    found = HighestRisk.seen(fraud, log_odds, ones)  # 3 of 12: the first four are too few
    assert found.risk == pytest.approx(wilson_interval(3, 12)[0])
    weighted = HighestRisk.seen(fraud, log_odds, np.where(fraud, 1.0, 5.0))
    assert weighted.risk == pytest.approx(wilson_interval(2, 12)[0])  # each honest one is five
    nowhere = HighestRisk.seen(fraud, np.zeros(1000), ones)
    assert nowhere.risk == pytest.approx(4 * 0.004)  # four times the rate at the least


@pytest.mark.parametrize(("author", "is_limited"), [(NO_LANGUAGE_MODEL, True), ("ann", False)])
def test_a_rule_of_few_frauds_promises_no_more_than_was_seen(
    author: str, *, is_limited: bool
) -> None:
    playbook = BulletPlaybook()
    rare = [
        Case(
            f"c{i}",
            {"vpn": i % 50 == 0, "odd": i < 30},
            "DECLINE" if i in (1, 2, 3, 500, 600, 700, 801, 902) else "APPROVE",
        )
        for i in range(4000)
    ]
    playbook.remember(rare, NODE)
    rule = Condition.parse("DECLINE when odd is true")
    playbook.add_bullet(
        rule.render(), NODE, condition=rule, origin={"author": author}, evidence={"cases": 4000}
    )
    bullets, table = playbook.get_bullets_for_node(NODE), playbook.cases(NODE)
    assert table.fraud.mean() < 0.01
    scale = RiskScale.of(table, bullets)
    assert (scale.highest < 0.2) == is_limited
    assert scale.risks(log_odds_over(table, bullets)).sum() == pytest.approx(8, rel=0.02)
    assert RiskScale.of(table, []).highest == 1
