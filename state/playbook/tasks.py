"""The task of a node as a playbook has it: set by somebody, or grown from its labelled cases."""

from collections.abc import Iterable, Sequence
from typing import Final, cast

from acegraph.state.playbook.settings_of_nodes import Stored
from acegraph.state.task.card_payments import CARD_PAYMENTS
from acegraph.state.task.growth import cases_to_look_at, grown
from acegraph.state.task.task import Task
from acegraph.state.values.bullet import Bullet
from acegraph.state.values.cases import CaseTable

_CACHED: Final = "task"


def task_of(
    stored: Stored | None, table: CaseTable, bullets: Iterable[Bullet], version: int
) -> Task:
    """The task of a node as of some labelled cases and a version of its bullets.

    It follows from them and from what was set, so that every process has the same one.
    """
    key = (stored and stored[0], cases_to_look_at(len(table)), version)
    kept = table.shared.get(_CACHED)
    if isinstance(kept, tuple) and kept[0] == key:
        return cast(Task, kept[1])
    base = Task.from_json(stored[1]) if stored else CARD_PAYMENTS
    conditions = (b.condition for b in bullets if b.condition)
    task = grown(base, table, [test for one in conditions for test in one.comparisons])
    table.shared[_CACHED] = (key, task)
    return task


def rules_that_lose(older: Task, newer: Task, active: Iterable[Bullet]) -> list[tuple[Bullet, str]]:
    """The rules that test a field which another task has not or has otherwise, and why."""
    changed = newer.differs(older)
    found = []
    for bullet in active:
        tested = bullet.condition.fields if bullet.condition else ()
        bases = [name if name in older.by_name else name.rpartition(".")[0] for name in tested]
        why = [f"{name} {changed[name]}" for name in dict.fromkeys(bases) if name in changed]
        if why:
            found.append((bullet, ", ".join(why)))
    return found


def in_words(changed: Sequence[tuple[Bullet, str]]) -> str:
    """Why a task is refused: which rules would lose what they test."""
    lost = "; ".join(f"{bullet.id} ({why})" for bullet, why in changed)
    return (
        f"active rules test what this task changes: {lost}; keep these fields as they are, "
        "or set_task(..., retire=True) makes candidates of the rules"
    )
