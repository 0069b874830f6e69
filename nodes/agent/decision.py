"""What an agent is asked, and what it decides; what keeps a decision from standing.

Doubts come from nodes/text/understand.py. What they are worth the ruleset says.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Protocol

from acegraph.nodes.rules.points import points_of
from acegraph.nodes.rules.ruleset import Ruleset
from acegraph.nodes.rules.words import could_not_be_tested, not_understood
from acegraph.nodes.runtime.sync_async import Wait
from acegraph.state import APPROVE, DECLINE, Bullet, Transaction
from acegraph.state.run.schema import DoubtData
from acegraph.state.values.texts import SENTENCE
from acegraph.state.values.transaction import Fields
from acegraph.state.values.verdict import Verdict

HIDDEN = "a memo, a quotation or another amount hides what would have declined it"


@dataclass(frozen=True)
class Question:
    """A case with what is shown beside it."""

    transaction: Transaction
    fields: Fields
    """What rules test."""
    shown: tuple[Bullet, ...]
    ruleset: Ruleset
    doubts: Mapping[str, str] | None = None
    """Why fields are in doubt, by their names; None: the fields count as they stand."""
    decision_id: str = ""


@dataclass(frozen=True)
class Decision:
    """A decision of the agent with what led to it."""

    decision: Verdict
    risk_score: float | None = None
    reasons: tuple[str, ...] = ()
    bullets_used: tuple[str, ...] | None = ()
    """Ids of the bullets that had a part in the decision; None where that is unknown."""
    model: str = ""
    """The language model that decided; empty for the embedded analyst and a custom agent."""
    prompt: str = ""
    """The version of its prompt."""
    departure: float = 0.0
    """By how much it departed from the playbook's opinion, in log-odds."""
    undecided: str = ""
    """Why the decision does not stand; empty where nothing speaks against it."""


class Agent(Protocol):
    """What the agent node calls."""

    async def decide_on(self, asked: Question, wait: Wait, name: str | None = None) -> Decision:
        """Decide on a case; `name` is a model other than the default one."""


def by_field(doubts: Sequence[DoubtData]) -> dict[str, str]:
    """Why fields are in doubt, by their names."""
    return {doubt["field"]: doubt["why"] for doubt in doubts}


def what_hides(asked: Question) -> str:
    """Why the approval of a sentence does not stand: what a remark hides would decline it."""
    if asked.doubts is None or asked.transaction.fields:
        return ""
    from acegraph.nodes.text.reader import read_exposed_fields

    text = asked.transaction.text
    exposed = {**read_exposed_fields(text), SENTENCE: text}
    declines = exposed != asked.fields and asked.ruleset.weigh(exposed).decision == DECLINE
    return HIDDEN if declines else ""


def unless_untested(decision: Decision, asked: Question) -> Decision:
    """The decision of a reader; its approval falls with a rule that could not be tested."""
    if decision.decision != APPROVE or not asked.doubts:
        return decision
    untested = asked.ruleset.open_rules(asked.fields, asked.doubts)
    raising = [bullet for bullet in untested if points_of(bullet) > 0]
    why = not_understood(asked.doubts) + could_not_be_tested(raising) if raising else ""
    return replace(decision, undecided=why)
