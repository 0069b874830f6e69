"""A decision of the agent, and what keeps it from standing: what was not understood and matters.

Doubts come from nodes/text/understand.py. What they are worth the ruleset says.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace

from acegraph.nodes.rules.points import NO_LANGUAGE_MODEL, points_of
from acegraph.nodes.rules.ruleset import Ruleset
from acegraph.nodes.rules.words import could_not_be_tested, not_understood
from acegraph.nodes.text.reader import read_exposed_fields
from acegraph.state import APPROVE, DECLINE
from acegraph.state.run.schema import CaseData, DoubtData
from acegraph.state.values.texts import SENTENCE
from acegraph.state.values.verdict import UNDECIDED, Verdict, parse_verdict

HIDDEN = "a memo, a quotation or another amount hides what would have declined it"


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


def by_field(doubts: Sequence[DoubtData]) -> dict[str, str]:
    """Why fields are in doubt, by their names."""
    return {doubt["field"]: doubt["why"] for doubt in doubts}


def settled(
    decision: Decision, case: CaseData, doubts: Sequence[DoubtData], ruleset: Ruleset
) -> tuple[Decision, str]:
    """The decision, and why it does not stand; empty where nothing speaks against it.

    A language model reads the transaction itself: its approval falls only with a rule that could
    not be tested.
    """
    if NO_LANGUAGE_MODEL not in decision.reasons:
        return decision, _untested(decision, case, doubts, ruleset)
    ruling = ruleset.decide(case["fields"], by_field(doubts))
    if ruling.decision == UNDECIDED:
        return decision, ruling.undecided
    if ruling.decision == APPROVE and not case["given_fields"]:
        exposed = {**read_exposed_fields(case["text"]), SENTENCE: case["text"]}
        if exposed != case["fields"] and ruleset.weigh(exposed).decision == DECLINE:
            return decision, HIDDEN
    verdict = parse_verdict(ruling.decision)
    return replace(decision, decision=verdict, risk_score=ruling.risk), ""


def _untested(
    decision: Decision, case: CaseData, doubts: Sequence[DoubtData], ruleset: Ruleset
) -> str:
    """Which rules might have declined what was approved."""
    if decision.decision != APPROVE or not doubts:
        return ""
    untested = ruleset.open_rules(case["fields"], by_field(doubts))
    raising = [bullet for bullet in untested if points_of(bullet) > 0]
    return not_understood(by_field(doubts)) + could_not_be_tested(raising) if raising else ""
