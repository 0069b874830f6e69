"""The guard of the LangGraph server's paths; langgraph.secure.json puts it before everything else.

The development server has pages that need no token: raw threads, wiping all data, deployments. A
later version may have more, so a path that is not named here is refused. auth.py checks the users.
"""

import re
from typing import Final

from starlette.applications import Starlette
from starlette.middleware import Middleware
from starlette.responses import PlainTextResponse
from starlette.types import ASGIApp, Receive, Scope, Send
from starlette.websockets import WebSocketClose

_OPEN: Final = re.compile(r"/(ok|assistants|threads|runs|store)(/|\Z)")
"""The paths that exist. All need a token except /ok, which says that the server runs."""
_SHUT: Final = re.compile(r"/threads/[^/]*/(commands|stream/events)")
"""A second way to start runs and follow them, also by websocket. Unlike the first one it lets a
client set the names in which the server says who runs a graph, and no setting switches it off."""


class Guard:
    """Passes the paths that exist on to the server, and answers 404 to all others."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request; the events of the server's start and end have no path."""
        if scope["type"] == "lifespan":
            await self._app(scope, receive, send)
        elif scope["type"] == "websocket":
            await WebSocketClose()(scope, receive, send)
        elif _OPEN.match(scope["path"]) and not _SHUT.match(scope["path"]):
            await self._app(scope, receive, send)
        else:
            await PlainTextResponse("not found", status_code=404)(scope, receive, send)


app = Starlette(middleware=[Middleware(Guard)])
