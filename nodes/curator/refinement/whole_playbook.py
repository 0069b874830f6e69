"""The best set of rules for all labelled cases together, if there is one that is proved.

A set is judged on cases that had no part in finding it (cross-validation in blocks of time). It
must beat the scorecard alone by more than chance, and the rules that stand. From few cases hardly
any set is so sure: where a test over all fields shows that there is something to learn, the set
that explains held-out cases best is taken; sets that few cases cannot tell apart are put together;
and rules that are learned case by case are on trial too, because few rules around single cases may
say what a sum of many does not. Each rule must pay for its place: from thirty frauds that leaves
one or two, from two hundred it may leave twenty-five. Where fraud is rare or has a price, payments
are ranked by their risk: then the set is found without the rules that stand, and its small
corrections are kept as they were found.
"""

import math
from collections import Counter, defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Final

import numpy as np

from acegraph.nodes.curator.refinement.by_case import ByCase, Learn
from acegraph.nodes.curator.refinement.comparisons import Comparisons
from acegraph.nodes.curator.refinement.polishing import polished
from acegraph.nodes.curator.refinement.rule_ensemble import (
    Conjunction,
    conditions_of,
    fit_sparsely,
    found_rules,
)
from acegraph.nodes.curator.refinement.shortening import (
    LENGTHS,
    FittedRules,
    agreement,
    fitted_weights,
    shorter_and_shorter,
    unlike,
)
from acegraph.nodes.evidence.columns.entities import case_shares
from acegraph.nodes.evidence.residuals import Mask, Numbers, best_line, best_shift
from acegraph.nodes.evidence.risk_scale import RARE, HighestRisk, RiskScale
from acegraph.nodes.evidence.scorecard import start_over
from acegraph.nodes.evidence.stakes import stakes_over
from acegraph.nodes.evidence.weights import fit_weights
from acegraph.nodes.runtime.blas import one_blas_thread
from acegraph.state import DECLINE, CaseTable, Condition
from acegraph.state.run.costs import CostMatrix

_FOLDS: Final = 5
_FOLDS_OF_MANY: Final = 3
_FOR_FEWER_FOLDS: Final = 3_000
"""From so many cases of either label on three parts tell enough: each has a thousand."""
_DEPTHS: Final = (1, 3)
_MIN_OF_EACH: Final = 15
"""So many cases of either label are needed."""
MOST_SEARCHED: Final = 6_000
"""Of each label so many cases are searched; a sample of the others counts for them."""
SEARCHED_OF_TABLE: Final = 3_000
"""The same where all rows of a table prove what is found: fewer rules are found, and better ones
of which to keep some."""
_SURE: Final = 2.5
"""Standard errors by which held-out cases must be explained better than by the scorecard."""
_SURE_IN_A_STREAM: Final = 3.0
"""The same where the question is asked again whenever the cases have doubled."""
_SURE_GIVEN_SIGNAL: Final = 0.5
"""The same where the fields as a whole tell the labels apart (columns/signal_check.py)."""
_MIN_WEIGHT: Final = 0.05
_SAME: Final = 0.99
_CHOSEN: Final = 2.0
"""By so much of log-likelihood a comparison of a standing rule looks too good here: its field and
its cut were chosen with the cases that are held out (Akaike 1974)."""
_STANDS: Final = 1.5
"""What the worth of a standing rule is multiplied by: of two that say the same it stays."""
_PAYS: Final = 0.5
"""By so much each rule must better the log-likelihood of held-out cases."""
_HARDLY: Final = 1.0
"""Within so many standard errors of the best the shorter set is taken (Breiman et al. 1984), but
not where payments are ranked."""
_FEW: Final = 400
"""From fewer cases a standard error is much of what there is to learn: the best set is taken, with
the rules of those within it. A set of one rule stays one, and one learned case by case as it is."""
_OPPOSITES: Final = {"<": ">=", ">=": "<", "is": "is not", "is not": "is"}


@dataclass(frozen=True)
class _Shape:
    """What a set of rules may look like."""

    depth: int
    """How many comparisons a rule may have."""
    length: int
    """How many rules it has."""


_BY_CASE: Final = _Shape(0, 0)
"""Whatever rules are learned case by case."""


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
    highest: HighestRisk
    """The highest risk that held-out cases bear out."""
    held_out: dict[str, float]
    """Frauds among the held-out cases, how many were caught, and the share of honest payments that
    were declined, with the threshold that counts without costs; the highest risk borne out."""
    has_signal: bool = False
    """Whether the fields as a whole tell the labels apart."""

    @property
    def in_words(self) -> str:
        """Why these rules are taken."""
        also = "the fields as a whole tell the labels apart, and " if self.has_signal else ""
        return (
            f"refined: {also}held-out cases are explained better than by the scorecard alone, by "
            f"{self.sureness:.1f} standard errors"
        )


@dataclass(frozen=True)
class _Rows:
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

    def part(self, chosen: Mask) -> "_Rows":
        return _Rows(
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

    def fits(self, rules: Sequence[Conjunction], depth: int) -> dict[_Shape, FittedRules]:
        """Sets of these rules and the standing ones of the pool, of every length."""
        fired = self.fired(rules)
        weights = fit_sparsely(fired, self.fraud, self.start, self.shares)
        worth = np.abs(weights[:-1]) * fired.std(axis=1)
        worth[: len(self.pool)] *= _STANDS
        sets = shorter_and_shorter(fired, self.fraud, self.start, self.shares, weights, worth)
        by_length = {len(fitted.rules): fitted for fitted in sets}
        nothing = FittedRules((), np.zeros(0), best_shift(self.fraud, self.start, self.shares))
        longest = by_length[max(by_length)] if by_length else nothing
        return {_Shape(depth, n): by_length.get(n, longest) for n in LENGTHS}


def ranks_payments(table: CaseTable, costs: CostMatrix | None) -> bool:
    """Whether payments are ranked by their risk: fraud is rare, or mistakes have a price."""
    return costs is not None or bool(np.average(table.fraud, weights=table.weights) < RARE)


@one_blas_thread
def best_rules(
    table: CaseTable,
    standing: Sequence[Condition] = (),
    most: int = 25,
    costs: CostMatrix | None = None,
    staying: int = 0,
    searched: int = MOST_SEARCHED,
    *,
    is_stream: bool = False,
    has_signal: bool = False,
    learn: Learn | None = None,
) -> RuleSet | None:
    """At most so many rules that explain these cases best; None if none are proved.

    With `costs` the cases where more is at stake weigh more. The first so many `standing` rules
    stay, whatever is found. Of each label so many cases are `searched`. In a stream the set is
    found without the rules that stand: each was found around a case that is held out here. If the
    fields are known to have a signal, less is asked of held-out cases. Then what `learn`
    makes of few cases is on trial too.
    """
    fraud = table.fraud
    if min(int(fraud.sum()), int((~fraud).sum())) < _MIN_OF_EACH:
        return None
    is_ranked = ranks_payments(table, costs)
    pool = standing[:staying] if is_ranked or is_stream else standing
    rows = _searched(table, standing, pool, costs, searched)
    if not rows.tests.comparisons:
        return None
    sure_without_signal = _SURE_IN_A_STREAM if is_stream else _SURE
    sure = _SURE_GIVEN_SIGNAL if has_signal else sure_without_signal
    has_few = has_signal and len(table) < _FEW and not is_ranked and not is_stream
    by_case = ByCase(learn, table) if learn and has_few else None
    shapes, log_odds, better, over_standing = _cross_validated(
        rows, standing, sure, by_case, is_ranked=is_ranked
    )
    sureness = _in_standard_errors(better)
    if sureness < sure:
        return None
    found, *others = _sets(rows, pool, shapes, by_case, is_ranked=is_ranked)
    if not found:
        return None
    if not is_ranked:
        found = _as_one(found, others, table, frozenset(standing[:staying]))
    fired = np.array([rule.holds_over(table) for rule in found])
    highest = HighestRisk()
    if is_ranked:
        cases = round(float(case_shares(table).sum()))
        highest = HighestRisk.of(rows.fraud, log_odds, rows.stand_for, cases)
    return RuleSet(
        tuple(found[i] for i in unlike(range(len(found)), fired, most)),
        float(better.mean()),
        sureness,
        _in_standard_errors(over_standing, _CHOSEN * sum(len(c.comparisons) for c in standing)),
        highest,
        _held_out(rows, log_odds, highest),
        has_signal,
    )


def _sets(
    rows: _Rows,
    pool: Sequence[Condition],
    shapes: Sequence[_Shape],
    by_case: ByCase | None,
    *,
    is_ranked: bool,
) -> list[list[Condition]]:
    """For each shape the rules that fit all cases; each set once."""
    sets: dict[tuple[Condition, ...], None] = {}
    by_depth: dict[int, tuple[list[Conjunction], dict[_Shape, FittedRules]]] = {}
    for shape in shapes:
        if by_case and shape == _BY_CASE:
            sets[tuple(by_case.rules())] = None
            continue
        if shape.depth not in by_depth:
            rules = rows.new_rules(shape.depth, seed=0, is_ranked=is_ranked)
            by_depth[shape.depth] = (rules, rows.fits(rules, shape.depth))
        rules, fits = by_depth[shape.depth]
        sets[tuple(_conditions(rows, pool, rules, fits[shape]))] = None
    return [list(conditions) for conditions in sets]


def _as_one(
    best: Sequence[Condition],
    others: Sequence[Sequence[Condition]],
    table: CaseTable,
    stays: frozenset[Condition],
) -> list[Condition]:
    """The best set, polished; with the rules of others that are as good, unless it is one rule."""
    found = polished(best, table, stays)
    if not others or len(found) == 1:
        return found
    as_good = [found, *(polished(other, table, stays) for other in others if other)]
    return polished(_together(as_good, table), table, stays)


def _together(sets: Sequence[Sequence[Condition]], table: CaseTable) -> list[Condition]:
    """The rules of all sets, first those that matter most in them; of near-twins one."""
    worth: defaultdict[Condition, float] = defaultdict(float)
    for rules in sets:
        fired = np.array([rule.holds_over(table) for rule in rules]).reshape(-1, len(table))
        begin, start, shares = np.zeros(len(rules) + 1), start_over(table), case_shares(table)
        weights, _ = fitted_weights(fired, table.fraud, start, shares, begin)
        for rule, weight, mask in zip(rules, weights[:-1], fired, strict=True):
            worth[rule] += abs(float(weight)) * float(mask.std())
    ranked = sorted(worth, key=worth.__getitem__, reverse=True)
    fired = np.array([rule.holds_over(table) for rule in ranked])
    return [ranked[i] for i in unlike(range(len(ranked)), fired, LENGTHS[-1])]


def _conditions(
    rows: _Rows, pool: Sequence[Condition], rules: Sequence[Conjunction], fitted: FittedRules
) -> list[Condition]:
    """The rules of a set as conditions, best first, without those that contradict a verdict."""
    fired, weights = rows.fired(rules), np.zeros(len(pool) + len(rules))
    weights[list(fitted.rules)] = fitted.weights
    conditions = [*pool, *conditions_of(rows.tests.comparisons, rules, weights[len(pool) :])]
    worth = np.abs(weights) * fired.std(axis=1)
    worth[: len(pool)] *= _STANDS
    agrees = np.array([(rule.verdict == DECLINE) for rule in conditions]) == (weights > 0)
    ranked = np.argsort(-worth)
    return [conditions[i] for i in ranked if abs(weights[i]) > _MIN_WEIGHT and agrees[i]]


def _in_standard_errors(gains: Numbers, more: float = 0.0) -> float:
    return float(gains.sum() + more) / (float(gains.std()) * math.sqrt(len(gains)) + 1e-12)


def _held_out(rows: _Rows, log_odds: Numbers, highest: HighestRisk) -> dict[str, float]:
    by = (rows.stand_for, rows.shares)
    share, drawn = (float(np.average(rows.fraud, weights=weights)) for weights in by)
    shift = math.log(share / (1 - share)) - math.log(drawn / (1 - drawn)) - math.log(highest.risk)
    declined = RiskScale(shift, highest.risk, share).declines(log_odds, {})
    honest = rows.shares * ~rows.fraud
    return {
        "frauds": int(rows.fraud.sum()),
        "caught": int((declined & rows.fraud).sum()),
        "false_declines": round(float(honest @ declined) / float(honest.sum()), 4),
        "highest_risk": highest.risk,
    }


def _searched(
    table: CaseTable,
    standing: Sequence[Condition],
    pool: Sequence[Condition],
    costs: CostMatrix | None,
    most: int,
) -> _Rows:
    """The cases of the search: of a frequent label a sample, whose cases count for the others."""
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
    return _Rows(
        Comparisons.of(table, chosen),
        fraud[chosen],
        start_over(table)[chosen],
        shares[chosen],
        stand_for[chosen],
        stood,
        stood[: len(pool)],
    )


def _cross_validated(
    rows: _Rows,
    standing: Sequence[Condition],
    sure: float,
    by_case: ByCase | None,
    *,
    is_ranked: bool,
) -> tuple[list[_Shape], Numbers, Numbers, Numbers]:
    """The shape to choose, and after it those that few cases cannot tell from it; by case the
    log-odds while it was held out, and the gain over the scorecard and over the standing rules.
    `sure` are the standard errors that are wanted.
    """
    folds = (
        _FOLDS_OF_MANY if min(rows.fraud.sum(), (~rows.fraud).sum()) >= _FOR_FEWER_FOLDS else _FOLDS
    )
    fold = np.zeros(len(rows.fraud), np.int64)
    for label in (rows.fraud, ~rows.fraud):  # blocks of time, each with its part of the frauds
        n = int(label.sum())
        fold[label] = np.arange(n) * folds // n
    log_odds: dict[_Shape, Numbers] = {}
    lengths: Counter[_Shape] = Counter()
    plain, stood = np.zeros(len(fold)), np.zeros(len(fold))
    for number in range(folds):
        out = fold == number
        known, unseen = rows.part(~out), rows.part(out)
        plain[out], stood[out] = _without_new_rules(known, unseen, standing)
        if by_case:
            found = log_odds.setdefault(_BY_CASE, np.zeros(len(fold)))
            found[out], length = by_case.log_odds(out)
            lengths[_BY_CASE] += length
        for depth in _DEPTHS:
            rules = known.new_rules(depth, seed=number, is_ranked=is_ranked)
            fired = unseen.fired(rules)
            for shape, fitted in known.fits(rules, depth).items():
                found = log_odds.setdefault(shape, np.zeros(len(fold)))
                found[out] = fitted.log_odds(fired, unseen.start)
                lengths[shape] += len(fitted.rules)
    likelihood = {shape: _log_likelihood(rows, found) for shape, found in log_odds.items()}
    proved = {s: f for s, f in likelihood.items() if _in_standard_errors(f - plain) >= sure}
    tried = proved or likelihood
    chosen = max(
        tried, key=lambda shape: float(tried[shape].sum()) - _PAYS / folds * lengths[shape]
    )
    worse = {shape: tried[chosen] - found for shape, found in tried.items()}
    alike = [shape for shape, by in worse.items() if _in_standard_errors(by) <= _HARDLY]
    if not is_ranked and len(fold) >= _FEW:
        chosen = min(alike, key=lambda shape: (lengths[shape], float(worse[shape].sum())))
    if is_ranked or len(fold) >= _FEW or chosen == _BY_CASE:
        alike = []
    better, shapes = tried[chosen], list(dict.fromkeys([chosen, *alike]))
    return shapes, log_odds[chosen], better - plain, better - stood


def _without_new_rules(
    known: _Rows, unseen: _Rows, standing: Sequence[Condition]
) -> tuple[Numbers, Numbers]:
    """The log-likelihood of unseen cases by the scorecard alone, and with the standing rules.

    A scorecard that is too sure of itself as a whole is no pattern in the fields.
    """
    slope, shift = best_line(known.fraud, known.start, known.shares)
    plain = _log_likelihood(unseen, slope * unseen.start + shift)
    if not len(standing):
        return plain, plain
    signs = np.array([1.0 if rule.verdict == DECLINE else -1.0 for rule in standing])
    w = fit_weights(known.standing, signs, known.fraud, known.start, shares=known.shares)
    shift = best_shift(known.fraud, known.start + w @ known.standing, known.shares)
    return plain, _log_likelihood(unseen, unseen.start + w @ unseen.standing + shift)


def _log_likelihood(rows: _Rows, log_odds: Numbers) -> Numbers:
    return np.asarray(rows.shares * (rows.fraud * log_odds - np.logaddexp(0, log_odds)))
