"""The comparisons that the rules of a set are made of, and sums over the cases that pass them."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

import numpy as np
from numpy.typing import NDArray

from acegraph.nodes.evidence.columns.cut_points import common_values, grid_of, roundest
from acegraph.nodes.evidence.residuals import Mask, Numbers
from acegraph.state.values.cases import CaseTable, Column
from acegraph.state.values.condition import MENTIONS, Comparison

if TYPE_CHECKING:
    from scipy.sparse import csr_array

_CUTS: Final = 12
"""At how many quantiles of the frauds, and of the honest cases, a number is cut."""
MIN_FIRES: Final = 4.0
"""On so many cases a comparison or a rule must hold."""


@dataclass(frozen=True)
class Comparisons:
    """Comparisons, and the cases on which each holds.

    Cases that pass the same comparisons of a field are a bin of that field. A sum over the cases
    of a comparison is the sum over its bins, so that each case is added once for each field, and
    not once for each of its fifty comparisons.
    """

    comparisons: tuple[Comparison, ...]
    masks: Mask
    bins: NDArray[np.int32]
    """By field and case, the number of the bin."""
    passing: "csr_array"
    """Which comparison holds in which bin."""

    @classmethod
    def of(cls, table: CaseTable, chosen: Mask) -> "Comparisons":
        """Every comparison worth trying on this table, on the chosen ones of its cases."""
        found: list[Comparison] = []
        for name, marks in grid_of(table).items():
            column = table.column(name)
            assert column is not None
            if column.is_numeric:
                for cut in _cuts(column, table.fraud):
                    found += [Comparison(name, "<", cut), Comparison(name, ">=", cut)]
            elif table.is_text(name):
                found += [Comparison(name, MENTIONS, mark) for mark in marks]
                continue
            else:
                found += [Comparison(name, "is", mark) for mark in marks]
                found += [Comparison(name, "is not", mark) for mark in common_values(column)]
            if not column.known().all():
                found.append(Comparison(name, "is missing"))
        masks = [comparison.holds_over(table) for comparison in found]
        useful = [i for i, m in enumerate(masks) if MIN_FIRES <= m.sum() < len(table)]
        kept = np.array([masks[i][chosen] for i in useful], bool)
        kept = kept.reshape(len(useful), int(chosen.sum()))
        comparisons = tuple(found[i] for i in useful)
        return cls(comparisons, kept, *_bins(comparisons, kept))

    def part(self, chosen: Mask) -> "Comparisons":
        """The same comparisons on some of the cases."""
        return Comparisons(
            self.comparisons, self.masks[:, chosen], self.bins[:, chosen], self.passing
        )

    def adder(self) -> Callable[[Numbers], Numbers]:
        """What sums columns of numbers over the cases of each comparison."""
        from scipy.sparse import csc_array

        fields, cases = self.bins.shape
        starts = np.arange(cases + 1, dtype=np.int32) * fields
        shape = (self.passing.shape[1], cases)
        ones = np.ones(self.bins.size, np.float32)
        in_bin = csc_array((ones, self.bins.T.ravel(), starts), shape=shape)
        return lambda columns: np.asarray(self.passing @ (in_bin @ columns))


def _bins(
    comparisons: tuple[Comparison, ...], masks: Mask
) -> tuple[NDArray[np.int32], "csr_array"]:
    from scipy.sparse import csr_array  # takes half a second, and only learning needs it

    fields: dict[object, list[int]] = {}
    for i, test in enumerate(comparisons):  # what a text mentions is a field of its own
        key = (test.field, test.value) if test.op == MENTIONS else test.field
        fields.setdefault(key, []).append(i)
    bins = np.zeros((len(fields), masks.shape[1]), np.int32)
    tests = [np.zeros(0, np.int64)]
    holding = [np.zeros(0, np.int64)]
    total = 0
    for number, rows in enumerate(fields.values()):
        first, bins[number] = _alike(masks[rows])
        of_field, at = np.nonzero(masks[rows][:, first])
        tests.append(np.array(rows)[of_field])
        holding.append(at + total)
        bins[number] += total
        total += len(first)
    where = (np.concatenate(tests), np.concatenate(holding))
    ones = np.ones(len(where[0]))
    return bins, csr_array((ones, where), shape=(len(comparisons), total))


def _alike(masks: Mask) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Numbers for the cases that pass the same comparisons: the first case of each, and each case's
    number.
    """
    first = number = np.zeros(masks.shape[1], np.int64)
    for some in range(0, len(masks), 32):  # as many fit into a number beside the one so far
        for mask in masks[some : some + 32]:
            number = 2 * number + mask
        _, first, number = np.unique(number, return_index=True, return_inverse=True)
    return first, number


def _cuts(column: Column, fraud: Mask) -> list[float | int]:
    """Where a number may be cut: near the quantiles of either label, and where its frauds end."""
    known = ~np.isnan(column.numbers)
    values, upper = np.unique(column.numbers[known]), set[int]()
    for part in (column.numbers[known & fraud], column.numbers[known & ~fraud]):
        if len(part):
            quantiles = np.quantile(part, np.linspace(0, 1, _CUTS + 2), method="nearest")
            upper |= set(np.searchsorted(values, quantiles).tolist())
            upper.add(int(np.searchsorted(values, part.max())) + 1)
    inside = sorted(i for i in upper if 0 < i < len(values))
    return list(dict.fromkeys(roundest(values[i - 1], values[i]) for i in inside))
