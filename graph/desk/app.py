"""The desk's application: who may see which page, and what every answer carries.

It is mounted under /desk: by `acegraph desk`, by `acegraph serve`, and beside a LangGraph server.
"""

import asyncio
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Final

from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Mount, Route
from starlette.staticfiles import StaticFiles

from acegraph.graph.desk.desk import Desk, Page
from acegraph.graph.desk.pages import bullets, decisions, lab, overview, review, versions
from acegraph.graph.desk.visit import COOKIE, NOBODY, Visit
from acegraph.graph.server.access import NotAllowed, check_role, user_of
from acegraph.graph.server.endpoints import status_of
from acegraph.graph.server.service import EVERYBODY
from acegraph.state.errors import AceError, InvalidInput
from acegraph.state.maintenance.people.sessions import find_session

_FORM_BYTES: Final = 100_000
_STATIC: Final = Path(__file__).parent / "static"
HEADERS: Final = {
    "Content-Security-Policy": "default-src 'none'; script-src 'self'; style-src 'self'; "
    "img-src 'self'; connect-src 'self'; form-action 'self'; base-uri 'none'; "
    "frame-ancestors 'none'",
    "X-Frame-Options": "DENY",
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "same-origin",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cache-Control": "no-store",
}
"""What every answer carries: no script and no style but our own files, in no frame, in no cache."""


def create_desk(desk: Desk) -> Starlette:
    """An application that is the desk alone, under /desk."""
    routes = [
        Route(page.path, _handled(desk, page), methods=[page.method]) for page in (*PAGES, *_DOORS)
    ]
    static = Mount("/static", app=StaticFiles(directory=_STATIC))
    return Starlette(routes=[Mount("/desk", routes=[static, *routes])])


def _handled(desk: Desk, page: Page) -> Callable[[Request], Awaitable[Response]]:
    """The handler of a page: its errors become pages, and its answers carry the headers."""

    async def handle(request: Request) -> Response:
        visit = Visit(request)
        try:
            desk.check_site(request)
            if token := request.cookies.get(COOKIE):
                known = await asyncio.to_thread(find_session, desk.playbook.database, token)
                visit.session = known or NOBODY
            response = await _answered(desk, page, visit)
        except AceError as error:
            response = await asyncio.to_thread(desk.failure, visit, error, status_of(error))
        response.headers.update(HEADERS)
        return response

    return handle


async def _answered(desk: Desk, page: Page, visit: Visit) -> Response:
    if page.role is not None:
        if visit.session is NOBODY:
            return await asyncio.to_thread(_let_in, desk, visit)
        check_role(visit.user, page.role)
    if page.method == "POST":
        size = visit.request.headers.get("content-length", "")
        if not size.isdigit() or int(size) > _FORM_BYTES:
            raise NotAllowed(f"A form has at most {_FORM_BYTES:,} bytes.", 413)
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
