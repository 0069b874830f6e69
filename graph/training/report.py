"""What a pass over labelled cases brought, and when one ends because models fail."""

from dataclasses import dataclass, field
from typing import Final

from acegraph.graph.metrics.run import Run
from acegraph.nodes.models.language_model import is_hopeless
from acegraph.state import AceOutput
from acegraph.state.run.schema import UsageByNode

_FAILURES: Final = 5
"""So many failures in a row end a pass."""


@dataclass(frozen=True)
class TrainingReport:
    """What a pass over labelled cases brought."""

    cases: int
    mistakes: int
    undecided: int
    repeated: int
    """Cases that this playbook had decided and learned from before; they are not learned twice."""
    bullets_added: int
    bullets_active: int
    run: Run = field(repr=False)
    """The decisions of the pass, in order."""
    calls: int = 0
    tokens: int = 0
    cost: float | None = None
    """In the currency of the prices; None if a model that was used has no price."""
    usage: UsageByNode = field(default_factory=dict, repr=False)
    stopped: str = ""
    """Why the pass ended early: the spent budget, or models that always fail. What was learned is
    kept; run again to go on."""
    failure: str = ""
    """The most frequent reason why a case was not decided or not learned from, if there is one."""
    frauds: int = 0
    evidence: int = 0
    """How many labelled cases of the playbook are evidence."""
    since_change: int = 0
    """How many of them still count: those since the last change (nodes/evidence/drift.py)."""
    held_out: dict[str, float] = field(default_factory=dict)
    """How it did on cases that had no part in what decided them: held out in turn where a set of
    rules was sought, all cases of a stream; else empty."""
    columns: str = ""
    """How the columns differ from those that the playbook knew before; empty if they do not."""
    refined: int = 0
    """How many bullets a look at the playbook as a whole has put in place of others."""
    refinement: str = ""
    """How much better they explain held-out cases, in words; empty if nothing was refined."""
    corrected: int = 0
    """How many rows of a whole table were known with another label."""
    failed: bool = False
    """Whether the pass ended because models failed, or they failed in all of its cases."""

    @property
    def change(self) -> str:
        """Where a change was seen and what it leaves as evidence; empty if none was seen."""
        forgotten = self.evidence - self.since_change
        return (
            f"a change was seen at row {forgotten + 1:,}; {self.since_change:,} of "
            f"{self.evidence:,} labelled cases still count"
            if forgotten
            else ""
        )

    def to_json(self) -> dict[str, object]:
        """Everything except the decisions."""
        facts = {name: value for name, value in vars(self).items() if name != "run"}
        return {**facts, "change": self.change}


@dataclass
class Failures:
    """The failures of models in a pass. What fails again and again is not asked any more."""

    cases: int = 0
    stop: str = ""
    """Why nothing more should be asked."""
    in_a_row: int = 0

    def note(self, result: AceOutput) -> None:
        """Take in the result of one case."""
        reason = result.get("undecided") or ""
        if reason.partition(":")[0] not in result["usage"]:  # no model was asked
            reason = ""
        self.in_a_row = self.in_a_row + 1 if reason else 0
        self.cases += bool(reason)
        if self.in_a_row >= _FAILURES or is_hopeless(reason):
            self.stop = self.stop or f"{self.in_a_row} case(s) in a row failed ({reason})"
