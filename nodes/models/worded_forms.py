"""The forms of models in the words of a task."""

from functools import cache
from typing import Annotated, Any, Literal, TypeVar

from pydantic import BeforeValidator, Field, WithJsonSchema, create_model

from acegraph.state.run.model_forms import ConditionForm, DecisionForm, Form, Share
from acegraph.state.task.task import Task

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
