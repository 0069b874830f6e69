"""What goes into the ledger and what comes out of it: a decision, its label, what they move."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Final, NamedTuple

from acegraph.state.values.transaction import Fields
from acegraph.state.values.verdict import Verdict

LET_THROUGH: Final = '"let_through":true'
"""How the stored settings say that a would-be decline was let through."""


CounterDeltas = Mapping[int, tuple[int, int, int]]
"""What is added per bullet number: helpful, harmful, selected."""


BY_ITSELF: Final = ("curator", "offline", "online")
"""Who signs what no person did: the curator, or the source of a bullet that was learned."""
PURGED: Final = "purged: "
"""How the reason of a change begins that a purge made."""


class Clock(NamedTuple):
    """How far the ledger has come."""

    position: int
    version: int


@dataclass(frozen=True)
class Shown:
    """One bullet that was shown for a decision."""

    bullet_number: int
    credited: bool
    """Whether the outcome counts for it: it had a part, or the caller credits all selected ones."""
    verdict: Verdict | None
    """What it argued for; None credits it with the decision's own outcome."""
    selected: bool = True
    """False for a rule that held and was not shown: it is tested by the outcome, and no more."""


@dataclass(frozen=True)
class DecisionRecord:
    """One decision with all that is needed to judge and replay it."""

    id: str
    node: str
    text: str
    fields: Fields
    digest: str
    decision: Verdict
    risk_score: float | None = None
    reasons: tuple[str, ...] = ()
    settings: Mapping[str, Any] = field(default_factory=dict)
    playbook_version: int = 0
    seen: int = 0
    """How far the ledger had come when its bullets were selected."""
    shown: tuple[Shown, ...] = ()
    counted: bool = True
    """False for a frozen or vanilla run: stored, but no counter moves and nothing is evidence."""


@dataclass(frozen=True)
class Label:
    """What the right answer is, who says so, and since when it is known."""

    value: Verdict
    source: str = "label"
    known_at: str = ""


@dataclass(frozen=True)
class Recorded:
    """What the ledger did with a decision or a label."""

    decision: Verdict | None
    """The decision that stands: the first one given under this id."""
    node: str
    is_new_decision: bool
    """Whether the decision is new; False for one delivered again."""
    counted: bool = False
    new_case: bool = False
    """Whether the transaction was unknown before: neither decided nor remembered."""
    label: Label | None = None
    """The label that stands, where one is known."""
    label_changed: bool = False
    lesson: Mapping[str, Any] | None = None
    """What was learned from it already, where the learning branch has run."""
    deltas: CounterDeltas = field(default_factory=dict)
    """The counters that this has to move, and did not yet."""
    missing: bool = False
    """Whether the label was no label: no chargeback came, and the payment had been declined."""


def add_deltas(left: CounterDeltas, right: CounterDeltas) -> dict[int, tuple[int, int, int]]:
    """Both together; what cancels out is left out."""
    total = dict(left)
    for number, (h, f, s) in right.items():
        before = total.get(number, (0, 0, 0))
        total[number] = (before[0] + h, before[1] + f, before[2] + s)
    return {number: moves for number, moves in total.items() if any(moves)}
