"""Where to cut: what a rule would do if one of the numbers in it were another."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from acegraph.graph.desk.charts import Scale, share_scale, tenths_scale
from acegraph.graph.desk.figures import Cases
from acegraph.graph.metrics.intervals import Share
from acegraph.state import DECLINE, Condition
from acegraph.state.values.condition import Comparison

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from acegraph.state.playbook.decision_index import Bools

_CUTS, _ROWS, _MARKS = 60, 11, 5
"""How many cuts are tried, how many are rows of the table, how many are marked on the axis."""


@dataclass(frozen=True)
class Curve:
    """Frauds and good payments on which a rule fires, by the place of one of its cuts."""

    condition: Condition
    cut: int
    """The number of the comparison that is cut elsewhere."""
    cuts: list[float]
    """In order; the present one is among them."""
    frauds: list[Share]
    """Of all frauds, those on which the rule fires, for each cut."""
    honest: list[Share]

    @property
    def comparison(self) -> Comparison:
        """The comparison with its present cut."""
        return self.condition.comparisons[self.cut]

    @property
    def here(self) -> int:
        """The number of the present cut."""
        assert isinstance(self.comparison.value, int | float)
        return self.cuts.index(float(self.comparison.value))

    @property
    def caught(self) -> Scale:
        """The frauds, as a chart takes them."""
        return share_scale([share.value or 0.0 for share in self.frauds])

    @property
    def stopped(self) -> Scale:
        """The good payments, as a chart takes them."""
        return tenths_scale([share.value or 0.0 for share in self.honest], self.honest[0].whole)

    @property
    def marks(self) -> list[int]:
        """The numbers of some cuts, from the first to the last."""
        return [int(n) for n in np.linspace(0, len(self.cuts) - 1, min(_MARKS, len(self.cuts)))]

    @property
    def rows(self) -> list[int]:
        """The numbers of more cuts, with the present one."""
        places = np.linspace(0, len(self.cuts) - 1, min(_ROWS, len(self.cuts)))
        return sorted({int(n) for n in places} | {self.here})

    @property
    def hints(self) -> list[str]:
        """What each cut does, in counts."""
        test = f"{self.comparison.field} {self.comparison.op}"
        return [
            f"{test} {cut:g}: {frauds.part:,} of {frauds.whole:,} frauds, "
            f"{honest.part:,} of {honest.whole:,} good payments"
            for cut, frauds, honest in zip(self.cuts, self.frauds, self.honest, strict=True)
        ]

    def right(self, number: int) -> Share:
        """On how many of the cases on which it fires its verdict is the label."""
        frauds, honest = self.frauds[number].part, self.honest[number].part
        return Share(frauds if self.condition.verdict == DECLINE else honest, frauds + honest)

    def rule(self, number: int) -> str:
        """The rule with another cut, as a sentence."""
        value, comparisons = self.cuts[number], list(self.condition.comparisons)
        written = int(value) if value.is_integer() else value
        comparisons[self.cut] = replace(self.comparison, value=written)
        return replace(self.condition, comparisons=tuple(comparisons)).render()


def cut_curves(cases: Cases, condition: Condition) -> list[Curve]:
    """The curve of each number in a rule."""
    curves = (_cut_curve(cases, condition, cut) for cut in range(len(condition.comparisons)))
    return [curve for curve in curves if curve]


def _cut_curve(cases: Cases, condition: Condition, cut: int) -> Curve | None:
    comparison, others = condition.comparisons[cut], list(condition.comparisons)
    others.pop(cut)
    column = cases.table.column(comparison.field)
    if comparison.op not in ("<", "<=", ">", ">=") or column is None:
        return None
    held = np.ones(len(cases.table), bool)
    for other in others:
        held &= other.holds_over(cases.table)
    order = cases.order(comparison.field)
    order = order[held[order]]
    if not len(order):
        return None
    values, fraud, present = column.numbers[order], cases.fraud[order], comparison.value
    assert isinstance(present, int | float)
    cuts = sorted({float(f"{v:.4g}") for v in values[_evenly(fraud)]} | {float(present)})
    # How many cases lie before each cut, and how many of them are frauds.
    before = np.searchsorted(values, cuts, "left" if comparison.op in (">=", "<") else "right")
    frauds = np.append(0, np.cumsum(fraud))[before]
    if comparison.op in (">", ">="):
        before, frauds = len(order) - before, np.count_nonzero(fraud) - frauds
    all_honest = len(cases.table) - cases.all_frauds
    return Curve(
        condition,
        cut,
        cuts,
        [Share(int(n), cases.all_frauds) for n in frauds],
        [Share(int(n), all_honest) for n in before - frauds],
    )


def _evenly(fraud: Bools) -> NDArray[np.intp]:
    """Some of the cases in order, where all frauds together weigh as much as all good payments.

    So the places follow both kinds, however rare one of them is.
    """
    frauds, honest = np.cumsum(fraud), np.cumsum(~fraud)
    weight = frauds / max(frauds[-1], 1) + honest / max(honest[-1], 1)
    return np.searchsorted(weight, np.linspace(weight[0], weight[-1], _CUTS))
