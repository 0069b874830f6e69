"""Anything that can play a part: our own classes, chat models, runnables, plain functions.

Each is brought to the one form the nodes call. What a stranger's agent or judge returns is checked
here, once; what does not fit is a `ModelAnswerInvalid`, never a verdict.
"""

import asyncio
import inspect
from collections.abc import Iterable, Mapping
from typing import Any, Protocol

import numpy as np
from langchain_core.runnables import Runnable
from pydantic import BaseModel, ValidationError

from acegraph.nodes.agent import Decision, SimpleFraudAgent
from acegraph.nodes.embeddings import EmbeddingModel
from acegraph.nodes.judge import Judgement, LLMJudge, SimpleJudge
from acegraph.nodes.models import LanguageModel, as_client_errors, is_chat_model
from acegraph.nodes.reflector import Judged, Reflection, Reflector
from acegraph.nodes.stages import Selection
from acegraph.nodes.waiting import Wait
from acegraph.state import (
    Bullet,
    Condition,
    InvalidCondition,
    InvalidSettings,
    ModelAnswerInvalid,
    ReflectionForm,
    Transaction,
    Verdict,
    clean_text,
    other,
    parse_verdict,
)
from acegraph.state.errors import InvalidInput
from acegraph.state.verdict import JUDGE


class Agent(Protocol):
    """What the agent node calls."""

    async def settle(
        self,
        transaction: Transaction,
        bullets: Iterable[Bullet],
        wait: Wait,
        name: str | None = None,
        decision_id: str = "",
    ) -> Decision:
        """Decide."""
        ...


class Selecting(Protocol):
    """What the selector node calls."""

    @property
    def embedding(self) -> EmbeddingModel:
        """The embedding model in use."""
        ...

    async def select(
        self,
        transaction: Transaction,
        node: str,
        playbook: Any,
        n_bullets: int,
        source: str | None,
        decision_id: str,
        wait: Wait,
    ) -> Selection:
        """Select."""
        ...


class Reflecting(Protocol):
    """What the reflector node calls."""

    async def settle(
        self, judged: Judged, wait: Wait, name: str | None = None
    ) -> Reflection | None:
        """Reflect."""
        ...


def as_agent(given: Any) -> Agent:
    """Bring an agent to the form the node calls."""
    if isinstance(given, SimpleFraudAgent):
        if given.bullets:
            raise InvalidSettings("in the graph the bullets come from the playbook, not the agent")
        return given
    if given is None or isinstance(given, str | LanguageModel) or is_chat_model(given):
        return SimpleFraudAgent(model=given)
    return _ForeignAgent(_Call(given, "agent"))


def as_judge(given: Any) -> SimpleJudge:
    """Bring a judge to the form the node calls."""
    if isinstance(given, SimpleJudge):
        return given
    if given is None or isinstance(given, str | LanguageModel) or is_chat_model(given):
        return LLMJudge(given, model_is_optional=True)
    return _ForeignJudge(_Call(given, "judge"))


def as_reflector(given: Any) -> Reflecting:
    """Bring a reflector to the form the node calls."""
    if isinstance(given, Reflector):
        return given
    if given is None or isinstance(given, str | LanguageModel) or is_chat_model(given):
        return Reflector(given)
    return _ForeignReflector(_Call(given, "reflector"))


class _Call:
    """A runnable or a function, called in the way that fits the caller."""

    def __init__(self, target: Any, role: str) -> None:
        if not isinstance(target, Runnable) and not callable(target):
            raise InvalidSettings(
                f"the {role} must be a chat model, a runnable or a function; "
                f"found {type(target).__name__}"
            )
        self._target = target
        self.role = role
        call = getattr(target, "__call__", None)  # noqa: B004
        self._is_async = inspect.iscoroutinefunction(target) or inspect.iscoroutinefunction(call)

    async def __call__(self, value: dict[str, Any], wait: Wait) -> Any:
        with as_client_errors(self.role):
            answer = await self._answer(value, wait)
        return answer.model_dump() if isinstance(answer, BaseModel) else answer

    async def _answer(self, value: dict[str, Any], wait: Wait) -> Any:
        target = self._target
        if isinstance(target, Runnable):
            return await wait.either(lambda: target.invoke(value), lambda: target.ainvoke(value))
        if self._is_async:
            return await wait.either(self._refuse, lambda: target(value))
        return await wait.either(lambda: target(value), lambda: asyncio.to_thread(target, value))

    def _refuse(self) -> Any:
        raise TypeError(f"the {self.role} is asynchronous: use ainvoke, abatch or astream")


class _ForeignAgent:
    def __init__(self, call: _Call) -> None:
        self._call = call

    async def settle(
        self,
        transaction: Transaction,
        bullets: Iterable[Bullet],
        wait: Wait,
        name: str | None = None,
        decision_id: str = "",
    ) -> Decision:
        answer = await self._call(
            {
                "transaction": transaction.text,
                "fields": dict(transaction.fields),
                "bullets": [{"id": b.id, "content": b.content} for b in bullets],
            },
            wait,
        )
        if not isinstance(answer, Mapping):
            answer = {"decision": getattr(answer, "content", answer)}
        risk, used = answer.get("risk_score"), answer.get("bullets_used")
        return Decision(
            decision=_verdict(answer.get("decision")),
            risk_score=None if risk is None else _unit(risk, "risk_score"),
            reasons=_texts(answer.get("reasons") or ()),
            bullets_used=None if used is None else _texts(used),
        )


class _ForeignJudge(SimpleJudge):
    def __init__(self, call: _Call) -> None:
        self._call = call

    async def _opinion(
        self, input_text: str, output: str, wait: Wait, name: str | None, decision_id: str
    ) -> Judgement:
        answer = await self._call({"transaction": input_text, "decision": output}, wait)
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
            _unit(answer.get("confidence", 1.0), "confidence"),
            clean_text(str(answer.get("reasoning", ""))),
            decided if is_correct else other(decided),
            JUDGE,
        )


class _ForeignReflector:
    def __init__(self, call: _Call) -> None:
        self._call = call

    async def settle(
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
        given = {"confidence": 0.5, **answer} if isinstance(answer, Mapping) else answer
        try:
            form = ReflectionForm.model_validate(given)
        except ValidationError as error:
            raise ModelAnswerInvalid(str(error.errors()[0]["msg"])) from error
        if not form.new_bullet.strip():
            return None
        return Reflection(
            new_bullet=form.new_bullet.strip(),
            problem_types=form.problem_types,
            confidence=form.confidence,
            condition=_condition(form),
            author="custom reflector",
        )


def _condition(form: ReflectionForm) -> dict[str, Any] | None:
    if form.condition is None:
        return None
    try:
        return Condition.from_json(form.condition.model_dump()).to_json()
    except InvalidCondition as error:
        raise ModelAnswerInvalid(str(error)) from error


def _texts(given: Any) -> tuple[str, ...]:
    return tuple(clean_text(str(text)) for text in ([given] if isinstance(given, str) else given))


def _verdict(answer: object) -> Verdict:
    try:
        return parse_verdict(answer)
    except InvalidInput:
        raise ModelAnswerInvalid(f"APPROVE or DECLINE wanted, found {answer!r}") from None


def _unit(number: object, name: str) -> float:
    if isinstance(number, int | float | np.floating) and 0 <= number <= 1:
        return float(number)
    raise ModelAnswerInvalid(f"{name} is between 0 and 1, not {number!r}")
