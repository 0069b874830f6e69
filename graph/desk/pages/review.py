"""What waits for a person: one question at a time, claimed by whoever looks at it."""

from __future__ import annotations

from typing import Final
from urllib.parse import quote

from starlette.responses import Response

from acegraph.graph.desk.desk import Desk, Page
from acegraph.graph.desk.pages.decisions import show_one
from acegraph.graph.desk.visit import Visit
from acegraph.graph.operations.policies import approve_policy, waiting_policy
from acegraph.graph.operations.review import answer_outside_run
from acegraph.graph.server.access import NotAllowed
from acegraph.state.errors import InvalidInput
from acegraph.state.maintenance.people.claims import claim, claims, release
from acegraph.state.run.review_answers import VerdictAnswer, read_answer

_MOST: Final = 200
"""So many entries of the queue are shown."""


def show_all(desk: Desk, visit: Visit, error: str = "", status: int = 200) -> Response:
    """The queue."""
    entries = desk.waiting()
    found = {
        "entries": entries[:_MOST],
        "count": len(entries),
        "claims": claims(desk.playbook.database),
        "proposal": waiting_policy(desk.playbook, desk.node),
        "policy": desk.playbook.policy(desk.node).to_json(),
        "error": error,
    }
    return desk.page(visit, "review.html", found, status)


def answer_policy(desk: Desk, visit: Visit) -> Response:
    """Put a change of the policy into force, as a second person."""
    proposal = waiting_policy(desk.playbook, desk.node)
    if proposal is None or proposal.at != visit.given("at"):
        raise InvalidInput("The proposal has changed meanwhile: look at it again.")
    approve_policy(desk.playbook, desk.node, visit.user.name)
    return desk.go(visit, "/review", "policy")


def take(desk: Desk, visit: Visit) -> Response:
    """Claim a question, the named one or the next that nobody looks at, and show it."""
    database, wanted = desk.playbook.database, visit.given("id")
    taken = claims(database)
    entries = [one for one in desk.waiting() if one.kind == "verdict"]
    free = (one.id for one in entries if taken.get(one.id, visit.user.name) == visit.user.name)
    decision_id = wanted or next(free, "")
    if not decision_id:
        return desk.go(visit, "/review")
    claim(database, decision_id, visit.user.name)
    if visit.wants_part:  # the page tells that somebody still looks at it
        return desk.page(visit, "_claim.html", {"holder": claims(database).get(decision_id)})
    return desk.go(visit, f"/decisions/one?id={quote(decision_id, safe='')}")


def put_back(desk: Desk, visit: Visit) -> Response:
    """Give a claimed question back."""
    release(desk.playbook.database, visit.given("id"), visit.user.name)
    return desk.go(visit, "/review", "released")


def answer(desk: Desk, visit: Visit) -> Response:
    """Answer a question; the reason is kept in the ledger."""
    decision_id, database = visit.given("id"), desk.playbook.database
    fields = {"who": visit.user.name, "verdict": visit.given("verdict"), "why": visit.reason()}
    given = read_answer(VerdictAnswer, fields, stored=desk.playbook.task().stored)
    holder = claim(database, decision_id, visit.user.name)
    if holder != visit.user.name:
        raise NotAllowed(f"{holder} looks at it. Take another one, or wait.", 409)
    done = answer_outside_run(desk.playbook, decision_id, given)
    release(database, decision_id, visit.user.name)
    is_first = done.human_verdict.is_by(given)
    return desk.go(visit, "/review", "answered" if is_first else "first")


PAGES: Final = (
    Page("GET", "/review", "viewer", show_all),
    Page("POST", "/review/take", "analyst", take),
    Page("POST", "/review/back", "analyst", put_back),
    Page("POST", "/review/answer", "analyst", answer, show_one),
    Page("POST", "/review/policy", "approver", answer_policy, show_all),
)
