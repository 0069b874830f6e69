"""How the task of a node grows while nobody has given one.

Fields that no one declared are kept with their cases. When labelled cases have come, the same guess
that reads files looks at them; what active rules test is known at once. What a task has once, never
changes by itself.
"""

from collections.abc import Iterable, Iterator
from dataclasses import replace
from typing import Final, get_args

from acegraph.state.task.field import Field, Kind, Part
from acegraph.state.task.task import FIRST_LOOKS, Task, cases_to_look_at
from acegraph.state.values import MENTIONS, CaseTable, Comparison, is_derived, is_observed

_SHARE: Final = 0.05
_MOST_FIELDS: Final = 300
_MOST_WORDS: Final = 60
_PARTS: Final[tuple[Part, ...]] = get_args(Part)


def grown(task: Task, table: CaseTable, tests: Iterable[Comparison]) -> Task:
    """The task with the fields that active rules test and that labelled cases have."""
    size = cases_to_look_at(len(table)) if task.unknown == "grow" else 0
    if size:
        task = _looked_at(task, table, size)
    return replace(task, fields=(*task.fields, *_of_rules(task, tests)))


def _looked_at(task: Task, table: CaseTable, size: int) -> Task:
    """The task after a look at so many labelled cases: new fields, and which ones are usual."""
    looked_at = table.first(size)
    found = _of_cases(task, looked_at)[: max(_MOST_FIELDS - len(task.fields), 0)]
    fields = (*task.fields, *found)
    if size >= FIRST_LOOKS[1]:
        usual = set(looked_at.usual_names)
        fields = tuple(replace(one, usual=one.name in usual) for one in fields)
    return replace(task, fields=fields)


def _of_cases(task: Task, table: CaseTable) -> list[Field]:
    """The fields of labelled cases that the task has not, as far as enough of them have one."""
    from acegraph.state.task.guess import guess  # most runs look at no new cases

    columns = {}
    known = {name for one in task.fields for name in (one.name, *one.part_names)}
    for name in table.field_names:
        column = table.column(name)
        is_new = not (name in known or task.field_of(name) or is_derived(name) or is_observed(name))
        enough = max(FIRST_LOOKS[0], _SHARE * len(table))
        if is_new and column is not None and int(column.known().sum()) >= enough:
            values = (*column.values, None)
            numbers = zip(column.numbers.tolist(), column.codes.tolist(), strict=True)
            columns[name] = [n if n == n else values[code] for n, code in numbers]
    found = [one.field for one in guess(columns, is_file=False)]
    times = {one.name for one in found if one.kind == "time"}
    return [
        one
        for one in found
        if (one.role == "id" or len(one.words) < _MOST_WORDS)
        and one.name.rpartition(".")[0] not in times
    ]


def _of_rules(task: Task, tests: Iterable[Comparison]) -> Iterator[Field]:
    """The fields that rules test and the task has not; the comparison tells the kind."""
    known = {name for one in task.fields for name in (one.name, *one.part_names)} | task.names
    for test in tests:
        name = test.field
        if name in known or task.field_of(name) or is_derived(name) or is_observed(name):
            continue
        base, _, part = name.rpartition(".")
        if base and part in _PARTS:
            if base not in known:
                known |= {base, *(f"{base}.{one}" for one in _PARTS)}
                yield Field(base, "time", parts=_PARTS)
            continue
        known.add(name)
        yield Field(name, _kind_of(test))


def _kind_of(test: Comparison) -> Kind:
    if test.op == MENTIONS:
        return "text"
    if isinstance(test.value, bool):
        return "flag"
    if isinstance(test.value, str) or test.value is None:
        return "category"
    return "number"
