"""A bullet: one learned heuristic as readable text, with the record of its outcomes.

It knows nothing of the database that stores it; the collection of bullets is in `playbook`.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Final, Literal

from acegraph.state.values.condition import Condition
from acegraph.state.values.transaction import DataView
from acegraph.state.values.verdict import Verdict

Source = Literal["offline", "online"]
Status = Literal["candidate", "active", "retired", "removed"]
"""`removed`: a rollback went to a version from before the bullet; its record stays."""


WAITS_FOR: Final = "waits_for"
"""In the evidence of a candidate: why the curator holds it; a later backtest may let it act."""
NOT_PROVED: Final = "unproven: there are too few labelled cases of both kinds to test it on"
"""What a rule waits for that nothing speaks against."""
MAX_CONTENT: Final = 1_000
"""Characters that a bullet may have."""
REFINEMENT: Final = "refinement"
"""In the origin of a bullet: the version of the playbook that was refined."""


def newest_set(bullets: Iterable["Bullet"]) -> list["Bullet"]:
    """The bullets of the newest refinement among these."""
    refined = [b for b in bullets if isinstance(b.origin.get(REFINEMENT), int)]
    newest = max((int(str(b.origin[REFINEMENT])) for b in refined), default=None)
    return [b for b in refined if b.origin[REFINEMENT] == newest]


def of_source(bullets: Iterable["Bullet"], source: Source | None) -> list["Bullet"]:
    """Those that act in a run with this source; None: all."""
    return [*bullets] if source is None else [b for b in bullets if b.source == source]


def number_of(bullet_id: str) -> int:
    """The number in the id of a stored bullet; -1 for a text that is no such id.

    >>> number_of("b12"), number_of("blue")
    (12, -1)
    """
    digits = bullet_id.removeprefix("b")
    return int(digits) if digits.isascii() and digits.isdigit() and len(digits) < 16 else -1


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
    """`proven`: it passed a backtest on labelled cases. `unproven`: nothing could be checked."""
    condition: Condition | None = None
    """The content as data; None for prose, which only a language model can use."""
    weight: float | None = None
    """What it adds to the log-odds of fraud when it fires, fitted on the labelled cases."""
    evidence: DataView = field(default_factory=dict)
    """The backtest that let it in: fires, right, precision and its interval, gain."""
    origin: Mapping[str, object] = field(default_factory=dict)
    """Where it came from: the decision, the label and its source, the author."""
    related: tuple[str, ...] = ()
    """Ids of the bullets that it contradicts or revises."""

    @property
    def verdict(self) -> Verdict | None:
        """The answer that it argues for; None for prose."""
        return self.condition.verdict if self.condition else None

    @property
    def is_graded(self) -> bool:
        """Whether what it adds goes by the value of its field."""
        return self.condition is not None and self.condition.graded is not None

    @property
    def is_on_trial(self) -> bool:
        """Whether it is a rule that nothing speaks against and nothing proves yet: a model that
        reads sees it, marked as such, and it decides nothing by itself.
        """
        waits_for = self.evidence.get(WAITS_FOR)
        return self.status == "candidate" and waits_for == NOT_PROVED

    @property
    def revision(self) -> int:
        """How often its cuts were moved, plus 1; the id of the one before it is in `origin`."""
        given = self.origin.get("revision")
        return given if isinstance(given, int) else 1

    @property
    def number(self) -> int:
        """The place in the order of creation; of two equal bullets the smaller number wins."""
        return max(number_of(self.id), 0)

    def counted(self, helpful: int, harmful: int, selected: int) -> "Bullet":
        """A copy of the bullet with these numbers added to its counters.

        Not `dataclasses.replace`: that is slow, and this runs for every shown bullet.
        """
        copy = object.__new__(Bullet)
        copy.__dict__.update(self.__dict__)
        copy.__dict__["helpful_count"] += helpful
        copy.__dict__["harmful_count"] += harmful
        copy.__dict__["times_selected"] += selected
        return copy

    def get_success_rate(self) -> float:
        """Helpful / (helpful + harmful); 0.5 before the first outcome.

        >>> Bullet("b1", "text", "node", helpful_count=3, harmful_count=1).get_success_rate()
        0.75
        """
        judged = self.helpful_count + self.harmful_count
        return self.helpful_count / judged if judged else 0.5
