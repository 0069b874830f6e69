"""What waits for a person: questions and proposals, the oldest first."""

from typing import Final

from starlette.responses import Response

from acegraph.graph.desk.desk import Desk, Page
from acegraph.graph.desk.pages.decisions import show_one
from acegraph.graph.desk.visit import Visit
from acegraph.graph.operations.policies import approve_policy, waiting_policy
from acegraph.graph.operations.review import answer_outside_run
from acegraph.state.errors import InvalidInput

_MOST: Final = 200
"""So many entries of the queue are shown."""


def show_all(desk: Desk, visit: Visit) -> Response:
    """The queue."""
    entries = desk.waiting()
    found = {
        "entries": entries[:_MOST],
        "count": len(entries),
        "proposal": waiting_policy(desk.playbook, desk.node),
        "policy": desk.playbook.policy(desk.node).to_json(),
    }
    return desk.page(visit, "review.html", found)


def answer_policy(desk: Desk, visit: Visit) -> Response:
    """Put a change of the policy into force, as a second person."""
    proposal = waiting_policy(desk.playbook, desk.node)
    if proposal is None or proposal.at != visit.given("at"):
        raise InvalidInput("The proposal has changed meanwhile: look at it again.")
    approve_policy(desk.playbook, desk.node, visit.user.name)
    return desk.go(visit, "/review", "policy")


def answer(desk: Desk, visit: Visit) -> Response:
    """Answer a question; the first answer stands, and its reason is kept in the ledger."""
    given = {"who": visit.user.name, "verdict": visit.given("verdict"), "why": visit.reason()}
    done = answer_outside_run(desk.playbook, visit.given("id"), given)
    return desk.go(visit, "/review", "answered" if done.is_first else "first")


PAGES: Final = (
    Page("GET", "/review", "viewer", show_all),
    Page("POST", "/review/answer", "analyst", answer, show_one),
    Page("POST", "/review/policy", "approver", answer_policy, show_all),
)
