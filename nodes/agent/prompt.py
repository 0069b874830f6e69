"""The prompt of the agent: a constant text, and the function that fills it in."""

from collections.abc import Iterable
from typing import Final

from langchain_core.messages import BaseMessage, HumanMessage, SystemMessage

from acegraph.nodes.models.fence import FENCE_NOTICE, Fence, one_line
from acegraph.state import Bullet

AGENT: Final = f"""\
You are a fraud analyst. Decide on one card transaction: APPROVE or DECLINE. Weigh the heuristics
below where they apply; each was learned from past mistakes. Name in bullets_used the ids of those
that had a part in your decision, and no others. Give short reasons first, then a risk score between
0 and 1 (the probability of fraud), then the decision. {FENCE_NOTICE}"""


def agent_messages(text: str, bullets: Iterable[Bullet], fence: Fence) -> list[BaseMessage]:
    """The agent's prompt: heuristics, then the transaction."""
    listed = "\n".join(f"[{b.id}] {one_line(b.content)}" for b in bullets)
    return [
        SystemMessage(AGENT),
        HumanMessage(f"Heuristics:\n{listed or '(none yet)'}\n\nTransaction:\n{fence(text)}"),
    ]
