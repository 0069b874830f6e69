"""The prompt of the agent: a constant text, and the function that fills it in."""

from collections.abc import Iterable
from typing import Final

from langchain_core.messages import BaseMessage, HumanMessage, SystemMessage

from acegraph.nodes.models.fence import FENCE_NOTICE, Fence, one_line
from acegraph.nodes.text.category_words import is_category, is_field_name
from acegraph.state import Bullet

AGENT: Final = f"""\
You are a fraud analyst. Decide on one card transaction: APPROVE or DECLINE. Weigh the heuristics
below where they apply; each was learned from past mistakes. Name in bullets_used the ids of those
that had a part in your decision, and no others. Give short reasons first, then a risk score between
0 and 1 (the probability of fraud), then the decision. {FENCE_NOTICE}"""


def agent_messages(text: str, bullets: Iterable[Bullet], fence: Fence) -> list[BaseMessage]:
    """The agent's prompt: heuristics, then the transaction."""
    listed = "\n".join(f"[{b.id}] {_heuristic(b, fence)}" for b in bullets)
    return [
        SystemMessage(AGENT),
        HumanMessage(f"Heuristics:\n{listed or '(none yet)'}\n\nTransaction:\n{fence(text)}"),
    ]


def _heuristic(bullet: Bullet, fence: Fence) -> str:
    """A bullet's text and what it tests; fenced if a stranger could speak through its condition."""
    text, condition = one_line(bullet.content), bullet.condition
    if condition is None:
        return text
    rule = one_line(condition.render())
    heuristic = rule if text == rule else f"{text} (it tests: {rule})"
    values = (test.value for test in condition.comparisons if isinstance(test.value, str))
    is_plain = all(map(is_field_name, condition.fields)) and all(map(is_category, values))
    return heuristic if is_plain else f"{condition.verdict} when this holds:\n{fence(heuristic)}"
