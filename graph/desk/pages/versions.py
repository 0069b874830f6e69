"""Versions: what changed when, the difference of two, and the way back with a preview."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

import numpy as np

# The preview fits weights: what that takes is loaded with the desk, not with the first preview.
import scipy.optimize  # noqa: F401

from acegraph.graph.desk.desk import Desk, Page
from acegraph.graph.desk.visit import Visit
from acegraph.graph.tables.ruleset import TableRules
from acegraph.nodes.rules.columns import declined_over
from acegraph.state import APPROVE, Case, diff, rollback
from acegraph.state.errors import InvalidInput
from acegraph.state.ledger.lookups import read_cases
from acegraph.state.playbook.decision_index import FRAUD, HONEST
from acegraph.state.run.review_answers import signature
from acegraph.state.values.cases import CaseTable

if TYPE_CHECKING:
    from starlette.responses import Response

    from acegraph.state.playbook.decision_index import Bools

_PAGE: Final = 50
_LAST: Final = 1_000
"""The preview decides so many of the last decisions again."""
_EXAMPLES: Final = 6


@dataclass(frozen=True)
class Turned:
    """Decisions that would change one way."""

    count: int
    frauds: int
    honest: int
    """How many of them are known to be frauds, and to be good payments."""
    examples: list[str]


@dataclass(frozen=True)
class Preview:
    """What another version would have decided."""

    decisions: int
    declined: Turned
    """Approved today, declined by the other version."""
    approved: Turned


def show(desk: Desk, visit: Visit, error: str = "", status: int = 200) -> Response:
    """The timeline; with two versions in the address also what differs between them."""
    rows = list(reversed(desk.playbook.history()))
    newest = desk.playbook.version
    start = visit.number("from", newest)
    shown = [row for row in rows if row["version"] <= start]
    before, after = visit.number("before", -1), visit.number("after", newest)
    is_pair = 0 <= before <= newest and after <= newest
    found = {
        "rows": shown[:_PAGE],
        "further": shown[_PAGE]["version"] if len(shown) > _PAGE else None,
        "newest": newest,
        "before": before if is_pair else max(newest - 1, 0),
        "after": after if is_pair else newest,
        "differences": diff(desk.playbook, before, after) if is_pair else None,
        "error": error,
    }
    return desk.page(visit, "versions.html", found, status)


def show_preview(desk: Desk, visit: Visit, error: str = "", status: int = 200) -> Response:
    """What a rollback would change: the bullets, and the last decisions."""
    version = visit.number("to", -1)
    if visit.given("to").isdigit():
        version = int(visit.given("to")[:9])
    newest = desk.playbook.version
    found = {
        "to": version,
        "newest": newest,
        "differences": diff(desk.playbook, newest, version),
        "preview": desk.once(("preview", version), lambda: preview(desk, version)),
        "error": error,
        "why": visit.given("why"),
    }
    return desk.page(visit, "rollback.html", found, status)


def preview(desk: Desk, version: int) -> Preview:
    """The last decisions, decided again by today's rules and by those of another version."""
    columns = desk.decisions()
    rows = np.arange(len(columns))[-_LAST:]
    ids = [columns.ids[row] for row in rows]
    known = read_cases(desk.playbook.database, ids)
    table = CaseTable(Case(one, known[one][1], APPROVE) for one in ids)
    if not len(rows):
        nothing = Turned(0, 0, 0, [])
        return Preview(0, nothing, nothing)
    earlier = TableRules.of_version(desk.playbook, version).ruleset
    now, then = declined_over(desk.ruleset(), table), declined_over(earlier, table)
    label = columns.label[rows]

    def turned(which: Bools) -> Turned:
        places = np.flatnonzero(which)
        frauds, honest = (int((label[places] == kind).sum()) for kind in (FRAUD, HONEST))
        return Turned(len(places), frauds, honest, [ids[n] for n in places[-_EXAMPLES:]])

    return Preview(len(rows), turned(then & ~now), turned(now & ~then))


def roll_back(desk: Desk, visit: Visit) -> Response:
    """Make the bullets those of an earlier version."""
    try:
        reason, text = visit.reason(), visit.given("to")
        if not text.isdigit() or visit.given("newest") != str(desk.playbook.version):
            raise InvalidInput("The playbook has changed meanwhile: look at the preview again.")
        rollback(desk.playbook, int(text[:9]), reason, signature(visit.user.name))
    except InvalidInput as error:
        return show_preview(desk, visit, str(error), 409)
    return desk.go(visit, "/versions", "rolled")


PAGES: Final = (
    Page("GET", "/versions", "viewer", show),
    Page("GET", "/versions/rollback", "viewer", show_preview),
    Page("POST", "/versions/rollback", "approver", roll_back),
)
