"""The guard of the LangGraph server's paths; langgraph.secure.json puts it before everything else.

The development server has pages that need no token: raw threads, wiping all data, deployments. A
later version may have more, so a path that is not named here is refused. auth.py checks the users.
"""

import re
from typing import Final

from starlette.responses import PlainTextResponse
from starlette.types import ASGIApp, Receive, Scope, Send
from starlette.websockets import WebSocketClose

_OPEN: Final = re.compile(
    r"/(ok|assistants|threads|runs"
    r"|decisions|labels|playbook|review|live|ready|metrics|desk)(/|\Z)"
)
"""The paths that exist: those of the LangGraph server, and those of our service (app.py). All need
a token except /ok, /live and /ready, which say that the server runs, and /desk, whose pages ask who
it is."""
_SHUT: Final = re.compile(r"/threads/[^/]*/(commands|stream/events)")
"""A second way to start runs and follow them, also by websocket. Unlike the first one it lets a
client set the names in which the server says who runs a graph, and no setting switches it off."""
_PLAIN: Final = re.compile(rb"[\t -~]*")
"""Printable ASCII. The server logs paths, queries and headers as they are: a line break in one of
them would forge a line of the log, and an escape would steer the terminal that shows it."""
_NOT_LOGGED: Final = (b"authorization", b"cookie", b"x-api-key")


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
        elif _is_plain(scope) and _OPEN.match(scope["path"]) and not _SHUT.match(scope["path"]):
            await self._app(scope, receive, send)
        else:
            await PlainTextResponse("not found", status_code=404)(scope, receive, send)


def _is_plain(scope: Scope) -> bool:
    """Whether a request can be logged: nothing in it is more than a part of one line."""
    headers = [part for pair in scope["headers"] if pair[0] not in _NOT_LOGGED for part in pair]
    parts = (scope["method"].encode(), scope["path"].encode("utf-8", "replace"), *headers)
    return all(map(_PLAIN.fullmatch, (*parts, scope.get("query_string", b""))))
