"""A run of decisions over labelled cases, as arrays."""

from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from acegraph.state import DECLINE


@dataclass
class Run:
    """The decisions of one mode on one stream, in order."""

    truths: list[str] = field(default_factory=list)
    decisions: list[str] = field(default_factory=list)
    risks: list[float | None] = field(default_factory=list)
    amounts: list[float | None] = field(default_factory=list)
    """What was at stake in each case, where that is known."""
    rows: list[str] = field(default_factory=list)
    """Which row of the data each case is: several seeds may test the same one. Without names each
    case is its own."""

    def add(self, truth: str, decision: str, risk: float | None, row: str | None = None) -> None:
        """One more decision; with a row each has to have one."""
        self.truths.append(truth)
        self.decisions.append(decision)
        self.risks.append(risk)
        if row is not None:
            self.rows.append(row)

    def second_half(self) -> "Run":
        """What came after the middle of the stream."""
        start = len(self.truths) // 2
        return Run(
            self.truths[start:],
            self.decisions[start:],
            self.risks[start:],
            self.amounts[start:],
            self.rows[start:],
        )

    @property
    def fraud(self) -> NDArray[np.bool_]:
        """Where the right answer is DECLINE, among the decided cases."""
        return np.asarray(np.array(self.truths)[self.is_decided] == DECLINE)

    @property
    def declined(self) -> NDArray[np.bool_]:
        """Where the decision was DECLINE, among the decided cases."""
        return np.asarray(np.array(self.decisions)[self.is_decided] == DECLINE)

    @property
    def scores(self) -> NDArray[np.float64]:
        """Risk scores of the decided cases; a decision without one counts as 0 or 1."""
        given = [
            (1.0 if d == DECLINE else 0.0) if r is None else r
            for d, r in zip(self.decisions, self.risks, strict=True)
        ]
        return np.array(given)[self.is_decided]

    @property
    def values(self) -> NDArray[np.float64]:
        """What was at stake in the decided cases: the amount, or 1 where none is known."""
        amounts = self.amounts or [None] * len(self.truths)
        return np.array([1.0 if a is None else a for a in amounts])[self.is_decided]

    @property
    def right(self) -> NDArray[np.bool_]:
        """Case by case: was it right? An undecided case was not."""
        return np.asarray(np.array(self.truths) == np.array(self.decisions))

    @property
    def undecided_rate(self) -> float:
        """Share of cases without a decision."""
        return 1 - float(np.mean(self.is_decided)) if self.truths else 0.0

    @property
    def is_decided(self) -> NDArray[np.bool_]:
        """Where there is a decision."""
        return np.isin(self.decisions, ("APPROVE", "DECLINE"))
