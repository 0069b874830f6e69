"""The figures of the pages: rates with intervals, their course, and what each rule does."""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Final

import numpy as np
from numpy.typing import NDArray

from acegraph.graph.metrics.intervals import NO_ESTIMATE, Estimate, Share, of_mean
from acegraph.graph.metrics.records import Record
from acegraph.state import DECLINE, Bullet, Condition
from acegraph.state.playbook.decision_index import FRAUD, HONEST, UNLABELLED, DecisionColumns
from acegraph.state.values.cases import CaseTable
from acegraph.state.values.costs import CostMatrix

if TYPE_CHECKING:
    from acegraph.state.playbook.decision_index import Bools, Floats

_DAY: Final = 86_400.0
_PARTS: Final = 24
"""Into how many parts the course of a figure is divided at most."""


@dataclass(frozen=True)
class Outcome:
    """What labelled decisions came to."""

    caught: Share
    """Of the frauds, those that were declined."""
    stopped: Share
    """Of the good payments, those that were declined."""
    cost: Estimate
    """What mistakes cost per 1,000 payments, by the cost model."""
    without: float
    """The same if everything had been approved."""

    @property
    def stopped_per_caught(self) -> Estimate:
        """How many good customers are declined for each fraud that is caught."""
        caught, stopped = self.caught.part, self.stopped.part
        if not caught:
            return NO_ESTIMATE
        low, high = Share(caught, caught + stopped).interval
        return Estimate(stopped / caught, (1 - high) / high, (1 - low) / low)

    @property
    def balance(self) -> float | None:
        """The mean of the frauds declined and the good payments approved, as shares."""
        if self.caught.value is None or self.stopped.value is None:
            return None
        return (self.caught.value + 1 - self.stopped.value) / 2


class Outcomes:
    """The labelled decisions, with what each of them cost."""

    def __init__(self, columns: DecisionColumns) -> None:
        self._fraud, self._honest = columns.label == FRAUD, columns.label == HONEST
        self._caught = self._fraud & columns.declined
        self._stopped = self._honest & columns.declined
        stakes, costs = np.where(np.isnan(columns.amount), 1.0, columns.amount), CostMatrix()
        nothing = np.zeros(len(columns), bool)
        self._paid = 1000 * costs.of(self._fraud, columns.declined, stakes)
        self._unguarded = 1000 * costs.of(self._fraud, nothing, stakes)

    def of(self, rows: slice = slice(None)) -> Outcome:
        """What some of the decisions came to."""
        known = self._fraud[rows] | self._honest[rows]
        cost = of_mean(self._paid[rows][known])
        cost = replace(cost, low=max(cost.low, 0.0))
        counts = (self._caught, self._fraud, self._stopped, self._honest)
        caught, frauds, stopped, honest = (int(np.count_nonzero(one[rows])) for one in counts)
        without = of_mean(self._unguarded[rows][known]).mean
        return Outcome(Share(caught, frauds), Share(stopped, honest), cost, without)


@dataclass(frozen=True)
class Labels:
    """How many decisions have a label, and why others have none."""

    decided: int
    labelled: int
    blocked: int
    """Without one because they were declined: no chargeback can come."""
    pending: int


def labels(columns: DecisionColumns) -> Labels:
    """Count the labels as `state/maintenance/label_coverage.py` does, from the columns."""
    lacking = columns.counted & (columns.label == UNLABELLED)
    blocked = lacking & columns.declined & ~columns.let_through
    decided, missing = int(columns.counted.sum()), int(lacking.sum())
    return Labels(decided, decided - missing, int(blocked.sum()), missing - int(blocked.sum()))


@dataclass(frozen=True)
class Course:
    """The decisions in parts, one after another."""

    parts: list[slice]
    starts: list[float]
    """When each part begins, in seconds since 1970."""
    is_by_time: bool
    """Else each part has as many labelled decisions as the others."""


def course(columns: DecisionColumns) -> Course:
    """All decisions in parts of equal time; those of some days or less in parts of equal size."""
    size, times = len(columns), columns.seconds
    if not size:
        return Course([], [], is_by_time=False)
    span = float(times[-1] - times[0])
    is_by_time = span >= 3 * _DAY
    if is_by_time:
        step = max(_DAY, math.ceil(span / _DAY / _PARTS) * _DAY)
        starts = np.arange(math.floor(times[0] / _DAY) * _DAY, times[-1] + 1, step)
        places = [0, *np.searchsorted(times, starts[1:]).tolist(), size]
    else:
        known = np.flatnonzero(columns.label != UNLABELLED)
        known = known if len(known) else np.arange(size)
        count = min(_PARTS, max(len(known) // 20, 1))
        inner = known[np.linspace(0, len(known), count + 1).astype(int)[1:-1]]
        places = [0, *inner.tolist(), size]
        starts = times[places[:-1]]
    parts = [slice(first, last) for first, last in itertools.pairwise(places)]
    return Course(parts, [float(start) for start in starts], is_by_time)


def hits(columns: DecisionColumns, bullet: Bullet, parts: int = _PARTS) -> list[int]:
    """On how many decisions a bullet fired, in each part of all the decisions."""
    if not len(columns):
        return []
    fired = columns.rows_of(bullet.number, credited=True)
    return [int(n) for n in np.histogram(fired, bins=parts, range=(0, len(columns)))[0]]


def last_right(columns: DecisionColumns, bullet: Bullet) -> int | None:
    """The newest decision on which a bullet fired and was right, by its number."""
    fired = columns.rows_of(bullet.number, credited=True)
    wanted = FRAUD if bullet.verdict == DECLINE else HONEST
    right = fired[columns.label[fired] == wanted]
    return int(right[-1]) if len(right) else None


class Cases:
    """Labelled cases, with what is read of them again and again."""

    def __init__(self, table: CaseTable) -> None:
        self.table, self.fraud, self.honest = table, table.fraud, ~table.fraud
        self.all_frauds = int(self.fraud.sum())
        name = table.amount_name
        column = table.column(name) if name else None
        self.amounts = column.numbers if column else np.full(len(table), np.nan)
        self._orders: dict[str, NDArray[np.intp]] = {}

    def tried(self, condition: Condition, fired: Bools, says_so: Bools) -> Record:
        """What a rule does that fires on these cases; `says_so`: where the playbook says it too."""
        record = Record(condition.render(), condition.verdict)
        record.add(fired, self.fraud, self.honest, self.amounts, says_so)
        return record

    def newest(self, rows: Bools, most: int) -> list[tuple[str, dict[str, object]]]:
        """The newest of some of the cases: their ids and fields."""
        found = [self.table[int(row)] for row in np.flatnonzero(rows)[-most:][::-1]]
        return [(case.id, dict(case.fields)) for case in found]

    def order(self, field: str) -> NDArray[np.intp]:
        """The cases that know a number of a field, by this number."""
        if field not in self._orders:
            column = self.table.column(field)
            assert column is not None
            known = np.flatnonzero(~np.isnan(column.numbers))
            self._orders[field] = known[np.argsort(column.numbers[known], kind="stable")]
        return self._orders[field]


def overlap(table: CaseTable, bullet: Bullet, others: Sequence[Bullet]) -> list[tuple[Bullet, int]]:
    """The other active rules that fire on the same cases, with the number of these cases."""
    if bullet.condition is None:
        return []
    fired = bullet.condition.holds_over(table)
    shared = [
        (other, int(np.count_nonzero(fired & other.condition.holds_over(table))))
        for other in others
        if other.condition and other.id != bullet.id and other.status == "active"
    ]
    return sorted((one for one in shared if one[1]), key=lambda one: -one[1])


def risk_of(columns: DecisionColumns, row: int) -> float | None:
    """The risk of a decision."""
    risk: Floats = columns.risk
    return None if math.isnan(risk[row]) else float(risk[row])
