"""Plain data as a task, a field or a policy; a fault is one line with its place."""

import json
from typing import TYPE_CHECKING, Any, TypeVar

from acegraph.state.errors import InvalidSettings
from acegraph.state.values import Data

if TYPE_CHECKING:
    from pydantic import ValidationError

Declared = TypeVar("Declared")


def as_json(declared: object) -> Data:
    """A declaration as plain data, without what is as usual."""
    from pydantic import TypeAdapter

    adapter = TypeAdapter[Any](type(declared))
    plain: Data = adapter.dump_python(declared, mode="json", exclude_defaults=True)
    return plain


def read_as(kind: type[Declared], content: object, where: str) -> Declared:
    """The declaration of a kind that plain data makes."""
    from pydantic import TypeAdapter, ValidationError

    try:
        return TypeAdapter(kind).validate_python(content)
    except ValidationError as error:
        place, told = first_fault(error)
        told = told.removeprefix(f"{where}: ")
        raise InvalidSettings(f"{where}: {place + ': ' if place else ''}{told}") from None


def first_fault(error: "ValidationError") -> tuple[str, str]:
    """The place of the first fault that pydantic found, and what it is."""
    fault = error.errors(include_url=False)[0]
    return ".".join(map(str, fault["loc"])), fault["msg"].removeprefix("Value error, ")


def read_json(text: str, where: str) -> object:
    """What a text in JSON says."""
    try:
        return json.loads(text)
    except json.JSONDecodeError as error:
        raise InvalidSettings(f"{where}: line {error.lineno}: {error.msg}") from None
