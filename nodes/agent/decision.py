"""What an agent decides on one transaction: a model, the embedded analyst or a custom one."""

from dataclasses import dataclass

from acegraph.state.values.verdict import Verdict


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
