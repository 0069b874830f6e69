"""Which fields describe a case, so that a rule may use them, and which only name an individual.

The task says it by roles. What nobody declared, the values tell; the name of a field tells nothing.
Where the values of these fields may be cut is decided in rules/learner/literals.py.
"""

from typing import Final

import numpy as np
from numpy.typing import NDArray

from acegraph.nodes.text.category_words import is_field_name
from acegraph.state.task.card_payments import CARD_PAYMENTS
from acegraph.state.task.field import Field
from acegraph.state.task.task import Task
from acegraph.state.values import CaseTable, Column, is_derived, is_observed

_SAMPLE: Final = 2_000
"""How many of the newest numbers of a field are looked at."""
MAX_CATEGORIES: Final = 60
A_GROUP: Final = 5
"""So many cases with one value are a group."""
_A_FEW: Final = 10
_MOSTLY: Final = 0.75
_TWICE: Final = {"hour": 2, "weekday": 14, "month": 730}
"""In so many days a part of a date comes round twice."""
CAN_TELL: Final = 20
"""How many values are enough to decide what a field is."""
_LONG: Final = 1e8
"""Numbers of nine and more digits are no quantities, but cards, accounts, phones or times."""
_QUITE_LONG: Final = 1e7
_REPEATS: Final = 8.0
"""If chance would repeat this many values and none is repeated, rows are numbered one by one."""
_HANDFUL: Final = 5
_MAX_FIELDS: Final = 300
_MAX_SPARSE: Final = 40
"""Of the fields that fewer than half of the cases have, so many are looked at: whoever can name a
field could otherwise make every lesson slow, and every proof too hard."""


def learnable_fields(table: CaseTable) -> list[str]:
    """The fields that a rule may use: no identifiers, and names that enough cases have."""
    known: dict[str, int] = {}
    for name in _in_order(table):
        column = table.column(name)
        known[name] = int(column.known().sum()) if column and _may_be_tested(name, table) else 0
    few = min(_HANDFUL, len(table))
    common = sorted((n for n in known if known[n] >= few), key=lambda n: -known[n])[:_MAX_FIELDS]
    sparse = [name for name in common if 2 * known[name] < len(table)]
    kept = set(common) - set(sparse[_MAX_SPARSE:])
    return [
        name
        for name in known
        if name in kept and not is_identifier(name, table) and not occurs_once(name, table)
    ]


def _in_order(table: CaseTable) -> list[str]:
    """The fields of the cases in the order of the task, so that their names play no part."""
    task = _task_of(table)
    names = [name for one in task.fields for name in (one.name, *one.part_names)]
    places = {name: place for place, name in enumerate((*names, *(d.name for d in task.derived)))}
    return sorted(table.field_names, key=lambda name: places.get(name, len(places)))


def _may_be_tested(name: str, table: CaseTable) -> bool:
    """Whether the task has the field, and lets rules ask for it."""
    if not is_field_name(name) or table.task is None:
        return is_field_name(name)
    return name in table.task.names or is_derived(name) or is_observed(name)


def occurs_once(name: str, table: CaseTable) -> bool:
    """Whether a field is a calendar artefact: the cases span each of its values only once.

    A month that occurs in one year only cannot be told from that time. So nearly all cases must
    lie in two years, those with a weekday in two weeks, those with an hour in two days.
    """
    base, _, part = name.rpartition(".")
    column, field = table.column(base), declared(base, table)
    if part not in _TWICE or column is None or field is None or field.kind != "time":
        return False
    days = np.array([*(str(value)[:10] for value in column.values)], dtype="datetime64[D]")
    if not (codes := column.codes[column.codes >= 0]).size:
        return False
    first, last = np.quantile(days.astype(np.int64)[codes], (0.025, 0.975))
    return bool(1.05 * (last - first + 1) < _TWICE[part])


def newest_numbers(column: Column) -> NDArray[np.float64]:
    """The newest numbers of a field, without missing ones."""
    return column.known_numbers()[-_SAMPLE:]


def declared(name: str, table: CaseTable) -> Field | None:
    """What the task says of a field; None where it says nothing."""
    return _task_of(table).by_name.get(name)


def _task_of(table: CaseTable) -> Task:
    return table.task or CARD_PAYMENTS


def names_somebody(name: str, table: CaseTable) -> bool:
    """Whether a field says who a case belongs to, by its role; a growing task may not have it yet.

    >>> names_somebody("customer_id", CaseTable()), names_somebody("cardholder", CaseTable())
    (True, False)
    """
    if field := declared(name, table):
        return field.role in ("id", "entity")
    if not _is_growing(table):
        return False
    from acegraph.state.task.guess import seems_an_id  # a task that was set needs it not

    return seems_an_id(name)


def is_protected(name: str, table: CaseTable) -> bool:
    """Whether a rule over a field acts only if a person has approved it."""
    field = declared(name, table)
    return field is not None and field.role == "protected"


def is_identifier(name: str, table: CaseTable) -> bool:
    """Whether a field names an individual, or a moment, instead of describing a case."""
    column, field = table.column(name), declared(name, table)
    if names_somebody(name, table) or (field and field.kind == "time"):
        return True
    if column is None:  # then no value tells
        return False
    if field and (field.kind == "flag" or field.role == "protected"):
        return False
    if column.is_numeric:
        is_measured = field is not None and (field.role or not _is_growing(table))
        return not is_measured and _are_identifiers(newest_numbers(column))
    return not _are_kinds(column)


def _is_growing(table: CaseTable) -> bool:
    """Whether nobody has declared the task."""
    return _task_of(table).unknown == "grow"


def _are_kinds(column: Column) -> bool:
    """Whether many cases share the values of a category."""
    counts = column.counts()
    distinct, n = len(counts), sum(counts.values())
    if distinct <= max(_A_FEW, min(MAX_CATEGORIES, 0.3 * n)):
        return True
    # Countries and currencies are many, and yet kinds: most cases have one of the frequent ones.
    often = sorted(counts.values(), reverse=True)[:MAX_CATEGORIES]
    return sum(count for count in often if count >= A_GROUP) >= _MOSTLY * n


def _are_identifiers(numbers: NDArray[np.float64]) -> bool:
    """Whether the numbers of a field identify cards, customers, rows or times."""
    positive = numbers[numbers > 0]
    least = float(np.quantile(positive, 0.1)) if len(positive) else 0.0
    if least >= _LONG:
        return True
    n, distinct = len(numbers), len(np.unique(numbers))
    if n < CAN_TELL or distinct <= 0.5 * n or not np.all(numbers == np.floor(numbers)):
        return False
    repeats = n**2 / 2 / (numbers.max() - numbers.min() + 1)  # among n random numbers
    return least >= _QUITE_LONG or (distinct == n and repeats > _REPEATS)
