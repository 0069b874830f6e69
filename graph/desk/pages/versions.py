"""Versions: what changed when, the difference of two, and the way back with a preview."""

from typing import Final

import numpy as np

# The preview fits weights: what that takes is loaded with the desk, not with the first preview.
import scipy.optimize  # noqa: F401
from starlette.responses import Response

from acegraph.graph.desk.desk import Desk, Page
from acegraph.graph.desk.visit import Visit
from acegraph.graph.server.access import NotAllowed
from acegraph.graph.tables.ruleset import TableRules
from acegraph.nodes.rules.columns import declined_over
from acegraph.state import diff, rollback
from acegraph.state.ledger.lookups import read_cases
from acegraph.state.playbook.decision_index import FRAUD, HONEST
from acegraph.state.run.review_answers import signature
from acegraph.state.values import APPROVE, Case, CaseTable

_PAGE: Final = 50
_LAST: Final = 1_000
"""The preview decides so many of the last decisions again."""
_EXAMPLES: Final = 6


def show(desk: Desk, visit: Visit) -> Response:
    """The timeline; with two versions in the address also what differs between them.

    From the newest version to another: what going back would change, before anybody goes back.
    """
    newest = desk.playbook.version
    start = visit.number("from", newest)
    rows = [row for row in reversed(desk.playbook.history()) if row["version"] <= start]
    before, after = visit.number("before", -1), visit.number("after", newest)
    is_pair = 0 <= before <= newest and after <= newest
    is_way_back = is_pair and after < before == newest
    found = {
        "rows": rows[:_PAGE],
        "further": rows[_PAGE]["version"] if len(rows) > _PAGE else None,
        "newest": newest,
        "before": before if is_pair else max(newest - 1, 0),
        "after": after if is_pair else newest,
        "differences": diff(desk.playbook, before, after) if is_pair else None,
        "preview": desk.once(("preview", after), lambda: preview(desk, after))
        if is_way_back
        else None,
    }
    return desk.page(visit, "versions.html", found)


def preview(desk: Desk, version: int) -> dict[str, object]:
    """Which of the last decisions another version would turn, by what they would be then."""
    columns = desk.decisions()
    ids, label = columns.ids[-_LAST:], columns.label[-_LAST:]
    known = read_cases(desk.playbook.database, ids)
    table = CaseTable(Case(one, known[one][1], APPROVE) for one in ids)
    earlier = TableRules.of_version(desk.playbook, version).ruleset
    now, then = (declined_over(rules, table) for rules in (desk.ruleset(), earlier))
    found: dict[str, object] = {"decisions": len(ids)}
    for name, turned in (("declined", then & ~now), ("approved", now & ~then)):
        places = np.flatnonzero(turned)
        found[name] = {
            "count": len(places),
            "bad": int((label[places] == FRAUD).sum()),
            "good": int((label[places] == HONEST).sum()),
            "examples": [ids[n] for n in places[-_EXAMPLES:]],
        }
    return found


def roll_back(desk: Desk, visit: Visit) -> Response:
    """Make the bullets those of an earlier version."""
    reason, version = visit.reason(), visit.number("after", -1)
    if version < 0 or visit.number("before", -1) != desk.playbook.version:
        raise NotAllowed("The playbook has changed meanwhile: look at it again.", 409)
    rollback(desk.playbook, version, reason, signature(visit.user.name))
    return desk.go(visit, "/versions", "rolled")


PAGES: Final = (
    Page("GET", "/versions", "viewer", show),
    Page("POST", "/versions", "approver", roll_back, show),
)
