"""The prompt of the reflector: a constant text, and the function that fills it in."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from hashlib import blake2b
from typing import Final

from langchain_core.messages import BaseMessage, HumanMessage, SystemMessage

from acegraph.nodes.models.fence import Fence, instructions_of, one_line
from acegraph.nodes.text.understand import fields_to_test
from acegraph.state.task.card_payments import CARD_PAYMENTS
from acegraph.state.values import (
    SENTENCE,
    Bullet,
    Case,
    CaseTable,
    Transaction,
    Verdict,
    written_risk,
)

REFLECTOR: Final = """\
You write heuristics for such decisions. From one judged decision draw one rule that would help next time.
It must be actionable, with thresholds, specific and about the kind of case, never about a person, \
an account, a device or a firm by name. Past cases with their correct answers, their fields and the risk that the \
playbook gives them are given where there are some: the rule should tell those of one answer from those of the \
other, where the playbook does not yet. If the rule can be stated over the \
case's fields, also give it as a condition of at most three comparisons and the verdict that \
follows; it is checked on past cases before it is believed. If there is nothing to learn, leave new_bullet \
empty."""

_LONGEST_CASE: Final = 1_000
"""Characters of a past case: it serves for comparison, not for a decision."""


@dataclass(frozen=True)
class Judged:
    """One judged decision with the evidence for learning from it."""

    transaction: Transaction
    predicted: str
    correct: Verdict
    reasoning: str = ""
    table: CaseTable = field(default_factory=CaseTable)
    """The labelled cases known so far."""
    bullets: Sequence[Bullet] = ()
    """The active bullets of the playbook."""
    decision_id: str = ""


def prompt_version(instructions: str = REFLECTOR) -> str:
    """The version of the reflector's prompt; it is stored with every bullet that a model wrote."""
    return blake2b(instructions.encode(), digest_size=4).hexdigest()


def reflector_messages(
    judged: Judged,
    similar: Iterable[tuple[Case, float]],
    fence: Fence,
    instructions: str = REFLECTOR,
) -> list[BaseMessage]:
    """The reflector's prompt: the decision, the right answer, the fields that a condition may use,
    and past cases that resemble it, each with the risk that the playbook gives it.
    """
    task = judged.table.task or CARD_PAYMENTS
    outcome = "right" if judged.predicted == judged.correct else "wrong"
    names = map(one_line, sorted(fields_to_test(judged.transaction)))
    past = "\n".join(
        f"Correct answer {task.shown(case.label)}, playbook's risk {written_risk(risk)}:\n"
        f"{fence(_described(case))}"
        for case, risk in similar
    )
    return [
        SystemMessage(instructions_of(task, instructions, REFLECTOR)),
        HumanMessage(
            f"Fields a condition may use:\n{fence(', '.join(names) or '(none)')}\n\n"
            f"Case:\n{fence(judged.transaction.text)}\n\n"
            f"Decision: {task.shown(judged.predicted)}, which was {outcome}. "
            f"Correct answer: {task.shown(judged.correct)}\n"
            f"The agent's reasoning:\n{fence(judged.reasoning or '(none given)')}\n\n"
            f"Past cases that resemble it:\n{past or '(none)'}"
        ),
    ]


def _described(case: Case) -> str:
    """A past case: its text, and the fields that were read from it, unless the text names them."""
    text = case.text[:_LONGEST_CASE]
    read = {name: value for name, value in case.fields.items() if name != SENTENCE}
    if all(name in text for name in read):
        return text
    fields = ", ".join(f"{name} {value}" for name, value in read.items())
    return f"{text}\n({fields[:_LONGEST_CASE]})"
