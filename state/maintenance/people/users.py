"""The users of the service and the desk: a name, a role, and the hash of a secret.

They are kept in `meta`, one row for each. Secrets are stored as scrypt hashes only.
"""

import hmac
import re
import secrets
from collections.abc import Mapping
from dataclasses import dataclass
from hashlib import scrypt
from typing import Any, Final, Literal, get_args

from acegraph.state.database.base import Database
from acegraph.state.database.kept_values import forget, keep, kept, kept_value
from acegraph.state.database.places import check_tenant
from acegraph.state.errors import InvalidInput

Role = Literal["viewer", "analyst", "approver", "administrator"]
"""Each role may do what the roles before it may."""
ROLES: Final[tuple[Role, ...]] = get_args(Role)
KEY: Final = "user:"
NAME: Final = re.compile(r"[A-Za-z0-9_-]{1,64}")
_COST: Final = {"n": 2**14, "r": 8, "p": 1}
SHORTEST: Final = 16
"""How many characters a secret or token has at least that a person chose: others can be guessed."""


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
    if not NAME.fullmatch(name):
        raise InvalidInput("the name of a user has 1 to 64 letters, digits, - or _")
    if role not in ROLES:
        raise InvalidInput(f"a role is {', '.join(ROLES)}; found {role!r}")
    if secret and len(secret) < SHORTEST:
        raise InvalidInput(f"a secret has at least {SHORTEST} characters")
    if tenant:
        check_tenant(tenant)
    secret = secret or secrets.token_urlsafe(32)
    salt = secrets.token_bytes(16)
    login = {"role": role, "tenant": tenant, "salt": salt.hex(), "hash": _hash(secret, salt).hex()}
    keep(database, KEY + name, login)
    return secret


def remove_user(database: Database, name: str) -> None:
    """Remove a user."""
    if not forget(database, KEY + name):
        raise InvalidInput(f"no user {name[:64]!r}; 'acegraph users list' shows all")


def users(database: Database) -> list[User]:
    """All users, by name."""
    return [_user(name, one) for name, one in kept(database, KEY).items()]


def check_user(database: Database, name: str, secret: str) -> User | None:
    """The user of a name and a secret; None if they do not belong together.

    A name that does not exist takes as long as a wrong secret.
    """
    key = KEY + name if NAME.fullmatch(name) else KEY
    known = kept_value(database, key)
    login = known or {"salt": "00", "hash": "00"}
    is_right = hmac.compare_digest(
        _hash(secret, bytes.fromhex(login["salt"])), bytes.fromhex(login["hash"])
    )
    return _user(name, login) if is_right and known else None


def _user(name: str, login: Mapping[str, Any]) -> User:
    return User(name, login["role"], login.get("tenant", ""))


def _hash(secret: str, salt: bytes) -> bytes:
    return scrypt(secret.encode("utf-8", "replace"), salt=salt, **_COST)
