"""Who calls the service: a token, `NAME.SECRET`, names its user; the user's role says what is
allowed.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from ipaddress import ip_address
from typing import TYPE_CHECKING, Final, Protocol
from urllib.parse import urlsplit

from starlette.requests import Request

from acegraph.state.errors import AceError
from acegraph.state.maintenance.people.users import Role, User, check_user

if TYPE_CHECKING:
    from acegraph.state import BulletPlaybook

_BEARER: Final = "bearer "
_LONGEST: Final = 400


class HasPlaybook(Protocol):
    """Something that opens a playbook when it is first asked for."""

    @property
    def playbook(self) -> BulletPlaybook:
        """The playbook whose users count."""


class NotAllowed(AceError):
    """Nobody is named, or the one who is named may not do this."""

    def __init__(self, message: str, status: int) -> None:
        super().__init__(message)
        self.status = status


def is_local(host: str) -> bool:
    """Whether a name means this machine.

    >>> is_local("127.0.0.1"), is_local("localhost"), is_local("example.org")
    (True, True, False)
    """
    try:
        return ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"


def check_site(request: Request, *, is_open: bool, kinds: Sequence[str] = ()) -> None:
    """Refuse what a page of another site sends, and a body that is of none of these kinds.

    Where nobody is asked for a token (`is_open`), only this machine's own names lead here: else
    another site could make its name mean this machine.
    """
    host = request.headers.get("host", "")
    if is_open and not is_local(urlsplit(f"//{host}").hostname or ""):
        raise NotAllowed("without users this answers under 127.0.0.1 and localhost only", 403)
    if request.method in ("GET", "HEAD"):
        return
    origin = request.headers.get("origin")
    is_ours = origin is None or urlsplit(origin).netloc == host
    if not is_ours or request.headers.get("sec-fetch-site", "same-origin") != "same-origin":
        raise NotAllowed("this came from another site and was refused", 403)
    if kinds and request.headers.get("content-type", "").partition(";")[0] not in kinds:
        raise NotAllowed(f"a body is {' or '.join(kinds)}", 415)


def bearer_token(header: str) -> str:
    """The token in a header `Authorization`; empty if it has none.

    >>> bearer_token("Bearer ann.secret"), bearer_token("Basic YW5u")
    ('ann.secret', '')
    """
    return header[len(_BEARER) :].strip() if header.lower().startswith(_BEARER) else ""


def check_role(user: User, role: Role) -> None:
    """Refuse a user who lacks a role."""
    if not user.may(role):
        raise NotAllowed(f"this needs the role {role}; {user.name} is {user.role}", 403)


class Access:
    """Finds the user of a request."""

    def __init__(self, *, everyone: User | None = None) -> None:
        self._everyone = everyone
        """Who is meant by a request without a token, where the service runs without users."""

    async def user(self, request: Request, place: HasPlaybook, role: Role) -> User:
        """The user of a request, who must have a role."""
        user = await self._found(request, place)
        if user is None:
            raise NotAllowed("a valid token is wanted: Authorization: Bearer NAME.SECRET", 401)
        check_role(user, role)
        return user

    async def _found(self, request: Request, place: HasPlaybook) -> User | None:
        header = request.headers.get("authorization", "")
        if not header and self._everyone is not None:
            return self._everyone
        return await self.user_of(bearer_token(header), place)

    async def user_of(self, token: str, place: HasPlaybook) -> User | None:
        """The user of a token; None if it is nobody's."""
        name, _, secret = token.partition(".")
        if not secret or len(token) > _LONGEST:
            return None
        return await asyncio.to_thread(lambda: check_user(place.playbook.database, name, secret))
