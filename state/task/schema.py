"""A task as a JSON Schema; and a pydantic model, which has one, as a task."""

from collections.abc import Iterator, Mapping
from os import PathLike
from pathlib import Path
from typing import Final

from acegraph.state.errors import InvalidSettings
from acegraph.state.task.field import Field, Kind
from acegraph.state.task.task import Task, Unknown
from acegraph.state.values.transaction import Data, DataView

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


def as_task(given: object) -> Task:
    """A task, that of a task.json, or that of a pydantic model."""
    if isinstance(given, Task):
        return given
    if isinstance(given, type) and hasattr(given, "model_json_schema"):
        schema = given.model_json_schema()
        required, about = schema.get("required", ()), str(schema.get("description", ""))
        parts = schema.get("properties", {}).items()
        fields = tuple(_field(name, part, name in required) for name, part in parts)
        unknown: Unknown = "refuse" if schema.get("additionalProperties") is False else "ignore"
        return Task(str(schema["title"]), fields, unknown=unknown, about=about)
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
    return Field(
        name,
        _kind_of(part),
        usual=usual,
        words=tuple(map(str, part.get("enum", ()))),
        closed="enum" in part,
        least=part.get("minimum"),
        most=part.get("maximum"),
        meaning=str(part.get("description", "")),
    )


def _kind_of(part: DataView) -> Kind:
    if part.get("type") in ("number", "integer"):
        return "number"
    if part.get("type") == "boolean":
        return "flag"
    if part.get("format") in ("date-time", "date"):
        return "time"
    return "category" if "enum" in part else "text"
