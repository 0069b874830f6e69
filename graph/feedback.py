"""Labels that come later: a chargeback, an analyst's word. They take the same road as ground
truth.
"""

from dataclasses import dataclass
from datetime import datetime
from typing import Any

from acegraph.graph.collaborators import as_reflector
from acegraph.graph.lesson import Lesson
from acegraph.nodes.curator import Curation, Curator
from acegraph.nodes.waiting import BLOCKING, finish
from acegraph.state import BulletPlaybook, InvalidInput, Label, Transaction, Verdict, parse_verdict


@dataclass(frozen=True)
class Feedback:
    """What a label changed."""

    decision: Verdict | None
    is_correct: bool | None
    changed: bool
    """False where the label said nothing new."""
    curation: Curation | None = None
    """What was learned, where the decision turned out wrong."""


def feedback(
    playbook: BulletPlaybook,
    decision_id: str,
    label: str,
    *,
    source: str = "feedback",
    at: str = "",
    reflector: Any = None,
    curator: Curator | None = None,
) -> Feedback:
    """Judge a stored decision by a label that became known now (or at `at`, ISO 8601).

    Counters move once; a changed label takes back what the first one moved; a decision that turns
    out wrong is learned from as if the label had been there at once.
    """
    answer = parse_verdict(label)
    if at and _not_a_time(at):
        raise InvalidInput(f"the time of a label is ISO 8601, not {at!r}")
    recorded = playbook.label(decision_id, Label(answer, source, at))
    decision = recorded.decision
    is_correct = None if decision is None else decision == answer
    stored = playbook.decision(decision_id)
    learns = bool(stored["counted"]) and recorded.lesson is None
    if is_correct is not False or not learns:
        return Feedback(decision, is_correct, recorded.label_changed)
    lesson = Lesson(
        decision_id=decision_id,
        transaction=Transaction(stored["text"], stored["fields"]),
        decision=stored["decision"],
        correct=answer,
        reasons=stored["reasons"],
        settings=stored["settings"],
        label_source=source,
    )
    found = finish(lesson.reflect(as_reflector(reflector), playbook, BLOCKING))
    learned = lesson.curate(found, curator or Curator(), playbook)
    return Feedback(decision, is_correct, recorded.label_changed, learned)


def _not_a_time(text: str) -> bool:
    try:
        datetime.fromisoformat(text)
    except ValueError:
        return True
    return False
