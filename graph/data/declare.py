"""The task of a node after some labelled rows: what is not declared yet is guessed from them.

Everything that was guessed is said, and kept with the playbook; a person corrects it by a task of
their own (`acegraph read FILE -o task.json`, `train --task task.json`).
"""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from itertools import islice
from typing import Final

from acegraph.graph.data.files import Item, transaction_of
from acegraph.nodes.text.understand import understand_given
from acegraph.state import BulletPlaybook, InvalidDataset
from acegraph.state.errors import some
from acegraph.state.task.card_payments import CARD_PAYMENTS
from acegraph.state.task.field import Field
from acegraph.state.task.guess import guess, guess_task
from acegraph.state.task.task import Task
from acegraph.state.values import SIGHTED, Fields, Scalar, folded, is_derived, is_named, written

_LOOKED_AT: Final = 20_000
"""So many rows are enough for a guess."""
_SAYS_WHO: Final = 4
"""A value of fewer letters and digits may stand in any word."""
_OF_ONE_FIELD: Final = ("time", "amount", "currency")
"""The roles that at most one field of a task has."""


def declare(
    items: Sequence[Item], playbook: BulletPlaybook, node: str, given: Task | None = None
) -> tuple[Task, str]:
    """The task by which these rows are learned, kept in the playbook; and what was said of it.

    `given` is what their file told, or a person.
    """
    columns = columns_of(items)
    before = playbook.task(node)
    if not columns:
        return before, ""
    is_said = playbook.declared("task", node) is not None and before.unknown != "grow"
    known = is_said or bool(len(playbook.cases(node)))
    new = {name: values for name, values in columns.items() if before.field_of(name) is None}
    if known and len(new) == len(columns):
        raise InvalidDataset(
            f"these rows have none of the fields that the playbook learned from "
            f"({some(one.name for one in before.fields)}): learn them into another playbook "
            "(--playbook), since no rule could be asked on both"
        )
    if known:
        task, said = _widened(before, columns, new), _differences(before, columns, new)
    else:
        guesses = [] if given else guess(columns, _entities(items))
        task = given or guess_task(node, guesses)
        said = "; ".join(f"{one.field.name}: {one.why}" for one in guesses if one.why)
    task = task.hiding([*before.hidden, *(given.hidden if given else ())])
    task = _without_repeats(task, columns)
    grows = task.unknown == "grow"
    if not grows and task != before:
        playbook.set_task(task, node, by="guess", reason="labelled rows")
    return task, said


def _entities(items: Sequence[Item]) -> dict[str, str]:
    """By field whom it names, where the rows come with fields that are derived from them."""
    columns = items[0].get("sighting_columns", {}) if items else {}
    return {name: f"entity:{what}" for what, name in columns.items() if what not in SIGHTED}


def task_of(items: Sequence[Item]) -> Task:
    """The task that these rows make, where no playbook has one: the shipped one for texts."""
    columns = columns_of(items)
    return guess_task("", guess(columns)) if columns else CARD_PAYMENTS


def fields_of(items: Iterable[Item], task: Task) -> list[Fields]:
    """The fields of rows, in the words of a task."""
    return [understand_given(transaction_of(item), task).fields for item in items]


def columns_of(items: Sequence[Item]) -> dict[str, list[Scalar]]:
    """The fields of rows that are mappings, column by column; rows of texts have none."""
    rows = [transaction_of(item).fields for item in islice(items, _LOOKED_AT)]
    names = dict.fromkeys(name for row in rows for name in row if not is_derived(name))
    return {name: [row.get(name) for row in rows] for name in names}


def _widened(
    task: Task, columns: Mapping[str, list[Scalar]], new: Mapping[str, list[Scalar]]
) -> Task:
    """The task with the fields and the words that these rows have besides."""
    if task.unknown != "ignore":
        return task
    given = {found.name: values for n, values in columns.items() if (found := task.field_of(n))}
    fields = [_with_words(one, given.get(one.name, ())) for one in task.fields]
    known = {one.role for one in task.fields if one.role in _OF_ONE_FIELD}
    for one in (found.field for found in guess(new)):
        is_clock = (one.kind, one.role) == ("number", "time")
        role = "ignored" if is_clock else "" if one.role in known else one.role
        fields.append(replace(one, role=role, since=task.version + 1))
    return replace(task, fields=tuple(fields))


def _without_repeats(task: Task, columns: Mapping[str, list[Scalar]]) -> Task:
    """The task without the words that repeat a value of a hidden field, as a memo may."""
    hidden = [n for n in columns if any(is_named(n, name) for name in task.hidden)]
    values = {folded(written(v)) for name in hidden for v in columns[name] if v is not None}
    long = {value for value in values if len(value) >= _SAYS_WHO}
    fields = []
    for one in task.fields:
        told = [w for w in one.words if one.kind != "flag" and any(v in folded(w) for v in long)]
        words = tuple(word for word in one.words if word not in told)
        fields.append(replace(one, words=words, closed=False) if told else one)
    return replace(task, fields=tuple(fields))


def _with_words(one: Field, values: Sequence[Scalar]) -> Field:
    """A closed category with the words that came more than once."""
    if one.kind != "category" or not one.closed:
        return one
    known = {word.lower() for word in one.words}
    often = (word for word, count in Counter(map(str, filter(None, values))).items() if count > 1)
    more = {word.lower(): word for word in often if word.lower() not in known}
    return replace(one, words=(*one.words, *more.values())) if more else one


def _differences(
    task: Task, columns: Mapping[str, list[Scalar]], new: Mapping[str, list[Scalar]]
) -> str:
    """Which columns are new, and which usual fields are missing."""
    given = {found.name for name in columns if (found := task.field_of(name))}
    missing = [one.name for one in task.fields if one.usual and one.name not in given]
    said = [f"new: {some(new)}"] if new else []
    said += [f"missing: {some(missing)}"] if missing else []
    return f"other columns than the playbook knows: {'; '.join(said)}" if said else ""
