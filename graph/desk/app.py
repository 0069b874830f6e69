"""The desk's application: who may see which page, and what every answer carries.

It is mounted under /desk: by `acegraph desk`, by `acegraph serve`, and beside a LangGraph server.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from pathlib import Path
from typing import Final

from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import RedirectResponse, Response
from starlette.routing import BaseRoute, Mount, Route
from starlette.staticfiles import StaticFiles

from acegraph.graph.desk.desk import Desk, Page
from acegraph.graph.desk.pages import (
    bullets,
    comparisons,
    decisions,
    lab,
    live,
    overview,
    review,
    versions,
)
from acegraph.graph.desk.visit import Visit, check_form, with_session
from acegraph.graph.server import app
from acegraph.graph.server.access import NotAllowed, check_role
from acegraph.graph.server.endpoints import MOST_BYTES, status_of
from acegraph.graph.server.service import Service
from acegraph.state.errors import AceError
from acegraph.state.maintenance.people.users import User

PAGES: Final[tuple[Page, ...]] = (
    *overview.PAGES,
    *bullets.PAGES,
    *lab.PAGES,
    *decisions.PAGES,
    *review.PAGES,
    *versions.PAGES,
    *comparisons.PAGES,
    *live.PAGES,
)
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


def desk_routes(service: Service, owner: User | None = None) -> Sequence[BaseRoute]:
    """The desk under /desk; the `owner` is who the one-time address lets in."""
    return mounted(Desk(service, owner))


def mounted(desk: Desk) -> Sequence[BaseRoute]:
    """A desk under /desk."""

    async def slash(request: Request) -> Response:
        return RedirectResponse(f"{request.scope.get('root_path', '')}/desk/", 308)

    return [Route("/desk", slash), Mount("/desk", app=_application(desk))]


def create_desk(desk: Desk) -> Starlette:
    """An application that is the desk alone."""

    async def home(request: Request) -> Response:
        return RedirectResponse("/desk/", 307)

    return Starlette(routes=[Route("/", home), *mounted(desk)])


def from_environment() -> Starlette:
    """The application of a worker of `acegraph serve`: the service, and the desk beside it."""
    return app.from_environment(desk_routes)


def _application(desk: Desk) -> Starlette:
    routes: list[BaseRoute] = [
        Route(page.path, _handled(desk, page), methods=[page.method]) for page in PAGES
    ]
    for path, handler, methods in (
        ("/enter", _enter, ["GET"]),
        ("/login", _show_login, ["GET"]),
        ("/login", _log_in, ["POST"]),
        ("/logout", _log_out, ["POST"]),
    ):
        routes.append(Route(path, _guarded(desk, handler), methods=methods))
    anything = Page("GET", "/{rest:path}", "viewer", _not_found)
    routes.append(Route(anything.path, _handled(desk, anything)))
    routes.insert(0, Mount("/static", app=StaticFiles(directory=_STATIC)))
    return Starlette(routes=routes)


Step = Callable[[Desk, Request], Awaitable[Response]]


def _guarded(desk: Desk, step: Step) -> Callable[[Request], Awaitable[Response]]:
    """A handler whose errors become pages, and whose answers carry the headers."""

    async def handle(request: Request) -> Response:
        try:
            desk.entrance.check_site(request)
            response = await step(desk, request)
        except AceError as error:
            found = {"message": str(error), "status": status_of(error)}
            response = desk.page_for_nobody(request, "error.html", found, status_of(error))
        response.headers.update(HEADERS)
        return response

    return handle


def _handled(desk: Desk, page: Page) -> Callable[[Request], Awaitable[Response]]:
    async def step(desk: Desk, request: Request) -> Response:
        session = await asyncio.to_thread(desk.entrance.session, request)
        base = request.scope.get("root_path", "")
        if session is None:
            if request.method != "GET" or request.headers.get("hx-request"):
                raise NotAllowed("Your session has ended: log in again.", 401)
            begun = await asyncio.to_thread(desk.entrance.begin_without_users, request)
            if begun is not None:
                return with_session(request, begun, base)
            return RedirectResponse(f"{base}/login", 303)
        visit = Visit(request, session)
        try:
            return await _answered(desk, page, visit)
        except AceError as error:
            return await asyncio.to_thread(desk.failure, visit, error, status_of(error))

    return _guarded(desk, step)


async def _answered(desk: Desk, page: Page, visit: Visit) -> Response:
    check_role(visit.user, page.role)
    if page.method == "POST":
        _check_size(visit.request, page.most_bytes)
        async with visit.request.form() as visit.form:
            check_form(visit)
            return await asyncio.to_thread(page.handler, desk, visit)
    return await asyncio.to_thread(page.handler, desk, visit)


def _check_size(request: Request, most: int) -> None:
    size = request.headers.get("content-length", "")
    if not size.isdigit() or int(size) > most:
        raise NotAllowed(f"A form has at most {most:,} bytes.", 413)


async def _enter(desk: Desk, request: Request) -> Response:
    token = request.query_params.get("token", "")
    session = await asyncio.to_thread(desk.entrance.enter, request, token)
    base = request.scope.get("root_path", "")
    if session is None:
        raise NotAllowed("This address has been used: 'acegraph desk' prints a new one.", 401)
    return with_session(request, session, base)


async def _show_login(desk: Desk, request: Request) -> Response:
    return desk.page_for_nobody(request, "login.html", {"failed": False})


async def _log_in(desk: Desk, request: Request) -> Response:
    _check_size(request, MOST_BYTES // 1000)
    async with request.form() as form:
        token = str(form.get("token", "")).strip()
    user = await desk.entrance.log_in(request, token)
    if user is None:
        return desk.page_for_nobody(request, "login.html", {"failed": True}, 401)
    session = await asyncio.to_thread(desk.entrance.begin, request, user)
    return with_session(request, session, request.scope.get("root_path", ""))


async def _log_out(desk: Desk, request: Request) -> Response:
    session = await asyncio.to_thread(desk.entrance.session, request)
    base = request.scope.get("root_path", "")
    if session is not None:
        async with request.form() as form:
            check_form(Visit(request, session, form))
            await asyncio.to_thread(desk.entrance.end, request)
    response = RedirectResponse(f"{base}/login", 303)
    response.delete_cookie("acegraph_desk", path=f"{base}/")
    return response


def _not_found(desk: Desk, visit: Visit) -> Response:
    raise NotAllowed("There is no such page.", 404)
