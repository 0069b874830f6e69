"""Who may talk to the LangGraph server, and what they see; langgraph.secure.json enables it.

Users and their tokens come from ACE_USERS ("ann:token,bob:token"). A request with a token sees what
belongs to its user: threads and runs, assistants, store items. No user runs a graph in the name of
another, and only runs write a state. Everything that is not allowed here is denied. The playbook is
shared by all users and not protected here. Which paths exist at all is decided in guard.py.
"""

import hmac
import os
from collections.abc import Mapping
from hashlib import sha256
from typing import Any, Final, cast

from langgraph_sdk import Auth
from langgraph_sdk.auth import types

from acegraph.graph.server.access import bearer_token
from acegraph.state import AceContext, InvalidSettings
from acegraph.state.maintenance.people.users import NAME

VARIABLE: Final = "ACE_USERS"
SHORTEST: Final = 16
"""How many characters a token has at least: others can be guessed."""
_CONFIG: Final = frozenset(
    "configurable max_concurrency metadata recursion_limit run_id run_name tags".split()
)
"""What a config may hold. LangGraph makes other keys settings, which override the server's own."""
_SIGNATURE: Final = "langgraph_auth"
"""The prefix of the settings in which the server says who runs a graph."""


def read_users(text: str) -> dict[str, bytes]:
    """Names and the digests of their tokens. A mistake in the text stops the server.

    >>> sorted(read_users("ann:0123456789abcdef, bob:fedcba9876543210"))
    ['ann', 'bob']
    """
    users: dict[str, bytes] = {}
    entries = text.split(",") if text.strip() else []  # without users all requests are refused
    for number, entry in enumerate(entries, start=1):
        name, _, token = entry.strip().partition(":")
        if problem := _problem(name, token, users):  # without the entry itself: it may hold a token
            raise InvalidSettings(f"{VARIABLE}: entry {number}: {problem}; wanted NAME:TOKEN,...")
        users[name] = _digest(token)
    return users


def _problem(name: str, token: str, users: Mapping[str, bytes]) -> str:
    if not NAME.fullmatch(name):
        return "a name has 1 to 64 letters, digits, - or _"
    if name in users:
        return "this name was given before"
    if len(token) < SHORTEST or not token.isascii() or " " in token:
        return f"a token has at least {SHORTEST} characters and no space"
    if _digest(token) in users.values():
        return "another user has the same token"
    return ""


def _digest(token: str) -> bytes:
    return sha256(token.encode("utf-8", "replace")).digest()


_USERS: Final = read_users(os.environ.get(VARIABLE, ""))
auth = Auth()


@auth.authenticate
async def authenticate(authorization: str | None) -> types.MinimalUserDict:
    """The user of a token. It is compared with the token of every user, each in constant time."""
    token = bearer_token(authorization or "")
    digest = _digest(token)
    names = [name for name, known in _USERS.items() if hmac.compare_digest(digest, known)]
    if not token or not names:
        raise Auth.exceptions.HTTPException(status_code=401, detail="a valid token is wanted")
    return {"identity": names[0]}


@auth.on
async def deny(ctx: types.AuthContext, value: object) -> bool:
    """Deny what no other handler of this module allows."""
    return False


@auth.on.threads
async def own_threads(ctx: types.AuthContext, value: dict[str, Any]) -> types.FilterType:
    """A thread with its runs and states belongs to the user who made it."""
    return _owned(ctx, value)


@auth.on.threads.update
async def own_metadata(ctx: types.AuthContext, value: types.ThreadsUpdate) -> types.HandlerResult:
    """The metadata of a thread may be changed; a state is written by runs only."""
    if value.get("metadata") is None:  # so the server asks whether a state may be written
        return False
    return _owned(ctx, value)


@auth.on.threads.create_run
async def own_runs(ctx: types.AuthContext, value: types.RunsCreate) -> types.FilterType:
    """A run in the name of its user, from the start or from where it waits for an answer."""
    given = value.get("kwargs") or {}
    config, command = given.get("config") or {}, given.get("command") or {}
    # The server has signed `configurable` by now; a client's own entries are in `context` too.
    forged = _forged(config, given.get("context"))
    steering = [name for name, to in command.items() if name != "resume" and to is not None]
    _refuse([*forged, *steering])
    return _owned(ctx, value)


@auth.on.assistants
async def own_assistants(ctx: types.AuthContext, value: dict[str, Any]) -> types.FilterType:
    """All users may read and run the server's assistants; each may change only their own ones."""
    if ctx.action in ("read", "search"):
        either = [{"owner": ctx.user.identity}, {"created_by": "system"}]
        return cast(types.FilterType, {"$or": either})
    config = value.get("config") or {}
    _refuse(_forged(config, config.get("configurable"), value.get("context")))
    try:
        AceContext(**(value.get("context") or {}))
    except InvalidSettings as error:
        raise Auth.exceptions.HTTPException(422, str(error)) from None
    return _owned(ctx, value)


@auth.on.store
async def own_store(ctx: types.AuthContext, value: dict[str, Any]) -> None:
    """The items of a user are in namespaces that begin with the user's name."""
    given, own = tuple(value.get("namespace") or ()), (ctx.user.identity,)
    value["namespace"] = given if given[:1] == own else own + given  # a listed one begins with it


def _forged(config: Mapping[str, object], *settings: Mapping[str, object] | None) -> list[str]:
    """The keys of a config and of settings that only the server may set."""
    names = [name for given in settings for name in given or {} if name.startswith(_SIGNATURE)]
    return [*(name for name in config if name not in _CONFIG), *names]


def _refuse(names: list[str]) -> None:
    if names:
        raise Auth.exceptions.HTTPException(403, f"not for a client to set: {', '.join(names)}")


def _owned(
    ctx: types.AuthContext, value: dict[str, Any] | types.ThreadsUpdate | types.RunsCreate
) -> types.FilterType:
    if value.get("metadata") is None:
        value["metadata"] = {}
    metadata = value["metadata"]  # changed in place: the server does not look at a copy
    metadata.pop("created_by", None)  # "system" would make it visible to all users
    metadata["owner"] = ctx.user.identity
    return {"owner": ctx.user.identity}
