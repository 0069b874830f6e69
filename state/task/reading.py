"""Plain data as a task, a field or a policy; a fault is one line with its place."""

import json
from typing import TypeVar

from acegraph.state.errors import InvalidSettings

Declared = TypeVar("Declared")


def read_as(kind: type[Declared], content: object, where: str) -> Declared:
    """The declaration of a kind that plain data makes."""
    from pydantic import TypeAdapter, ValidationError

    try:
        return TypeAdapter(kind).validate_python(content)
    except ValidationError as error:
        fault = error.errors()[0]
        place = ".".join(str(part) for part in fault["loc"])
        told = fault["msg"].removeprefix("Value error, ").removeprefix(f"{where}: ")
        raise InvalidSettings(f"{where}: {place + ': ' if place else ''}{told}") from None


def read_json(text: str, where: str) -> object:
    """What a text in JSON says."""
    try:
        return json.loads(text)
    except json.JSONDecodeError as error:
        raise InvalidSettings(f"{where}: line {error.lineno}: {error.msg}") from None
