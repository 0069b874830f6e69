"""The rulings of a ruleset over columns: the same sums, limits and doubts for all rows at once."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final, Protocol

import numpy as np
from numpy.typing import NDArray

from acegraph.nodes.evidence.stakes import amounts_over
from acegraph.nodes.rules.points import UNIT, log_odds_over
from acegraph.nodes.rules.ruleset import NOTHING_KNOWN, WHOLE, Ruleset, Ruling, Scored
from acegraph.nodes.rules.words import could_not_be_tested, not_understood
from acegraph.state import APPROVE, DECLINE
from acegraph.state.values.cases import CaseTable, Columns
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

    @classmethod
    def of_rows(cls, decided: Sequence[Ruling], ruleset: Ruleset) -> Rulings:
        """Rulings that were made row by row."""
        places = {bullet.id: i for i, (bullet, _) in enumerate(ruleset.points_by_bullet)}
        fired = np.zeros((len(places), len(decided)), dtype=bool)
        prior = np.zeros((len(ruleset.prior_scored), len(decided)), dtype=bool)
        for row, one in enumerate(decided):
            fired[[places[b.id] for b in one.fired], row] = True
            prior[list(one.prior), row] = True
        return cls(
            np.array([DECISIONS.index(one.decision) for one in decided], dtype=np.int8),
            np.array([np.nan if one.risk is None else one.risk for one in decided]),
            fired,
            prior,
            {row: one.undecided for row, one in enumerate(decided) if one.undecided},
        )


@dataclass
class BatchTests:
    """The columns of a batch, and what was tested on them."""

    batch: Columns
    doubts: Mapping[str, Codes] = field(default_factory=dict)
    """The doubts that matter."""
    answers: dict[tuple[str, str, bool, Scalar], Mask] = field(default_factory=dict)

    def __len__(self) -> int:
        return len(self.batch)

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

    def in_doubt(self, *names: str | None) -> Mask:
        """Where one of the fields is in doubt."""
        doubted = np.zeros(len(self), dtype=bool)
        for name in names:
            if (codes := self.doubts.get(name or "")) is not None:
                doubted |= codes > 0
        return doubted

    def that_may_hold(self, rules: Iterable[Scored]) -> Iterator[tuple[Scored, Mask, Mask]]:
        """By rule where it holds if fields in doubt have some value, and where they tell."""
        for one in rules:
            may, is_open = np.ones(len(self), dtype=bool), np.zeros(len(self), dtype=bool)
            for test in one.tests:
                doubted = self.in_doubt(test.field)
                may &= self.holds(test) | doubted
                is_open |= doubted
            yield one, may, may & is_open


def declined_over(ruleset: Ruleset, cases: CaseTable) -> Mask:
    """Which labelled cases are declined as they stand, with what a model made of them."""
    points = np.rint(log_odds_over(cases, ruleset.rules) * UNIT)
    return np.asarray(points > ruleset.scale.limits(amounts_over(cases)))


class BatchDecider:
    """Decides batches of rows by a ruleset."""

    def __init__(self, ruleset: Ruleset) -> None:
        self._ruleset = ruleset
        points = [one.points for one in ruleset.scored]
        self._least = ruleset.start + sum(p for p in points if p < 0)
        self._risks = np.full(
            ruleset.start + sum(p for p in points if p > 0) - self._least + 1, np.nan
        )
        """The risks by the points above the least, as far as they occurred."""

    def decide(self, batch: Batch) -> Rulings:
        """Decide all rows."""
        ruleset = self._ruleset
        doubts = {n: codes for n, codes in batch.doubts.items() if n in ruleset.that_matter}
        tests = BatchTests(batch, doubts)
        points = np.full(len(batch), ruleset.start, dtype=np.int32)
        prior = _added(points, ruleset.prior_scored, tests)
        fired = _added(points, ruleset.rules_scored, tests)
        amounts = self._amounts(batch)
        limits = ruleset.scale.limits(amounts)
        decisions = (points > limits).astype(np.int8)
        unknown = self._unknown(tests, amounts)
        is_open = unknown | tests.in_doubt(WHOLE)
        if tests.in_doubt(*doubts).any():
            is_open |= self._settle(tests, points, limits, decisions)
        decisions[is_open] = DECISIONS.index(UNDECIDED)
        risks = self._risks_of(points)
        risks[is_open], fired[:, is_open], prior[:, is_open] = np.nan, False, False
        undecided = self._reasons(tests, np.flatnonzero(is_open), unknown, batch.why)
        return Rulings(decisions, risks, fired, prior, undecided)

    def _settle(
        self,
        tests: BatchTests,
        points: Points,
        limits: NDArray[np.int64],
        decisions: NDArray[np.int8],
    ) -> Mask:
        """Decide the rows with doubts, and say which of them stay open."""
        ruleset = self._ruleset
        low, high = limits, limits
        amount = ruleset.scale.amount_name
        if ruleset.scale.costs and amount in tests.doubts:
            lowest, highest = ruleset.scale.limits_of_all
            in_doubt = tests.in_doubt(amount)
            low, high = np.where(in_doubt, lowest, limits), np.where(in_doubt, highest, limits)
        least = np.full(len(tests), ruleset.start, dtype=np.int32)
        most = least.copy()
        for one, may, depends in tests.that_may_hold(ruleset.scored):
            least += np.int32(one.points) * (may & ~depends if one.points > 0 else may)
            most += np.int32(one.points) * (may & ~depends if one.points < 0 else may)
        is_open = (least <= high) & (most > low)
        decisions[:] = least > high
        if ruleset.undecided == "expect" and is_open.any():
            points[is_open] = self._expected(tests)[is_open]
            decisions[is_open] = (points > limits)[is_open]
            is_open = np.zeros(len(tests), dtype=bool)
        return is_open

    def _expected(self, tests: BatchTests) -> Points:
        """The points that the labelled cases which have the fields in doubt let expect."""
        points = np.full(len(tests), float(self._ruleset.start))
        for one, may, _ in tests.that_may_hold(self._ruleset.scored):
            share = np.ones(len(tests))
            for test in one.tests:
                in_doubt = tests.in_doubt(test.field)
                share = np.where(in_doubt, share * self._ruleset.shares.get(test.key, 0.0), share)
            points += np.where(may, one.points * share, 0.0)
        return np.floor(points + 0.5).astype(np.int32)

    def _amounts(self, batch: Batch) -> NDArray[np.float64]:
        """The amounts; NaN stands for none."""
        column = batch.column(self._ruleset.scale.amount_name or "")
        return np.full(len(batch), np.nan) if column is None else column.numbers

    def _risks_of(self, points: Points) -> NDArray[np.float64]:
        """The risks: there are few different sums, and each is computed once."""
        places = points - np.int32(self._least)
        risks = self._risks[places]
        if (new := np.isnan(risks)).any():
            for place in np.unique(places[new]).tolist():
                self._risks[place] = self._ruleset.scale.risk(place + self._least)
            risks = self._risks[places]
        return np.asarray(risks)

    def _unknown(self, tests: BatchTests, amounts: NDArray[np.float64]) -> Mask:
        """The rows that have for certain neither an amount nor a field that a rule tests."""
        unknown = np.isnan(amounts) | tests.in_doubt(self._ruleset.scale.amount_name)
        for name in self._ruleset.tested if unknown.any() else ():
            if (column := tests.batch.column(name)) is not None:
                unknown &= ~column.known() | tests.in_doubt(name)
        return np.asarray(unknown)

    def _reasons(
        self,
        tests: BatchTests,
        which: NDArray[np.intp],
        unknown: Mask,
        why: Callable[[int], str],
    ) -> dict[int, str]:
        """Why rows are undecided; rows with the same doubts share a reason."""
        if not len(which):
            return {}
        by_rule = [
            (one.bullet, depends[which])
            for one, _, depends in tests.that_may_hold(self._ruleset.rules_scored)
            if one.bullet and depends[which].any()
        ]
        parts = [codes[which] for codes in tests.doubts.values()]
        parts += [is_open.astype(np.int32) for _, is_open in by_rule]
        parts.append(unknown[which].astype(np.int32))
        _, first, group = np.unique(np.stack(parts), axis=1, return_index=True, return_inverse=True)
        texts = []
        for row in first.tolist():
            doubts = {
                name: why(int(codes[which[row]]))
                for name, codes in tests.doubts.items()
                if codes[which[row]]
            }
            if unknown[which[row]] and WHOLE not in doubts:
                doubts[WHOLE] = NOTHING_KNOWN
            open_rules = (bullet for bullet, is_open in by_rule if is_open[row])
            untested = "" if WHOLE in doubts else could_not_be_tested(open_rules)
            texts.append(not_understood(doubts) + untested)
        return {int(row): texts[i] for row, i in zip(which, group.ravel(), strict=True)}


def _added(points: Points, rules: Sequence[Scored], tests: BatchTests) -> Mask:
    """Add the points of rules where they hold, and say where that is."""
    fired = np.empty((len(rules), len(points)), dtype=bool)
    for one, holds in zip(rules, fired, strict=True):
        holds[:] = tests.all_hold(one.tests)
        if holds.any():
            points += np.int32(one.points) * holds
    return fired
