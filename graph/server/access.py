"""Who calls the service: a token, `NAME.SECRET`, names its user; the user's role says what is
allowed.
"""

from typing import Final

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
