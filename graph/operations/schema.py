"""The fields that a playbook expects, for a host that checks payments before it sends them.

The labelled cases make the contract (nodes/text/field_contract.py). Here it becomes rows of a
table, a JSON Schema, and the source of a pydantic model.
"""

import json
import keyword
from dataclasses import dataclass
from typing import Final

from acegraph.nodes.evidence.sightings.columns import origin_of
from acegraph.nodes.text.field_contract import FieldContract, KnownField, date_of_part
from acegraph.state import BulletPlaybook
from acegraph.state.values.transaction import is_derived

_MANY_WORDS: Final = 50
_TYPES: Final = {"number": "number", "flag": "boolean", "word": "string"}
_PYTHON: Final = {"number": "float", "flag": "bool", "word": "str", "mixed": "float | bool | str"}


@dataclass(frozen=True)
class ExpectedField:
    """One field of the contract, and the active bullets that look at it."""

    name: str
    kind: str
    share: float
    """The share of the labelled cases that have it."""
    is_required: bool
    """Whether nearly every labelled case has it: without it a payment may stay undecided."""
    values: str
    """The usual values in words."""
    bullets: tuple[str, ...]
    derived_from: str = ""
    """For a field that acegraph derives from earlier payments: from which fields of theirs."""


def expected_fields(playbook: BulletPlaybook, node: str) -> list[ExpectedField]:
    """The contract of a playbook, field by field; empty while it has too few labelled cases."""
    used: dict[str, list[str]] = {}
    for bullet in playbook.get_bullets_for_node(node):
        for name in bullet.condition.fields if bullet.condition else ():
            used.setdefault(name, []).append(bullet.id)
    columns = playbook.sighting_columns(node) or {}
    return [
        ExpectedField(
            known.name,
            known.kind,
            round(known.share, 4),
            known.is_usual and not is_derived(known.name),
            _values(known),
            tuple(used.get(known.name, ())),
            origin_of(known.name, columns) if is_derived(known.name) else "",
        )
        for known in _known_fields(playbook, node)
    ]


def json_schema(playbook: BulletPlaybook, node: str) -> dict[str, object]:
    """The contract as a JSON Schema."""
    fields = _given_fields(playbook, node)
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "Payment",
        "type": "object",
        "properties": {known.name: _property(known) for known in fields},
        "required": [known.name for known in fields if known.is_usual],
    }


def pydantic_source(playbook: BulletPlaybook, node: str) -> str:
    """The contract as the source of a pydantic model."""
    lines = ["from pydantic import BaseModel, ConfigDict, Field", "", ""]
    lines += ["class Payment(BaseModel):", '    """A payment as the playbook knows it."""', ""]
    lines += ['    model_config = ConfigDict(extra="allow", populate_by_name=True)', ""]
    for number, known in enumerate(_given_fields(playbook, node), start=1):
        name, python = known.name, _PYTHON[known.kind]
        is_plain = name.isidentifier() and not keyword.iskeyword(name) and name[0] != "_"
        settings = [] if is_plain else [f"alias={json.dumps(name)}"]
        if not known.is_usual:
            python, settings = f"{python} | None", ["default=None", *settings]
        value = f" = Field({', '.join(settings)})" if settings else ""
        lines.append(f"    {name if is_plain else f'field_{number}'}: {python}{value}")
    return "\n".join(lines) + "\n"


def _given_fields(playbook: BulletPlaybook, node: str) -> list[KnownField]:
    """The fields that a caller gives."""
    return [known for known in _known_fields(playbook, node) if not is_derived(known.name)]


def _known_fields(playbook: BulletPlaybook, node: str) -> list[KnownField]:
    """All fields but the parts of a date, which are read from the date."""
    known = FieldContract.of(playbook.cases(node)).fields
    return [field for name, field in known.items() if date_of_part(name) not in known]


def _property(known: KnownField) -> dict[str, object]:
    schema: dict[str, object] = {"description": f"{known.share:.0%} of the labelled payments"}
    if known.kind in _TYPES:
        schema["type"] = _TYPES[known.kind]
    if known.kind == "number" and known.lowest is not None and known.lowest >= 0:
        schema["minimum"] = 0
    if known.is_closed and len(known.words) <= _MANY_WORDS:
        schema["enum"] = sorted(known.words.values())
    return schema


def _values(known: KnownField) -> str:
    if known.kind == "number":
        return f"{known.lowest:g} to {known.highest:g}"
    if known.kind == "word" and known.is_closed:
        words = sorted(known.words.values())
        return ", ".join(words[:6]) + (f" and {len(words) - 6} more" if len(words) > 6 else "")
    return {"flag": "true or false", "word": f"{len(known.words):,} words"}.get(known.kind, "")
