"""The best set of rules for all labelled cases together, if there is one that is proved.

A set is judged on cases that had no part in finding it (cross-validation in blocks of time). It
must beat the scorecard alone by more than chance, and the rules that stand.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Final

import numpy as np

from acegraph.nodes.curator.refinement.rule_ensemble import (
    Conjunction,
    Tests,
    conditions_of,
    fit_sparsely,
    found_rules,
)
from acegraph.nodes.evidence.columns.entities import case_shares
from acegraph.nodes.evidence.residuals import Mask, Numbers, best_shift
from acegraph.nodes.evidence.risk_scale import RiskScale
from acegraph.nodes.evidence.scorecard import scorecard_over
from acegraph.nodes.evidence.stakes import stakes_over
from acegraph.nodes.evidence.weights import fit_weights
from acegraph.nodes.runtime.blas import one_blas_thread
from acegraph.state import DECLINE, CaseTable, Condition
from acegraph.state.run.costs import CostMatrix

_FOLDS: Final = 5
_DEPTHS: Final = (1, 3)
_PENALTIES: Final = (16.0, 8.0, 4.0, 2.0, 1.0)
_MIN_OF_EACH: Final = 15
"""So many cases of either label are needed."""
_MOST_SEARCHED: Final = 6_000
"""Of each label so many cases are searched; a sample of the others counts for them."""
_SURE: Final = 2.5
"""Standard errors by which held-out cases must be explained better than by the scorecard."""
_MIN_WEIGHT: Final = 0.05
_ALIKE: Final = 0.9
_SAME: Final = 0.99
_CHOSEN: Final = 2.0
"""By so much of log-likelihood a comparison of a standing rule looks too good here: its field and
its cut were chosen with the cases that are held out (Akaike 1974)."""
_STANDS: Final = 1.5
"""What the worth of a standing rule is multiplied by: of two that say the same it stays."""
_Shape = tuple[int, float]
"""How many comparisons a rule may have, and the penalty."""


@dataclass(frozen=True)
class RuleSet:
    """Rules for a whole table, with what held-out cases say about them."""

    conditions: tuple[Condition, ...]
    gain: float
    """By how much the log-likelihood of a held-out case is better than with the scorecard alone."""
    sureness: float
    """The same in standard errors."""
    sureness_over_standing: float
    """By how many standard errors it is better than with the rules that stand."""
    penalty: float
    held_out: dict[str, float]
    """Frauds among the held-out cases, how many were caught, and the share of honest payments that
    were declined, with the threshold that counts without costs."""


@dataclass(frozen=True)
class _Rows:
    """The searched cases: labels, log-odds of the scorecard, and how much of a case each counts."""

    tests: Tests
    fraud: Mask
    start: Numbers
    shares: Numbers
    standing: Mask
    """Which of the standing rules fires where."""

    def part(self, chosen: Mask) -> "_Rows":
        tests = Tests(self.tests.comparisons, self.tests.masks[:, chosen])
        rows = (self.fraud[chosen], self.start[chosen], self.shares[chosen])
        return _Rows(tests, *rows, self.standing[:, chosen])

    def new_rules(self, depth: int, seed: int) -> list[Conjunction]:
        """The rules that are found, without those that say what a standing rule says."""
        found = found_rules(self.tests, self.fraud, self.start, self.shares, depth, seed)
        number = {comparison: i for i, comparison in enumerate(self.tests.comparisons)}
        new: set[Conjunction] = set()
        for rule in found:
            first = self.tests.comparisons[rule[0]]
            if len(rule) == 1 and first.op == "is not":  # its opposite reads better
                rule = (number.get(replace(first, op="is"), rule[0]),)
            fired = np.logical_and.reduce(self.tests.masks[list(rule)])
            same = (self.standing == fired).mean(axis=1)
            if not ((same > _SAME) | (same < 1 - _SAME)).any():
                new.add(rule)
        return sorted(new)

    def fired(self, rules: Sequence[Conjunction]) -> Mask:
        """Which rule fires where; the standing rules come first."""
        found = [np.logical_and.reduce(self.tests.masks[list(rule)]) for rule in rules]
        return np.vstack([self.standing, *found]) if found else self.standing


@one_blas_thread
def best_rules(
    table: CaseTable,
    standing: Sequence[Condition] = (),
    most: int = 25,
    costs: CostMatrix | None = None,
) -> RuleSet | None:
    """At most so many rules that explain these cases best; None if none are proved.

    With `costs` the cases where more is at stake weigh more.
    """
    fraud = table.fraud
    if min(int(fraud.sum()), int((~fraud).sum())) < _MIN_OF_EACH:
        return None
    rows = _searched(table, standing, costs)
    if not rows.tests.comparisons:
        return None
    depth, penalty, log_odds, better, over_standing = _cross_validated(rows, standing)
    sureness = _in_standard_errors(better)
    if sureness < _SURE:
        return None
    rules = rows.new_rules(depth, seed=0)
    fired = rows.fired(rules)
    path = _path(fired, rows, _PENALTIES[: _PENALTIES.index(penalty) + 1])
    weights = path[-1][:-1]
    found = conditions_of(rows.tests.comparisons, rules, weights[len(standing) :])
    conditions = [*standing, *found]
    worth = np.abs(weights) * fired.std(axis=1)
    worth[: len(standing)] *= _STANDS
    agrees = np.array([(rule.verdict == DECLINE) for rule in conditions]) == (weights > 0)
    ranked = [i for i in np.argsort(-worth) if abs(weights[i]) > _MIN_WEIGHT and agrees[i]]
    chosen = _unlike(ranked, fired, most)
    return RuleSet(
        tuple(conditions[i] for i in sorted(chosen)),
        float(better.mean()),
        sureness,
        _in_standard_errors(over_standing, _CHOSEN * sum(len(c.comparisons) for c in standing)),
        penalty,
        _held_out(rows, log_odds),
    )


def _in_standard_errors(gains: Numbers, more: float = 0.0) -> float:
    return float(gains.sum() + more) / (float(gains.std()) * math.sqrt(len(gains)) + 1e-12)


def _unlike(ranked: Sequence[int], fired: Mask, most: int) -> list[int]:
    """The first so many rules, without those that say almost the same as one before them.

    A rule and its opposite say the same: what one adds, the other takes away.
    """
    chosen: list[int] = []
    for i in ranked:
        same = (fired[chosen] == fired[i]).mean(axis=1)
        either = (fired[chosen] | fired[i]).sum(axis=1)
        common = (fired[chosen] & fired[i]).sum(axis=1) / np.maximum(either, 1)
        if len(chosen) < most and not (common > _ALIKE).any() and not (same < 1 - _ALIKE).any():
            chosen.append(i)
    return chosen


def _held_out(rows: _Rows, log_odds: Numbers) -> dict[str, float]:
    share = float(np.average(rows.fraud, weights=rows.shares))
    declined = log_odds > RiskScale(0.0, share).limit({})
    honest = rows.shares * ~rows.fraud
    return {
        "frauds": int(rows.fraud.sum()),
        "caught": int((declined & rows.fraud).sum()),
        "false_declines": round(float(honest @ declined) / float(honest.sum()), 4),
    }


def _searched(
    table: CaseTable, standing: Sequence[Condition], costs: CostMatrix | None = None
) -> _Rows:
    """The cases of the search: of a frequent label a sample, whose cases count for the others."""
    rng, fraud = np.random.default_rng(len(table)), table.fraud
    shares = case_shares(table) * (stakes_over(table, costs) if costs else 1.0)
    chosen = np.zeros(len(table), bool)
    for label in (fraud, ~fraud):
        rows = np.flatnonzero(label)
        some = rows
        if len(rows) > _MOST_SEARCHED:
            some = rng.choice(rows, _MOST_SEARCHED, replace=False)
            shares[some] *= len(rows) / len(some)
        chosen[some] = True
    tests = Tests.of(table)
    fired = [rule.holds_over(table)[chosen] for rule in standing]
    return _Rows(
        Tests(tests.comparisons, tests.masks[:, chosen]),
        fraud[chosen],
        scorecard_over(table)[chosen],
        shares[chosen],
        np.array(fired) if fired else np.zeros((0, int(chosen.sum())), bool),
    )


def _cross_validated(
    rows: _Rows, standing: Sequence[Condition]
) -> tuple[int, float, Numbers, Numbers, Numbers]:
    """The depth and penalty to choose; by case the log-odds while it was held out, and the gain
    over the scorecard and over the standing rules.
    """
    fold = np.zeros(len(rows.fraud), np.int64)
    for label in (rows.fraud, ~rows.fraud):  # blocks of time, each with its part of the frauds
        n = int(label.sum())
        fold[label] = np.arange(n) * _FOLDS // n
    log_odds = {(d, p): np.zeros(len(fold)) for d in _DEPTHS for p in _PENALTIES}
    lengths = dict.fromkeys(log_odds, 0)
    plain, stood = np.zeros(len(fold)), np.zeros(len(fold))
    for number in range(_FOLDS):
        out = fold == number
        known, unseen = rows.part(~out), rows.part(out)
        plain[out], stood[out] = _without_new_rules(known, unseen, standing)
        for depth in _DEPTHS:
            rules = known.new_rules(depth, seed=number)
            fired, path = unseen.fired(rules), _path(known.fired(rules), known, _PENALTIES)
            for penalty, w in zip(_PENALTIES, path, strict=True):
                log_odds[depth, penalty][out] = unseen.start + w[:-1] @ fired + w[-1]
                lengths[depth, penalty] += int((np.abs(w[:-1]) > _MIN_WEIGHT).sum())
    likelihood = {shape: _log_likelihood(rows, found) for shape, found in log_odds.items()}
    sure = {s: f for s, f in likelihood.items() if _in_standard_errors(f - plain) >= _SURE}
    chosen = _shortest_of_the_best(sure or likelihood, lengths)
    better = likelihood[chosen]
    return *chosen, log_odds[chosen], better - plain, better - stood


def _without_new_rules(
    known: _Rows, unseen: _Rows, standing: Sequence[Condition]
) -> tuple[Numbers, Numbers]:
    """The log-likelihood of unseen cases by the scorecard alone, and with the standing rules."""
    shift = best_shift(known.fraud, known.start, known.shares)
    plain = _log_likelihood(unseen, unseen.start + shift)
    if not len(standing):
        return plain, plain
    signs = np.array([1.0 if rule.verdict == DECLINE else -1.0 for rule in standing])
    w = fit_weights(known.standing, signs, known.fraud, known.start, shares=known.shares)
    shift = best_shift(known.fraud, known.start + w @ known.standing, known.shares)
    return plain, _log_likelihood(unseen, unseen.start + w @ unseen.standing + shift)


def _shortest_of_the_best(
    likelihood: Mapping[_Shape, Numbers], lengths: Mapping[_Shape, int]
) -> _Shape:
    """The shape with the fewest rules among those that are within one standard error of the best
    (Breiman and others 1984).
    """
    best = max(likelihood, key=lambda shape: float(likelihood[shape].sum()))
    behind = {shape: likelihood[best] - found for shape, found in likelihood.items()}
    near = [s for s, gap in behind.items() if gap.sum() <= gap.std() * math.sqrt(len(gap))]
    return min(near, key=lambda shape: lengths[shape])


def _path(fired: Mask, rows: _Rows, penalties: Sequence[float]) -> list[Numbers]:
    """Weights and shift for each penalty, from the strongest on."""
    weights = np.zeros(len(fired) + 1)
    weights[-1] = best_shift(rows.fraud, rows.start, rows.shares)
    found = []
    for penalty in penalties:
        weights = fit_sparsely(fired, rows.fraud, rows.start, rows.shares, penalty, weights)
        found.append(weights)
    return found


def _log_likelihood(rows: _Rows, log_odds: Numbers) -> Numbers:
    return np.asarray(rows.shares * (rows.fraud * log_odds - np.logaddexp(0, log_odds)))
