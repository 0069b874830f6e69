"""Agents, judges and reflectors that are runnables or functions of somebody else."""

from typing import Any

import pytest
from langchain_core.messages import AIMessage, HumanMessage
from langchain_core.runnables import RunnableLambda
from model_samples import UNSUSPICIOUS, Run

from acegraph.graph import create_ace_graph

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
