"""Say a heuristic in prose as a condition, which can be tested, where a language model can."""

from collections.abc import Sequence
from typing import Final

from langchain_core.messages import BaseMessage, HumanMessage, SystemMessage

from acegraph.nodes.models.fence import FENCE_NOTICE, Fence, one_line
from acegraph.nodes.models.language_model import LanguageModel
from acegraph.nodes.runtime.sync_async import Wait
from acegraph.state import Condition
from acegraph.state.database.encoding import text_hash
from acegraph.state.run.model_forms import RestatementForm, stated_condition

RESTATE: Final = """\
Say a fraud heuristic as a condition over the fields of a transaction: at most three comparisons \
and the verdict that follows. Give a condition only if it means the same; else leave it empty."""


def restatement_messages(
    content: str, field_names: Sequence[str], fence: Fence
) -> list[BaseMessage]:
    """The prompt: the fields that there are, and the heuristic."""
    fields = ", ".join(one_line(name) for name in field_names)
    return [
        SystemMessage(f"{RESTATE}\n{FENCE_NOTICE}"),
        HumanMessage(f"Fields:\n{fence(fields)}\n\nHeuristic:\n{fence(one_line(content))}"),
    ]


async def restate(
    model: LanguageModel, content: str, field_names: Sequence[str], wait: Wait
) -> Condition | None:
    """The heuristic as a condition over these fields; None if the model cannot say it."""
    fence = model.fence("reflector", text_hash(content))
    messages = restatement_messages(content, field_names, fence)
    form = await model.fill(RestatementForm, messages, wait)
    condition = stated_condition(form)
    return condition if condition and set(condition.fields) <= set(field_names) else None
