"""The forms that a model fills in: a decision, a verdict, a reflection.

The reasons come before the conclusion, because a model writes in this order. The prompts are in
prompt.py beside each node.
"""

import re
from typing import Annotated, ClassVar, Final, Literal

from pydantic import AfterValidator, BaseModel, BeforeValidator, ConfigDict, Field
from pydantic.config import JsonDict

from acegraph.state.errors import InvalidCondition
from acegraph.state.values import Condition


def _drop_unsupported_keywords(schema: JsonDict) -> None:
    """Some servers refuse these keywords of a schema; `Form` checks them when it reads."""
    fields = schema.get("properties")
    for field in fields.values() if isinstance(fields, dict) else ():
        for keyword in ("default", "maxLength", "minLength"):
            if isinstance(field, dict):
                field.pop(keyword, None)


LONGEST_TEXT: Final = 2_000
Text = Annotated[str, AfterValidator(lambda text: text[:LONGEST_TEXT])]
"""What a model may write in its own words; the rest is cut off, because all of it is stored."""


def _from_percent(value: object) -> object:
    """A share that was said in percent: a schema says 0 to 1, and not every server keeps to it."""
    if isinstance(value, int | float) and 10 < value <= 100:  # 7 may be of 10
        return value / 100
    return value


Share = Annotated[float, Field(ge=0, le=1), BeforeValidator(_from_percent)]


class Form(BaseModel):
    """The base of all forms: unknown keys are ignored, numbers must be finite."""

    model_config = ConfigDict(
        extra="ignore", allow_inf_nan=False, json_schema_extra=_drop_unsupported_keywords
    )

    def is_contradicted_by(self, said: str) -> bool:
        """Whether a model that filled it in says something else beside it."""
        return False


class DecisionForm(Form):
    """Decide on one case."""

    answers: ClassVar[tuple[str, str]] = ("APPROVE", "DECLINE")
    """The words for what is let through and for what is not."""

    reasons: list[Text] = Field(description="short reasons, most important first", max_length=10)
    bullets_used: list[str] = Field(
        default_factory=list, description="ids of the heuristics that had a part in the decision"
    )
    risk_score: Share = Field(description="probability that DECLINE is right, 0 to 1")
    decision: Literal["APPROVE", "DECLINE"] = Field(description="the verdict on the case")

    def is_contradicted_by(self, said: str) -> bool:
        """Whether the text names the other verdict, and not this one.

        >>> form = DecisionForm(reasons=[], risk_score=0.1, decision="APPROVE")
        >>> form.is_contradicted_by("Correction: DECLINE it"), form.is_contradicted_by("Approved.")
        (True, False)
        """
        words = map(re.escape, self.answers)
        named = {word.upper() for word in re.findall("|".join(words), said, re.IGNORECASE)}
        own = self.answers[self.decision == "DECLINE"].upper()
        return bool(named) and own not in named


class VerdictForm(Form):
    """Judge one decision."""

    reasoning: Text = Field(description="why the decision is right or wrong, in two sentences")
    is_correct: bool = Field(description="whether the decision was right")
    confidence: Share = Field(description="how sure you are, 0 to 1")


class ComparisonForm(Form):
    """One test of one field."""

    field: Text
    op: Literal["<", "<=", ">", ">=", "is", "is not", "is missing", "is known", "mentions"]
    value: Text | bool | float | None = None


class ConditionForm(Form):
    """A rule that can be checked: all comparisons hold, therefore the verdict."""

    all: list[ComparisonForm] = Field(min_length=1, max_length=3)
    verdict: Literal["APPROVE", "DECLINE"]


class ReflectionForm(Form):
    """Draw one heuristic from one judged decision."""

    new_bullet: str = Field(
        description="one actionable heuristic with thresholds; empty if there is nothing to learn",
        max_length=500,
    )
    problem_types: list[Text] = Field(default_factory=list, max_length=8)
    confidence: Share
    condition: ConditionForm | None = Field(
        default=None, description="the heuristic over the case's fields, if it can be stated"
    )


def stated_condition(form: ReflectionForm) -> Condition | None:
    """The condition in a form; None if there is none, or none that can be read."""
    if form.condition is None:
        return None
    try:
        return Condition.from_json(form.condition.model_dump())
    except InvalidCondition:
        return None
