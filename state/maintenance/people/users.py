"""The users of the service and the desk: a name, a role, and the hash of a secret.

Secrets are made here, of 256 random bits: nobody can guess one from its SHA-256. Those of schema 4
have scrypt hashes with a salt; whoever shows such a secret once gets the other hash.
"""

import hmac
import re
import secrets
from dataclasses import dataclass
from hashlib import scrypt, sha256
from typing import Final, Literal, get_args

import sqlalchemy as sa

from acegraph.state.database import tables
from acegraph.state.database.base import Database
from acegraph.state.errors import InvalidInput

Role = Literal["feed", "viewer", "analyst", "approver", "administrator"]
"""A feed sends transactions and labels, and may do nothing else. Of the others each may do what the
ones before it may; of them only an administrator may do what a feed may.
"""
ROLES: Final[tuple[Role, ...]] = get_args(Role)
NAME: Final = re.compile(r"[A-Za-z0-9_-]{1,64}")
_name: Final = tables.users.c.name
_COST: Final = {"n": 2**14, "r": 8, "p": 1}
_MADE: Final = re.compile(r"[A-Za-z0-9_-]{43}")
"""A secret that was made; in schema 4 a program could also choose one."""


@dataclass(frozen=True)
class User:
    """Somebody who may use the service."""

    name: str
    role: Role

    def may(self, role: Role) -> bool:
        """Whether the user has this role, or one above it.

        >>> User("ann", "approver").may("analyst"), User("bob", "viewer").may("analyst")
        (True, False)
        >>> User("shop", "feed").may("viewer"), User("ann", "approver").may("feed")
        (False, False)
        """
        if "feed" in (role, self.role):
            return self.role in (role, "administrator")
        return ROLES.index(self.role) >= ROLES.index(role)


def add_user(database: Database, name: str, role: Role) -> str:
    """Add a user, or change the role and the secret of one; returns the new secret."""
    if not NAME.fullmatch(name):
        raise InvalidInput("the name of a user has 1 to 64 letters, digits, - or _")
    if role not in ROLES:
        raise InvalidInput(f"a role is {', '.join(ROLES)}; found {role!r}")
    secret = secrets.token_urlsafe(32)
    login = {"name": name, "role": role, "hash": _hash(secret), "salt": None}
    with database.writing() as writer:
        writer.connection.execute(tables.users.delete().where(_name == name))
        writer.connection.execute(tables.users.insert(), [login])
    return secret


def remove_user(database: Database, name: str) -> None:
    """Remove a user."""
    with database.writing() as writer:
        if writer.connection.execute(tables.users.delete().where(_name == name)).rowcount:
            return
    raise InvalidInput(f"no user {name[:64]!r}; 'acegraph users' shows all")


def users(database: Database) -> list[User]:
    """All users, by name."""
    with database.reading() as connection:
        rows = connection.execute(sa.select(tables.users).order_by(_name))
        return [User(row.name, row.role) for row in rows]


def find_login(database: Database, name: str) -> sa.Row[tuple[str, ...]] | None:
    """The row of a user: `name`, `role`, and the `hash` of the secret."""
    if not NAME.fullmatch(name):
        return None
    with database.reading() as connection:
        return connection.execute(sa.select(tables.users).where(_name == name)).first()


def check_user(database: Database, name: str, secret: str) -> User | None:
    """The user of a name and a secret; None if they do not belong together."""
    row = find_login(database, name)
    if row is None or not hmac.compare_digest(_hash(secret, row.salt), row.hash):
        return None
    if row.salt and _MADE.fullmatch(secret):
        with database.writing() as writer:
            update = tables.users.update().where(_name == name, tables.users.c.hash == row.hash)
            writer.connection.execute(update.values(hash=_hash(secret), salt=None))
    return User(row.name, row.role)


def _hash(secret: str, salt: str | None = None) -> str:
    data = secret.encode("utf-8", "replace")
    if salt is None:
        return sha256(data).hexdigest()
    return scrypt(data, salt=bytes.fromhex(salt), **_COST).hex()
