"""The best set of rules for all labelled cases together, if there is one that is proved.

The search (search.py) gives a longer and longer set; which length is best, cases tell that had no
part in finding it. With and without pairs are tried apart, since pairs win each step and may lose
the whole. To decide, the shortest set that is hardly worse than the best is taken; where payments
are ranked by their risk, because fraud is rare or has a price, the best.

What is found must explain held-out cases better than the prior alone by more than chance, or the
fields as a whole must tell the labels apart (signal.py); then less is asked.
"""

import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Final

import numpy as np

from acegraph.nodes.evidence.columns.entities import case_shares
from acegraph.nodes.evidence.drift import caught_in_counts, newest_sixth
from acegraph.nodes.evidence.residuals import (
    Mask,
    Numbers,
    best_line,
    in_standard_errors,
    residuals,
)
from acegraph.nodes.evidence.stakes import stakes_over
from acegraph.nodes.rules.learner.curves import BestCurves, best_curves, binned
from acegraph.nodes.rules.learner.fine_cuts import with_fine_cuts
from acegraph.nodes.rules.learner.literals import Literals, closest_cuts
from acegraph.nodes.rules.learner.search import Fit, Rows, parts_of, search, shortened
from acegraph.nodes.rules.learner.signal import chance_of_no_signal
from acegraph.nodes.rules.points import graded_over, start_over
from acegraph.nodes.rules.scale import RARE, HighestRisk, RiskScale
from acegraph.nodes.rules.weights import fired_over
from acegraph.nodes.runtime.blas import one_blas_thread
from acegraph.state.values import (
    APPROVE,
    DECLINE,
    CaseTable,
    Condition,
    CostMatrix,
    Verdict,
    log_odds_of,
    sign_of,
)

_MIN_OF_EACH: Final = 15
"""How many cases of either label are needed."""
_MOST_SEARCHED: Final = 6_000
"""How many cases of each label are searched; where there are more, they stand for all."""
_CASES_A_RULE: Final = 5
"""A rule is sought for so many cases of the rarer label."""
_SURE: Final = 4.0
"""Standard errors by which held-out cases must be explained better than by the prior."""
_SURE_IF_IT_STANDS_OUT: Final = 0.5
"""The same where chance hardly ever explains as much."""
_MIN_WEIGHT: Final = 0.05
_PAYS: Final = 0.5
"""How much log-likelihood of held-out cases each rule must gain."""
_HARDLY: Final = 1.0
"""Standard errors by which a shorter set may be worse."""
_PATIENCE: Final = 5
"""After so many longer sets that explain held-out cases no better, none is looked at."""
_REPEATED: Final = 1_000
"""With fewer cases they are held out again in other parts, at most so often:"""
_MOST_REPEATS: Final = 4
_CLEARLY: Final = 1.5
"""Standard errors by which curves must be better than rules, which are read at once."""
_AS_SURE: Final = 0.5
"""The same where each is as sure of itself as fits best."""
_CHOSEN: Final = 2.0
"""How much log-likelihood a comparison of a standing rule seems to gain without a cause: its field
and its cut were chosen with the cases that are held out (Akaike 1974)."""


@dataclass(frozen=True)
class RuleSet:
    """Rules for a whole table, with what held-out cases say about them."""

    conditions: tuple[Condition, ...]
    gain: float
    """By how much the log-likelihood of a held-out case is better than by the prior alone."""
    sureness: float
    """The same in standard errors."""
    sureness_over_standing: float
    """By how many standard errors it is better than with the rules that stand."""
    highest: HighestRisk
    """The highest risk that held-out cases bear out."""
    held_out: dict[str, float]
    """Frauds among the held-out cases and how many were caught, also of the newest sixth, and the
    share of honest payments that were declined, with the threshold that counts without costs; the
    highest risk borne out."""
    stands_out: bool = False
    """Whether chance hardly ever explains as much."""

    @property
    def in_words(self) -> str:
        """Why these rules are taken."""
        also = "chance hardly ever explains as much, and " if self.stands_out else ""
        return (
            f"refined: {also}held-out cases are explained better than by the scorecard alone, by "
            f"{self.sureness:.1f} standard errors"
        )


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
    *,
    is_stream: bool = False,
    signal: float = 0.02,
) -> RuleSet | None:
    """At most so many rules that explain these cases best; None if none are proved.

    With `costs` the cases where more is at stake weigh more. The first so many `standing` rules
    stay, whatever is found. In a stream the set is found without the rules that stand: each was
    found around a case that is held out here. `signal` is the chance that is allowed to a set which
    held-out cases alone do not prove.
    """
    if min(int(table.fraud.sum()), int((~table.fraud).sum())) < _MIN_OF_EACH:
        return None
    is_ranked = ranks_payments(table, costs)
    searched = _Searched.of(table, standing, staying, costs, offers=not (is_ranked or is_stream))
    if not searched.rows.literals.tests:
        return None
    held_out = _HeldOut.of(searched, most)
    shape = held_out.best(is_shortest=not (is_ranked or is_stream))
    log_odds, explained, length = held_out.log_odds[shape], held_out.likelihood[shape], shape.length
    curves = None if is_stream or is_ranked else held_out.curves(searched, table, most)
    if curves:
        log_odds, explained, length = curves.log_odds, curves.likelihood, curves.length
    sureness = in_standard_errors(explained - held_out.plain)
    stands_out = sureness >= _SURE_IF_IT_STANDS_OUT and chance_of_no_signal(searched.rows) <= signal
    if length == 0 or not (stands_out or sureness >= _SURE):
        return None
    if curves:
        found = [*curves.conditions]
    else:
        *_, fit = searched.sets(searched.rows, shape.pairs, shape.length)
        if not is_ranked:
            fit = shortened(searched.rows, fit, staying)
        found = searched.conditions(fit, table)
    if not found:
        return None
    highest = HighestRisk()
    if is_ranked:
        cases = round(float(case_shares(table).sum()))
        highest = HighestRisk.of(searched.rows.fraud, log_odds, searched.stand_for, cases)
    chosen = _CHOSEN * sum(len(c.spelled) for c in standing[staying:])
    return RuleSet(
        tuple(found[:most]),
        float((explained - held_out.plain).mean()),
        sureness,
        in_standard_errors(explained - held_out.stood, chosen),
        highest,
        _in_numbers(searched, log_odds, highest),
        stands_out,
    )


@dataclass(frozen=True)
class _Shape:
    """What a set may look like."""

    pairs: bool
    length: int


@dataclass(frozen=True)
class _Searched:
    """The cases that are searched, and the rules that stand."""

    rows: Rows
    stand_for: Numbers
    """How many cases each stands for, whatever is at stake."""
    standing: tuple[Condition, ...]
    fired: Mask
    """Which of the standing rules fires where."""
    staying: int
    newest: Mask
    """Which of the cases are among the newest of the whole table."""
    graded: Numbers
    """What the standing rules add that go by the value of a field."""
    chosen: Mask
    """Which cases of the table are searched."""

    @classmethod
    def of(
        cls,
        table: CaseTable,
        standing: Sequence[Condition],
        staying: int,
        costs: CostMatrix | None,
        *,
        offers: bool,
    ) -> "_Searched":
        """Of a frequent label a sample is searched, whose cases count for the others. The standing
        rules that do not stay are part of the search if it `offers` them.
        """
        rng, fraud = np.random.default_rng(len(table)), table.fraud
        of_case = case_shares(table)
        shares, chosen = of_case.copy(), np.zeros(len(table), bool)
        for label in (fraud, ~fraud):
            of_label = some = np.flatnonzero(label)
            if len(of_label) > _MOST_SEARCHED:
                some = rng.choice(of_label, _MOST_SEARCHED, replace=False)
                shares[some] *= len(of_label) / len(some)
            chosen[some] = True
        stand_for = shares * table.weights
        if costs:
            shares = shares * stakes_over(table, costs)
        plain = [rule for rule in standing if not rule.graded]
        stay = sum(not rule.graded for rule in standing[:staying])
        fired = fired_over(plain, table)[:, chosen]
        offered = len(plain) if offers else stay
        literals = Literals.of(table, of_case, chosen)
        start = start_over(table) + graded_over(standing[:staying], table)
        rows = Rows(
            literals.with_rules(plain[:offered], fired[:offered]),
            fraud[chosen],
            start[chosen],
            shares[chosen],
        )
        newest, graded = newest_sixth(table)[chosen], graded_over(standing[staying:], table)[chosen]
        return cls(rows, stand_for[chosen], tuple(plain), fired, stay, newest, graded, chosen)

    def sets(self, rows: Rows, pairs: bool, most: int) -> Iterator[Fit]:
        """The best sets of these rows, longer and longer, each with the rules that stay."""
        first = rows.literals.fields.index("") if "" in rows.literals.fields else 0
        stay = [(first + i,) for i in range(self.staying)]
        return search(rows, most, pairs=pairs, staying=stay)

    def conditions(self, fit: Fit, table: CaseTable) -> list[Condition]:
        """The rules of a set as conditions, best first; without those that contradict the verdict
        of a standing rule, or lower a risk by what a text mentions. New ones get fine cuts.
        """
        literals = self.rows.literals
        rules = [sum((literals.tests[i] for i in term), ()) for term in fit.terms]
        fired = fired_over([Condition(tests, DECLINE) for tests in rules], table)
        log_odds, shares = start_over(table) + fit.weights @ fired + fit.shift, case_shares(table)
        found: dict[Condition, float] = {}
        for term, tests, weight, held in zip(fit.terms, rules, fit.weights, fired, strict=True):
            verdict: Verdict = DECLINE if weight > 0 else APPROVE
            rule = next((r for r in self.standing if r.comparisons == tests), None)
            only_raises = literals.only_raise[list(term)].any()
            contradicts = (rule and rule.verdict != verdict) or (only_raises and weight < 0)
            if abs(weight) < _MIN_WEIGHT or contradicts:
                continue
            if rule is None:
                rule = Condition(closest_cuts(tests), verdict)
                rest = residuals(table.fraud, log_odds - weight * held, shares)
                rest = rest.towards(sign_of(verdict))
                rule = with_fine_cuts(rule, table, rest, literals) or rule
            found[rule] = abs(float(weight)) * float(held.std())
        return sorted(found, key=lambda rule: -found[rule])


@dataclass(frozen=True)
class _HeldOut:
    """What sets of every shape say of cases that had no part in finding them."""

    fraud: Mask
    log_odds: dict[_Shape, Numbers]
    likelihood: dict[_Shape, Numbers]
    """By case, how well that explains its label."""
    plain: Numbers
    """The same by the prior alone."""
    stood: Numbers
    """The same with the rules that stand."""
    parts: Mask
    """The cases that were held out together, a row a part."""

    @classmethod
    def of(cls, searched: _Searched, most: int) -> "_HeldOut":
        """Hold each part of the cases out, and find sets on the others."""
        rows = searched.rows
        rarer = min(int(rows.fraud.sum()), int((~rows.fraud).sum()))
        lengths = range(min(most, rarer // _CASES_A_RULE) + 1)
        shapes = [_Shape(pairs, length) for pairs in (False, True) for length in lengths]
        n = len(rows.fraud)
        log_odds = {shape: np.zeros(n) for shape in shapes}
        likelihood = {shape: np.zeros(n) for shape in shapes}
        plain, stood = np.zeros(n), np.zeros(n)
        times = min(max(_REPEATED // n, 1), _MOST_REPEATS)
        parts = np.array([*parts_of(rows.fraud, times)])
        for out in parts:
            known, unseen = rows.part(~out), rows.part(out)
            by_itself, with_rules = _without_new_rules(searched, out)
            plain[out] += by_itself / times
            stood[out] += with_rules / times
            for pairs in (False, True):
                said = list(_said_of(unseen, searched.sets(known, pairs, lengths[-1])))
                for length in lengths:
                    by_set = said[min(length, len(said) - 1)]
                    shape = _Shape(pairs, length)
                    log_odds[shape][out] += by_set / times
                    likelihood[shape][out] += unseen.log_likelihood(by_set) / times
        return cls(rows.fraud, log_odds, likelihood, plain, stood, parts)

    def curves(self, searched: _Searched, table: CaseTable, most: int) -> BestCurves | None:
        """Curves, if they explain held-out cases clearly better than any set of rules, and not only
        by being surer of it.
        """
        fields = binned(table, case_shares(table), searched.chosen)
        best = self.best(is_shortest=False)
        if not fields or self.is_never_wrong(best):
            return None
        rows = searched.rows
        staying, *_ = searched.sets(rows, pairs=False, most=0)
        start = staying.log_odds(rows)
        found = best_curves(fields, rows.fraud, start, rows.shares, self.parts, most)
        curves, rules = (
            rows.log_likelihood(slope * log_odds + shift)
            for log_odds in (found.log_odds, self.log_odds[best])
            for slope, shift in [best_line(rows.fraud, log_odds, rows.shares)]
        )
        is_better = in_standard_errors(found.likelihood - self.likelihood[best]) > _CLEARLY
        return found if is_better and in_standard_errors(curves - rules) > _AS_SURE else None

    def is_never_wrong(self, shape: _Shape) -> bool:
        """Whether sets of a shape decide all held-out cases rightly."""
        return bool(((self.log_odds[shape] > 0) == self.fraud).all())

    def best(self, *, is_shortest: bool) -> _Shape:
        """The shape to choose: the best, or the shortest that is hardly worse."""
        found, pays = self.likelihood, _PAYS if is_shortest else 0.0
        best = max(found, key=lambda shape: float(found[shape].sum()) - pays * shape.length)
        if not is_shortest:
            return best
        return min(
            (
                shape
                for shape in found
                if shape.pairs == best.pairs
                and (
                    in_standard_errors(found[best] - found[shape]) <= _HARDLY
                    or self.is_never_wrong(shape)
                )
            ),
            key=lambda shape: shape.length,
        )


def _said_of(unseen: Rows, sets: Iterable[Fit]) -> Iterator[Numbers]:
    """What longer and longer sets say of unseen cases, as long as they explain them better."""
    best, since = -np.inf, 0
    for fit in sets:
        yield (log_odds := fit.log_odds(unseen))
        explained = float(unseen.log_likelihood(log_odds).sum())
        best, since = max(best, explained), 0 if explained > best else since + 1
        if since == _PATIENCE:
            return


def _without_new_rules(searched: _Searched, out: Mask) -> tuple[Numbers, Numbers]:
    """The log-likelihood of unseen cases by the prior alone, and with the standing rules.

    A prior that is too sure of itself as a whole is no pattern in the fields.
    """
    known, unseen = searched.rows.part(~out), searched.rows.part(out)
    slope, shift = best_line(known.fraud, known.start, known.shares)
    plain = unseen.log_likelihood(slope * unseen.start + shift)
    if not (searched.standing or searched.graded.any()):
        return plain, plain
    rules, fired = searched.standing, searched.fired
    none = Literals((), np.zeros((0, len(out)), bool), ())
    start = searched.rows.start + searched.graded
    alone = replace(searched.rows, literals=none.with_rules(rules, fired), start=start)
    fit = Fit.of(alone.part(~out), [(i,) for i in range(len(rules))])
    return plain, unseen.log_likelihood(fit.log_odds(alone.part(out)))


def _in_numbers(searched: _Searched, log_odds: Numbers, highest: HighestRisk) -> dict[str, float]:
    rows = searched.rows
    by = (searched.stand_for, rows.shares)
    share, drawn = (float(np.average(rows.fraud, weights=weights)) for weights in by)
    shift = log_odds_of(share) - log_odds_of(drawn) - math.log(highest.risk)
    declined = RiskScale(shift, highest.risk, share).declines(log_odds, {})
    honest = rows.shares * ~rows.fraud
    return {
        **caught_in_counts(rows.fraud, declined, searched.newest),
        "false_declines": round(float(honest @ declined) / float(honest.sum()), 4),
        "highest_risk": highest.risk,
    }
