"""The door of the LangGraph server, which langgraph.secure.json puts before everything else.

The development server has pages that ask nobody for a token: raw threads, wiping all data, starting
a deployment. The next one may bring others, so that what is not named here is not there. It knows
no users: auth.py does. Starlette comes with the server.
"""

import re
from typing import Final

from starlette.applications import Starlette
from starlette.middleware import Middleware
from starlette.responses import PlainTextResponse
from starlette.types import ASGIApp, Receive, Scope, Send
from starlette.websockets import WebSocketClose

_OPEN: Final = re.compile(r"/(ok|assistants|threads|runs|store)(/|\Z)")
"""All but /ok, which says that the server runs, want a token."""
_SHUT: Final = re.compile(r"/threads/[^/]*/(commands|stream/events)")
"""A second way to start runs and hear of them, also by websocket: it takes from a client what the
first one takes out, the names under which the server says who it is. No setting closes it."""


class Guard:
    """Answers every other path itself, as if there were nothing."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass on what may pass; the server's own start and end have no path."""
        if scope["type"] == "lifespan":
            await self._app(scope, receive, send)
        elif scope["type"] == "websocket":
            await WebSocketClose()(scope, receive, send)
        elif _OPEN.match(scope["path"]) and not _SHUT.match(scope["path"]):
            await self._app(scope, receive, send)
        else:
            await PlainTextResponse("not found", status_code=404)(scope, receive, send)


app = Starlette(middleware=[Middleware(Guard)])
