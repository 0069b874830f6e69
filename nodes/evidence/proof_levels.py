"""How much proof a rule needs: the four levels of the gate, from none at all to strict.

The numbers are probabilities of a result by chance that are accepted. A rule on a field that no
rule uses yet is corrected for every comparison that the table offers. Once a field has proved
itself, another comparison on it is corrected only for the values of that field. So noise beside a
real cause is refused, and exceptions to the cause are still found. With few cases no rule passes
the correction for all comparisons: if the fields as a whole separate the labels, the first rule
needs less proof. Where labels come one by one, the question is asked again with every mistake; the
allowance is then divided over the looks (alpha spending), so that it bounds the chance of a first
rule without a cause over a whole stream. EXPERIMENTS.md measures the levels.
"""

import math
from dataclasses import dataclass
from statistics import NormalDist
from typing import Final, Literal, get_args

from acegraph.state import InvalidSettings

GateLevel = Literal["off", "lenient", "standard", "strict"]


@dataclass(frozen=True)
class Gate:
    """The demands of one level of proof."""

    first: float
    """The chance allowed to the first rule, over all conditions of its length."""
    new_field: float
    """The chance allowed to a comparison on a field that no rule uses yet, over all fields."""
    known_field: float
    """The chance allowed to a comparison on a field that a rule uses, over its values."""
    min_gain: float
    """Standard errors by which an induced rule must improve on the playbook."""
    max_chance: float
    """The chance allowed to a proposed rule, which was not chosen among many."""
    proposed_gain: float
    """Standard errors by which a proposed rule must improve on the playbook."""
    signal: float = 0.0
    """The chance allowed to the test for anything to learn (rules/learner/signal.py)."""
    given_signal: "Gate | None" = None
    """The demands if that test is passed: on the first rule, and with few cases on all rules."""

    def bar(self, choices: float, *, is_known: bool) -> float:
        """The z that a comparison must reach if it was chosen among this many comparisons."""
        allowed = self.known_field if is_known else self.new_field
        return NormalDist().inv_cdf(1 - min(allowed / max(choices, 1), 0.5))


# The first rule may have any chance here, because the test for a signal has been passed already.
_GIVEN_SIGNAL: Final = Gate(math.inf, 0.3, 0.6, 1.5, 0.2, 0.5)
GATES: Final[dict[str, Gate | None]] = {
    "off": None,
    "lenient": Gate(0.1, 0.3, 0.6, 1.5, 0.2, 0.5, 0.1),
    "standard": Gate(0.01, 0.05, 0.15, 2.0, 0.05, 1.0, 0.02, _GIVEN_SIGNAL),
    "strict": Gate(0.005, 0.01, 0.03, 2.5, 0.01, 2.0),
}


def gate_of(level: str) -> Gate | None:
    """The demands of the level with this name; None if it demands nothing."""
    if level not in GATES:
        names = ", ".join(get_args(GateLevel))
        raise InvalidSettings(f"the gate is one of {names}, not {level!r}")
    return GATES[level]
