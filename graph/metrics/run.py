"""A run of decisions over labelled cases, as arrays for the metrics. It decides nothing.

A case without a decision counts as wrong in every figure; its share stands beside.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import chain, product

import numpy as np
from numpy.typing import NDArray

from acegraph.state.values import APPROVE, DECLINE, CostMatrix


@dataclass
class Run:
    """The decisions of one mode on one stream, in order."""

    truths: list[str] = field(default_factory=list)
    """The right answers; empty where a label is missing because the payment was declined."""
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

    @classmethod
    def together(cls, runs: Sequence["Run"]) -> "Run":
        """The cases of several runs as one run, whose rows are not named."""
        columns = zip(*(list(vars(run).values())[:4] for run in runs), strict=True)
        return cls(*(list(chain(*column)) for column in columns))

    def possible_truths(self) -> list[list[str]]:
        """What the right answers may be: the missing ones all honest, all fraud, all as decided
        here, or none of them.
        """
        cases = list(zip(self.truths, self.declined.tolist(), strict=True))
        guesses = product((APPROVE, DECLINE), repeat=2)
        return [[truth or guess[declined] for truth, declined in cases] for guess in guesses]

    @property
    def fraud(self) -> NDArray[np.bool_]:
        """For each case whether the right answer is DECLINE."""
        return np.asarray(np.array(self.truths, dtype=str) == DECLINE)

    @property
    def declined(self) -> NDArray[np.bool_]:
        """For each case whether it was declined; a case without a decision counts as the mistake
        that is possible there: fraud as approved, an honest payment as declined.
        """
        declined = np.array(self.decisions, dtype=str) == DECLINE
        return np.where(self.is_decided, declined, ~self.fraud)

    @property
    def scores(self) -> NDArray[np.float64]:
        """Risk scores; without a score, or a decision, what `declined` says counts as 0 or 1."""
        scores = self.declined.astype(float)
        known = np.array([risk is not None for risk in self.risks], bool) & self.is_decided
        scores[known] = [self.risks[i] for i in np.flatnonzero(known)]
        return scores

    @property
    def values(self) -> NDArray[np.float64]:
        """For each case the amount at stake, or 1 if it is not known."""
        amounts = self.amounts or [None] * len(self.truths)
        return np.array([1.0 if a is None else a for a in amounts])

    @property
    def right(self) -> NDArray[np.bool_]:
        """For each case whether the decision was right; an undecided case was not."""
        return np.asarray(self.fraud == self.declined)

    @property
    def undecided_rate(self) -> float:
        """The share of cases without a decision."""
        return 1 - float(np.mean(self.is_decided)) if self.truths else 0.0

    @property
    def is_decided(self) -> NDArray[np.bool_]:
        """For each case whether there is a decision."""
        return np.isin(np.array(self.decisions, dtype=str), (APPROVE, DECLINE))

    def paid(self, costs: CostMatrix) -> NDArray[np.float64]:
        """What each case cost: one without a decision a review, or its mistake if a review has no
        price.
        """
        paid = costs.of(self.fraud, self.declined, self.values)
        return np.where(self.is_decided, paid, costs.review) if costs.has_review else paid
