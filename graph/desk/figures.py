"""The figures of the pages: rates with intervals, their course, and what each rule does."""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
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


def outcome(columns: DecisionColumns, costs: CostMatrix, rows: slice = slice(None)) -> Outcome:
    """What some of the decisions came to."""
    fraud, honest = columns.label[rows] == FRAUD, columns.label[rows] == HONEST
    declined, amounts, known = columns.declined[rows], columns.amount[rows], fraud | honest
    stakes = np.where(np.isnan(amounts), 1.0, amounts)[known]
    cost, without = (
        of_mean(1000 * costs.of(fraud[known], said[known], stakes))
        for said in (declined, np.zeros(len(declined), bool))
    )
    caught, frauds, stopped, goods = (
        int(np.count_nonzero(one)) for one in (fraud & declined, fraud, honest & declined, honest)
    )
    cost = replace(cost, low=max(cost.low, 0.0))
    return Outcome(Share(caught, frauds), Share(stopped, goods), cost, without.mean)


@dataclass(frozen=True)
class Curve:
    """The course of a figure: where on the way each value stands, and the end of the scale."""

    points: list[tuple[float, Estimate]]
    top: float

    @classmethod
    def of(cls, values: Sequence[Estimate], top: float | None = None) -> Curve:
        """The values that are known; without `top` the scale holds their intervals."""
        steps = max(len(values) - 1, 1)
        points = [(n / steps, one) for n, one in enumerate(values) if not math.isnan(one.mean)]
        return cls(points, top or max((one.high for _, one in points), default=0.0) or 1.0)


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
