"""The fraud check as a tool for somebody's agent: it takes a transaction and an id, and no label.

`graph.as_tool()` would ask the model for the ground truth too, which it would make up.
"""

import json
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, Final

from langchain_core.runnables import RunnableConfig
from langchain_core.tools import StructuredTool, ToolException
from langgraph.graph.state import CompiledStateGraph, StateGraph
from pydantic import BaseModel, Field

from acegraph.graph.build import create_ace_graph
from acegraph.state import AceContext, AceInput, DecisionConflict, InvalidInput, InvalidSettings
from acegraph.state.errors import PrunedDecision

if TYPE_CHECKING:
    from acegraph.graph.build import AceGraph

_DESCRIPTION: Final = (
    "Decide whether a card payment may go through. Give the payment as it is; the answer has the "
    "decision (APPROVE, DECLINE or UNDECIDED), the risk of fraud and the reasons."
)
_ANSWERED: Final = ("decision_id", "decision", "risk_score", "reasons", "undecided", "warnings")


class ToolInput(BaseModel):
    """What a model may give."""

    transaction: str | dict[str, Any] = Field(
        description="the payment: text, or an object of its fields"
    )
    decision_id: str | None = Field(
        default=None,
        description="the id of the payment, if it has one: a payment sent again is counted once",
    )


def create_fraud_tool(
    graph: "AceGraph | CompiledStateGraph[Any, Any, Any, Any] | None" = None,
    *,
    name: str = "check_payment",
    description: str = _DESCRIPTION,
    context: AceContext | Mapping[str, object] | None = None,
) -> StructuredTool:
    """A LangChain tool that decides on a payment with an ACE graph, compiled or not.

    The answer is JSON with decision, id, risk score, reasons and warnings. What cannot be decided
    for a fault of the input is told to the model in one line; other errors are raised.
    """
    graph = create_ace_graph() if graph is None else graph
    if not isinstance(graph, CompiledStateGraph | StateGraph):
        raise InvalidSettings(
            f"the tool is made from a graph, not from a {type(graph).__name__}: "
            "create_fraud_tool(create_ace_graph(playbook=...))"
        )
    compiled = graph if isinstance(graph, CompiledStateGraph) else graph.compile()
    settings = None if context is None else AceContext.given(context)

    def decide(
        transaction: str | dict[str, Any],
        config: RunnableConfig,
        decision_id: str | None = None,
    ) -> str:
        given: AceInput = {"transaction": transaction, "decision_id": decision_id}
        with _told_to_the_model():
            return _answer(compiled.invoke(given, config, context=settings))

    async def adecide(
        transaction: str | dict[str, Any],
        config: RunnableConfig,
        decision_id: str | None = None,
    ) -> str:
        given: AceInput = {"transaction": transaction, "decision_id": decision_id}
        with _told_to_the_model():
            return _answer(await compiled.ainvoke(given, config, context=settings))

    return StructuredTool.from_function(
        decide,
        adecide,
        name,
        description,
        args_schema=ToolInput,
        handle_tool_error=True,
    )


@contextmanager
def _told_to_the_model() -> Iterator[None]:
    """What is wrong with a payment or its id becomes what the tool answers.

    A model can mend that. Settings, a closed playbook or a missing key are for the operator.
    """
    try:
        yield
    except InvalidSettings:
        raise
    except (InvalidInput, DecisionConflict, PrunedDecision) as error:
        raise ToolException(str(error)) from error


def _answer(result: Mapping[str, Any]) -> str:
    return json.dumps({key: result.get(key) for key in _ANSWERED}, ensure_ascii=False)
