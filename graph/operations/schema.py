"""The fields that a playbook expects, with the bullets that look at them."""

from dataclasses import dataclass

from acegraph.state import BulletPlaybook
from acegraph.state.task.field import Field


@dataclass(frozen=True)
class ExpectedField:
    """One field of the task, and the active bullets that look at it."""

    name: str
    kind: str
    is_required: bool
    """Whether nearly every case has it: without it one may stay undecided."""
    values: str
    """What fits, in words."""
    bullets: tuple[str, ...]
    derived_from: str = ""
    """For a field that is derived from earlier cases: from which fields of theirs."""


def expected_fields(playbook: BulletPlaybook, node: str) -> list[ExpectedField]:
    """The fields of a node's task, in its order."""
    used: dict[str, list[str]] = {}
    for bullet in playbook.get_bullets_for_node(node):
        for name in bullet.condition.fields if bullet.condition else ():
            used.setdefault(name, []).append(bullet.id)
    task = playbook.task(node)
    fields = [
        ExpectedField(one.name, _kind(one), one.usual, one.wanted, _bullets(one, used))
        for one in task.fields
    ]
    return fields + [
        ExpectedField(
            one.name, one.what, False, "", tuple(used.get(one.name, ())), ", ".join(one.of)
        )
        for one in task.derived
    ]


def _kind(field: Field) -> str:
    return f"{field.kind}, {field.role}" if field.role else field.kind


def _bullets(field: Field, used: dict[str, list[str]]) -> tuple[str, ...]:
    names = (field.name, *field.part_names)
    return tuple(dict.fromkeys(bullet for name in names for bullet in used.get(name, ())))
