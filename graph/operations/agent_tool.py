"""The fraud check as a tool for somebody's agent: it takes a transaction and an id, and no label.

`graph.as_tool()` would ask the model for the ground truth too, which it would make up.
"""

import json
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import TYPE_CHECKING, Final

from langchain_core.runnables import RunnableConfig
from langchain_core.tools import StructuredTool, ToolException
from langgraph.graph.state import CompiledStateGraph, StateGraph
from pydantic import BaseModel, Field

from acegraph.graph.build import create_ace_graph
from acegraph.state import (
    AceContext,
    AceInput,
    AceOutput,
    AceState,
    DecisionConflict,
    InvalidInput,
    InvalidSettings,
)
from acegraph.state.errors import PrunedDecision
from acegraph.state.task.card_payments import CARD_PAYMENTS
from acegraph.state.task.task import Task

if TYPE_CHECKING:
    from acegraph.graph.build import AceGraph

_TOLD: Final = (
    "{about} Decide on one {noun}. Give it as it is; the answer has the decision ({answers} or "
    "UNDECIDED), the risk, which is the probability of {declined}, and the reasons."
)
_NAMED: Final = 40
"""So many fields are named to a model."""
Fields = dict[str, object]
Compiled = CompiledStateGraph[AceState, AceContext, AceInput, AceOutput]
_ANSWERED: Final = ("decision_id", "decision", "risk_score", "reasons", "undecided", "warnings")


class ToolInput(BaseModel):
    """What a model may give."""

    transaction: str | Fields = Field(description="the case: text, or an object of its fields")
    decision_id: str | None = Field(
        None, description="the id of the case, if it has one: a case sent again is counted once"
    )


def create_fraud_tool(
    graph: "AceGraph | Compiled | None" = None,
    *,
    name: str | None = None,
    description: str | None = None,
    context: AceContext | Mapping[str, object] | None = None,
) -> StructuredTool:
    """A LangChain tool that decides on a case with an ACE graph, compiled or not.

    Without a name it is `check_payment`, or `decide_case` where the task of the graph is another
    one; the description follows from the task, too. The answer is JSON with decision, id, risk
    score, reasons and warnings. What cannot be decided for a fault of the input is told to the
    model in one line; other errors are raised.
    """
    graph = create_ace_graph() if graph is None else graph
    if not isinstance(graph, CompiledStateGraph | StateGraph):
        raise InvalidSettings(
            f"the tool is made from a graph, not from a {type(graph).__name__}: "
            "create_fraud_tool(create_ace_graph(playbook=...))"
        )
    compiled = graph if isinstance(graph, CompiledStateGraph) else graph.compile()
    task = getattr(getattr(compiled, "builder", None), "read_task", lambda: CARD_PAYMENTS)()
    settings = None if context is None else AceContext.given(context)

    def told(result: Mapping[str, object]) -> str:
        answer = {key: result.get(key) for key in _ANSWERED}
        answer["decision"] = task.shown(str(result["decision"]))
        return json.dumps(answer, ensure_ascii=False)

    def decide(
        transaction: str | Fields, config: RunnableConfig, decision_id: str | None = None
    ) -> str:
        given: AceInput = {"transaction": transaction, "decision_id": decision_id}
        with _told_to_the_model():
            return told(compiled.invoke(given, config, context=settings))

    async def adecide(
        transaction: str | Fields, config: RunnableConfig, decision_id: str | None = None
    ) -> str:
        given: AceInput = {"transaction": transaction, "decision_id": decision_id}
        with _told_to_the_model():
            return told(await compiled.ainvoke(given, config, context=settings))

    return StructuredTool.from_function(
        decide,
        adecide,
        name or ("check_payment" if task.reader else "decide_case"),
        description or described(task),
        args_schema=ToolInput,
        handle_tool_error=True,
    )


def described(task: Task) -> str:
    """What an agent is told that the tool does."""
    noun, declined = ("payment", "fraud") if task.reader else ("case", task.answers[1])
    answers = ", ".join(task.answers)
    named = [f"{one.name} ({one.wanted})" for one in task.fields if one.is_tested][:_NAMED]
    told = f" Its fields: {'; '.join(named)}." if named and not task.reader else ""
    words = {"about": task.about, "noun": noun, "answers": answers, "declined": declined}
    return (_TOLD.format(**words) + told).strip()


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
