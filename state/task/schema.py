"""A task as a JSON Schema, and back; a pydantic model comes by way of its own schema."""

from collections.abc import Iterator, Mapping
from os import PathLike
from pathlib import Path
from typing import Final, cast

from acegraph.state.errors import InvalidSettings
from acegraph.state.task.field import Field, Kind
from acegraph.state.task.task import Task
from acegraph.state.values import Data, DataView

_TYPES: Final[Mapping[Kind, str]] = {
    "number": "number", "flag": "boolean", "category": "string", "time": "string", "text": "string"
}  # fmt: skip
_KEPT: Final = ("role", "unit", "zone", "epoch", "parts", "entity", "stored")
"""What a JSON Schema has no word for stands behind `x-`."""


def json_schema(task: Task) -> Data:
    """The JSON Schema of the cases of a task.

    >>> schema = json_schema(Task("t", (Field("paid", "time", usual=True, parts=("hour",)),)))
    >>> schema["properties"]["paid"]
    {'type': 'string', 'format': 'date-time', 'x-kind': 'time', 'x-parts': ['hour']}
    >>> from_json_schema(schema).fields[0].parts
    ('hour',)
    """
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": task.name,
        **({"description": task.about} if task.about else {}),
        **({"x-answers": list(task.answers)} if task.answers != Task("").answers else {}),
        "type": "object",
        "properties": {one.name: dict(_property(one)) for one in task.fields},
        "required": [one.name for one in task.fields if one.usual],
        "additionalProperties": task.unknown != "refuse",
    }


def from_json_schema(schema: DataView) -> Task:
    """The task that a JSON Schema describes."""
    properties = schema.get("properties")
    if not isinstance(properties, Mapping):
        raise InvalidSettings("a JSON Schema of an object with properties wanted")
    required = set(schema.get("required", ()))
    closed = schema.get("additionalProperties") is False
    return Task(
        str(schema.get("title", "task")),
        tuple(_field(name, part, name in required) for name, part in properties.items()),
        unknown="refuse" if closed else "ignore",
        about=str(schema.get("description", "")),
        answers=cast(tuple[str, str], tuple(schema.get("x-answers", Task("").answers))),
    )


def as_task(given: object) -> Task:
    """A task, that of a task.json, or that of a pydantic model."""
    if isinstance(given, Task):
        return given
    if isinstance(given, type) and hasattr(given, "model_json_schema"):
        return from_json_schema(given.model_json_schema())
    if not isinstance(given, str | PathLike):
        raise InvalidSettings(
            "a task is a Task, the path of a task.json, or a pydantic model, "
            f"not {type(given).__name__}"
        )
    try:
        text = Path(given).read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise InvalidSettings(f"the task {str(given)!r} cannot be read: {error}") from None
    return Task.from_text(text, str(given))


def _property(field: Field) -> Iterator[tuple[str, object]]:
    kind: object = _TYPES[field.kind]
    if field.kind == "time":
        kind = ["string", "number"] if field.epoch else "string"
    yield "type", kind
    if field.kind == "time":
        yield "format", "date-time"
    if field.meaning:
        yield "description", field.meaning
    for name, limit in (("minimum", field.least), ("maximum", field.most)):
        if limit is not None:
            yield name, limit
    if field.kind == "category" and field.words:
        yield ("enum" if field.closed else "examples"), list(field.words)
    yield "x-kind", field.kind
    usual = Field(field.name, field.kind)
    for name in _KEPT:
        if (value := getattr(field, name)) != getattr(usual, name):
            yield f"x-{name}", list(value) if isinstance(value, tuple) else value
    if field.kind == "flag" and field.words:
        yield "x-words", list(field.words)


def _field(name: str, part: DataView, usual: bool) -> Field:
    """One property; `X | None` of pydantic is X that need not be there."""
    options = [one for one in part.get("anyOf", ()) if one.get("type") != "null"]
    part = {**part, **options[0]} if options else part
    words = part.get("enum") or part.get("examples") or part.get("x-words") or ()
    kept = {one: part[f"x-{one}"] for one in _KEPT if f"x-{one}" in part}
    if "parts" in kept:
        kept["parts"] = tuple(kept["parts"])
    kind = cast(Kind, part.get("x-kind") or _kind_of(part))
    return Field(
        name,
        kind,
        usual=usual,
        words=tuple(map(str, words)) if kind in ("category", "flag") else (),
        closed="enum" in part,
        least=part.get("minimum"),
        most=part.get("maximum"),
        meaning=str(part.get("description", "")),
        **kept,
    )


def _kind_of(part: DataView) -> Kind:
    if part.get("type") in ("number", "integer"):
        return "number"
    if part.get("type") == "boolean":
        return "flag"
    if part.get("format") in ("date-time", "date"):
        return "time"
    return "category" if part.get("enum") or part.get("examples") else "text"
