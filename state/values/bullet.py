"""A bullet: one learned heuristic, readable text with a record of how it did.

It knows nothing of the database it lives in or of who wrote it.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

from acegraph.state.values.condition import Condition
from acegraph.state.values.verdict import Verdict

Source = Literal["offline", "online"]
Status = Literal["candidate", "active", "retired", "removed"]
"""`removed`: rolled back to a version from before it was added; its record stays."""


def number_of(bullet_id: str) -> int:
    """The number in the id of a stored bullet.

    >>> number_of("b12")
    12
    """
    return int(bullet_id.removeprefix("b"))


@dataclass(frozen=True)
class Bullet:
    """One heuristic of one agent node."""

    id: str
    content: str
    node: str
    source: Source = "offline"
    problem_types: tuple[str, ...] = ()
    confidence: float = 0.5
    helpful_count: int = 0
    harmful_count: int = 0
    times_selected: int = 0
    created_at: str = ""
    status: Status = "active"
    proof: Literal["proven", "unproven"] = "unproven"
    """`proven`: a backtest on labelled history let it in. `unproven`: nothing could be checked."""
    condition: Condition | None = None
    """What it says as data; None for prose, which only a language model can use."""
    weight: float | None = None
    """What it adds to the log-odds of fraud when it fires, fitted on the labelled cases."""
    evidence: Mapping[str, Any] = field(default_factory=dict)
    """The backtest with which it came in: fires, right, precision and its interval, gain."""
    origin: Mapping[str, Any] = field(default_factory=dict)
    """Where it came from: the decision, its label, what wrote it."""
    related: tuple[str, ...] = ()
    """Ids of bullets it contradicts or revises."""

    @property
    def verdict(self) -> Verdict | None:
        """The answer it argues for, where that is known."""
        return self.condition.verdict if self.condition else None

    @property
    def number(self) -> int:
        """The order of creation; ties between bullets go to the smaller one."""
        return int(self.id.lstrip("b") or 0) if self.id[1:].isdigit() else 0

    def counted(self, helpful: int, harmful: int, selected: int) -> "Bullet":
        """The bullet with so much more on its record.

        Written out: it runs for every shown bullet of every decision, and `replace` is slow.
        """
        copy = object.__new__(Bullet)
        copy.__dict__.update(self.__dict__)
        copy.__dict__["helpful_count"] += helpful
        copy.__dict__["harmful_count"] += harmful
        copy.__dict__["times_selected"] += selected
        return copy

    def get_success_rate(self) -> float:
        """Helpful / (helpful + harmful); 0.5 while there is no outcome.

        >>> Bullet("b1", "text", "node", helpful_count=3, harmful_count=1).get_success_rate()
        0.75
        """
        judged = self.helpful_count + self.harmful_count
        return self.helpful_count / judged if judged else 0.5
