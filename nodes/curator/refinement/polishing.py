"""Polish the rules of a set: drop what hardly matters, and move cuts to where they belong.

Rules are found on a grid of cuts and on samples of the cases. Here each is looked at again, with
all labelled cases and with what the other rules of the set say.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Final

import numpy as np

from acegraph.nodes.curator.refinement.shortening import missed, ridge_weights
from acegraph.nodes.evidence.columns.cut_points import roundest
from acegraph.nodes.evidence.columns.entities import case_shares
from acegraph.nodes.evidence.residuals import Mask, Numbers, sigmoid
from acegraph.nodes.rules.points import start_over
from acegraph.nodes.rules.weights import fired_over
from acegraph.state import DECLINE, Condition
from acegraph.state.values.cases import CaseTable
from acegraph.state.values.condition import Comparison

_CHOSEN: Final = 2.0
"""How much log-likelihood a choice among many gains by chance (Akaike 1974)."""
_ADDED: Final = 3.0
"""The same of a comparison beside others: it was chosen among all cuts of all fields."""
_MOVED: Final = 0.5
"""So much log-likelihood a moved cut must bring."""
_MIN_FIRES: Final = 4
_NEWTON_STEPS: Final = 6


def polished(
    rules: Sequence[Condition], table: CaseTable, staying: frozenset[Condition] = frozenset()
) -> list[Condition]:
    """The rules in the same order, each with the comparisons and cuts that the cases support.

    Those that are `staying` stay as they are; others that hardly matter any more are left out.
    """
    done, start, shares = list(rules), start_over(table), case_shares(table)
    fired = fired_over(done, table)
    for i in (i for i, rule in enumerate(rules) if rule not in staying):
        begin = np.zeros(len(done) + 1)
        weights, _ = ridge_weights(fired, table.fraud, start, shares, begin)
        others = start + weights[:-1] @ fired + weights[-1] - weights[i] * fired[i]
        done[i] = _Polish(table, others, shares, done[i].verdict == DECLINE).rule(done[i])
        fired[i] = done[i].holds_over(table)
    return _needed(done, table, staying)


def _needed(
    rules: Sequence[Condition], table: CaseTable, staying: frozenset[Condition]
) -> list[Condition]:
    """The rules that each gain more than a choice among many does; one stays in any case."""
    done, start, shares = list(rules), start_over(table), case_shares(table)
    fired = fired_over(done, table)
    while len(done) > 1:
        begin = np.zeros(len(done) + 1)
        weights, spread = ridge_weights(fired, table.fraud, start, shares, begin)
        worth = missed(weights, spread)[:-1]
        declines = np.array([rule.verdict == DECLINE for rule in done])
        worth[declines != (weights[:-1] > 0)] = 0.0  # the others say more than all it has to say
        worth[[rule in staying for rule in done]] = np.inf
        idlest = int(np.argmin(worth))
        if worth[idlest] >= _CHOSEN:
            break
        del done[idlest]
        fired = np.delete(fired, idlest, axis=0)
    return done


@dataclass(frozen=True)
class _Polish:
    """What one rule is worth beside the others."""

    table: CaseTable
    others: Numbers
    """The log-odds that the other rules give to each case."""
    shares: Numbers
    declines: bool

    def rule(self, rule: Condition) -> Condition:
        """The rule with the comparisons that matter, cut where the cases put the cuts."""
        while len(rule.comparisons) > 1:
            shorter = [replace(rule, comparisons=rest) for rest in _without_each(rule.comparisons)]
            best = max(shorter, key=self._worth)
            if self._worth(best) < self._worth(rule) - _ADDED:
                break
            rule = best
        for at, test in enumerate(rule.comparisons):
            if test.op in ("<", ">="):
                moved = self._moved(rule, at, test)
                if moved and self._worth(moved) > self._worth(rule) + _MOVED:
                    rule = moved
        return rule

    def _worth(self, rule: Condition) -> float:
        """By how much the rule betters the log-likelihood, with the weight that fits best."""
        mask = rule.holds_over(self.table)
        weight = self._weight(mask)
        return float(self._gains(mask, weight).sum()) - 0.5 * weight**2

    def _weight(self, mask: Mask) -> float:
        fraud, others, shares = self.table.fraud[mask], self.others[mask], self.shares[mask]
        weight = 0.0
        for _ in range(_NEWTON_STEPS):
            p = sigmoid(others + weight)
            slope = float(shares @ (fraud - p)) - weight
            weight += min(max(slope / (float(shares @ (p * (1 - p))) + 1.0), -2.0), 2.0)
        return max(weight, 0.0) if self.declines else min(weight, 0.0)

    def _gains(self, mask: Mask, weight: float) -> Numbers:
        """By how much each of these cases is better explained with this weight."""
        others = self.others[mask]
        softer = np.logaddexp(0, others + weight) - np.logaddexp(0, others)
        return np.asarray(self.shares[mask] * (self.table.fraud[mask] * weight - softer))

    def _moved(self, rule: Condition, at: int, test: Comparison) -> Condition | None:
        """The rule with its comparison `at` cut where it explains most, at the weight it has."""
        column = self.table.column(test.field)
        rest = (*rule.comparisons[:at], *rule.comparisons[at + 1 :])
        inside = np.ones(len(self.table), bool)
        for other in rest:
            inside &= other.holds_over(self.table)
        if column is None:
            return None
        inside &= ~np.isnan(column.numbers)
        order = np.argsort(column.numbers[inside], kind="stable")
        values = column.numbers[inside][order]
        gains = self._gains(inside, self._weight(rule.holds_over(self.table)))[order]
        below = np.append(0.0, np.cumsum(gains))
        explained = below if test.op == "<" else below[-1] - below
        fires = np.arange(len(values) + 1)
        fires = fires if test.op == "<" else len(values) - fires
        is_cut = np.append(False, np.append(values[1:] > values[:-1], False))
        explained = np.where(is_cut & (fires >= _MIN_FIRES), explained, -np.inf)
        best = int(np.argmax(explained))
        if not np.isfinite(explained[best]):
            return None
        cut = replace(test, value=roundest(values[best - 1], values[best]))
        return replace(rule, comparisons=(*rule.comparisons[:at], cut, *rule.comparisons[at + 1 :]))


def _without_each(comparisons: tuple[Comparison, ...]) -> list[tuple[Comparison, ...]]:
    return [(*comparisons[:i], *comparisons[i + 1 :]) for i in range(len(comparisons))]
