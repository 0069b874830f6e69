"""A lesson: one judged decision on its way to the reflector and the curator."""

from collections.abc import Sequence
from dataclasses import dataclass

from acegraph.state.run.schema import AceState, RunSettings
from acegraph.state.values.transaction import Transaction
from acegraph.state.values.verdict import Verdict, other, parse_verdict


@dataclass(frozen=True)
class Lesson:
    """A decision whose right answer is known, now or when its label came."""

    decision_id: str
    transaction: Transaction
    decision: Verdict
    correct: Verdict
    reasons: Sequence[str]
    settings: RunSettings
    """Those of the run that decided."""
    label_source: str = "label"
    """Who says what would have been right."""

    @classmethod
    def of(cls, state: AceState) -> "Lesson":
        """The lesson of a run whose decision was judged."""
        correct = parse_verdict(state["correct_answer"])
        return cls(
            decision_id=state["case"]["id"],
            transaction=Transaction(state["case"]["text"], state["case"]["given_fields"]),
            # The agent's own decision: what the run answers may be a person's by now.
            decision=correct if state["is_correct"] else other(correct),
            correct=correct,
            reasons=state["reasons"],
            settings=state["settings"],
            label_source=state["label_source"] or "label",
        )
