"""The rulings of a ruleset over columns: the same sums and limits for all rows at once.

A row on which a doubt matters is decided by `Ruleset.decide`, together with those like it.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final, Protocol

import numpy as np
from numpy.typing import NDArray

from acegraph.nodes.evidence.stakes import amounts_over
from acegraph.nodes.rules.points import UNIT, log_odds_over
from acegraph.nodes.rules.ruleset import WHOLE, Ruleset, Ruling, Scored
from acegraph.state.values import (
    APPROVE,
    DECLINE,
    UNDECIDED,
    CaseTable,
    Column,
    Columns,
    Comparison,
    Scalar,
)

Mask = NDArray[np.bool_]
Points = NDArray[np.int32]
Codes = NDArray[np.int32]
Rows = NDArray[np.intp]
Facts = list[NDArray[np.bool_] | NDArray[np.int64]]
DECISIONS: Final = (APPROVE, DECLINE, UNDECIDED)


class Batch(Columns, Protocol):
    """Rows that were read: columns, and what is in doubt."""

    @property
    def doubts(self) -> Mapping[str, Codes]:
        """By field in doubt somewhere, the number of the reason by row; 0: no doubt."""
        ...

    def why(self, number: int) -> str:
        """The reason of a number."""
        ...


@dataclass(frozen=True)
class Rulings:
    """What was decided on the rows of a batch."""

    decisions: NDArray[np.int8]
    """The place of each decision in `DECISIONS`."""
    risks: NDArray[np.float64]
    """NaN where undecided."""
    fired: Mask
    """By rule that acts and by row, whether the rule holds; nowhere where undecided."""
    prior: Mask
    """The same of the rules of the prior that have a test."""
    undecided: Mapping[int, str]
    """By row without a decision, why."""
    points: Points
    """What was added up."""


@dataclass
class BatchTests:
    """The columns of a batch, and what was tested on them."""

    batch: Columns
    answers: dict[tuple[str, str, bool, Scalar], Mask] = field(default_factory=dict)

    def holds(self, test: Comparison) -> Mask:
        """Where a test holds."""
        if test.key not in self.answers:
            self.answers[test.key] = test.holds_over(self.batch)
        return self.answers[test.key]

    def all_hold(self, tests: Sequence[Comparison]) -> Mask:
        """Where all of them hold."""
        first, *others = map(self.holds, tests)
        for holds in others:
            first = first & holds
        return first


def declined_over(ruleset: Ruleset, cases: CaseTable) -> Mask:
    """Which labelled cases are declined as they stand, with what a model made of them."""
    points = np.rint(log_odds_over(cases, ruleset.rules) * UNIT)
    return np.asarray(points > ruleset.scale.limits(amounts_over(cases)))


class BatchDecider:
    """Decides batches of rows by a ruleset."""

    def __init__(self, ruleset: Ruleset) -> None:
        self._ruleset = ruleset
        self._amount = ruleset.scale.amount_name or ""

    def decide(self, batch: Batch) -> Rulings:
        """Decide all rows."""
        ruleset, tests = self._ruleset, BatchTests(batch)
        points = np.full(len(batch), ruleset.start, dtype=np.int32)
        prior = _added(points, ruleset.prior_scored, tests)
        fired = _added(points, ruleset.rules_scored, tests)[: len(ruleset.points_by_bullet)]
        column = batch.column(self._amount)
        amounts = np.full(len(batch), np.nan) if column is None else column.numbers
        limits = ruleset.scale.limits(amounts)
        decisions = (points > limits).astype(np.int8)
        sums, codes = np.unique(points, return_inverse=True)
        risks = np.array([ruleset.scale.risk(one) for one in sums.tolist()])[codes]
        undecided = dict[int, str]()
        doubts = _Doubts(ruleset, tests, batch, self._amount)
        is_open, facts = doubts.open_rows(limits, decisions)
        for rows, one in doubts.rulings(np.flatnonzero(is_open), facts):
            decisions[rows] = DECISIONS.index(one.decision)
            risks[rows] = np.nan if one.risk is None else one.risk
            if one.undecided:
                fired[:, rows] = prior[:, rows] = False
                undecided |= dict.fromkeys(rows.tolist(), one.undecided)
            else:
                points[rows] = one.points
        return Rulings(decisions, risks, fired, prior, undecided, points)


class _Doubts:
    """What is in doubt in a batch, or not known at all."""

    def __init__(self, ruleset: Ruleset, tests: BatchTests, batch: Batch, amount: str) -> None:
        self._ruleset, self._tests, self._batch, self._amount = ruleset, tests, batch, amount
        self._codes = {n: codes for n, codes in batch.doubts.items() if n in ruleset.that_matter}
        named = sorted({*ruleset.tested, amount})
        self._columns = {name: found for name in named if (found := batch.column(name))}

    def open_rows(
        self, limits: NDArray[np.int64], decisions: NDArray[np.int8]
    ) -> tuple[Mask, Facts]:
        """Decide the rows that are decided alike whatever is in doubt; gives which ones are not,
        and what tells those apart besides their doubts.
        """
        unknown = np.ones(len(limits), dtype=bool)
        for name, column in self._columns.items():
            unknown &= ~column.known() | self._in_doubt(name)
        is_open, facts = unknown | self._in_doubt(WHOLE), [unknown]
        doubted = self._in_doubt(*self._codes)
        if not doubted.any():
            return is_open, facts
        expects, scored = self._ruleset.undecided == "expect", self._ruleset.scored
        sure = np.full(len(limits), self._ruleset.start, dtype=np.int32)
        opened = np.zeros((len(scored), len(limits)), dtype=bool)
        for place, one in enumerate(scored):
            may, opened[place] = self._may_hold(one)
            sure += np.int32(one.points) * (may & ~opened[place])
            facts.append(may if expects else opened[place])
        least, most = self._bounds(opened)
        least, most = sure + least, sure + most
        low, high = limits, limits
        if self._ruleset.scale.costs:
            lowest, highest = self._ruleset.scale.limits_of_all
            in_doubt = self._in_doubt(self._amount)
            low, high = np.where(in_doubt, lowest, limits), np.where(in_doubt, highest, limits)
        decisions[doubted] = (least > high)[doubted]
        is_open |= doubted & (least <= high) & (most > low)
        return is_open, [*facts, limits] if expects else facts

    def _bounds(self, opened: Mask) -> tuple[Points, Points]:
        """The least and the most points by row of rules that depend on what is in doubt, by rule
        and row: of one field all values are asked; of several, each rule is taken by itself.
        """
        points = np.array([one.points for one in self._ruleset.scored], dtype=np.int32)
        least = most = np.zeros(opened.shape[1], np.int32)
        for places in self._ruleset.exclusive:
            sums = points[places, None] * opened[places]
            least, most = least + sums.min(axis=0, initial=0), most + sums.max(axis=0, initial=0)
        is_alone = sum((codes > 0).astype(np.int32) for codes in self._codes.values()) == 1
        for name, ways in self._ruleset.ways.items():
            rows = np.flatnonzero(is_alone & self._in_doubt(name))
            if not ways or not len(rows):
                continue
            counted = [np.isin(np.arange(len(points)), list(way)) * points for way in ways]
            sums = np.array(counted, dtype=np.int32) @ opened[:, rows]
            least[rows], most[rows] = sums.min(axis=0), sums.max(axis=0)
        return least, most

    def rulings(self, which: Rows, facts: Facts) -> Iterator[tuple[Rows, Ruling]]:
        """The rulings on some rows: those with the same facts and the same doubts have one."""
        if not len(which):
            return
        alike = _numbered([one[which] for one in (*facts, *self._codes.values())])
        order = np.argsort(alike, kind="stable")
        for group in np.split(which[order], np.flatnonzero(np.diff(alike[order])) + 1):
            row = int(group[0])
            why = {name: int(codes[row]) for name, codes in self._codes.items()}
            fields = {name: value_of(column, row) for name, column in self._columns.items()}
            doubts = {name: self._batch.why(number) for name, number in why.items() if number}
            yield group, self._ruleset.decide(fields, doubts)

    def _in_doubt(self, *names: str) -> Mask:
        """Where one of the fields is in doubt."""
        doubted = np.zeros(len(self._batch), dtype=bool)
        for name in names:
            if (codes := self._codes.get(name)) is not None:
                doubted |= codes > 0
        return doubted

    def _may_hold(self, one: Scored) -> tuple[Mask, Mask]:
        """Where a rule holds if fields in doubt have some value, and where that depends on them."""
        may = np.ones(len(self._batch), dtype=bool)
        for test in one.tests:
            may &= self._tests.holds(test) | self._in_doubt(test.field)
        return may, may & self._in_doubt(*one.fields)


def value_of(column: Column, row: int) -> Scalar:
    """What a column holds in one row."""
    if (code := int(column.codes[row])) >= 0:
        return column.values[code]
    number = float(column.numbers[row])
    return None if number != number else number


def _numbered(facts: Sequence[NDArray[np.generic]]) -> NDArray[np.int64]:
    """By row a number, which rows share that are alike in everything."""
    numbers = np.zeros(len(facts[0]), dtype=np.int64)
    for fact in facts:
        codes = np.unique(fact, return_inverse=True)[1]
        if codes.any():
            numbers = np.unique(numbers * (codes.max() + 1) + codes, return_inverse=True)[1]
    return numbers


def _added(points: Points, rules: Sequence[Scored], tests: BatchTests) -> Mask:
    """Add the points of rules where they hold, and say where that is."""
    fired = np.empty((len(rules), len(points)), dtype=bool)
    for one, holds in zip(rules, fired, strict=True):
        holds[:] = tests.all_hold(one.tests)
        if holds.any():
            points += np.int32(one.points) * holds
    return fired
