"""The figures of the pages: rates with intervals, their course, and what each rule does."""

from __future__ import annotations

import itertools
from dataclasses import dataclass, replace
from typing import Final

import numpy as np

from acegraph.graph.metrics.intervals import NO_ESTIMATE, Estimate, Share, of_mean
from acegraph.state import DECLINE, Bullet
from acegraph.state.playbook.decision_index import FRAUD, HONEST, UNLABELLED, DecisionColumns
from acegraph.state.values.costs import CostMatrix

_PARTS: Final = 24
"""Into how many parts the course of a figure is divided at most."""


@dataclass(frozen=True)
class Outcome:
    """What labelled decisions came to."""

    caught: Share
    """Of the frauds, those that were declined."""
    stopped: Share
    """Of the good payments, those that were declined."""
    cost: Estimate
    """What mistakes cost per 1,000 payments."""
    without: float
    """The same if everything had been approved."""

    @property
    def stopped_per_caught(self) -> Estimate:
        """How many good customers are declined for each fraud that is caught."""
        caught, stopped = self.caught.part, self.stopped.part
        if not caught:
            return NO_ESTIMATE
        low, high = Share(caught, caught + stopped).interval
        return Estimate(stopped / caught, (1 - high) / high, (1 - low) / low)


class Outcomes:
    """The labelled decisions, with what each of them cost."""

    def __init__(self, columns: DecisionColumns, costs: CostMatrix) -> None:
        self._fraud, self._honest = columns.label == FRAUD, columns.label == HONEST
        self._caught = self._fraud & columns.declined
        self._stopped = self._honest & columns.declined
        stakes = np.where(np.isnan(columns.amount), 1.0, columns.amount)
        nothing = np.zeros(len(columns), bool)
        self._paid = 1000 * costs.of(self._fraud, columns.declined, stakes)
        self._unguarded = 1000 * costs.of(self._fraud, nothing, stakes)

    def of(self, rows: slice = slice(None)) -> Outcome:
        """What some of the decisions came to."""
        known = self._fraud[rows] | self._honest[rows]
        cost = of_mean(self._paid[rows][known])
        cost = replace(cost, low=max(cost.low, 0.0))
        counts = (self._caught, self._fraud, self._stopped, self._honest)
        caught, frauds, stopped, honest = (int(np.count_nonzero(one[rows])) for one in counts)
        without = of_mean(self._unguarded[rows][known]).mean
        return Outcome(Share(caught, frauds), Share(stopped, honest), cost, without)


def course(columns: DecisionColumns) -> list[slice]:
    """All decisions in parts, each with as many labelled ones as the others."""
    size, known = len(columns), np.flatnonzero(columns.label != UNLABELLED)
    known = known if len(known) else np.arange(size)
    count = min(_PARTS, max(len(known) // 20, 1))
    inner = known[np.linspace(0, len(known), count + 1).astype(int)[1:-1]] if size else []
    return [slice(first, last) for first, last in itertools.pairwise([0, *inner, size]) if size]


def last_right(columns: DecisionColumns, bullet: Bullet) -> int | None:
    """The newest decision on which a bullet fired and was right, by its number."""
    fired = columns.rows_of(bullet.number, credited=True)
    wanted = FRAUD if bullet.verdict == DECLINE else HONEST
    right = fired[columns.label[fired] == wanted]
    return int(right[-1]) if len(right) else None
