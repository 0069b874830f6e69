"""The sessions of the desk: who has logged in, and until when. Every process knows them.

They are kept under the hash of their token, which only the browser has.
"""

import secrets
import time
from dataclasses import dataclass
from hashlib import sha256
from typing import Final

from acegraph.state.database.base import Database
from acegraph.state.database.kept_values import forget, keep, kept, kept_value
from acegraph.state.maintenance.people.users import User, find_login
from acegraph.state.values import DataView

LONGEST_SECONDS: Final = 12 * 3600
IDLE_SECONDS: Final = 3600
_NOTED_SECONDS: Final = 300
"""How exactly it is noted when a session was last used."""
_KEY: Final = "session:"


@dataclass(frozen=True)
class Session:
    """Somebody who has logged in."""

    token: str
    user: User

    @property
    def form_token(self) -> str:
        """What every form of the session must send back: no other site knows it."""
        return sha256(f"form {self.token}".encode()).hexdigest()[:32]


def begin_session(database: Database, user: User, *, is_local: bool = False) -> Session:
    """Log a user in under a new token; a local user is not among the users of the service."""
    token, at = secrets.token_urlsafe(32), time.time()
    with database.writing():
        for key, one in kept(database, _KEY).items():
            if not _is_alive(one, at):
                forget(database, _KEY + key)
        login = find_login(database, user.name)
        # With the hash of the secret the session ends when the secret changes.
        of = {"role": user.role} if is_local else {"secret": login and login.hash}
        keep(database, _key(token), {"name": user.name, "began": at, "used": at, **of})
    return Session(token, user)


def find_session(database: Database, token: str) -> Session | None:
    """The session of a token; None if it has ended, or its user is gone or has another secret."""
    at, one = time.time(), kept_value(database, _key(token))
    if one is None or not _is_alive(one, at):
        return None
    role = one.get("role")
    if role is None:
        login = find_login(database, one["name"])
        if login is None or login.hash != one.get("secret"):
            return None
        role = login.role
    if at - one["used"] > _NOTED_SECONDS:
        with database.writing():
            if kept_value(database, _key(token)) is not None:  # not ended meanwhile
                keep(database, _key(token), {**one, "used": at})
    return Session(token, User(one["name"], role))


def end_session(database: Database, token: str) -> None:
    """Log out."""
    forget(database, _key(token))


def _key(token: str) -> str:
    return _KEY + sha256(token.encode("utf-8", "replace")).hexdigest()


def _is_alive(one: DataView, at: float) -> bool:
    return at - float(one["began"]) < LONGEST_SECONDS and at - float(one["used"]) < IDLE_SECONDS
