"""The prompt of the reflector: a constant text, and the function that fills it in."""

from collections.abc import Sequence
from dataclasses import dataclass
from hashlib import blake2b
from itertools import zip_longest
from typing import Final

from langchain_core.messages import BaseMessage, HumanMessage, SystemMessage

from acegraph.nodes.models.fence import Fence, instructions_of, one_line
from acegraph.state.task.card_payments import CARD_PAYMENTS
from acegraph.state.task.task import Task
from acegraph.state.values import SENTENCE, Case, written_risk

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
class ShownDecision:
    """A judged decision as the reflector's prompt shows it."""

    text: str
    predicted: str
    correct: str
    reasoning: str = ""
    field_names: Sequence[str] = ()
    """The fields that a condition may use."""
    similar: Sequence[Case] = ()
    """Labelled past cases of both outcomes that resemble the transaction."""
    opinions: Sequence[float] = ()
    """The risk that the playbook gives to each of these cases."""


def prompt_version(instructions: str = REFLECTOR) -> str:
    """The version of the reflector's prompt; it is stored with every bullet that a model wrote."""
    return blake2b(instructions.encode(), digest_size=4).hexdigest()


def reflector_messages(
    decision: ShownDecision,
    fence: Fence,
    instructions: str = REFLECTOR,
    task: Task = CARD_PAYMENTS,
) -> list[BaseMessage]:
    """The reflector's prompt: the decision, the right answer, the fields, cases that resemble it."""
    outcome = "right" if decision.predicted == decision.correct else "wrong"
    fields = ", ".join(one_line(name) for name in decision.field_names) or "(none)"
    risks = [f", playbook's risk {written_risk(risk)}" for risk in decision.opinions]
    past = "\n".join(
        f"Correct answer {task.shown(case.label)}{risk}:\n{fence(_described(case))}"
        for case, risk in zip_longest(decision.similar, risks, fillvalue="")
        if isinstance(case, Case)
    )
    return [
        SystemMessage(instructions_of(task, instructions, REFLECTOR)),
        HumanMessage(
            f"Fields a condition may use:\n{fence(fields)}\n\nCase:\n{fence(decision.text)}\n\n"
            f"Decision: {task.shown(decision.predicted)}, which was {outcome}. "
            f"Correct answer: {task.shown(decision.correct)}\n"
            f"The agent's reasoning:\n{fence(decision.reasoning or '(none given)')}\n\n"
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
