"""Agents, judges and reflectors that are runnables or functions of somebody else."""

import asyncio
from typing import Any

import pytest
from langchain_core.messages import AIMessage, HumanMessage
from langchain_core.runnables import RunnableLambda
from model_samples import UNSUSPICIOUS, Run

from acegraph.graph import create_ace_graph
from acegraph.nodes.runtime.sync_async import AWAITING

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
