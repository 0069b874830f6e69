"""What a rule may look at: which fields describe a case, and where their values may be cut.

Fields that name an individual (a card, a customer, an order) are left out: a rule about one of them
learns a name, not a cause.
"""

import re
from typing import Final

import numpy as np
from numpy.typing import NDArray

from acegraph.state import CaseTable, Scalar
from acegraph.state.cases import Column

MAX_WORD: Final = 60
_CUTS: Final = 12
_SAMPLE: Final = 2_000
"""How many of the newest values say where a number may be cut."""
_MAX_CATEGORIES: Final = 60
_NAMES_AN_ENTITY: Final = frozenset(
    "uuid guid hash token iban pan ssn email mail phone ip name street zip postcode".split()
)
_NAMES_A_NUMBER: Final = frozenset("id num number nr no".split())
_NAMES_A_QUANTITY: Final = frozenset(
    "amount amt price value balance income sum total cost pop population salary".split()
)

Grid = dict[str, list[Scalar]]
"""Per field the marks it offers to comparisons: cut points of a number, values of a category."""


def grid_of(table: CaseTable) -> Grid:
    """The marks of every field that a rule may use."""
    grid: Grid = {}
    for name in learnable_fields(table):
        column = table.column(name)
        assert column is not None
        if column.is_numeric:
            grid[name] = list(cut_points(column.numbers[~np.isnan(column.numbers)][-_SAMPLE:]))
        else:
            grid[name] = [v for v in column.values if len(str(v)) <= MAX_WORD]
    return grid


def learnable_fields(table: CaseTable) -> list[str]:
    """The fields that a rule may use: no identifiers."""
    return [name for name in table.field_names if not is_identifier(name, table)]


def is_identifier(name: str, table: CaseTable) -> bool:
    """Whether a field names an individual rather than describing a case: by name or by values."""
    column = table.column(name)
    if column is None:
        return True
    words = re.findall(r"[a-z]+", re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "_", name).lower())
    last = words[-1] if words else ""
    if not column.is_numeric:
        if all(isinstance(value, bool) for value in column.values):
            return False
        n, distinct = int((column.codes >= 0).sum()), len(column.values)
        is_named = bool(_NAMES_AN_ENTITY & set(words)) or last in _NAMES_A_NUMBER
        return is_named or distinct > _MAX_CATEGORIES or (distinct > 10 and distinct > 0.3 * n)
    known = column.numbers[~np.isnan(column.numbers)][-_SAMPLE:]
    is_whole = bool(np.all(known == np.floor(known)))
    if not is_whole or _NAMES_A_QUANTITY & set(words):
        return False
    is_sparse = len(np.unique(known)) > 0.5 * len(known) and len(known) >= 20
    is_named = bool(_NAMES_AN_ENTITY & set(words)) or last in _NAMES_A_NUMBER
    return (is_named and (is_sparse or last == "id")) or (is_sparse and bool(known.max() > 1e7))


def cut_points(known: NDArray[np.float64]) -> list[float | int]:
    """Where a number may be cut: between values, at quantiles, at the roundest number in the gap.

    >>> cut_points(np.array([1.0, 2.0, 3.0, 4.0]))
    [2, 3, 4]
    """
    values = np.unique(known)
    if len(values) > _CUTS + 1:
        quantiles = np.quantile(known, np.linspace(0, 1, _CUTS + 2)[1:-1], method="nearest")
        upper = np.unique(np.searchsorted(values, quantiles))
        upper = upper[upper > 0]
    else:
        upper = np.arange(1, len(values))
    return list(dict.fromkeys(roundest(values[i - 1], values[i]) for i in upper))


def roundest(low: float, high: float) -> float | int:
    """The number in (low, high] with the fewest digits."""
    step = 10.0 ** np.floor(np.log10(max(abs(high), abs(low), 1e-12)))
    for _ in range(20):
        for fraction in (1.0, 0.5):
            cut = round(float(np.floor(high / (step * fraction)) * step * fraction), 12)
            if low < cut <= high:
                return int(cut) if cut.is_integer() else cut
        step /= 10
    return float(high)


def common_values(column: Column) -> list[Scalar]:
    """The categories frequent enough for an exception ("is not") to make sense; not for flags."""
    if len(column.values) <= 2:
        return []
    known = column.codes[column.codes >= 0]
    counts = np.bincount(known, minlength=len(column.values))
    enough = 0.04 * len(column.codes)
    return [
        value
        for value, n in zip(column.values, counts, strict=True)
        if n >= enough and len(str(value)) <= MAX_WORD
    ]
