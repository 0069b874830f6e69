"""Who may talk to the LangGraph server, and what they see; langgraph.secure.json enables it.

Users and their tokens come from ACE_USERS ("ann:token,bob:token"). Without a token nobody gets an
answer; with one, everybody sees what is theirs: threads and runs, assistants of their own, store
items. Nobody runs a graph in another's name, or writes a state except by a run. Whatever is not
allowed here is denied. The playbook is one for all: it is not part of this.
"""

import hmac
import os
import re
from collections.abc import Mapping
from hashlib import sha256
from typing import Any, Final, cast

from langgraph_sdk import Auth

from acegraph.state import InvalidSettings

VARIABLE: Final = "ACE_USERS"
_NAME: Final = re.compile(r"[A-Za-z0-9_-]{1,64}")
_SHORTEST: Final = 16
"""Characters of a token; shorter ones can be guessed."""
_BEARER: Final = "bearer "
_CONFIG: Final = frozenset(
    "configurable max_concurrency metadata recursion_limit run_id run_name tags".split()
)
"""What a config may hold. Any other key LangGraph makes a setting, over the server's own ones."""
_SIGNATURE: Final = "langgraph_auth"
"""How the settings begin in which the server says who runs a graph."""


def read_users(text: str) -> dict[str, bytes]:
    """Names and the digests of their tokens. A mistake stops the server: it never opens it.

    >>> sorted(read_users("ann:0123456789abcdef, bob:fedcba9876543210"))
    ['ann', 'bob']
    """
    users: dict[str, bytes] = {}
    entries = text.split(",") if text.strip() else []  # nobody is let in
    for number, entry in enumerate(entries, start=1):
        name, _, token = entry.strip().partition(":")
        problem = _problem(name, token, users)
        if problem:  # without the entry itself: it may hold a token
            raise InvalidSettings(f"{VARIABLE}: entry {number}: {problem}; wanted NAME:TOKEN,...")
        users[name] = _digest(token)
    return users


def _problem(name: str, token: str, users: Mapping[str, bytes]) -> str:
    if not _NAME.fullmatch(name):
        return "a name has 1 to 64 letters, digits, - or _"
    if name in users:
        return "this name was given before"
    if len(token) < _SHORTEST or not token.isascii() or " " in token:
        return f"a token has at least {_SHORTEST} characters and no space"
    if _digest(token) in users.values():
        return "another user has the same token"
    return ""


def _digest(token: str) -> bytes:
    return sha256(token.encode("utf-8", "replace")).digest()


_USERS: Final = read_users(os.environ.get(VARIABLE, ""))
auth = Auth()


@auth.authenticate
async def authenticate(authorization: str | None) -> Auth.types.MinimalUserDict:
    """The user whose token this is. Every user is compared with, each in constant time."""
    given = authorization or ""
    token = given[len(_BEARER) :].strip() if given.lower().startswith(_BEARER) else ""
    digest = _digest(token)
    found = [name for name, known in _USERS.items() if hmac.compare_digest(digest, known)]
    if not token or not found:
        raise Auth.exceptions.HTTPException(status_code=401, detail="a valid token is wanted")
    return {"identity": found[0]}


@auth.on
async def deny(ctx: Auth.types.AuthContext, value: Any) -> bool:
    """What nobody thought of, nobody may do."""
    return False


@auth.on.threads
async def own_threads(ctx: Auth.types.AuthContext, value: Any) -> Auth.types.FilterType:
    """A thread with its runs and states belongs to whoever made it."""
    return _owned(ctx, value)


@auth.on.threads.update
async def own_metadata(ctx: Auth.types.AuthContext, value: Any) -> Auth.types.FilterType | bool:
    """The metadata of a thread may be changed; a state is written by runs only."""
    if value.get("metadata") is None:  # so the server asks whether a state may be written
        return False
    return _owned(ctx, value)


@auth.on.threads.create_run
async def own_runs(ctx: Auth.types.AuthContext, value: Any) -> Auth.types.FilterType:
    """A run in one's own name, which starts at the start or goes on where it waits."""
    given = value.get("kwargs") or {}
    config, command = given.get("config") or {}, given.get("command") or {}
    # The server has signed `configurable` by now; what a client put there is in `context` too.
    forged = _forged(config, given.get("context"))
    steering = [name for name, said in command.items() if name != "resume" and said is not None]
    _refuse([*forged, *steering])
    return _owned(ctx, value)


@auth.on.assistants
async def own_assistants(ctx: Auth.types.AuthContext, value: Any) -> Auth.types.FilterType:
    """Everybody may read and run the server's own assistants, and change none but theirs."""
    if ctx.action in ("read", "search"):
        either = [{"owner": ctx.user.identity}, {"created_by": "system"}]
        return cast(Auth.types.FilterType, {"$or": either})
    config = value.get("config") or {}
    _refuse(_forged(config, config.get("configurable"), value.get("context")))
    return _owned(ctx, value)


@auth.on.store
async def own_store(ctx: Auth.types.AuthContext, value: Any) -> None:
    """Every user's items stand in a namespace of their name, whatever namespace they ask for."""
    given, own = tuple(value.get("namespace") or ()), (ctx.user.identity,)
    value["namespace"] = given if given[:1] == own else own + given  # as it is listed, or short


def _forged(config: Mapping[str, Any], *settings: Mapping[str, Any] | None) -> list[str]:
    """What would be taken for the server's word."""
    names = [name for given in settings for name in given or {} if name.startswith(_SIGNATURE)]
    return [*(name for name in config if name not in _CONFIG), *names]


def _refuse(names: list[str]) -> None:
    if names:
        raise Auth.exceptions.HTTPException(403, f"not for a client to set: {', '.join(names)}")


def _owned(ctx: Auth.types.AuthContext, value: Any) -> Auth.types.FilterType:
    if value.get("metadata") is None:
        value["metadata"] = {}
    metadata = value["metadata"]  # changed where it is: the server does not look at another one
    metadata.pop("created_by", None)  # "system" would make it everybody's
    metadata["owner"] = ctx.user.identity
    return {"owner": ctx.user.identity}
