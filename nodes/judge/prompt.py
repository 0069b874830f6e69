"""The prompt of the judge: a constant text, and the function that fills it in."""

from typing import Final

from langchain_core.messages import BaseMessage, HumanMessage, SystemMessage

from acegraph.nodes.models.fence import FENCE_NOTICE, Fence

JUDGE: Final = """\
You are an expert judge of fraud decisions. Say whether the decision on the transaction was right.
Give your reasoning first, then is_correct, then your confidence between 0 and 1."""


def judge_messages(
    text: str, decision: str, fence: Fence, instructions: str = JUDGE
) -> list[BaseMessage]:
    """The judge's prompt: the transaction and what was decided."""
    return [
        SystemMessage(f"{instructions}\n{FENCE_NOTICE}"),
        HumanMessage(f"Transaction:\n{fence(text)}\n\nDecision: {decision}\nWas it right?"),
    ]
