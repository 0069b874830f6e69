"""The users of the service and the desk: a name, a role, and the hash of a secret.

They are kept in `meta`, one row for each. Secrets are stored as scrypt hashes only.
"""

import hmac
import json
import re
import secrets
from dataclasses import dataclass
from hashlib import scrypt
from typing import Any, Final, Literal, get_args

import sqlalchemy as sa

from acegraph.state.database.base import Database
from acegraph.state.database.places import check_tenant
from acegraph.state.database.tables import meta
from acegraph.state.errors import InvalidInput

Role = Literal["viewer", "analyst", "approver", "administrator"]
"""Each role may do what the roles before it may."""
ROLES: Final[tuple[Role, ...]] = get_args(Role)
_KEY: Final = "user:"
_NAME: Final = re.compile(r"[A-Za-z0-9_-]{1,64}")
_COST: Final = {"n": 2**14, "r": 8, "p": 1}
_SHORTEST: Final = 16
"""How many characters a secret has at least that a person chose."""


@dataclass(frozen=True)
class User:
    """Somebody who may use the service."""

    name: str
    role: Role
    tenant: str = ""
    """Whose playbook the user sees; empty: that of the database itself."""

    def may(self, role: Role) -> bool:
        """Whether the user has this role, or one above it.

        >>> User("ann", "approver").may("analyst"), User("bob", "viewer").may("analyst")
        (True, False)
        """
        return ROLES.index(self.role) >= ROLES.index(role)


def add_user(database: Database, name: str, role: Role, secret: str = "", tenant: str = "") -> str:
    """Add a user, or change the role, the tenant and the secret of one; returns the secret.

    Without a secret a random one is made.
    """
    if not _NAME.fullmatch(name):
        raise InvalidInput("the name of a user has 1 to 64 letters, digits, - or _")
    if role not in ROLES:
        raise InvalidInput(f"a role is {', '.join(ROLES)}; found {role!r}")
    if secret and len(secret) < _SHORTEST:
        raise InvalidInput(f"a secret has at least {_SHORTEST} characters")
    if tenant:
        check_tenant(tenant)
    secret = secret or secrets.token_urlsafe(32)
    salt = secrets.token_bytes(16)
    kept = {"role": role, "tenant": tenant, "salt": salt.hex(), "hash": _hash(secret, salt).hex()}
    with database.writing() as writer:
        writer.connection.execute(meta.delete().where(meta.c.key == _KEY + name))
        row = {"key": _KEY + name, "value": json.dumps(kept, sort_keys=True)}
        writer.connection.execute(meta.insert(), [row])
    return secret


def remove_user(database: Database, name: str) -> None:
    """Remove a user."""
    with database.writing() as writer:
        removed = writer.connection.execute(meta.delete().where(meta.c.key == _KEY + name))
        if not removed.rowcount:
            raise InvalidInput(f"no user {name[:64]!r}; 'acegraph users list' shows all")


def users(database: Database) -> list[User]:
    """All users, by name."""
    query = sa.select(meta.c.key, meta.c.value).where(meta.c.key.startswith(_KEY))
    with database.reading() as connection:
        rows = connection.execute(query.order_by(meta.c.key)).all()
    return [_user(row.key.removeprefix(_KEY), json.loads(row.value)) for row in rows]


def check_user(database: Database, name: str, secret: str) -> User | None:
    """The user of a name and a secret; None if they do not belong together.

    A name that does not exist takes as long as a wrong secret.
    """
    key = _KEY + name if _NAME.fullmatch(name) else _KEY
    with database.reading() as connection:
        value = connection.scalar(sa.select(meta.c.value).where(meta.c.key == key))
    kept: dict[str, Any] = json.loads(value) if value else {"salt": "00", "hash": "00"}
    is_right = hmac.compare_digest(
        _hash(secret, bytes.fromhex(kept["salt"])), bytes.fromhex(kept["hash"])
    )
    return _user(name, kept) if is_right and value else None


def _user(name: str, kept: dict[str, Any]) -> User:
    return User(name, kept["role"], kept.get("tenant", ""))


def _hash(secret: str, salt: bytes) -> bytes:
    return scrypt(secret.encode("utf-8", "replace"), salt=salt, **_COST)
