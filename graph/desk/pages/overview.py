"""The first page: how well the playbook does, at which price, what changed, and what waits."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Final

from acegraph.graph.desk.desk import Audit, Desk, Page
from acegraph.graph.desk.figures import Outcomes, course
from acegraph.graph.desk.visit import Visit
from acegraph.graph.metrics.intervals import of_share
from acegraph.state.maintenance.label_coverage import label_coverage
from acegraph.state.maintenance.verify import verify
from acegraph.state.values.costs import CostMatrix
from acegraph.state.values.times import now

if TYPE_CHECKING:
    from starlette.responses import Response

    from acegraph.graph.metrics.intervals import Estimate

_NEWS: Final = 8


def show(desk: Desk, visit: Visit) -> Response:
    """The overview."""
    columns, entries = desk.decisions(), desk.waiting()
    costs = CostMatrix(**(desk.playbook.policy(desk.node).costs or {}))
    by_part, outcomes = course(columns), Outcomes(columns, costs)
    parts = [outcomes.of(rows) for rows in by_part]
    stopped = [of_share(part.stopped.part, part.stopped.whole) for part in parts]
    paid = [part.cost for part in parts]
    found = {
        "columns": columns,
        "total": outcomes.of(),
        "costs": costs,
        "labels": label_coverage(columns),
        "ends": columns.seconds[[0, -1]].tolist() if len(columns) else (),
        "caught": [of_share(part.caught.part, part.caught.whole) for part in parts],
        "stopped": stopped,
        "paid": paid,
        "tops": {"stopped": _top(stopped), "paid": _top(paid)},
        "news": list(reversed(desk.playbook.history()))[:_NEWS],
        "bullets": [b for b in desk.playbook if b.status == "active"],
        "cases": len(desk.playbook.cases(desk.node)),
        "verdicts": sum(one.kind == "verdict" for one in entries),
        "approvals": sum(one.kind == "approval" for one in entries),
        "audit": desk.audit,
    }
    return desk.page(visit, "overview.html", found)


def _top(values: list[Estimate]) -> float:
    """The upper end of a scale that holds these values with their intervals."""
    return max((one.high for one in values if not math.isnan(one.mean)), default=0.0) or 1.0


def audit(desk: Desk, visit: Visit) -> Response:
    """Check now whether every row of the ledger is as it was written."""
    desk.audit = Audit(tuple(verify(desk.playbook)), now())
    return desk.go(visit, "/")


PAGES: Final = (
    Page("GET", "/", "viewer", show),
    Page("POST", "/audit", "analyst", audit),
)
