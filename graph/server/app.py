"""The service: one ASGI application over one playbook, run by `acegraph serve`.

Requests are decided in batches (service.py), by users with roles (access.py). The paths are in
routes.py. Beside a LangGraph server it is mounted with the guard (guard.py).
"""

import asyncio
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import asynccontextmanager
from inspect import iscoroutinefunction
from typing import Final

from starlette.applications import Starlette
from starlette.middleware import Middleware
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import BaseRoute, Route

from acegraph.graph.server.access import check_site
from acegraph.graph.server.endpoints import Call, Endpoint, openapi, read_items, refusal
from acegraph.graph.server.routes import ENDPOINTS
from acegraph.graph.server.service import Service, ServiceSettings
from acegraph.state import BulletPlaybook
from acegraph.state.errors import AceError
from acegraph.state.maintenance.people.users import User

Mounts = Callable[[Service], Sequence[BaseRoute]]
_KIND: Final = "application/json"
"""What a page of another site cannot send without being asked first."""
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

    async def describe(request: Request) -> Response:
        return JSONResponse(openapi(ENDPOINTS))

    routes = [Route(one.path, _handled(service, one), methods=[one.method]) for one in ENDPOINTS]
    routes.append(Route("/openapi.json", describe))
    return Starlette(
        routes=[*routes, *mounts(service)], middleware=list(middleware), lifespan=lifespan
    )


def _handled(service: Service, endpoint: Endpoint) -> Callable[[Request], Awaitable[Response]]:
    async def handle(request: Request) -> Response:
        began = time.monotonic()
        try:
            user = NOBODY
            if endpoint.role is not None:
                if service.settings.without_users:
                    check_site(request, is_open=True, kind=_KIND)
                header = request.headers.get("authorization", "")
                user = await service.user(header, endpoint.role)
            read = await read_items(request) if endpoint.method == "POST" else ([], False)
            name = request.path_params.get("id", "")
            call = Call(service, user, name, request.query_params, *read)
            if iscoroutinefunction(endpoint.handler):
                found = await endpoint.handler(call)
            else:
                found = await asyncio.to_thread(endpoint.handler, call)
            response = found if isinstance(found, Response) else JSONResponse(found)
        except AceError as error:
            response = refusal(error)
        service.meters.note_request(endpoint.path, response.status_code, time.monotonic() - began)
        return response

    return handle
