"""How often the judge that is named agrees with labels, measured on cases whose label is known."""

from collections.abc import Sequence
from typing import Final

from acegraph.graph.data.files import Item
from acegraph.nodes.judge.agreement import Agreement
from acegraph.nodes.judge.judge import LLMJudge
from acegraph.nodes.models.providers import model_name
from acegraph.nodes.runtime.sync_async import BLOCKING, finish
from acegraph.state import AceContext, ModelError, Transaction
from acegraph.state.values.verdict import other, parse_verdict

_ASKED: Final = 100
"""A judge that is always right passes a bar of 0.8 after 16 cases, one that errs in a tenth of the
cases after about 80."""


def measure_judge(items: Sequence[Item], context: AceContext | None = None) -> Agreement | None:
    """Ask the judge about right and wrong decisions in turn; None if no model judges.

    A case on which the model fails is no label.
    """
    name = model_name("judge", context.judge_model if context else None)
    if name is None:
        return None
    judge, found = LLMJudge(name), Agreement(name)
    for number, item in enumerate(items[:_ASKED]):
        label = parse_verdict(item["answer"])
        text = Transaction.of(item["query"]).text
        decision = other(label) if number % 2 else label
        try:
            opinion = finish(judge.judge_with(text, decision, None, BLOCKING))
        except ModelError:
            continue
        agrees = opinion.correct_answer == label
        found = Agreement(name, found.labels + 1, found.agreed + agrees)
    return found
