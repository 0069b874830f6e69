"""Tables of cases with a task that says what their fields are."""

from typing import get_args

from acegraph.state.task.field import Field, Kind, Role
from acegraph.state.task.task import Task
from acegraph.state.values.cases import CaseTable


def declared(table: CaseTable, **words: str) -> CaseTable:
    """The table with a task of its fields; by name a kind or a role, else what the values are."""
    table.task = Task("t", tuple(_field(n, words.get(n, ""), table) for n in table.field_names))
    return table


def _field(name: str, word: str, table: CaseTable) -> Field:
    if word in get_args(Kind):
        return Field(name, word)  # type: ignore[arg-type]
    column = table.column(name)
    is_flag = column is not None and {bool} == set(map(type, column.counts()))
    kind: Kind = "number" if column is not None and column.is_numeric else "category"
    role: Role = word if word in get_args(Role) else ""  # type: ignore[assignment]
    return Field(name, "flag" if is_flag else kind, role=role)
