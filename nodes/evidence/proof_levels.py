"""How much proof a rule needs: four levels, from none at all to strict.

The numbers are shares of chance that are allowed. A rule over a field that no rule has used yet has
to stand against every comparison that the table offers; once a field has proved itself, a further
comparison on it has to stand against the marks of that field only. So noise beside a real cause
stays out, and exceptions to the cause are still found. Few cases prove no rule against all that
could have been found: where the fields as a whole tell the labels apart, the first rule needs less.
EXPERIMENTS.md measures the levels.
"""

import math
from dataclasses import dataclass
from statistics import NormalDist
from typing import Final, Literal, get_args

from acegraph.state import InvalidSettings

GateLevel = Literal["off", "lenient", "standard", "strict"]


@dataclass(frozen=True)
class Gate:
    """The demands of one level."""

    first: float
    """Chance allowed to the first rule, over all conditions of its length."""
    new_field: float
    """Chance allowed to a comparison on a field that is new to the playbook, over all fields."""
    known_field: float
    """The same for a field that the playbook uses already, over the marks of that field."""
    min_gain: float
    """Standard errors by which a found rule must improve on what the playbook says."""
    max_chance: float
    """Chance allowed to a rule that somebody else proposes: it was not searched for."""
    proposed_gain: float
    """Standard errors that such a rule must bring."""
    signal: float = 0.0
    """Chance allowed to the test that there is anything to learn at all (signal.py)."""
    given_signal: "Gate | None" = None
    """The demands on a first rule where there is, and from few cases on further ones."""

    def bar(self, marks: int, *, is_known: bool) -> float:
        """The z that a comparison must reach when it was chosen among so many marks."""
        allowed = self.known_field if is_known else self.new_field
        return NormalDist().inv_cdf(1 - min(allowed / max(marks, 1), 0.5))


_GIVEN_SIGNAL: Final = Gate(
    first=math.inf,  # that there is something was tested before
    new_field=0.3,
    known_field=0.6,
    min_gain=1.5,
    max_chance=0.2,
    proposed_gain=0.5,
)


GATES: Final[dict[str, Gate | None]] = {
    "off": None,
    "lenient": Gate(0.1, 0.3, 0.6, 1.5, 0.2, 0.5),
    "standard": Gate(0.01, 0.05, 0.15, 2.0, 0.05, 1.0, 0.02, _GIVEN_SIGNAL),
    "strict": Gate(0.005, 0.01, 0.03, 2.5, 0.01, 2.0),
}


def gate_of(level: str) -> Gate | None:
    """The demands of a level by its name; None where nothing is demanded."""
    if level not in GATES:
        names = ", ".join(get_args(GateLevel))
        raise InvalidSettings(f"the gate is one of {names}, not {level!r}")
    return GATES[level]
