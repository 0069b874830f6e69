"""What the agent's prompt says of the playbook: what holds, its record, its weight, the sum."""

import re
from typing import Any

import pytest
from followers import Follower
from token_counts import estimated_tokens

from acegraph.graph import TrainingPipeline, create_ace_graph, generate_transactions
from acegraph.nodes import LanguageModel, SimpleFraudAgent
from acegraph.nodes.agent.prompt import Known, Opinion, agent_messages, prompt_version
from acegraph.nodes.models.fence import Fence
from acegraph.nodes.text.understand import read_fields
from acegraph.state import (
    AceContext,
    Bullet,
    BulletPlaybook,
    Condition,
    InvalidSettings,
    Transaction,
)

NODE = "fraud_detection"
PAYMENT = "Payment of $1,200; usually pays about $300; account is 2 days old; merchant rated 1.2"
FIELDS = {"amount": 1200.0, "usual_amount": 300.0, "amount_ratio": 4.0, "account_age_days": 2.0}


def _bullet(number: int, rule: str, **facts: Any) -> Bullet:
    return Bullet(f"b{number}", rule, NODE, condition=Condition.parse(rule), **facts)


def _told(bullets: list[Bullet], **known: Any) -> str:
    messages = agent_messages(PAYMENT, bullets, Fence("d1"), Known(FIELDS, **known))
    return str(messages[1].content)


def test_a_rule_that_holds_is_told_with_its_record_and_its_weight() -> None:
    rule = _bullet(1, "DECLINE when account_age_days < 7", weight=1.24, helpful_count=9)
    told = _told([Bullet("b2", "Look at the shop", NODE, harmful_count=1), rule])
    assert "Rules that hold here, best first (right/cases, log-odds):\n[b1] " in told
    assert "[b1] DECLINE when account_age_days < 7 (9/9, fair +1.2)\n" in told
    assert "Rules not checked, to be read (right/cases):\n[b2] Look at the shop (0/1)\n" in told


def test_a_number_that_the_text_does_not_state_is_told() -> None:
    told = _told([_bullet(1, "DECLINE when amount_ratio >= 3 and amount >= 1000")])
    assert "amount_ratio 4 >= 3 and amount >= 1000" in told


def test_the_strongest_rule_stands_first() -> None:
    rules = [
        _bullet(n, f"DECLINE when amount >= {n}", weight=w) for n, w in ((1, 0.4), (2, 2.5), (3, 1))
    ]
    assert re.findall(r"^\[(b\d)\]", _told(rules), re.MULTILINE) == ["b2", "b3", "b1"]


def test_a_backtest_is_the_record_of_a_rule_that_is_new() -> None:
    rule = _bullet(1, "DECLINE when amount >= 5", weight=2.0, evidence={"right": 30, "fires": 40})
    assert "(30/40, strong +2.0)" in _told([rule])


def test_a_rule_that_does_not_hold_is_listed_apart() -> None:
    told = _told([_bullet(1, "DECLINE when amount >= 5000")])
    assert "Rules that do not hold here:\n[b1] DECLINE when amount >= 5000" in told


@pytest.mark.parametrize(
    ("opinion", "words"),
    [
        (Opinion("DECLINE", 0.87, 0.5, 2), "DECLINE, risk 0.87 (limit 0.5)\n"),
        (Opinion("DECLINE", 0.7, 0.5, 2), "DECLINE, risk 0.70 (limit 0.5); open\n"),
        (Opinion("APPROVE", 0.3, 0.05, 1), "APPROVE, risk 0.30 (limit 0.05)\n"),
        (Opinion("APPROVE", 0.1, 0.5, 0), "risk 0.10 (limit 0.5); no rule holds here\n"),
        (Opinion("APPROVE", 0.3, 0.5, 0), "(limit 0.5); no rule holds here; open\n"),
    ],
)
def test_an_opinion_is_open_near_the_limit(opinion: Opinion, words: str) -> None:
    assert words in _told([], opinion=opinion)


def test_five_rules_and_a_payment_stay_within_400_tokens() -> None:
    rules = [
        "APPROVE when amount >= 8.5 and amount < 95 and merchant_rating >= 2.5",
        "APPROVE when account_age_days >= 85 and merchant_rating >= 3.1 and usual_amount >= 53.69",
        "APPROVE when amount_ratio < 1.24 and tx_last_hour < 5",
        "APPROVE when country_changed is false and tx_last_hour < 3",
        'DECLINE when merchant_category is "electronics" and verified is missing',
    ]
    text = (
        "Payment of $22.04 online at an electronics store, 21:35; usually pays about $57.5; 110 km "
        "from home; unrecognized device; 1 purchases in the last hour; merchant rated 4.0; home "
        "country; 1165-day-old account."
    )
    bullets = [
        _bullet(n, rule, weight=-1.2, helpful_count=110, harmful_count=33)
        for n, rule in enumerate(rules, 10)
    ]
    fields = read_fields(Transaction.of(text))
    assert all(b.condition and b.condition.holds(fields) for b in bullets)
    known = Known(fields, Opinion("APPROVE", 0.41, 0.51, 5), bullets[:2])
    messages = agent_messages(text, bullets, Fence("d1"), known)
    assert estimated_tokens("\n".join(str(m.content) for m in messages)) <= 400


@pytest.mark.slow
def test_who_follows_the_prompt_decides_like_the_analyst() -> None:
    cases = generate_transactions(20, seed=2000)
    follower = Follower()
    pipeline = TrainingPipeline(BulletPlaybook(), agent=LanguageModel(follower, "prompt"))
    pipeline.train_offline(generate_transactions(60, seed=1000))
    followed = pipeline.evaluate(cases, learn=False)
    analyst = TrainingPipeline(pipeline.playbook).evaluate(cases, learn=False)
    assert pipeline.playbook.get_bullets_for_node(NODE)
    assert followed.decisions == analyst.decisions
    assert follower.seen["calls"] == 20  # one for each decision; history is learned without


def test_the_record_of_a_decision_names_the_model_and_the_prompt() -> None:
    follower = LanguageModel(Follower(), "prompt")
    for prompts in (None, {"agent": "You decide."}):
        with BulletPlaybook() as playbook:
            graph = create_ace_graph(playbook=playbook, agent=follower, prompts=prompts)
            graph.compile().invoke({"transaction": PAYMENT, "decision_id": "d1"})
            settings = playbook.decision("d1")["settings"]
        version = prompt_version("You decide.") if prompts else prompt_version()
        assert (settings["decided_by"], settings["prompt"]) == ("Follower", version)
    assert prompt_version("You decide.") != prompt_version()


def test_instructions_can_be_replaced_and_the_fence_stays() -> None:
    messages = agent_messages(PAYMENT, [], Fence("d1"), instructions="You decide.")
    assert str(messages[0].content).startswith("You decide.\nText between two DATA lines")


@pytest.mark.parametrize(
    ("prompts", "given", "complaint"),
    [
        ({"curator": "x"}, {}, "no prompt of 'curator'; there are agent, judge, reflector"),
        ({"agent": " "}, {}, "the prompt of 'agent' is a text of instructions"),
        ({"agent": "x"}, {"agent": SimpleFraudAgent()}, "has its own prompt"),
    ],
)
def test_a_prompt_that_nobody_would_read_is_refused(
    prompts: dict[str, str], given: dict[str, Any], complaint: str
) -> None:
    with pytest.raises(InvalidSettings, match=complaint):
        create_ace_graph(prompts=prompts, **given)


def test_without_bullets_the_model_is_alone() -> None:
    follower = Follower()
    graph = create_ace_graph(agent=LanguageModel(follower, "prompt")).compile()
    graph.invoke({"transaction": PAYMENT}, context=AceContext(mode="vanilla"))
    assert "Playbook: none" in follower.seen["prompt"]
