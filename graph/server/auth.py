"""Who may talk to the LangGraph server, and what they see; langgraph.secure.json enables it.

Its users are those of the service (acegraph users), of the playbook that ACE_PLAYBOOK_URL names. A
request with a token sees the threads and runs of its user, and the server's assistants. No user
runs a graph in the name of another, and only runs write a state. Everything that is not allowed
here is denied. The playbook is shared by all users and not protected here. Which paths exist at all
is decided in guard.py.
"""

import os
from typing import Any, Final

from langgraph_sdk import Auth
from langgraph_sdk.auth import types

from acegraph.graph.server.access import bearer_token
from acegraph.graph.server.service import Service, ServiceSettings

_CONFIG: Final = frozenset(
    "configurable max_concurrency metadata recursion_limit run_id run_name tags".split()
)
"""What a config may hold. LangGraph makes other keys settings, which override the server's own."""
_OPEN: Final = frozenset({"node"})
"""The settings that a run may choose; all others are the operator's, and so are the labels."""


_Asked = dict[str, Any]
"""What somebody asks the server to do."""

auth = Auth()
_service: Final = Service(ServiceSettings(os.environ.get("ACE_PLAYBOOK_URL", "")))
"""The service whose users these are; its playbook is opened with the first token."""


@auth.authenticate
async def authenticate(authorization: str | None) -> types.MinimalUserDict:
    """The user of a token, who may decide: an analyst or above."""
    token = bearer_token(authorization or "")
    known = await _service.user_of(token) if _service.settings.url else None
    if known is None or not known.may("analyst"):
        raise Auth.exceptions.HTTPException(401, "a valid token of an analyst is wanted")
    return {"identity": known.name}


@auth.on
async def deny(ctx: types.AuthContext, value: object) -> bool:
    """Deny what no other handler of this module allows."""
    return False


@auth.on.threads
async def own_threads(ctx: types.AuthContext, value: _Asked) -> types.FilterType:
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
    context, asked = given.get("context") or {}, given.get("input")
    refused = [
        *(name for name in config if name not in _CONFIG),
        # The server has signed `configurable` by now; a client's own entries are in `context` too.
        *(name for name in context if name not in _OPEN),
        *(name for name, to in command.items() if name != "resume" and to is not None),
        *(name for name in ("ground_truth",) if isinstance(asked, dict) and name in asked),
    ]
    if refused:
        raise Auth.exceptions.HTTPException(403, f"not for a client to set: {', '.join(refused)}")
    return _owned(ctx, value)


@auth.on.assistants
async def servers_assistants(ctx: types.AuthContext, value: _Asked) -> types.HandlerResult:
    """All users may read and run the server's assistants; nobody makes or changes one."""
    return {"created_by": "system"} if ctx.action in ("read", "search") else False


def _owned(
    ctx: types.AuthContext, value: _Asked | types.ThreadsUpdate | types.RunsCreate
) -> types.FilterType:
    if value.get("metadata") is None:
        value["metadata"] = {}
    metadata = value["metadata"]  # changed in place: the server does not look at a copy
    metadata.pop("created_by", None)  # "system" would make it visible to all users
    metadata["owner"] = ctx.user.identity
    return {"owner": ctx.user.identity}
