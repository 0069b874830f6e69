"""The first page: how well the playbook does, at which price, what changed, and what waits."""

from __future__ import annotations

from typing import Final

from starlette.responses import Response

from acegraph.graph.desk.desk import Audit, Desk, Page
from acegraph.graph.desk.figures import Curve, course, outcome
from acegraph.graph.desk.visit import Visit
from acegraph.state.maintenance.verify import verify
from acegraph.state.playbook.decision_index import label_coverage
from acegraph.state.values.costs import CostMatrix
from acegraph.state.values.times import now

_NEWS: Final = 8


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
