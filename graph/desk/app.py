"""The desk's application: who may see which page, and what every answer carries.

It is mounted under /desk: by `acegraph desk`, by `acegraph serve`, and beside a LangGraph server.
"""

import asyncio
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Final

from starlette.applications import Starlette
from starlette.middleware import Middleware
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Mount, Route
from starlette.staticfiles import StaticFiles

from acegraph.graph.desk.desk import Desk, Page
from acegraph.graph.desk.pages import bullets, decisions, lab, overview, review, versions
from acegraph.graph.desk.visit import COOKIE, NOBODY, Visit
from acegraph.graph.server.access import NotAllowed, check_role, user_of
from acegraph.graph.server.app import fault
from acegraph.graph.server.door import COUNTED_AS, DESK, Door
from acegraph.graph.server.endpoints import status_of
from acegraph.graph.server.service import EVERYBODY
from acegraph.state.errors import AceError, InvalidInput
from acegraph.state.maintenance.people.sessions import find_session

_STATIC: Final = Path(__file__).parent / "static"


def create_desk(desk: Desk) -> Starlette:
    """An application that is the desk alone, under /desk."""
    routes = [
        Route(page.path, _handled(desk, page), methods=[page.method]) for page in (*PAGES, *_DOORS)
    ]
    static = Mount("/static", app=StaticFiles(directory=_STATIC))
    door = Middleware(Door, is_open=desk.is_open, note=desk.service.meters.note_request)
    return Starlette(
        routes=[Mount(DESK, routes=[static, *routes])],
        middleware=[door],
        exception_handlers={Exception: fault},
    )


def _handled(desk: Desk, page: Page) -> Callable[[Request], Awaitable[Response]]:
    """The handler of a page: its errors become pages."""

    async def handle(request: Request) -> Response:
        visit = Visit(request)
        request.scope[COUNTED_AS] = DESK
        try:
            if token := request.cookies.get(COOKIE):
                known = await asyncio.to_thread(find_session, desk.playbook.database, token)
                visit.session = known or NOBODY
            return await _answered(desk, page, visit)
        except AceError as error:
            return await asyncio.to_thread(desk.failure, visit, error, status_of(error))

    return handle


async def _answered(desk: Desk, page: Page, visit: Visit) -> Response:
    if page.role is not None:
        if visit.session is NOBODY:
            return await asyncio.to_thread(_let_in, desk, visit)
        check_role(visit.user, page.role)
    if page.method == "POST":
        async with visit.request.form() as visit.form:
            if page.role is not None:
                visit.check_form()
            try:
                return await asyncio.to_thread(page.handler, desk, visit)
            except (NotAllowed, InvalidInput) as error:
                if page.again is None:
                    raise
                visit.error, visit.status = str(error), status_of(error)
                return await asyncio.to_thread(page.again, desk, visit)
    return await asyncio.to_thread(page.handler, desk, visit)


def _let_in(desk: Desk, visit: Visit) -> Response:
    """Somebody without a session: let anybody in if there are no users, else ask who it is."""
    if visit.request.method != "GET" or visit.wants_part:
        raise NotAllowed("Your session has ended: log in again.", 401)
    if desk.service.settings.without_users:
        return desk.begin(visit, EVERYBODY, is_local=True)
    return desk.go(visit, "/login")


def _enter(desk: Desk, visit: Visit) -> Response:
    owner = desk.owner_of(visit.asked("token"))
    return desk.begin(visit, owner, is_local=True)


def _show_login(desk: Desk, visit: Visit) -> Response:
    return desk.page(visit, "login.html", {"failed": False})


def _log_in(desk: Desk, visit: Visit) -> Response:
    user = user_of(visit.given("token"), desk.playbook.database)
    if user is None:
        return desk.page(visit, "login.html", {"failed": True}, 401)
    return desk.begin(visit, user)


def _log_out(desk: Desk, visit: Visit) -> Response:
    desk.end(visit)
    response = desk.go(visit, "/login")
    response.delete_cookie(COOKIE, path=f"{visit.base}/")
    return response


def _not_found(desk: Desk, visit: Visit) -> Response:
    raise NotAllowed("There is no such page.", 404)


PAGES: Final[tuple[Page, ...]] = (
    *overview.PAGES,
    *bullets.PAGES,
    *lab.PAGES,
    *decisions.PAGES,
    *review.PAGES,
    *versions.PAGES,
)
_DOORS: Final = (
    Page("GET", "/enter", None, _enter),
    Page("GET", "/login", None, _show_login),
    Page("POST", "/login", None, _log_in),
    Page("POST", "/logout", "viewer", _log_out),
    Page("GET", "/{rest:path}", "viewer", _not_found),
)
