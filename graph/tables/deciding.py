"""Decide the rows of a batch: the sums, limits and doubts of the analyst, over columns.

nodes/agent/analyst.py and nodes/agent/fail_closed.py do the same for one payment.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

from acegraph.graph.tables.reading import Mask, Rows
from acegraph.graph.tables.ruleset import RowDecision, Ruleset
from acegraph.nodes.agent.fail_closed import telling_fields
from acegraph.nodes.rules.points import (
    SCORECARD,
    START,
    names_of,
    points_of,
)
from acegraph.nodes.text.currencies import amount_fields
from acegraph.state import APPROVE, DECLINE, Bullet
from acegraph.state.values.condition import Comparison
from acegraph.state.values.memos import is_free_text
from acegraph.state.values.verdict import UNDECIDED

Points = NDArray[np.int32]
DECISIONS: Final = (APPROVE, DECLINE, UNDECIDED)


@dataclass(frozen=True)
class Decisions:
    """What was decided on the rows of a batch."""

    decisions: NDArray[np.int8]
    """The place of each decision in `DECISIONS`."""
    risks: NDArray[np.float64]
    """NaN where undecided."""
    fired: Mask
    """By rule that acts and by row, whether the rule holds; nowhere where undecided."""
    lines: Mask
    """The same of the lines of the scorecard."""
    undecided: Mapping[int, str]
    """By row without a decision, why."""

    @classmethod
    def of_rows(cls, decided: Sequence[RowDecision], ruleset: Ruleset) -> Decisions:
        """Decisions that were made row by row."""
        columns = {b.id: i for i, b in enumerate(ruleset.rules)}
        fired = np.zeros((len(columns), len(decided)), dtype=bool)
        lines = np.zeros((len(SCORECARD), len(decided)), dtype=bool)
        for row, one in enumerate(decided):
            fired[[columns[b] for b in one.bullets], row] = True
            lines[list(one.lines), row] = True
        return cls(
            np.array([DECISIONS.index(one.decision) for one in decided], dtype=np.int8),
            np.array([np.nan if one.risk is None else one.risk for one in decided]),
            fired,
            lines,
            {row: one.undecided for row, one in enumerate(decided) if one.undecided},
        )


class BatchDecider:
    """Decides batches of rows by a ruleset."""

    def __init__(self, ruleset: Ruleset) -> None:
        self._ruleset = ruleset
        self._points = np.array([points_of(b) for b in ruleset.rules], dtype=np.int32)
        points = [*self._points.tolist(), *(line.points for line in SCORECARD)]
        self._least = START + sum(p for p in points if p < 0)
        self._risks = np.full(START + sum(p for p in points if p > 0) - self._least + 1, np.nan)
        """The risks by the points above the least, as far as they occurred."""

    def decide(self, rows: Rows, read_row: Callable[[int], RowDecision]) -> Decisions:
        """Decide all rows; `read_row` decides a single one, for the reason of its doubts."""
        ruleset = self._ruleset
        lines = np.empty((len(SCORECARD), len(rows)), dtype=bool)
        points = np.full(len(rows), START, dtype=np.int32)
        for line, holds in zip(SCORECARD, lines, strict=True):
            holds[:] = _line_holds(line.test, rows)
            if holds.any():
                points += np.int32(line.points) * holds
        fired = np.empty((len(ruleset.rules), len(rows)), dtype=bool)
        for bullet, holds, its_points in zip(ruleset.rules, fired, self._points, strict=True):
            holds[:] = _holds(bullet, rows)
            points += its_points * holds
        limits = self._limits(rows)
        declined = points > limits
        unknown = self._unknown(rows)
        for row in np.flatnonzero(unknown & declined):  # a row without any value is not decided
            declined[row] = read_row(int(row)).decision == DECLINE
        is_open = self._open(rows, ~declined, limits, unknown)
        decisions = declined.astype(np.int8)
        decisions[is_open] = DECISIONS.index(UNDECIDED)
        risks = self._risks_of(points)
        risks[is_open], fired[:, is_open], lines[:, is_open] = np.nan, False, False
        undecided = self._reasons(rows, np.flatnonzero(is_open), read_row)
        return Decisions(decisions, risks, fired, lines, undecided)

    def _limits(self, rows: Rows) -> NDArray[np.int64]:
        """The points above which each row is declined."""
        scale, amounts = self._ruleset.scale, np.full(len(rows), np.nan)
        for name in reversed(amount_fields(tuple(rows.fields), scale.amount_name)):
            numbers = rows.fields[name].column.numbers
            amounts = np.where(np.isnan(numbers), amounts, numbers)
        return scale.limits(amounts)

    def _risks_of(self, points: Points) -> NDArray[np.float64]:
        """The risks: there are few different sums, and each is computed once."""
        places = points - np.int32(self._least)
        risks = self._risks[places]
        if (new := np.isnan(risks)).any():
            for place in np.unique(places[new]).tolist():
                self._risks[place] = self._ruleset.scale.risk(place + self._least)
            risks = self._risks[places]
        return np.asarray(risks)

    def _open(self, rows: Rows, approved: Mask, limits: NDArray[np.int64], unknown: Mask) -> Mask:
        """Which of the approved rows are left undecided: something in doubt could decline them."""
        doubted, scale = rows.any_doubt() & approved & ~unknown, self._ruleset.scale
        if doubted.any() and not scale.can_decline:
            doubted &= _any_in_doubt(telling_fields(rows.doubts, self._ruleset.active, scale), rows)
        elif doubted.any():
            lowest = limits
            if scale.costs:
                in_doubt = _any_in_doubt(amount_fields(tuple(rows.doubts), scale.amount_name), rows)
                lowest = np.where(in_doubt, np.minimum(limits, scale.lowest_limit), limits)
            doubted &= self._most_points(rows) > lowest
        return doubted | (approved & unknown)

    def _unknown(self, rows: Rows) -> Mask:
        """The rows that have neither an amount nor a value in any field that the playbook knows."""
        ruleset, unknown = self._ruleset, np.ones(len(rows), dtype=bool)
        tested = {name for b in ruleset.active if b.condition for name in b.condition.fields}
        for name in rows.fields:
            if unknown.any() and (
                name in ruleset.contract.fields
                or amount_fields((name,), ruleset.contract.form.amount)
                or (name in tested and not is_free_text(name))
            ):
                unknown &= ~rows.known(name)
        return unknown

    def _most_points(self, rows: Rows) -> Points:
        """The most points that values for the fields in doubt could give."""
        points = np.full(len(rows), START, dtype=np.int32)
        for line in SCORECARD:
            points += _most_of_line(line.test, line.points, rows)
        for bullet in self._ruleset.active:
            worth = points_of(bullet)
            if worth > 0:
                points += np.int32(worth) * _may_hold(bullet, rows)
        return points

    def _reasons(
        self, rows: Rows, which: NDArray[np.intp], read_row: Callable[[int], RowDecision]
    ) -> dict[int, str]:
        """Why rows are undecided; rows with the same doubts share the reason of one of them."""
        if not len(which):
            return {}
        conditions = [b for b in self._ruleset.active if b.condition and points_of(b) > 0]
        # With whether there is a value: the order of the doubts in the reason depends on it.
        parts = [2 * codes[which] + rows.known(n)[which] for n, codes in rows.doubts.items()]
        parts += [_may_hold(b, rows)[which].astype(np.int32) for b in conditions]
        parts.append(self._unknown(rows)[which].astype(np.int32))
        _, first, group = np.unique(np.stack(parts), axis=1, return_index=True, return_inverse=True)
        texts = [read_row(int(which[row])).undecided or "" for row in first]
        return {int(row): texts[i] for row, i in zip(which, group.ravel(), strict=True)}


def _holds(bullet: Bullet, rows: Rows) -> Mask:
    """Where a rule holds."""
    assert bullet.condition is not None
    first, *others = (rows.holds(test) for test in bullet.condition.comparisons)
    for holds in others:
        first = first & holds
    return first


def _any_in_doubt(names: Iterable[str], rows: Rows) -> Mask:
    """Where one of the fields is in doubt."""
    in_doubt = np.zeros(len(rows), dtype=bool)
    for name in names:
        in_doubt |= rows.in_doubt(name)
    return in_doubt


def _may_hold(bullet: Bullet, rows: Rows) -> Mask:
    """Where a rule holds, or would with other values for the fields in doubt."""
    assert bullet.condition is not None
    may = np.ones(len(rows), dtype=bool)
    for test in bullet.condition.comparisons:
        may &= rows.holds(test) | rows.in_doubt(test.field)
    return may


def _line_holds(test: Comparison, rows: Rows) -> Mask | bool:
    """Where a test of the scorecard holds, under the first of its names that a row has."""
    holds: Mask | bool = False
    left: Mask | bool = True
    for name in names_of(test):
        if name in rows.given:
            return holds | (left & rows.holds(Comparison(name, test.op, test.value)))
        if name in rows.fields:  # a part of a date: only the rows whose date is read have it
            holds = holds | (left & rows.holds(Comparison(name, test.op, test.value)))
            left = left & ~rows.known(name)
    return holds


def _most_of_line(test: Comparison, worth: int, rows: Rows) -> Points:
    """The points of a line of the scorecard, at the worst where its field is in doubt."""
    points, left = np.zeros(len(rows), dtype=np.int32), np.ones(len(rows), dtype=bool)
    for name in names_of(test):
        in_doubt = rows.in_doubt(name) & left
        points[in_doubt] = max(worth, 0)
        has = rows.known(name) if name not in rows.given else np.ones(len(rows), dtype=bool)
        certain = left & has & ~in_doubt
        if name in rows.fields:
            points[certain & rows.holds(Comparison(name, test.op, test.value))] = worth
        left &= ~(in_doubt | has)
    return points
