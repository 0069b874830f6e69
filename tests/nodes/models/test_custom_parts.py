"""Agents, judges and reflectors that are runnables or functions of somebody else."""

import asyncio
from decimal import Decimal
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from langchain_core.messages import AIMessage, HumanMessage
from langchain_core.runnables import RunnableLambda
from model_samples import UNSUSPICIOUS, Run

from acegraph.graph import create_ace_graph
from acegraph.nodes.runtime.sync_async import AWAITING
from acegraph.state import BulletPlaybook

CALL: Any = {"name": "approve", "args": {}, "id": "1"}
UNREAD: Any = {"name": "approve", "args": "{", "id": "1", "error": "broken"}


@pytest.mark.parametrize(
    ("message", "why"),
    [
        (AIMessage("APPROVE", response_metadata={"finish_reason": "length"}), "was cut off"),
        (AIMessage("APPROVE", response_metadata={"finish_reason": "content_filter"}), "declined"),
        (AIMessage("APPROVE", response_metadata={"stop_reason": "pause"}), "not end normally"),
        (AIMessage("APPROVE", additional_kwargs={"refusal": "no"}), "declined to answer"),
        (AIMessage("APPROVE", additional_kwargs={"function_call": {}}), "called a function"),
        (AIMessage("APPROVE", tool_calls=[CALL]), "called a function instead of answering"),
        (AIMessage("APPROVE", tool_calls=[CALL, CALL]), "more than one answer"),
        (AIMessage("APPROVE", invalid_tool_calls=[UNREAD]), "called a function"),
        (HumanMessage("APPROVE"), "no message of an assistant"),
    ],
)
def test_a_message_that_is_not_whole_approves_nothing(
    no_key: None, run: Run, message: Any, why: str
) -> None:
    for agent in (lambda _: message, RunnableLambda(lambda _: message)):
        found = run(create_ace_graph(agent=agent), {"transaction": UNSUSPICIOUS})
        assert found["decision"] == "UNDECIDED"
        assert why in found["undecided"]


def test_a_message_that_is_not_whole_judges_nothing(no_key: None, run: Run) -> None:
    cut = AIMessage("right", response_metadata={"finish_reason": "length"})
    found = run(create_ace_graph(judge=lambda _: cut), {"transaction": UNSUSPICIOUS})
    assert (found["verdict"], found["is_correct"]) == ("undecided", None)
    assert "was cut off" in found["undecided"]


def test_a_whole_message_decides(no_key: None, run: Run) -> None:
    message = AIMessage("APPROVE", response_metadata={"finish_reason": "stop"})
    found = run(create_ace_graph(agent=lambda _: message), {"transaction": UNSUSPICIOUS})
    assert found["decision"] == "APPROVE"


def _exhausted(given: Any) -> Any:
    return next(iter(()))


@pytest.mark.parametrize("part", ["agent", "judge", "reflector"])
async def test_a_part_that_raises_stop_iteration_does_not_hang(no_key: None, part: str) -> None:
    given: Any = {"transaction": UNSUSPICIOUS}
    if part == "reflector":
        given["ground_truth"] = "DECLINE"
    for target in (_exhausted, RunnableLambda(_exhausted)):
        collaborator: Any = {part: target}
        graph = create_ace_graph(**collaborator).compile()
        with pytest.raises(RuntimeError):
            graph.invoke(given)
        with pytest.raises(RuntimeError) as error:
            await asyncio.wait_for(graph.ainvoke(given), 20)
        assert isinstance(error.value.__cause__, StopIteration)


async def test_work_that_raises_stop_iteration_does_not_hang() -> None:
    with pytest.raises(RuntimeError, match="StopIteration"):
        await asyncio.wait_for(AWAITING.work(_exhausted, None), 20)


@pytest.mark.parametrize("risk", [np.int64(0), np.float32(0.25), Fraction(1, 4), Decimal("0.1")])
def test_any_real_number_is_a_risk(no_key: None, run: Run, risk: Any) -> None:
    agent = {"decision": "APPROVE", "risk_score": risk}
    found = run(create_ace_graph(agent=lambda _: agent), {"transaction": UNSUSPICIOUS})
    assert (found["decision"], found["risk_score"]) == ("APPROVE", float(risk))


@pytest.mark.parametrize("risk", [True, np.True_, "0.1", float("nan"), -1])
def test_what_is_no_share_is_no_risk(no_key: None, run: Run, risk: Any) -> None:
    agent = {"decision": "APPROVE", "risk_score": risk}
    found = run(create_ace_graph(agent=lambda _: agent), {"transaction": UNSUSPICIOUS})
    assert found["decision"] == "UNDECIDED"
    assert "risk_score is a number between 0 and 1" in found["undecided"]


def test_an_error_of_a_part_says_its_role_once(no_key: None, run: Run) -> None:
    def slow_agent(given: Any) -> Any:
        raise TimeoutError("10 s")

    found = run(create_ace_graph(agent=slow_agent), {"transaction": UNSUSPICIOUS})
    assert found["undecided"] == "agent: slow_agent: 10 s"


MORNING = {"field": "hour", "op": "<", "value": 13}


@pytest.mark.parametrize(
    "condition", ["DECLINE when hour < 13", {"verdict": "DECLINE", "all": [MORNING]}]
)
def test_a_reflector_may_state_a_condition_as_a_sentence(
    no_key: None, playbook: BulletPlaybook, run: Run, condition: Any
) -> None:
    lesson = {"new_bullet": "Beware of mornings", "condition": condition}
    graph = create_ace_graph(
        playbook=playbook, agent=lambda _: "APPROVE", reflector=lambda _: lesson
    )
    found = run(graph, {"transaction": {**UNSUSPICIOUS, "hour": 9}, "ground_truth": "DECLINE"})
    assert found["undecided"] is None
    assert found["reflection"]["condition"] == {"verdict": "DECLINE", "all": [MORNING]}


@pytest.mark.parametrize(
    ("answer", "why"),
    [
        ("Beware of mornings", "a mapping with new_bullet wanted, or None, not 'Beware"),
        ({"bullet": "Beware"}, "new_bullet: Field required"),
        ({"new_bullet": "Beware", "confidence": 7}, "confidence: Input should be less than"),
        ({"new_bullet": "Beware", "condition": "at night"}, "condition: not a condition: 'at"),
        ({"new_bullet": "Beware", "condition": {"hour": 3}}, 'as "DECLINE when hour < 13"'),
        ({"new_bullet": "Beware", "condition": [MORNING]}, 'as "DECLINE when hour < 13"'),
    ],
)
def test_a_reflector_is_told_which_form_is_wanted(
    no_key: None, playbook: BulletPlaybook, run: Run, answer: Any, why: str
) -> None:
    graph = create_ace_graph(playbook=playbook, reflector=lambda _: answer)
    found = run(graph, {"transaction": UNSUSPICIOUS, "ground_truth": "DECLINE"})
    assert why in found["undecided"]
    assert "\n" not in found["undecided"]
    assert len(playbook) == 0
