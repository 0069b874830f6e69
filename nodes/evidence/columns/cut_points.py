"""The values that a condition may compare a field with: cut points of numbers, and categories.

Which fields a rule may use is decided in learnable_fields.py.
"""

from collections.abc import Sequence
from typing import Final

import numpy as np
from numpy.typing import NDArray

from acegraph.nodes.evidence.columns.learnable_fields import (
    A_GROUP,
    MAX_CATEGORIES,
    learnable_fields,
    newest_numbers,
)
from acegraph.nodes.evidence.columns.phrases import phrases_of, text_fields
from acegraph.nodes.text.category_words import is_category
from acegraph.state.values.cases import CaseTable, Column
from acegraph.state.values.condition import Comparison
from acegraph.state.values.transaction import Scalar, is_observed

_CUTS: Final = 12

Grid = dict[str, list[Scalar]]
"""By field, the values to compare it with: cut points of a number, values of a category, phrases of
a free text."""


def grid_of(table: CaseTable) -> Grid:
    """The values to compare with, for every field that a rule may use."""
    key = "grid"
    kept = table.shared.get(key)
    if not isinstance(kept, tuple) or kept[0] != len(table):
        kept = table.shared[key] = (len(table), _grid_of(table))
    return {name: [*marks] for name, marks in kept[1].items()}


def _grid_of(table: CaseTable) -> Grid:
    grid: Grid = {}
    for name in learnable_fields(table):
        if table.is_text(name) or is_observed(name):
            continue
        column = table.column(name)
        assert column is not None
        if column.is_numeric:
            grid[name] = list(cut_points(newest_numbers(column)))
        else:
            grid[name] = [v for v in _groups(column) if _is_mark(v)]
    for name in text_fields(table):
        if phrases := phrases_of(name, table):
            grid[name] = [*phrases]
    return grid


def marked(name: str, mark: Scalar, table: CaseTable) -> NDArray[np.bool_]:
    """For each case, whether its word or flag is a mark of the grid, or its text mentions it."""
    column = table.column(name)
    assert column is not None
    return column.mentions(str(mark)) if table.is_text(name) else column.equals(mark)


def _groups(column: Column) -> list[str | bool]:
    """The values of a category; of very many, such as countries, the most frequent ones."""
    counts = column.counts()
    if len(counts) <= MAX_CATEGORIES:
        return list(counts)
    often = sorted(counts, key=lambda value: -counts[value])[:MAX_CATEGORIES]
    return [value for value in often if counts[value] >= A_GROUP]


def cut_points(numbers: NDArray[np.float64]) -> list[float | int]:
    """Where numbers may be cut: between two values near a quantile, at the roundest number there.

    >>> cut_points(np.array([1.0, 2.0, 3.0, 4.0]))
    [2, 3, 4]
    """
    values = np.unique(numbers)
    if len(values) > _CUTS + 1:
        quantiles = np.quantile(numbers, np.linspace(0, 1, _CUTS + 2)[1:-1], method="nearest")
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
    """The categories that are frequent enough for an exception ("is not"); none for a flag."""
    counts = column.counts()
    if len(counts) <= 2:
        return []
    enough = 0.04 * len(column.codes)
    return [v for v, n in counts.items() if n >= enough and _is_mark(v)]


def _is_mark(value: Scalar) -> bool:
    """Whether a condition may compare with a value: a flag, or a word that is no sentence."""
    return isinstance(value, bool) or is_category(str(value))


def closest_cuts(tests: Sequence[Comparison]) -> tuple[Comparison, ...]:
    """The comparisons without those that follow from another one.

    >>> low, high = Comparison("amount", ">=", 97), Comparison("amount", ">=", 130)
    >>> closest_cuts([low, high]) == (high,)
    True
    """
    return tuple(test for test in tests if not any(_follows(test, other) for other in tests))


def _follows(test: Comparison, other: Comparison) -> bool:
    """Whether a cut holds wherever another one of its field holds."""
    if (test.field, test.op) != (other.field, other.op) or test.op not in ("<", ">="):
        return False
    cut, other_cut = float(test.value or 0), float(other.value or 0)
    return cut > other_cut if test.op == "<" else cut < other_cut
