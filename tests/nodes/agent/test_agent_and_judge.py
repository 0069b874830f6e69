"""Agent, judge and reflector, each used alone on the embedded default."""

import pytest

from acegraph.graph import generate_transactions
from acegraph.nodes import LLMJudge, Reflector, SimpleFraudAgent, SimpleJudge
from acegraph.state import Bullet, InvalidSettings, InvalidTransaction, parse_condition

RISKY = "User pays $2,500 at 3 AM via VPN, account is 2 days old"
CALM = "Customer for 6 years pays $20 at a supermarket at 2 PM"


def test_the_scorecard_alone_tells_the_obvious_apart() -> None:
    agent = SimpleFraudAgent()
    assert (agent.analyze(RISKY), agent.analyze(CALM)) == ("DECLINE", "APPROVE")


def test_a_decision_says_that_no_language_model_was_used() -> None:
    decided = SimpleFraudAgent().decide(RISKY)
    assert any("no language model" in reason for reason in decided.reasons)
    assert decided.risk_score is not None
    assert 0.5 < decided.risk_score <= 1


def test_a_bullet_that_fires_turns_the_decision_and_is_named() -> None:
    agent = SimpleFraudAgent(bullets=["DECLINE when amount < 30 and hour >= 12"])
    decided = agent.decide(CALM)
    assert decided.decision == "DECLINE"
    assert decided.bullets_used == ("b1",)
    assert "amount=20.0" in decided.reasons[0]


def test_prose_is_not_used_and_the_agent_says_so() -> None:
    decided = SimpleFraudAgent(bullets=["Be careful at supermarkets"]).decide(CALM)
    assert decided.decision == "APPROVE"
    assert any("prose" in reason for reason in decided.reasons)


def test_an_exception_with_the_better_record_overrules() -> None:
    def bullet(number: int, text: str, helpful: int, harmful: int) -> Bullet:
        condition = parse_condition(text)
        return Bullet(
            f"b{number}",
            text,
            "n",
            condition=condition,
            helpful_count=helpful,
            harmful_count=harmful,
        )

    block = bullet(1, "DECLINE when amount < 30", 12, 2)
    allow = bullet(2, "APPROVE when amount < 30 and hour >= 12", 30, 0)
    assert SimpleFraudAgent(bullets=[block]).analyze(CALM) == "DECLINE"
    assert SimpleFraudAgent(bullets=[block, allow]).analyze(CALM) == "APPROVE"


@pytest.mark.parametrize("bad", ["", "   ", "\x00", "x" * 1_000_000, {}, {"a": None}, None, 7])
def test_what_is_no_transaction_is_refused(bad: object) -> None:
    with pytest.raises(InvalidTransaction):
        SimpleFraudAgent().decide(bad)  # type: ignore[arg-type]


async def test_ground_truth_is_compared_up_to_case_and_space() -> None:
    judge = SimpleJudge()
    assert await judge.judge(RISKY, "decline ", " DECLINE") == (True, 1.0)
    assert await judge.judge(RISKY, "APPROVE", "decline") == (False, 1.0)
    # No key is set: an LLM judge that asked a model would raise here.
    assert await LLMJudge().judge(RISKY, "DECLINE", "DECLINE") == (True, 1.0)


async def test_without_ground_truth_and_model_the_verdict_is_pending() -> None:
    assert await SimpleJudge().judge(RISKY, "DECLINE", None) == (None, None)
    with pytest.raises(InvalidSettings, match="needs a model"):
        await LLMJudge().judge(RISKY, "DECLINE", None)


async def test_a_reflector_used_alone_remembers_its_cases() -> None:
    reflector, found = Reflector(), []
    for example in generate_transactions(100, seed=4):
        asked = (example.query, example.answer, example.answer, "n")
        if bullet := await reflector.reflect(*asked):
            found.append(bullet)
            assert await Reflector().reflect(*asked) is None
    assert found
    for bullet in found:
        assert parse_condition(bullet["new_bullet"]) is not None
        assert 0 <= bullet["confidence"] <= 1
        assert bullet["problem_types"]
