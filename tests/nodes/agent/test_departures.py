"""Learning for the agent that decides: what a model made of a case is where rules start from."""

from typing import Any

import numpy as np
import pytest
from followers import Follower

from acegraph.graph import create_ace_graph, feedback
from acegraph.nodes import LanguageModel
from acegraph.nodes.agent.prompt import Known, Opinion, agent_messages
from acegraph.nodes.evidence.backtest import backtest
from acegraph.nodes.models.fence import Fence
from acegraph.nodes.reflector.induction import induce
from acegraph.nodes.rules.points import log_odds_over, scorecard_over
from acegraph.nodes.rules.scale import RiskScale
from acegraph.state import AceContext, BulletPlaybook, Case, Transaction, parse_condition
from acegraph.state.values.cases import CaseTable

NODE = "fraud_detection"
DEAR = {"amount": 700, "hour": 12}


class Stubborn(Follower):
    """Approves whatever it is told."""

    def decide(self, prompt: str, text: str) -> tuple[str, float]:
        return "APPROVE", 0.3


def _history() -> list[Case]:
    return [
        Case(f"{label}-{n}", fields, label, digest=Transaction.of(fields).digest())
        for n in range(30)
        for amount, label in ((600.0 + n, "DECLINE"), (20.0 + n, "APPROVE"))
        for fields in [{"amount": amount, "hour": 9 + n % 8}]
    ]


def _taught(**given: Any) -> tuple[BulletPlaybook, Any]:
    playbook = BulletPlaybook()
    playbook.remember(_history(), NODE)
    agent = LanguageModel(Stubborn(), "prompt")
    return playbook, create_ace_graph(playbook=playbook, agent=agent, **given).compile()


@pytest.mark.parametrize(
    ("decision", "risk", "departure"),
    [
        ("DECLINE", 0.88, 0.0),
        ("APPROVE", 0.5, -2.99),  # it says that it is just at the limit
        ("APPROVE", 0.9, -2.99),  # a risk that contradicts the decision is near the limit
        ("APPROVE", 0.001, -3.0),
    ],
)
def test_a_departure_is_bounded_and_follows_the_decision(
    decision: Any, risk: float, departure: float
) -> None:
    opinion = Opinion("DECLINE", 0.8801, 0.5, 1)
    assert opinion.departure(decision, risk) == pytest.approx(departure, abs=0.01)


def test_where_fraud_is_rare_who_says_what_it_was_told_does_not_depart() -> None:
    opinion = Opinion("APPROVE", 0.003521, 1 / 11, 1)
    told = agent_messages("x", [], Fence("a", "b"), Known({}, opinion))[1].content
    assert "APPROVE, risk 0.0035 (limit" in str(told)
    assert opinion.departure("APPROVE", 0.0035) == 0


def test_a_labelled_case_keeps_by_how_much_the_model_departed() -> None:
    playbook, graph = _taught()
    playbook.add_bullet("DECLINE when amount >= 500", NODE)
    graph.invoke({"transaction": DEAR, "decision_id": "d1"})
    departed = playbook.decision("d1")["settings"]["departure"]
    assert departed < -1
    feedback(playbook, "d1", "DECLINE", reflector=lambda given: None)
    for table in (playbook.cases(NODE), playbook.fork().cases(NODE)):
        row = table.row_of("d1")
        assert row is not None
        assert table.departures[row] == departed
        assert np.count_nonzero(table.departures) == 1


def test_history_that_a_model_decides_again_keeps_it_too() -> None:
    playbook, graph = _taught()
    playbook.add_bullet("DECLINE when amount >= 500", NODE)
    [case] = [case for case in playbook.cases(NODE) if case.id == "DECLINE-0"]
    graph.invoke({"transaction": dict(case.fields), "decision_id": case.id})
    assert np.count_nonzero(playbook.cases(NODE).departures) == 1


def test_rules_start_from_what_the_model_made_of_a_case_and_the_opinion_does_not() -> None:
    playbook, graph = _taught()
    playbook.add_bullet("DECLINE when amount >= 500", NODE)
    before = RiskScale.of(playbook.cases(NODE), playbook.get_bullets_for_node(NODE))
    for case in list(playbook.cases(NODE))[:8]:
        given = {"transaction": dict(case.fields), "decision_id": case.id}
        graph.invoke(given, context=AceContext(learn=False))
    table = playbook.cases(NODE)
    assert np.count_nonzero(table.departures) > 3
    assert np.array_equal(log_odds_over(table, ()), scorecard_over(table) + table.departures)
    table.shared.clear()
    rules = playbook.get_bullets_for_node(NODE)
    assert RiskScale.of(table, rules).shift == pytest.approx(before.shift)


# A model departs no farther than 3 in log-odds: what the rules say beyond that stands.
@pytest.mark.parametrize(("weight", "asked"), [(4.0, 0), (0.5, 1)])
def test_a_mistake_that_the_weights_settle_is_no_lesson(weight: float, asked: int) -> None:
    questions = []
    playbook, graph = _taught(reflector=questions.append)
    fraud = playbook.add_bullet("DECLINE when amount >= 500", NODE)
    honest = playbook.add_bullet("APPROVE when amount < 100", NODE)
    playbook.set_weights({fraud: weight, honest: -weight})
    found = graph.invoke({"transaction": DEAR, "ground_truth": "DECLINE"})
    assert found["verdict"] == "wrong"
    assert len(questions) == asked


@pytest.mark.parametrize(("departure", "is_learned"), [(-3.0, True), (0.0, False), (3.0, False)])
def test_fraud_that_a_model_approves_is_learned_where_it_is_no_more_frequent_than_elsewhere(
    departure: float, is_learned: bool
) -> None:
    """A model that declines too much teaches no rule to approve: that must be right by itself."""
    cases = [
        Case(str(n), {"hour": hour, "amount": 20 + n % 7}, label, departure=departed)
        for n in range(96)
        for hour, departed in ((n % 8, departure), (8 + n % 12, 0.0))
        for label in (["DECLINE", "APPROVE"][n // 24 % 2],)  # at every hour half are fraud
    ]
    table, label = CaseTable(cases), "APPROVE" if departure > 0 else "DECLINE"
    induced = induce({"hour": 3, "amount": 22}, label, table, log_odds_over(table, ()))
    assert (induced is not None) == is_learned
    rule = parse_condition(f"{label} when hour < 8")
    assert rule is not None
    tested = backtest(rule, table, log_odds_over(table, ()))
    assert tested.precision == 0.5
    assert (tested.p_chance < 1e-6) == is_learned
