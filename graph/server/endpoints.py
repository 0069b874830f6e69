"""One endpoint of the service: its path, who may call it, and what OpenAPI says of it."""

from __future__ import annotations

import json
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from importlib.metadata import version
from math import ceil
from typing import Any, Final

from starlette.requests import Request
from starlette.responses import JSONResponse, Response

from acegraph.graph.server.access import NotAllowed
from acegraph.graph.server.batching import TooMuch
from acegraph.graph.server.service import Service
from acegraph.state.errors import (
    AceError,
    DecisionConflict,
    InvalidInput,
    InvalidTransaction,
    ModelError,
    PrunedDecision,
    UnknownBullet,
    UnknownDecision,
)
from acegraph.state.maintenance.people.users import Role, User
from acegraph.state.values.transaction import each_name_once

MOST_BYTES: Final = 16_000_000
"""The largest body of a request."""
_STATUS: Final[tuple[tuple[type[AceError], int], ...]] = (
    (PrunedDecision, 410),
    (UnknownDecision, 404),
    (UnknownBullet, 404),
    (DecisionConflict, 409),
    (InvalidInput, 422),
    (ModelError, 502),
)
Handler = Callable[[Service, Request, User], Awaitable[Response]]


@dataclass(frozen=True)
class Endpoint:
    """A path and a method with their handler."""

    method: str
    path: str
    role: Role | None
    """Who may call it; None: everybody, without a token."""
    handler: Handler
    summary: str
    given: dict[str, Any] = field(default_factory=dict)
    """Examples of what is sent, by name."""
    answer: object = None
    """An example of the answer."""
    parameters: dict[str, str] = field(default_factory=dict)
    """Parameters of the path and the query, with what they mean."""


def status_of(error: AceError) -> int:
    """The status that belongs to an error; 503 for a database that cannot do it now."""
    if isinstance(error, TooMuch):
        return 429
    if isinstance(error, NotAllowed):
        return error.status
    return next((status for kind, status in _STATUS if isinstance(error, kind)), 503)


def refusal(error: AceError) -> JSONResponse:
    """An error as an answer."""
    status = status_of(error)
    headers = {"WWW-Authenticate": "Bearer"} if status == 401 else {}
    if status in (429, 503):
        seconds = error.retry_after if isinstance(error, TooMuch) else 1.0
        headers["Retry-After"] = str(max(1, ceil(seconds)))
    return JSONResponse({"error": in_json(error)}, status, headers)


def in_json(error: AceError) -> dict[str, object]:
    """An error as JSON."""
    told = {"type": type(error).__name__, "message": str(error), "status": status_of(error)}
    faults = list(error.faults) if isinstance(error, InvalidTransaction) else []
    return {**told, "faults": faults} if faults else told


async def read_items(request: Request) -> tuple[list[Any], bool]:
    """What a body holds: one object, a list of them, or JSON lines; and whether it is one."""
    body = bytearray()
    async for part in request.stream():
        body += part
        if len(body) > MOST_BYTES:
            raise InvalidInput(f"a request has at most {MOST_BYTES} bytes; send fewer at once")
    is_lines = "ndjson" in request.headers.get("content-type", "")
    parts = [line for line in body.splitlines() if line.strip()] if is_lines else [bytes(body)]
    try:
        found = [
            json.loads(part, object_pairs_hook=each_name_once, parse_constant=_no) for part in parts
        ]
    except (ValueError, RecursionError) as error:
        reason = str(error) if isinstance(error, InvalidInput) else "the body is no JSON"
        raise InvalidInput(f"{reason}; wanted one object, a list, or JSON lines") from None
    items = found[0] if not is_lines and isinstance(found[0], list) else found
    if not all(isinstance(item, dict) for item in items):
        raise InvalidInput("each item is an object in braces")
    return items, not is_lines and isinstance(found[0], dict)


def _no(word: str) -> object:
    raise InvalidInput(f"{word} is no number")


def openapi(endpoints: tuple[Endpoint, ...]) -> dict[str, Any]:
    """The description of the service by OpenAPI 3.1, with examples."""
    paths: dict[str, dict[str, Any]] = {}
    for one in endpoints:
        operation: dict[str, Any] = {
            "summary": one.summary,
            "security": [{"token": []}] if one.role else [],
            "responses": {"200": _content("done", {"answer": one.answer})},
        }
        if one.role:
            operation["description"] = f"For the role {one.role} and those above it."
            for status, text in (("401", "no valid token"), ("403", "not for this role")):
                operation["responses"][status] = {"description": text}
        if one.given:
            body = _content("", one.given)
            operation["requestBody"] = {"required": True, "content": body["content"]}
            for status, text in _REFUSED.items():
                operation["responses"][status] = {"description": text}
        operation["parameters"] = [
            {
                "name": name,
                "in": "path" if f"{{{name}}}" in one.path else "query",
                "required": f"{{{name}}}" in one.path,
                "description": text,
                "schema": {"type": "string"},
            }
            for name, text in one.parameters.items()
        ]
        paths.setdefault(one.path, {})[one.method.lower()] = operation
    return {
        "openapi": "3.1.0",
        "info": {"title": "acegraph", "version": version("acegraph")},
        "paths": paths,
        "components": {"securitySchemes": {"token": {"type": "http", "scheme": "bearer"}}},
    }


_REFUSED: Final = {
    "409": "the id was used for another transaction",
    "422": "what was sent cannot be used",
    "429": "too much at once; Retry-After says when to try again",
    "503": "the database cannot do it now; Retry-After says when to try again",
}


def _content(description: str, examples: dict[str, Any]) -> dict[str, Any]:
    named = {name: {"value": value} for name, value in examples.items()}
    return {
        "description": description,
        "content": {"application/json": {"schema": {}, "examples": named}},
    }
