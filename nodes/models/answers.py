"""What a server's answer must be: the parts that are used are checked.

A server may be wrong by mistake or on purpose. Whatever is not the one answer to the one question
that was asked is refused as a whole. What the answer means is read in language_model.py.
"""

import json
from collections.abc import Mapping
from functools import cache
from typing import Annotated, Any, Final, Literal, TypeVar

from pydantic import BeforeValidator, Field, WithJsonSchema, create_model

from acegraph.state.errors import InvalidInput, ModelAnswerInvalid
from acegraph.state.run.model_forms import ConditionForm, DecisionForm, Form, Share
from acegraph.state.task.task import Task
from acegraph.state.values.transaction import each_name_once

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


def check_answer(
    name: str,
    status: int,
    question: Mapping[str, object],
    answer: Mapping[str, object],
    received: bytes,
) -> None:
    """Raise `ModelAnswerInvalid` unless this is the one answer to the question."""
    fault = ""
    if status != 200:
        fault = f"the answer has HTTP status {status}, not 200"
    elif has_duplicate_keys(received):
        fault = "the answer has a key twice"
    elif not answer or answer.get("error"):
        fault = "the answer is outside the protocol"
    elif "messages" in question:
        fault = _fault_of_completion(answer)
    elif "input" in question:
        fault = _fault_of_vectors(question["input"], answer)
    if fault:
        raise ModelAnswerInvalid(f"{name}: {fault}")


def _fault_of_completion(answer: Mapping[str, object]) -> str:
    """What is wrong with the answer of a chat, in words; empty if nothing is."""
    choices = answer.get("choices")
    if not isinstance(choices, list) or len(choices) != 1:
        return "the answer is not one choice"
    choice = as_mapping(choices[0])
    message = as_mapping(choice.get("message"))
    if message.get("role") != "assistant":
        return "the answer is not a message of the assistant"
    if not isinstance(choice.get("finish_reason"), str):
        return "the answer does not say that it is finished"
    calls, content = message.get("tool_calls") or [], message.get("content") or ""
    if not isinstance(content, str | list) or not isinstance(calls, list):
        return "the answer is outside the protocol"
    if max(len(calls), len(content) if isinstance(content, list) else 0) > _MOST_PARTS:
        return "the answer is outside the protocol"
    for call in calls:
        arguments = as_mapping(as_mapping(call).get("function")).get("arguments")
        if isinstance(arguments, str) and has_duplicate_keys(arguments):
            return "the answer has a key twice"
    return ""


def _fault_of_vectors(texts: object, answer: Mapping[str, object]) -> str:
    """What is wrong with vectors, in words; LangChain relies on their order."""
    data = answer.get("data")
    expected = len(texts) if isinstance(texts, list) else 1
    if not isinstance(data, list) or len(data) != expected:
        found = f"{len(data)} vectors" if isinstance(data, list) else "no vectors"
        return f"the answer has {found} for {expected} texts"
    entries = [as_mapping(entry) for entry in data]
    places = enumerate(entry.get("index") for entry in entries)
    if expected > 1 and not all(type(found) is int and found == at for at, found in places):
        return "the vectors are not numbered in order"
    if not all(_is_vector(entry.get("embedding")) for entry in entries):
        return "the answer has vectors that are not numbers"
    return ""


def _is_vector(value: object) -> bool:
    """Whether a value may be a vector: numbers, or those packed into base64."""
    if isinstance(value, list):
        return all(type(x) is float or (type(x) is int and abs(x) < 2**63) for x in value)
    return isinstance(value, str)


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
    fields: dict[str, Any] = {}
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
