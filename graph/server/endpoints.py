"""One endpoint of the service: its path, who may call it, and what OpenAPI says of it."""

import asyncio
import json
from collections.abc import Awaitable, Callable, Iterator, Mapping
from dataclasses import dataclass, field
from importlib.metadata import version
from itertools import islice
from typing import Final, cast

from pydantic import TypeAdapter
from starlette.requests import Request
from starlette.responses import JSONResponse

from acegraph.graph.server.access import NotAllowed
from acegraph.graph.server.service import Service, TooMuch
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
from acegraph.state.values import each_name_once

MOST_ITEMS: Final = 1_000
"""The items of one request."""
MOST_LETTERS: Final = 200_000
"""The letters of one item in JSON, where each letter of its text may take six."""
_PLACE: Final = "#/components/schemas/{model}"
_TOLD: Final = {"type": {"type": "string"}, "message": {"type": "string"}}
_ERROR: Final = {
    "type": "object",
    "properties": {**_TOLD, "status": {"type": "integer"}, "faults": {"type": "array"}},
    "required": [*_TOLD, "status"],
}
_REFUSAL: Final = {"type": "object", "properties": {"error": _ERROR}}
_MOST_BRACKETS: Final = 20 * MOST_ITEMS
"""The lists and objects of one request, and the brackets in its texts: empty ones take the most
memory for their letters."""
_NO_JSON: Final = f"the body is no JSON, or an item has more than {MOST_LETTERS:,} letters"
_STATUS: Final[tuple[tuple[type[AceError], int], ...]] = (
    (PrunedDecision, 410),
    (UnknownDecision, 404),
    (UnknownBullet, 404),
    (DecisionConflict, 409),
    (InvalidInput, 422),
    (ModelError, 502),
    (TooMuch, 429),
)


@dataclass(frozen=True)
class Call:
    """A request of somebody who may make it."""

    service: Service
    user: User
    name: str = ""
    """The id in the path."""
    query: Mapping[str, str] = field(default_factory=dict)
    items: list[dict[str, object]] = field(default_factory=list)
    """The objects in the body."""
    is_one: bool = False
    """Whether the body is an object, not a list of them."""

    @property
    def item(self) -> dict[str, object]:
        """The object in the body."""
        if not self.is_one:
            raise InvalidInput("one object is wanted")
        return self.items[0]


Handler = Callable[[Call], object] | Callable[[Call], Awaitable[object]]
"""Gives what is answered in JSON, or a whole answer. What is not async runs in a thread."""


@dataclass(frozen=True)
class Endpoint:
    """A path and a method with their handler, whose docstring is what OpenAPI says of it."""

    method: str
    path: str
    role: Role | None
    """Who may call it; None: everybody, without a token."""
    handler: Handler
    given: Mapping[str, object] = field(default_factory=dict)
    """An example of what is sent."""
    query: tuple[str, ...] = ()
    form: Mapping[str, object] = field(default_factory=dict)
    """The JSON Schema of each key that is sent."""
    needed: tuple[str, ...] = ()
    """The keys that must be sent."""
    takes_many: bool = False
    """Whether a list of such objects may be sent, too."""
    gives: object = dict[str, object]
    """The type of what is answered."""

    def described(self) -> dict[str, object]:
        """The operation as OpenAPI has it."""
        asked = [(name, "query") for name in self.query]
        asked += [("id", "path")] if "{id}" in self.path else []
        one = {
            "type": "object",
            "properties": dict(self.form),
            "required": list(self.needed),
            "additionalProperties": False,
        }
        many = {"type": "array", "items": one, "maxItems": MOST_ITEMS}
        sent = {"schema": {"anyOf": [one, many]} if self.takes_many else one, "example": self.given}
        gives: TypeAdapter[object] = TypeAdapter(self.gives)  # type: ignore[arg-type]
        answer = gives.json_schema(ref_template=_PLACE, mode="serialization")
        return {
            "$defs": answer.pop("$defs", {}),
            "summary": (self.handler.__doc__ or "").partition("\n")[0],
            "description": f"For the role {self.role}." if self.role else "",
            "security": [{"token": []}] if self.role else [],
            "responses": {
                "200": _told("done", answer),
                "default": _told("refused", {"$ref": _PLACE.format(model="Refusal")}),
            },
            "parameters": [
                {"name": name, "in": to, "required": to == "path", "schema": {"type": "string"}}
                for name, to in asked
            ],
            **(
                {"requestBody": {"required": True, "content": {"application/json": sent}}}
                if self.given
                else {}
            ),
        }


def _told(what: str, schema: dict[str, object]) -> dict[str, object]:
    kind = "text/plain" if schema.get("type") == "string" else "application/json"
    return {"description": what, "content": {kind: {"schema": schema}}}


def openapi(endpoints: tuple[Endpoint, ...], case: Mapping[str, object]) -> dict[str, object]:
    """The description of the service by OpenAPI 3.1, with examples; `case` is the schema of the
    cases of the task.
    """
    paths: dict[str, dict[str, object]] = {}
    parts: dict[str, object] = {"Case": case, "Refusal": _REFUSAL}
    for one in endpoints:
        told = one.described()
        parts.update(cast("dict[str, object]", told.pop("$defs")))
        paths.setdefault(one.path, {})[one.method.lower()] = told
    return {
        "openapi": "3.1.0",
        "info": {"title": "acegraph", "version": version("acegraph")},
        "paths": paths,
        "components": {
            "schemas": parts,
            "securitySchemes": {"token": {"type": "http", "scheme": "bearer"}},
        },
    }


def status_of(error: AceError) -> int:
    """The status that belongs to an error; 503 for a database that cannot do it now."""
    if isinstance(error, NotAllowed):
        return error.status
    return next((status for kind, status in _STATUS if isinstance(error, kind)), 503)


class Json(JSONResponse):
    """An answer in ASCII: what somebody sent is repeated as it came, even half a letter."""

    def render(self, content: object) -> bytes:
        """The body."""
        return json.dumps(content, allow_nan=False, separators=(",", ":")).encode()


def refusal(error: AceError) -> Json:
    """An error as an answer."""
    status = status_of(error)
    headers = {"WWW-Authenticate": "Bearer"} if status == 401 else {}
    if status in (429, 503):
        headers["Retry-After"] = "1"
    return Json({"error": in_json(error)}, status, headers)


def in_json(error: AceError) -> dict[str, object]:
    """An error as JSON."""
    told = {"type": type(error).__name__, "message": str(error), "status": status_of(error)}
    faults = list(error.faults) if isinstance(error, InvalidTransaction) else []
    return {**told, "faults": faults} if faults else told


async def read_items(
    request: Request, reading: asyncio.Lock
) -> tuple[list[dict[str, object]], bool]:
    """What a body holds: one object, or a list of them; and whether it is one.

    Long ones are read one after the other beside the event loop, which others wait for.
    """
    body = await request.body()
    try:
        if len(body) <= MOST_LETTERS:
            return _read(body.decode())
        async with reading:
            return await asyncio.to_thread(_read, body.decode())
    except (ValueError, RecursionError) as error:
        reason = str(error) if isinstance(error, InvalidInput) else _NO_JSON
        raise InvalidInput(f"{reason}; wanted one object, or a list") from None


def _read(text: str) -> tuple[list[dict[str, object]], bool]:
    """The objects of a body. Of a list that is too long no more are made than are taken."""
    if text.count("[") + text.count("{") > _MOST_BRACKETS:
        raise InvalidInput(
            f"a request has at most {MOST_ITEMS:,} items and {_MOST_BRACKETS:,} lists"
        )
    is_one = not text.lstrip(_BLANK).startswith("[")
    text = f"[{text}]" if is_one else text
    listed = list(islice(_listed(text), MOST_ITEMS + 1))
    if len(listed) > MOST_ITEMS:
        raise InvalidInput(f"a request has at most {MOST_ITEMS:,} items; send fewer at once")
    items = [item for item in listed if isinstance(item, dict)]
    if len(items) < len(listed) or (is_one and len(items) != 1):
        raise InvalidInput("each item is an object in braces")
    return items, is_one


def _listed(text: str) -> Iterator[object]:
    """The items of a list, each made when it is asked for."""
    place, mark = text.index("[") + 1, ","
    if text[place:].lstrip(_BLANK).startswith("]"):
        place, mark = text.index("]") + 1, "]"
    while mark == ",":
        place = _after_blank(text, place)
        item, size = _DECODER.raw_decode(text[place : place + MOST_LETTERS])
        yield item
        place = _after_blank(text, place + size) + 1
        mark = text[place - 1 : place]
    if mark != "]" or text[place:].strip(_BLANK):
        raise InvalidInput(_NO_JSON)


def _after_blank(text: str, place: int) -> int:
    while text[place : place + 1] and text[place] in _BLANK:
        place += 1
    return place


def _no(word: str) -> object:
    raise InvalidInput(f"{word} is no number")


_BLANK: Final = " \t\n\r"
_DECODER: Final = json.JSONDecoder(object_pairs_hook=each_name_once, parse_constant=_no)
