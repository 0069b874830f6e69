"""The first page: how well the playbook does, at which price, what changed, and what waits."""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Final

import numpy as np
from starlette.responses import Response

from acegraph.graph.desk.desk import Audit, Desk, Page
from acegraph.graph.desk.visit import Visit
from acegraph.graph.metrics.intervals import NO_ESTIMATE, Estimate, Share, of_mean
from acegraph.state.maintenance.verify import verify
from acegraph.state.playbook.decision_index import (
    FRAUD,
    HONEST,
    UNLABELLED,
    DecisionColumns,
    label_coverage,
)
from acegraph.state.values.costs import CostMatrix
from acegraph.state.values.times import now

_NEWS: Final = 8
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


def show(desk: Desk, visit: Visit) -> Response:
    """The overview."""
    columns, entries = desk.decisions(), desk.waiting()
    costs = CostMatrix(**(desk.playbook.policy(desk.node).costs or {}))
    parts = [outcome(columns, costs, rows) for rows in course(columns)]
    found = {
        "columns": columns,
        "total": outcome(columns, costs),
        "costs": costs,
        "labels": label_coverage(columns),
        "ends": columns.seconds[[0, -1]].tolist() if len(columns) else (),
        "caught": Curve.of([part.caught.estimate for part in parts], 1.0),
        "stopped": Curve.of([part.stopped.estimate for part in parts]),
        "paid": Curve.of([part.cost for part in parts]),
        "news": list(reversed(desk.playbook.history()))[:_NEWS],
        "bullets": [b for b in desk.playbook if b.status == "active"],
        "cases": len(desk.playbook.cases(desk.node)),
        "verdicts": sum(one.kind == "verdict" for one in entries),
        "approvals": sum(one.kind == "approval" for one in entries),
        "audit": desk.audit,
    }
    return desk.page(visit, "overview.html", found)


def audit(desk: Desk, visit: Visit) -> Response:
    """Check now whether every row of the ledger is as it was written."""
    desk.audit = Audit(tuple(verify(desk.playbook)), now())
    return desk.go(visit, "/")


PAGES: Final = (
    Page("GET", "/", "viewer", show),
    Page("POST", "/audit", "analyst", audit),
)
