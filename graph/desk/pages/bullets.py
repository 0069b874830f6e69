"""The playbook as a table, and one bullet with its evidence, its cases and its revisions."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Final

from starlette.responses import Response

from acegraph.graph.desk.desk import Desk, Page
from acegraph.graph.desk.visit import Visit
from acegraph.graph.desk.words import sentence
from acegraph.graph.metrics.intervals import Share
from acegraph.graph.metrics.records import Record, Standing
from acegraph.graph.operations.review import approve_outside_run, switch
from acegraph.graph.server.access import NotAllowed
from acegraph.state.errors import InvalidInput
from acegraph.state.maintenance.people.second_person import to_look_at
from acegraph.state.run.review_answers import signature
from acegraph.state.values import DECLINE, Bullet

_DONE: Final = {
    "retire": "retired",
    "restore": "restored",
    "approve": "approved",
    "reject": "rejected",
}
"""The actions, and the words under which it is said that they were done."""
_SHOWN: Final = 8
"""So many cases of each kind are shown."""


@dataclass(frozen=True)
class Row:
    """A bullet in the table."""

    bullet: Bullet
    tried: Record | None
    """None for prose."""
    record: Share
    """Of the outcomes that counted for it, those that were right."""
    standing: Standing

    @property
    def blocked(self) -> int | None:
        """Labelled good payments that are declined because of it, or would be where it waits; None
        if it argues for none.
        """
        added = self.tried and self.tried.added
        return added.honest if added and self.bullet.verdict == DECLINE else None


SORTS: Final[dict[str, Callable[[Row], float]]] = {
    "number": lambda row: row.bullet.number,
    "fires": lambda row: row.tried.right.whole if row.tried else -1,
    "blocked": lambda row: -1 if row.blocked is None else row.blocked,
    "record": lambda row: -1 if row.record.value is None else row.record.value,
}
_STATUSES: Final = {
    "in use": ("active", "candidate"),
    "active": ("active",),
    "candidate": ("candidate",),
    "retired": ("retired",),
    "all": ("active", "candidate", "retired"),
}


def show_all(desk: Desk, visit: Visit) -> Response:
    """The playbook."""
    asked = {name: visit.asked(name) for name in ("q", "status", "verdict", "sort", "order")}
    asked["sort"] = by = asked["sort"] if asked["sort"] in SORTS else "number"
    asked["status"] = status = asked["status"] if asked["status"] in _STATUSES else "in use"
    rows = [
        _row(desk, bullet)
        for bullet in desk.playbook
        if bullet.status in _STATUSES[status]
        and bullet.verdict in (asked["verdict"] or bullet.verdict,)
        and asked["q"].casefold() in f"{bullet.id} {sentence(bullet)} {bullet.content}".casefold()
    ]
    rows.sort(key=SORTS[by], reverse=asked["order"] != "up")
    found = {
        "rows": rows,
        "count": len(desk.playbook),
        "cases": len(desk.cases().table),
        "asked": asked,
        "statuses": tuple(_STATUSES),
    }
    return desk.page(visit, "playbook.html", found)


def _row(desk: Desk, bullet: Bullet) -> Row:
    ruleset = desk.ruleset()
    if bullet.status == "candidate" and bullet.condition:  # what it would change
        ruleset = replace(ruleset, rules=(*ruleset.rules, bullet))
    return Row(
        bullet,
        desk.cases().record_of(bullet, ruleset),
        Share(bullet.helpful_count, bullet.helpful_count + bullet.harmful_count),
        Standing.of(bullet, desk.cases(), ruleset),
    )


def show_one(desk: Desk, visit: Visit) -> Response:
    """One bullet."""
    bullet, cases = desk.playbook.get_bullet(visit.part("id")), desk.cases()
    row, right, wrong = _row(desk, bullet), [], []
    if bullet.condition:
        fired = bullet.condition.holds_over(cases.table)
        agrees = cases.fraud if bullet.verdict == DECLINE else cases.honest
        right, wrong = (cases.newest(fired & kind, _SHOWN) for kind in (agrees, ~agrees))
    found = {
        "bullet": bullet,
        "row": row,
        "tried": row.tried,
        "groups": cases.by_group(bullet.condition) if bullet.condition else {},
        "right": right,
        "wrong": wrong,
        "look": to_look_at(desk.playbook.database).get(bullet.id),
        "history": list(reversed(desk.playbook.history(bullet.id))),
    }
    return desk.page(visit, "bullet.html", found)


def act(desk: Desk, visit: Visit) -> Response:
    """Retire, restore, approve or reject a bullet, with a reason."""
    bullet_id, action = visit.part("id"), visit.given("action")
    if action not in _DONE:
        raise InvalidInput("Choose what to do with the rule.")
    reason, by = visit.reason(), signature(visit.user.name)
    with desk.playbook.writing():
        before = desk.playbook.get_bullet(bullet_id).status
        if before != visit.given("status"):
            by = desk.playbook.history(bullet_id)[-1]["source"].removeprefix("analyst:")
            told = f"{by} was faster: {bullet_id} is {before} by now. Nothing was changed."
            raise NotAllowed(told, 409)
        if action in ("retire", "restore"):
            status = "retired" if action == "retire" else "active"
            switch(desk.playbook, bullet_id, status, reason, by)
        else:
            given = {"who": visit.user.name, "approve": action == "approve", "why": reason}
            approve_outside_run(desk.playbook, bullet_id, given)
    return desk.go(visit, f"/playbook/{bullet_id}", _DONE[action])


PAGES: Final = (
    Page("GET", "/playbook", "viewer", show_all),
    Page("GET", "/playbook/{id}", "viewer", show_one),
    Page("POST", "/playbook/{id}", "approver", act, show_one),
)
