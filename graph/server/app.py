"""The service: one ASGI application over one playbook, run by `acegraph serve`.

Requests are decided in batches (service.py), by users with roles (access.py). The paths are in
routes.py. Beside a LangGraph server it is mounted with the guard (guard.py).
"""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Coroutine, Mapping, Sequence
from contextlib import asynccontextmanager
from inspect import iscoroutinefunction
from typing import Final

from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.middleware import Middleware
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import BaseRoute, Route

from acegraph.graph.server.access import NotAllowed
from acegraph.graph.server.door import COUNTED_AS, HEADERS, Door
from acegraph.graph.server.endpoints import Call, Endpoint, Json, read_items, refusal
from acegraph.graph.server.routes import ENDPOINTS
from acegraph.graph.server.service import Service, ServiceSettings
from acegraph.state import BulletPlaybook
from acegraph.state.errors import AceError
from acegraph.state.maintenance.people.users import User

Mounts = Callable[[Service], Sequence[BaseRoute]]
NOBODY: Final = User("nobody", "viewer")
"""The user of the paths that need none."""


def create_service(
    settings: ServiceSettings,
    playbook: BulletPlaybook | None = None,
    middleware: Sequence[Middleware] = (),
    mounts: Mounts = lambda service: (),
) -> Starlette:
    """The application. With `playbook` it shares one that is open, and does not close it.

    `mounts` gives what is mounted beside the service's own paths, as the desk (graph/desk).
    """
    service = Service(settings, playbook)

    @asynccontextmanager
    async def lifespan(app: Starlette) -> AsyncIterator[None]:
        yield
        service.close()

    by_path: dict[str, dict[str, Endpoint]] = {}
    for one in ENDPOINTS:
        by_path.setdefault(one.path, {})[one.method] = one
    routes = [
        Route(path, _handled(service, some), methods=[*some]) for path, some in by_path.items()
    ]
    is_open, note = settings.without_users, service.meters.note_request
    return Starlette(
        routes=[*routes, *mounts(service)],
        middleware=[*middleware, Middleware(Door, is_open=is_open, note=note)],
        exception_handlers={HTTPException: not_there, Exception: fault},
        lifespan=lifespan,
    )


async def not_there(request: Request, error: Exception) -> Response:
    """The answer of a path or a method that is not there."""
    assert isinstance(error, HTTPException)
    told = {"type": "NotThere", "message": error.detail, "status": error.status_code}
    return Json({"error": told}, error.status_code, error.headers)


async def fault(request: Request, error: Exception) -> Response:
    """The answer where the service itself failed; its log says how."""
    told = {"type": "Fault", "message": "the service failed; its log says how", "status": 500}
    return Json({"error": told}, 500, HEADERS)


def _handled(
    service: Service, endpoints: Mapping[str, Endpoint]
) -> Callable[[Request], Awaitable[Response]]:
    """The handler of a path, which has some methods."""

    async def handle(request: Request) -> Response:
        endpoint = endpoints["GET" if request.method == "HEAD" else request.method]
        request.scope[COUNTED_AS] = endpoint.path
        try:
            user = NOBODY
            if endpoint.role is not None:
                header = request.headers.get("authorization", "")
                user = await service.user(header, endpoint.role)
            read: tuple[list[dict[str, object]], bool] = ([], False)
            if endpoint.method == "POST":
                read = await read_items(request, service.reading)
            name = request.path_params.get("id", "")
            call = Call(service, user, name, request.query_params, *read)
            if iscoroutinefunction(endpoint.handler):
                found = await _unless_gone(request, endpoint.handler(call))
            else:
                found = await asyncio.to_thread(endpoint.handler, call)
            return found if isinstance(found, Response) else Json(found)
        except AceError as error:
            return refusal(error)

    return handle


async def _unless_gone(request: Request, work: Coroutine[object, None, object]) -> object:
    """What some work gives; it ends when the client leaves."""
    working = asyncio.ensure_future(work)
    leaving = asyncio.ensure_future(request.receive())
    try:
        await asyncio.wait((working, leaving), return_when=asyncio.FIRST_COMPLETED)
        if not working.done():
            raise NotAllowed("the client has left", 499)
        return working.result()
    finally:
        working.cancel()
        leaving.cancel()
