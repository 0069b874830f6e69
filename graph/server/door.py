"""The door of service and desk: what every request passes before anything else, on every path.

It refuses what a page of another site sends, and bodies of another kind, too long or too slow. It
puts into every answer what protects browsers, and counts all answers. It knows no user.
"""

import asyncio
import time
from collections.abc import Callable
from ipaddress import ip_address
from typing import Final
from urllib.parse import urlsplit

from starlette.datastructures import Headers, MutableHeaders
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from acegraph.graph.server.access import NotAllowed
from acegraph.graph.server.endpoints import refusal
from acegraph.graph.server.service import TooMuch
from acegraph.state.errors import AceError

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
DESK: Final = "/desk"
_JSON: Final = {"application/json": 4_000_000}
_FORMS: Final = {"application/x-www-form-urlencoded": 100_000, "multipart/form-data": 100_000}
"""The kinds of bodies, and how many bytes one has at most. A page of another site cannot send JSON
without being asked first, and no form without the token of the session."""
_MOST_AT_ONCE: Final = 16_000_000
"""The bytes of all bodies that one process works with."""
_SECONDS: Final = 30
"""So long a body may take to come."""
COUNTED_AS: Final = "acegraph.counted_as"
"""The key in the scope under which a handler tells its path to the door."""


class Door:
    """What stands before an application; where nobody is asked who he is, it `is_open`."""

    def __init__(
        self, app: ASGIApp, is_open: bool, note: Callable[[str, int, float], None]
    ) -> None:
        self._app, self._is_open, self._note = app, is_open, note
        self._held = 0
        """The bytes of the bodies that are at work."""

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Let one request through, or refuse it."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        began, status = time.monotonic(), 500

        async def answer(message: Message) -> None:
            nonlocal status
            if message["type"] == "http.response.start":
                status = message["status"]
                MutableHeaders(scope=message).update(HEADERS)
            await send(message)

        body = _Body(self, receive)
        try:
            body.most = check_site(scope, is_open=self._is_open)
            await self._app(scope, body.receive, answer)
        except AceError as error:
            await refusal(error)(scope, receive, answer)
        finally:
            self._held -= body.size
            self._note(scope.get(COUNTED_AS, "other"), status, time.monotonic() - began)

    def hold(self, size: int) -> None:
        """Take so many bytes more, if all bodies together are not too many."""
        self._held += size
        if self._held > _MOST_AT_ONCE:
            raise TooMuch("too many bytes at once; try again later")


class _Body:
    """The body of a request while it comes."""

    def __init__(self, door: Door, receive: Receive) -> None:
        self._door, self._receive = door, receive
        self.size, self.most = 0, 0
        self._ends: float | None = None
        self._is_whole = False

    async def receive(self) -> Message:
        """The next part; when all have come, the message that the client is gone."""
        if self._is_whole:
            return await self._receive()
        if self._ends is None:
            self._ends = asyncio.get_running_loop().time() + _SECONDS
        try:
            async with asyncio.timeout_at(self._ends):
                message = await self._receive()
        except TimeoutError:
            raise NotAllowed(f"a body has {_SECONDS} seconds to come", 408) from None
        part = len(message.get("body", b""))
        self.size += part
        self._door.hold(part)
        if self.size > self.most:
            raise NotAllowed(f"a body has at most {self.most:,} bytes; send fewer at once", 413)
        self._is_whole = not message.get("more_body", False)
        return message


def is_local(host: str) -> bool:
    """Whether a name means this machine.

    >>> is_local("127.0.0.1"), is_local("localhost"), is_local("example.org")
    (True, True, False)
    """
    try:
        return ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"


def check_site(scope: Scope, *, is_open: bool) -> int:
    """Refuse what a page of another site sends, and a body of another kind; gives how many bytes
    the body has at most.

    Where nobody is asked for a token (`is_open`), only this machine's own names lead here: else
    another site could make its name mean this machine.
    """
    headers = Headers(scope=scope)
    host = headers.get("host", "")
    if is_open and not is_local(_named(host)):
        raise NotAllowed("without users this answers under 127.0.0.1 and localhost only", 403)
    if scope["method"] not in ("GET", "HEAD"):
        origin = headers.get("origin")
        is_ours = origin is None or origin.partition("://")[2] == host
        if not is_ours or headers.get("sec-fetch-site", "same-origin") != "same-origin":
            raise NotAllowed("this came from another site and was refused", 403)
    if headers.get("content-length", "0") == "0" and "transfer-encoding" not in headers:
        return 0
    kinds = _FORMS if scope["path"].startswith(f"{DESK}/") else _JSON
    kind = headers.get("content-type", "").partition(";")[0].strip().lower()
    if kind not in kinds:
        raise NotAllowed(f"a body is {' or '.join(kinds)}", 415)
    return kinds[kind]


def _named(host: str) -> str:
    """The name in a header `Host`, without its port; empty if it is none."""
    try:
        return urlsplit(f"//{host}").hostname or ""
    except ValueError:
        return ""
