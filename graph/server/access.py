"""Who calls the service: a token, `NAME.SECRET`, names its user; the user's role says what is
allowed.
"""

from ipaddress import ip_address
from typing import Final
from urllib.parse import urlsplit

from starlette.requests import Request

from acegraph.state.database.base import Database
from acegraph.state.errors import AceError
from acegraph.state.maintenance.people.users import Role, User, check_user

_BEARER: Final = "bearer "
_LONGEST: Final = 400


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


def check_site(request: Request, *, is_open: bool, kind: str = "") -> None:
    """Refuse what a page of another site sends, and a body that is of another kind.

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
    if kind and request.headers.get("content-type", "").partition(";")[0] != kind:
        raise NotAllowed(f"a body is {kind}", 415)


def bearer_token(header: str) -> str:
    """The token in a header `Authorization`; empty if it has none.

    >>> bearer_token("Bearer ann.secret"), bearer_token("Basic YW5u")
    ('ann.secret', '')
    """
    return header[len(_BEARER) :].strip() if header.lower().startswith(_BEARER) else ""


def user_of(token: str, database: Database) -> User | None:
    """The user of a token; None if it is nobody's."""
    name, _, secret = token.partition(".")
    return check_user(database, name, secret) if secret and len(token) <= _LONGEST else None


def check_role(user: User, role: Role) -> None:
    """Refuse a user who lacks a role."""
    if not user.may(role):
        raise NotAllowed(f"this needs the role {role}; {user.name} is {user.role}", 403)
