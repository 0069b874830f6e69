"""Sets of rules of every shape for the labelled cases that are searched.

rule_ensemble.py finds the rules, shortening.py leaves some out; held_out.py tells which shape to
take.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Final

import numpy as np

from acegraph.nodes.curator.refinement.comparisons import Comparisons
from acegraph.nodes.curator.refinement.rule_ensemble import (
    Conjunction,
    fit_sparsely,
    found_rules,
)
from acegraph.nodes.curator.refinement.shortening import (
    LENGTHS,
    FittedRules,
    agreement,
    shorter_and_shorter,
)
from acegraph.nodes.evidence.columns.entities import case_shares
from acegraph.nodes.evidence.residuals import Mask, Numbers, best_shift
from acegraph.nodes.evidence.stakes import stakes_over
from acegraph.nodes.rules.points import start_over
from acegraph.state import Condition
from acegraph.state.values.cases import CaseTable
from acegraph.state.values.costs import CostMatrix

STANDS: Final = 1.5
"""What the worth of a standing rule is multiplied by: of two that say the same it stays."""
_SAME: Final = 0.99
_OPPOSITES: Final = {"<": ">=", ">=": "<", "is": "is not", "is not": "is"}


@dataclass(frozen=True)
class Shape:
    """What a set of rules may look like."""

    depth: int
    """How many comparisons a rule may have."""
    length: int
    """How many rules it has."""


@dataclass(frozen=True)
class SearchedRows:
    """The searched cases: labels, log-odds of the scorecard, and how much of a case each counts."""

    tests: Comparisons
    fraud: Mask
    start: Numbers
    shares: Numbers
    stand_for: Numbers
    """How many cases each stands for, whatever is at stake."""
    standing: Mask
    """Which of the standing rules fires where."""
    pool: Mask
    """The same for those that may be part of a set."""

    @classmethod
    def of(
        cls,
        table: CaseTable,
        standing: Sequence[Condition],
        pool: Sequence[Condition],
        costs: CostMatrix | None,
        most: int,
    ) -> "SearchedRows":
        """Of a frequent label a sample is searched, whose cases count for the others."""
        rng, fraud = np.random.default_rng(len(table)), table.fraud
        shares = case_shares(table).copy()
        chosen = np.zeros(len(table), bool)
        for label in (fraud, ~fraud):
            rows = np.flatnonzero(label)
            some = rows
            if len(rows) > most:
                some = rng.choice(rows, most, replace=False)
                shares[some] *= len(rows) / len(some)
            chosen[some] = True
        stand_for = shares * table.weights
        if costs:
            shares = shares * stakes_over(table, costs)
        fired = [rule.holds_over(table)[chosen] for rule in standing]
        stood = np.array(fired) if fired else np.zeros((0, int(chosen.sum())), bool)
        return cls(
            Comparisons.of(table, chosen),
            fraud[chosen],
            start_over(table)[chosen],
            shares[chosen],
            stand_for[chosen],
            stood,
            stood[: len(pool)],
        )

    def part(self, chosen: Mask) -> "SearchedRows":
        """Some of the cases."""
        return SearchedRows(
            self.tests.part(chosen),
            self.fraud[chosen],
            self.start[chosen],
            self.shares[chosen],
            self.stand_for[chosen],
            self.standing[:, chosen],
            self.pool[:, chosen],
        )

    def new_rules(self, depth: int, seed: int, *, is_ranked: bool) -> list[Conjunction]:
        """The rules that are found, without those that say what a standing rule says.

        Of a comparison and its opposite the one that holds less often is taken, unless payments
        are ranked.
        """
        found = found_rules(self.tests, self.fraud, self.start, self.shares, depth, seed)
        number = {comparison: i for i, comparison in enumerate(self.tests.comparisons)}
        new: set[Conjunction] = set()
        for rule in found:
            first = self.tests.comparisons[rule[0]]
            is_broad = not is_ranked and self.tests.masks[rule[0]].mean() > 0.5
            if len(rule) == 1 and (is_broad or first.op == "is not"):
                opposite = replace(first, op=_OPPOSITES.get(first.op, first.op))
                rule = (number.get(opposite, rule[0]),)
            new.add(rule)
        rules = sorted(new)
        if not len(self.pool) or not rules:
            return rules
        fired = np.array([np.logical_and.reduce(self.tests.masks[list(rule)]) for rule in rules])
        same = agreement(fired, self.pool)
        is_new = np.all((same <= _SAME) & (same >= 1 - _SAME), axis=1)
        return [rules[i] for i in np.flatnonzero(is_new)]

    def fired(self, rules: Sequence[Conjunction]) -> Mask:
        """Which rule fires where; the standing rules of the pool come first."""
        found = [np.logical_and.reduce(self.tests.masks[list(rule)]) for rule in rules]
        return np.vstack([self.pool, *found]) if found else self.pool

    def fits(self, rules: Sequence[Conjunction], depth: int) -> dict[Shape, FittedRules]:
        """Sets of these rules and the standing ones of the pool, of every length."""
        fired = self.fired(rules)
        weights = fit_sparsely(fired, self.fraud, self.start, self.shares)
        worth = np.abs(weights[:-1]) * fired.std(axis=1)
        worth[: len(self.pool)] *= STANDS
        sets = shorter_and_shorter(fired, self.fraud, self.start, self.shares, weights, worth)
        by_length = {len(fitted.rules): fitted for fitted in sets}
        nothing = FittedRules((), np.zeros(0), best_shift(self.fraud, self.start, self.shares))
        longest = by_length[max(by_length)] if by_length else nothing
        return {Shape(depth, n): by_length.get(n, longest) for n in LENGTHS}

    def log_likelihood(self, log_odds: Numbers) -> Numbers:
        """By case, how well the log-odds explain its label."""
        return np.asarray(self.shares * (self.fraud * log_odds - np.logaddexp(0, log_odds)))
