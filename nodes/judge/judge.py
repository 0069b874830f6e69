"""The judges: they say whether a decision was right.

With ground truth a judge compares, and asks no model. Without it a language model gives an opinion,
or the verdict stays pending. A judge knows the transaction and the decision, not the bullets.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass

import numpy as np

from acegraph.nodes.models.custom_calls import Custom, CustomCall, as_share
from acegraph.nodes.models.named import AnyModel, is_model, resolve_model
from acegraph.nodes.runtime.sync_async import AWAITING, Wait
from acegraph.state import InvalidInput, InvalidSettings
from acegraph.state.database.encoding import text_hash
from acegraph.state.errors import ModelAnswerInvalid
from acegraph.state.task.card_payments import CARD_PAYMENTS
from acegraph.state.task.task import Task
from acegraph.state.values import GIVEN_LABEL, JUDGE, Verdict, clean_text, other, parse_verdict

ReadTask = Callable[[], Task]
"""What tells a model the domain; a label asks nobody."""


@dataclass(frozen=True)
class Judgement:
    """What a judge says of a decision."""

    is_correct: bool | None
    """None: pending, the right answer is not known yet."""
    confidence: float | None
    reasoning: str
    correct_answer: Verdict | None = None
    source: str = GIVEN_LABEL
    """Who gave the right answer: `label` for ground truth, `judge` for a model's opinion."""
    judge: str = ""
    """The judge whose opinion it is."""


PENDING = Judgement(
    None, None, "no ground truth and no model judge: the verdict waits for feedback"
)


class SimpleJudge:
    """Compares with ground truth; without it the verdict is pending."""

    async def judge(
        self, input_text: str, output: str, ground_truth: str | None = None
    ) -> tuple[bool | None, float | None]:
        """Whether the output is right, and the confidence in that."""
        judgement = await self.evaluate(input_text, output, ground_truth)
        return judgement.is_correct, judgement.confidence

    async def evaluate(
        self, input_text: str, output: str, ground_truth: str | None = None
    ) -> Judgement:
        """Whether the output is right, with confidence, reasoning and the right answer."""
        return await self.judge_with(input_text, output, ground_truth, AWAITING)

    async def judge_with(
        self,
        input_text: str,
        output: str,
        ground_truth: str | None,
        wait: Wait,
        name: str | None = None,
        decision_id: str = "",
        task: ReadTask = lambda: CARD_PAYMENTS,
    ) -> Judgement:
        """Compare, or ask a model; `name` is a model other than the default one."""
        if ground_truth is not None and str(ground_truth).strip():
            return compare(output, str(ground_truth))
        return await self._opinion(input_text, output, wait, name, decision_id, task)

    async def _opinion(
        self, text: str, output: str, wait: Wait, name: str | None, decision_id: str, task: ReadTask
    ) -> Judgement:
        return PENDING


class LLMJudge(SimpleJudge):
    """Compares with ground truth; without it a language model gives its opinion."""

    def __init__(
        self, model: AnyModel = None, *, model_is_optional: bool = False, prompt: str | None = None
    ) -> None:
        """`prompt` are the instructions of the model, if not the usual ones."""
        self._model, self._prompt = model, prompt
        self._optional = model_is_optional

    async def _opinion(
        self, text: str, output: str, wait: Wait, name: str | None, decision_id: str, task: ReadTask
    ) -> Judgement:
        model = resolve_model("judge", self._model, name)
        if model is None:
            if self._optional:
                return PENDING
            raise InvalidSettings(
                "LLMJudge without ground truth needs a model: pass one or set ACE_JUDGE_MODEL"
            )
        from acegraph.nodes.judge.prompt import JUDGE as PROMPT
        from acegraph.nodes.judge.prompt import judge_messages
        from acegraph.state.run.model_forms import VerdictForm

        decided = parse_verdict(output)
        fence = model.fence("judge", decision_id or text_hash(clean_text(text)))
        told = await wait.work(task)
        messages = judge_messages(text, output, fence, self._prompt or PROMPT, told)
        form = await model.fill(VerdictForm, messages, wait)
        right = decided if form.is_correct else other(decided)
        reasoning = clean_text(form.reasoning)
        return Judgement(form.is_correct, form.confidence, reasoning, right, JUDGE, model.name)


class _CustomJudge(SimpleJudge):
    """Asks a runnable or a function."""

    def __init__(self, target: Custom) -> None:
        self._call = CustomCall(target, "judge")

    async def _opinion(
        self, text: str, output: str, wait: Wait, name: str | None, decision_id: str, task: ReadTask
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


JudgeLike = SimpleJudge | AnyModel | Custom
"""What may be given as a judge."""


def as_judge(judge: JudgeLike, prompt: str | None = None) -> SimpleJudge:
    """A judge in the form that the node calls."""
    if isinstance(judge, SimpleJudge):
        return judge
    if is_model(judge):
        return LLMJudge(judge, model_is_optional=True, prompt=prompt)
    return _CustomJudge(judge)


def compare(output: str, ground_truth: str) -> Judgement:
    """Compare up to case and space; all words for APPROVE and DECLINE count.

    >>> compare(" Approve", "APPROVE ").is_correct
    True
    """
    correct = parse_verdict(ground_truth)
    try:
        is_correct = parse_verdict(output) == correct
    except InvalidInput:
        is_correct = False
    return Judgement(is_correct, 1.0, f"the label says {correct}", correct)
