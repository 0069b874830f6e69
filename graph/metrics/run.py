"""A run of decisions over labelled cases, as arrays for the metrics. It decides nothing."""

from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from acegraph.state import APPROVE, DECLINE


@dataclass
class Run:
    """The decisions of one mode on one stream, in order."""

    truths: list[str] = field(default_factory=list)
    decisions: list[str] = field(default_factory=list)
    risks: list[float | None] = field(default_factory=list)
    amounts: list[float | None] = field(default_factory=list)
    """The amount at stake in each case, if it is known."""
    rows: list[str] = field(default_factory=list)
    """The name of the data's row that each case is: several seeds may test the same row. Without
    names all cases are different rows."""

    def add(self, truth: str, decision: str, risk: float | None, row: str | None = None) -> None:
        """Add a decision. Either every decision of a run names its row, or none does."""
        self.truths.append(truth)
        self.decisions.append(decision)
        self.risks.append(risk)
        if row is not None:
            self.rows.append(row)

    def second_half(self) -> "Run":
        """The run from the middle of the stream on."""
        start = len(self.truths) // 2
        return Run(*(column[start:] for column in vars(self).values()))

    @property
    def fraud(self) -> NDArray[np.bool_]:
        """For each decided case whether the right answer is DECLINE."""
        return np.asarray(np.array(self.truths)[self.is_decided] == DECLINE)

    @property
    def declined(self) -> NDArray[np.bool_]:
        """For each decided case whether the decision was DECLINE."""
        return np.asarray(np.array(self.decisions)[self.is_decided] == DECLINE)

    @property
    def scores(self) -> NDArray[np.float64]:
        """Risk scores of the decided cases; without a score APPROVE counts as 0, DECLINE as 1."""
        scores = [
            float(decision == DECLINE) if risk is None else risk
            for decision, risk in zip(self.decisions, self.risks, strict=True)
        ]
        return np.array(scores)[self.is_decided]

    @property
    def values(self) -> NDArray[np.float64]:
        """For each decided case the amount at stake, or 1 if it is not known."""
        amounts = self.amounts or [None] * len(self.truths)
        return np.array([1.0 if a is None else a for a in amounts])[self.is_decided]

    @property
    def right(self) -> NDArray[np.bool_]:
        """For each case whether the decision was right; an undecided case was not."""
        return np.asarray(np.array(self.truths) == np.array(self.decisions))

    @property
    def undecided_rate(self) -> float:
        """The share of cases without a decision."""
        return 1 - float(np.mean(self.is_decided)) if self.truths else 0.0

    @property
    def is_decided(self) -> NDArray[np.bool_]:
        """For each case whether there is a decision."""
        return np.isin(self.decisions, (APPROVE, DECLINE))
