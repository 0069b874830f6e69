"""The prompt of the judge: a constant text, and the function that fills it in."""

from typing import Final

from langchain_core.messages import BaseMessage, HumanMessage, SystemMessage

from acegraph.nodes.models.fence import Fence, instructions_of
from acegraph.state.task.card_payments import CARD_PAYMENTS
from acegraph.state.task.task import Task

JUDGE: Final = """\
Judge a decision on one case: say whether it was right.
Give your reasoning first, then is_correct, then your confidence between 0 and 1."""


def judge_messages(
    text: str, decision: str, fence: Fence, instructions: str = JUDGE, task: Task = CARD_PAYMENTS
) -> list[BaseMessage]:
    """The judge's prompt: the case and what was decided."""
    return [
        SystemMessage(instructions_of(task, instructions, JUDGE)),
        HumanMessage(f"Case:\n{fence(text)}\n\nDecision: {task.shown(decision)}\nWas it right?"),
    ]
