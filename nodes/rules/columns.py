"""The rulings of a ruleset over columns: the same sums and limits for all rows at once.

Rows with a doubt are decided by `Ruleset.decide`, those of which the same is true together.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final, Protocol

import numpy as np
from numpy.typing import NDArray

from acegraph.nodes.evidence.stakes import amounts_over
from acegraph.nodes.rules.points import UNIT, log_odds_over
from acegraph.nodes.rules.ruleset import Ruleset, Ruling, Scored
from acegraph.state import APPROVE, DECLINE
from acegraph.state.values.cases import CaseTable, Column, Columns
from acegraph.state.values.condition import Comparison
from acegraph.state.values.transaction import Scalar
from acegraph.state.values.verdict import UNDECIDED

Mask = NDArray[np.bool_]
Points = NDArray[np.int32]
Codes = NDArray[np.int32]
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
        self._fields = sorted({*ruleset.tested, self._amount})
        """What decides, besides the doubts."""

    def decide(self, batch: Batch) -> Rulings:
        """Decide all rows."""
        ruleset, tests = self._ruleset, BatchTests(batch)
        points = np.full(len(batch), ruleset.start, dtype=np.int32)
        prior = _added(points, ruleset.prior_scored, tests)
        fired = _added(points, ruleset.rules_scored, tests)
        column = batch.column(self._amount)
        amounts = np.full(len(batch), np.nan) if column is None else column.numbers
        limits = ruleset.scale.limits(amounts)
        decisions = (points > limits).astype(np.int8)
        sums, codes = np.unique(points, return_inverse=True)
        risks = np.array([ruleset.scale.risk(one) for one in sums.tolist()])[codes]
        undecided = dict[int, str]()
        for rows, one in self._in_doubt(batch, [*tests.answers.values(), limits]):
            decisions[rows] = DECISIONS.index(one.decision)
            risks[rows] = np.nan if one.risk is None else one.risk
            if one.undecided:
                fired[:, rows] = prior[:, rows] = False
                undecided |= dict.fromkeys(rows.tolist(), one.undecided)
        return Rulings(decisions, risks, fired, prior, undecided)

    def _in_doubt(
        self, batch: Batch, facts: list[NDArray[np.generic]]
    ) -> Iterator[tuple[NDArray[np.intp], Ruling]]:
        """The rows in doubt, or of which nothing is known, each with its ruling: rows with the same
        `facts` and the same doubts have one.
        """
        doubts = {n: codes for n, codes in batch.doubts.items() if n in self._ruleset.that_matter}
        columns = {name: found for name in self._fields if (found := batch.column(name))}
        known = [column.known() for column in columns.values()]
        is_open = ~np.logical_or.reduce(known) if known else np.ones(len(batch), dtype=bool)
        for codes in doubts.values():
            is_open |= codes > 0
        which = np.flatnonzero(is_open)
        if not len(which):
            return
        alike = _numbered([one[which] for one in (*facts, *known, *doubts.values())])
        order = np.argsort(alike, kind="stable")
        for group in np.split(which[order], np.flatnonzero(np.diff(alike[order])) + 1):
            row = int(group[0])
            why = {name: int(codes[row]) for name, codes in doubts.items()}
            yield (
                group,
                self._ruleset.decide(
                    {name: value_of(column, row) for name, column in columns.items()},
                    {name: batch.why(number) for name, number in why.items() if number},
                ),
            )


def value_of(column: Column, row: int) -> Scalar:
    """What a column holds in one row."""
    if (code := int(column.codes[row])) >= 0:
        return column.values[code]
    number = float(column.numbers[row])
    return None if number != number else number


def _numbered(facts: Sequence[NDArray[np.generic]]) -> NDArray[np.intp]:
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
