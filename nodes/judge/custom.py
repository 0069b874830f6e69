"""A custom judge: a chat model, a runnable or a function, in the form that the node calls."""

from collections.abc import Mapping

import numpy as np

from acegraph.nodes.judge.judge import Judgement, LLMJudge, SimpleJudge
from acegraph.nodes.models.custom_calls import Custom, CustomCall, as_share
from acegraph.nodes.models.named import AnyModel, is_model
from acegraph.nodes.runtime.sync_async import Wait
from acegraph.state.errors import ModelAnswerInvalid
from acegraph.state.task.task import Task
from acegraph.state.values.transaction import clean_text
from acegraph.state.values.verdict import JUDGE, other, parse_verdict

JudgeLike = SimpleJudge | AnyModel | Custom


def as_judge(judge: JudgeLike, prompt: str | None = None) -> SimpleJudge:
    """A judge in the form that the node calls."""
    if isinstance(judge, SimpleJudge):
        return judge
    if is_model(judge):
        return LLMJudge(judge, model_is_optional=True, prompt=prompt)
    return _CustomJudge(CustomCall(judge, "judge"))


class _CustomJudge(SimpleJudge):
    def __init__(self, call: CustomCall) -> None:
        self._call = call

    async def _opinion(
        self, text: str, output: str, wait: Wait, name: str | None, decision_id: str, task: Task
    ) -> Judgement:
        answer = await self._call({"transaction": text, "decision": output}, wait)
        if isinstance(answer, tuple) and len(answer) == 2:
            answer = {"is_correct": answer[0], "confidence": answer[1]}
        elif not isinstance(answer, Mapping):
            answer = {"is_correct": answer}
        is_correct = answer.get("is_correct")
        if isinstance(is_correct, np.bool_):
            is_correct = bool(is_correct)
        if not isinstance(is_correct, bool):
            raise ModelAnswerInvalid(f"is_correct is true or false, not {is_correct!r}")
        decided = parse_verdict(output)
        return Judgement(
            is_correct,
            as_share(answer.get("confidence", 1.0), "confidence"),
            clean_text(str(answer.get("reasoning", ""))),
            decided if is_correct else other(decided),
            JUDGE,
            "custom judge",
        )
