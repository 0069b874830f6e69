"""The first page: how well fraud is caught, at which price, what changed, and what waits."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from acegraph.graph.desk.desk import Desk, Page
from acegraph.graph.desk.figures import Outcomes, course, labels
from acegraph.graph.desk.visit import Visit

if TYPE_CHECKING:
    from starlette.responses import Response

    from acegraph.graph.desk.figures import Outcome

_NEWS: Final = 8


@dataclass(frozen=True)
class Trend:
    """The course of a figure, as a chart takes it."""

    values: list[float | None]
    bands: list[tuple[float, float] | None]
    top: float


def show(desk: Desk, visit: Visit) -> Response:
    """The overview."""
    columns = desk.decisions()
    by_part, outcomes = course(columns), Outcomes(columns)
    parts = [outcomes.of(rows) for rows in by_part.parts]
    entries = desk.waiting()
    if not desk.jobs.audit.at and len(columns) < _SMALL:
        desk.jobs.start_audit(desk.playbook)
    found = {
        "columns": columns,
        "total": outcomes.of(),
        "labels": labels(columns),
        "course": by_part,
        "trends": _trends(parts),
        "news": list(reversed(desk.playbook.history()))[:_NEWS],
        "bullets": [b for b in desk.playbook if b.status == "active"],
        "cases": len(desk.playbook.cases(desk.node)),
        "verdicts": sum(one.kind == "verdict" for one in entries),
        "approvals": sum(one.kind == "approval" for one in entries),
        "audit": desk.jobs.audit,
    }
    return desk.page(visit, "overview.html", found)


_SMALL: Final = 20_000
"""A ledger with fewer decisions is checked without being asked."""


def _trends(parts: list[Outcome]) -> dict[str, Trend]:
    caught = [part.caught.value for part in parts]
    stopped = [part.stopped.value for part in parts]
    costs = [None if math.isnan(part.cost.mean) else part.cost.mean for part in parts]
    return {
        "caught": Trend(
            caught, [part.caught.interval if part.caught.whole else None for part in parts], 1.0
        ),
        "stopped": Trend(
            stopped,
            [part.stopped.interval if part.stopped.whole else None for part in parts],
            _top(stopped),
        ),
        "cost": Trend(costs, [], _top(costs)),
        "balance": Trend([part.balance for part in parts], [], 1.0),
    }


def _top(values: list[float | None]) -> float:
    """The upper end of a scale on which these values fill most of the height."""
    return max((value for value in values if value), default=1.0) * 1.25


def show_audit(desk: Desk, visit: Visit) -> Response:
    """Whether the ledger is as it must be."""
    return desk.page(visit, "_audit.html", {"audit": desk.jobs.audit})


def start_audit(desk: Desk, visit: Visit) -> Response:
    """Check the ledger now."""
    desk.jobs.start_audit(desk.playbook)
    return show_audit(desk, visit) if visit.wants_part else desk.go(visit, "/")


PAGES: Final = (
    Page("GET", "/", "viewer", show),
    Page("GET", "/audit", "viewer", show_audit),
    Page("POST", "/audit", "analyst", start_audit),
)
