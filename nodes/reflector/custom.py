"""A custom reflector: a chat model, a runnable or a function, in the form that the node calls."""

from collections.abc import Mapping
from typing import Union

from pydantic import ValidationError

from acegraph.nodes.models.answers import first_complaint
from acegraph.nodes.models.custom_calls import Custom, CustomCall
from acegraph.nodes.models.named import AnyModel, is_model
from acegraph.nodes.reflector.prompt import Judged
from acegraph.nodes.reflector.reflector import Reflector
from acegraph.nodes.runtime.sync_async import Wait
from acegraph.state import InvalidCondition
from acegraph.state.errors import ModelAnswerInvalid, quoted
from acegraph.state.run.model_forms import ReflectionForm
from acegraph.state.run.schema import Reflection
from acegraph.state.values import Condition, ConditionData

ReflectorLike = Reflector | AnyModel | Custom
Reflecting = Union[Reflector, "_CustomReflector"]
"""What the reflector node calls."""


def as_reflector(reflector: ReflectorLike, prompt: str | None = None) -> Reflecting:
    """A reflector in the form that the node calls."""
    if isinstance(reflector, Reflector):
        return reflector
    if is_model(reflector):
        return Reflector(reflector, prompt=prompt)
    return _CustomReflector(CustomCall(reflector, "reflector"))


def induces_rules(reflector: Reflecting, name: str | None = None) -> bool:
    """Whether it reflects without a language model; `name` is a model other than the default."""
    return isinstance(reflector, Reflector) and reflector.language_model(name) is None


class _CustomReflector:
    def __init__(self, call: CustomCall) -> None:
        self._call = call

    async def reflect_with(
        self, judged: Judged, wait: Wait, name: str | None = None
    ) -> Reflection | None:
        answer = await self._call(
            {
                "query": judged.transaction.text,
                "predicted": judged.predicted,
                "correct": judged.correct,
                "agent_reasoning": judged.reasoning,
            },
            wait,
        )
        if answer is None:
            return None
        if not isinstance(answer, Mapping):
            raise ModelAnswerInvalid(
                f"a mapping with new_bullet wanted, or None, not {quoted(answer)}"
            )
        form, condition = _read(answer)
        if not form.new_bullet.strip():
            return None
        return Reflection(
            new_bullet=form.new_bullet.strip(),
            problem_types=form.problem_types,
            confidence=form.confidence,
            condition=condition,
            author="custom reflector",
        )


def _read(answer: Mapping[str, object]) -> tuple[ReflectionForm, ConditionData | None]:
    """The form and its condition, a sentence or its mapping."""
    given: dict[str, object] = {"confidence": 0.5, **answer}
    stated = given.pop("condition", None)
    try:
        form = ReflectionForm.model_validate(given)
        if stated is None:
            return form, None
        parse = Condition.parse if isinstance(stated, str) else Condition.from_json
        return form, parse(stated).to_json()  # type: ignore[arg-type]
    except InvalidCondition as error:
        hint = 'wanted is a sentence, as "DECLINE when hour < 13", or its mapping'
        raise ModelAnswerInvalid(f"condition: {error}; {hint}") from error
    except ValidationError as error:
        raise ModelAnswerInvalid(first_complaint(error)) from error
