"""The first page: how well the playbook does, at which price, and what waits."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Final

import numpy as np
from starlette.responses import Response

from acegraph.graph.desk.desk import Desk, Page
from acegraph.graph.desk.visit import Visit
from acegraph.graph.metrics.intervals import Estimate, Share, band, of_mean, of_share
from acegraph.state.playbook import decision_index as index
from acegraph.state.values import CostMatrix


def outcome(
    columns: index.DecisionColumns, costs: CostMatrix, undecided: int = 0
) -> dict[str, Estimate]:
    """The share of frauds caught, good payments declined for each of them, and what mistakes cost
    per 1,000 payments, also if everything had been approved; bands where declines hide labels. The
    last so many of the columns were not decided.
    """
    blocked = columns.blocked
    kinds = (index.HONEST, index.FRAUD) if blocked.any() else (index.UNLABELLED,)
    labels = [np.where(blocked, kind, columns.label) for kind in kinds]
    worlds = [_figures(replace(columns, label=one), costs, undecided) for one in labels]
    return {name: band([figures[name] for figures in worlds]) for name in worlds[0]}


def _declined(columns: index.DecisionColumns, kind: int) -> Share:
    found = columns.label == kind
    return Share(int(np.count_nonzero(found & columns.declined)), int(np.count_nonzero(found)))


def _figures(
    columns: index.DecisionColumns, costs: CostMatrix, undecided: int
) -> dict[str, Estimate]:
    fraud, known = columns.label == index.FRAUD, columns.label != index.UNLABELLED
    caught, stopped = _declined(columns, index.FRAUD), _declined(columns, index.HONEST).part
    stakes = np.where(np.isnan(columns.amount), 1.0, columns.amount)[known]
    paid, unasked = (
        costs.of(fraud[known], said[known], stakes)
        for said in (columns.declined, np.zeros(len(fraud), bool))
    )
    if costs.has_review:
        paid[len(paid) - undecided :] = costs.review
    cost, without = of_mean(1000 * paid), of_mean(1000 * unasked)
    low, high = Share(caught.part, caught.part + stopped).interval
    ends = (1 - high) / high, (1 - low) / low if low else math.inf
    return {
        "caught": of_share(caught.part, caught.whole),
        "stopped_per_caught": Estimate(stopped / caught.part if caught.part else math.nan, *ends),
        "cost": replace(cost, low=max(cost.low, 0.0)),
        "without": without,
    }


def show(desk: Desk, visit: Visit) -> Response:
    """The overview."""
    decided, columns, entries = desk.decisions(), desk.outcomes(), desk.waiting()
    undecided = len(columns) - len(decided)
    costs = CostMatrix(**(desk.playbook.policy(desk.node).costs or {}))
    found = {
        "columns": columns,
        "undecided": undecided,
        "figures": outcome(columns, costs, undecided),
        "caught": _declined(columns, index.FRAUD),
        "stopped": _declined(columns, index.HONEST),
        "blocked": int(np.count_nonzero(columns.blocked)),
        "costs": costs,
        "labels": index.label_coverage(decided),
        "bullets": [b for b in desk.playbook if b.status == "active"],
        "cases": len(desk.playbook.cases(desk.node)),
        "verdicts": sum(one.kind == "verdict" for one in entries),
        "approvals": sum(one.kind == "approval" for one in entries),
    }
    return desk.page(visit, "overview.html", found)


PAGES: Final = (Page("GET", "/", "viewer", show),)
