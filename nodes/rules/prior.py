"""The fields of the prior under their plain names: a payment may have them under others."""

from collections.abc import Mapping
from functools import lru_cache
from typing import Final

import numpy as np

from acegraph.nodes.text.field_patterns import OTHER_NAMES
from acegraph.state.task.card_payments import CARD_PAYMENTS
from acegraph.state.values.cases import Column, Columns
from acegraph.state.values.transaction import Scalar

PRIOR: Final = CARD_PAYMENTS.prior
"""The prior where a playbook has no task of its own."""


def names_of(field: str) -> tuple[str, ...]:
    """The names under which a field is looked up, in their order.

    >>> names_of("distance_km")
    ('distance_km', 'distance', 'distance_from_home')
    """
    return (field, *OTHER_NAMES.get(field, ()))


PRIOR_FIELDS: Final = frozenset(
    name for rule in PRIOR if rule.test for name in names_of(rule.test.field)
)
"""Every name under which the shipped prior finds a field."""


def plainly_named(fields: Mapping[str, Scalar]) -> Mapping[str, Scalar]:
    """The fields, those with another name also under the plain one.

    >>> plainly_named({"amt": 20.0})
    {'amt': 20.0, 'amount': 20.0}
    """
    added: dict[str, Scalar] = {}
    for plain, other in _others_among(tuple(fields)):
        if fields[other] is not None and fields.get(plain) is None:
            added.setdefault(plain, fields[other])
    return {**fields, **added} if added else fields


@lru_cache(maxsize=256)  # payments of one system have the same fields
def _others_among(names: tuple[str, ...]) -> tuple[tuple[str, str], ...]:
    given = frozenset(names)
    return tuple(
        (p, other) for p, others in OTHER_NAMES.items() for other in others if other in given
    )


def plain_column(columns: Columns, name: str) -> Column | None:
    """The column of a field; where it has no value, its number is that of its other names."""
    found = [column for one in names_of(name) if (column := columns.column(one)) is not None]
    if len(found) <= 1:
        return found[0] if found else None
    numbers, codes, is_open = found[0].numbers, found[0].codes, ~found[0].known()
    for other in found[1:]:
        numbers = np.where(is_open, other.numbers, numbers)
        is_open = is_open & ~other.known()
    return Column(numbers, codes, found[0].values)
