"""What a server's answer must be: the parts that are used are checked.

A server may be wrong by mistake or on purpose. Whatever is not the one answer to the one question
that was asked is refused as a whole. What the answer means is read in language_model.py.
"""

import json
from collections.abc import Mapping
from functools import cache
from typing import Annotated, Final, Literal, TypeVar

from pydantic import (
    AfterValidator,
    BaseModel,
    BeforeValidator,
    Field,
    ValidationError,
    WithJsonSchema,
    create_model,
)

from acegraph.state.errors import InvalidInput, ModelAnswerInvalid
from acegraph.state.run.model_forms import ConditionForm, DecisionForm, Form, Share
from acegraph.state.task.task import Task
from acegraph.state.values import Data, each_name_once

_LIMIT: Final = 4_000_000
_LIMIT_PER_TEXT: Final = 100_000
"""Bytes for one vector: 4,096 numbers, written out."""
_MOST_PARTS: Final = 8


def size_limit(question: Mapping[str, object]) -> int:
    """How many bytes the answer to a question may have."""
    texts = question.get("input")
    return _LIMIT + _LIMIT_PER_TEXT * (len(texts) if isinstance(texts, list) else 0)


def has_duplicate_keys(text: str | bytes) -> bool:
    """Whether JSON names a key twice in one object: readers differ in which value they take.

    >>> has_duplicate_keys('{"a": 1, "b": {"a": 1}}'), has_duplicate_keys('[{"a": 1, "a": 2}]')
    (False, True)
    """
    try:
        json.loads(text, object_pairs_hook=each_name_once, strict=False)
    except InvalidInput:
        return True
    except (ValueError, RecursionError):
        pass  # whoever reads it says what is wrong
    return False


def _with_each_key_once(text: str) -> str:
    if has_duplicate_keys(text):
        raise ValueError("a key comes twice")
    return text


class _Function(BaseModel):
    arguments: Annotated[str, AfterValidator(_with_each_key_once)]


class _Call(BaseModel):
    function: _Function | None = None


class _Message(BaseModel):
    role: Literal["assistant"]
    content: str | Annotated[list[object], Field(max_length=_MOST_PARTS)] | None = None
    tool_calls: Annotated[list[_Call], Field(max_length=_MOST_PARTS)] | None = None


class _Choice(BaseModel):
    finish_reason: str
    message: _Message


class _Completion(BaseModel):
    """The answer of a chat: one choice, which says that it is finished."""

    choices: list[_Choice] = Field(min_length=1, max_length=1)


class _Vector(BaseModel):
    index: int = 0
    embedding: str | list[float]
    """Numbers, or those packed into base64."""


class _Vectors(BaseModel):
    """The answer to some texts; LangChain relies on the order of the vectors."""

    data: list[_Vector]


def check_answer(
    name: str, question: Mapping[str, object], answer: Mapping[str, object], received: bytes
) -> None:
    """Raise `ModelAnswerInvalid` unless this is the one answer to the question."""
    form = _Completion if "messages" in question else _Vectors if "input" in question else None
    try:
        read = form.model_validate(answer, strict=True) if form else None
    except ValidationError as error:
        raise ModelAnswerInvalid(
            f"{name}: outside the protocol: {first_complaint(error)}"
        ) from None
    if answer.get("error") or has_duplicate_keys(received):
        raise ModelAnswerInvalid(f"{name}: an error beside the answer, or a key twice")
    if isinstance(read, _Vectors):
        texts = question["input"]
        wanted = len(texts) if isinstance(texts, list) else 1
        if [vector.index for vector in read.data] != list(range(wanted)):
            raise ModelAnswerInvalid(f"{name}: the vectors are not numbered in order")


def first_complaint(error: ValidationError) -> str:
    """The first fault that was found in a form, with the field that has it."""
    first = error.errors(include_url=False, include_input=False)[0]
    where = ".".join(str(part) for part in first["loc"])
    return f"{where}: {first['msg']}" if where else first["msg"]


def as_mapping(value: object) -> dict[str, object]:
    """The value if it is a JSON object, else an empty one."""
    return value if isinstance(value, dict) else {}


Filled = TypeVar("Filled", bound=Form)


@cache
def in_answers(form: type[Filled], answers: tuple[str, str]) -> type[Filled]:
    """A form in which a task's words stand for APPROVE and DECLINE; what is read are these two.

    >>> posts = in_answers(DecisionForm, ("KEEP", "REMOVE"))
    >>> posts(reasons=[], risk_score=0.9, decision="remove").decision
    'DECLINE'
    """
    if answers == DecisionForm.answers:
        return form
    verdict = Annotated[
        Literal["APPROVE", "DECLINE"],
        BeforeValidator(Task("", answers=answers).stored),
        WithJsonSchema({"type": "string", "enum": list(answers)}),
    ]
    fields: Data = {}
    if "decision" in form.model_fields:
        fields = {
            "risk_score": (
                Share,
                Field(description=f"probability that {answers[1]} is right, 0 to 1"),
            ),
            "decision": (verdict, Field(description="the verdict on the case")),
        }
    if "condition" in form.model_fields:
        part = create_model("ConditionForm", __base__=ConditionForm, verdict=(verdict, ...))
        fields = {"condition": (part | None, form.model_fields["condition"])}
    worded = create_model(form.__name__, __base__=form, __doc__=form.__doc__, **fields)
    worded.answers = answers  # type: ignore[attr-defined]
    return worded
