"""Past cases of both outcomes that resemble a transaction, for the reflector's prompt.

The distance is Gower's: per field the difference in units of the field's spread, or 0 and 1 for
words and flags, averaged over the fields of the transaction. This module knows nothing of models.
"""

from collections.abc import Mapping
from typing import Final

import numpy as np
from numpy.typing import NDArray

from acegraph.state.values import Case, CaseTable, Scalar

_PER_OUTCOME: Final = 2
_SPREAD: Final = (5, 95)
"""The percentiles that bound a field's spread: an outlier must not make all other values alike."""


def similar_cases(fields: Mapping[str, Scalar], text: str, table: CaseTable) -> list[Case]:
    """The nearest cases of either outcome, nearest first; never the transaction itself."""
    if not len(table) or not fields:
        return []
    away, cases = distances(fields, table), list(table)
    order = [int(i) for i in np.argsort(away, kind="stable") if cases[i].text != text]
    frauds = [i for i in order if table.fraud[i]][:_PER_OUTCOME]
    honest = [i for i in order if not table.fraud[i]][:_PER_OUTCOME]
    return [cases[i] for i in sorted(frauds + honest, key=lambda i: (away[i], i))]


def distances(fields: Mapping[str, Scalar], table: CaseTable) -> NDArray[np.float64]:
    """How far each case is from a transaction, between 0 and 1.

    >>> cases = [Case("1", {"amount": 10.0}, "APPROVE"), Case("2", {"amount": 90.0}, "DECLINE")]
    >>> [float(d) for d in distances({"amount": 90.0}, CaseTable(cases))]
    [1.0, 0.0]
    """
    total = np.zeros(len(table))
    for name, value in fields.items():
        column = table.column(name)
        if column is None or value is None:
            total += 1.0
        elif isinstance(value, bool | str):
            total += ~column.equals(value)
        else:
            low, high = np.nanpercentile(column.numbers, _SPREAD) if column.is_numeric else (0, 0)
            gap = np.abs(column.numbers - float(value)) / (high - low if high > low else 1.0)
            total += np.nan_to_num(np.minimum(gap, 1.0), nan=1.0)
    return total / len(fields)
