"""The first page: how well the playbook does, at which price, and what waits."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Final

import numpy as np
from starlette.responses import Response

from acegraph.graph.desk.desk import Desk, Page
from acegraph.graph.desk.visit import Visit
from acegraph.graph.metrics.intervals import NO_ESTIMATE, Estimate, Share, of_mean
from acegraph.state.playbook.decision_index import (
    FRAUD,
    HONEST,
    DecisionColumns,
    label_coverage,
)
from acegraph.state.values import CostMatrix


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


def outcome(columns: DecisionColumns, costs: CostMatrix) -> Outcome:
    """What the decisions came to."""
    fraud, honest = columns.label == FRAUD, columns.label == HONEST
    declined, amounts, known = columns.declined, columns.amount, fraud | honest
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


def show(desk: Desk, visit: Visit) -> Response:
    """The overview."""
    columns, entries = desk.decisions(), desk.waiting()
    costs = CostMatrix(**(desk.playbook.policy(desk.node).costs or {}))
    found = {
        "columns": columns,
        "total": outcome(columns, costs),
        "costs": costs,
        "labels": label_coverage(columns),
        "bullets": [b for b in desk.playbook if b.status == "active"],
        "cases": len(desk.playbook.cases(desk.node)),
        "verdicts": sum(one.kind == "verdict" for one in entries),
        "approvals": sum(one.kind == "approval" for one in entries),
    }
    return desk.page(visit, "overview.html", found)


PAGES: Final = (Page("GET", "/", "viewer", show),)
