"""A lesson: one judged decision from which the reflector and the curator can learn."""

from collections.abc import Sequence
from dataclasses import dataclass

from acegraph.state.run.schema import AceState, RunSettings
from acegraph.state.values import (
    GIVEN_LABEL,
    UNDECIDED,
    Fields,
    Transaction,
    Verdict,
    other,
    parse_verdict,
)


@dataclass(frozen=True)
class Lesson:
    """A decision whose right answer is known, from the run itself or from a later label."""

    decision_id: str
    transaction: Transaction
    decision: str
    """UNDECIDED where what is known left the case open."""
    correct: Verdict
    reasons: Sequence[str]
    settings: RunSettings
    """The settings of the run that decided."""
    label_source: str = GIVEN_LABEL
    """Who gave the label (values/verdict.py)."""
    came: str | Fields = ""
    """The transaction as it came, where it is written anew: redaction hides its values too."""

    @classmethod
    def of(cls, state: AceState) -> "Lesson":
        """The lesson of a run after its decision was judged."""
        correct, is_correct = parse_verdict(state["correct_answer"]), state["is_correct"]
        decided = correct if is_correct else other(correct)
        return cls(
            decision_id=state["case"]["id"],
            transaction=Transaction(state["case"]["text"], state["case"]["given_fields"]),
            # The decision of the agent: the run's answer may be that of a person.
            decision=UNDECIDED if is_correct is None else decided,
            correct=correct,
            reasons=state["reasons"],
            settings=state["settings"],
            label_source=state["label_source"] or GIVEN_LABEL,
            came=state["case"].get("came", ""),
        )


def has_failed(state: AceState, step: str) -> bool:
    """Whether the model of a step failed in this run; that teaches nothing."""
    return (state["undecided"] or "").startswith(f"{step}: ")
