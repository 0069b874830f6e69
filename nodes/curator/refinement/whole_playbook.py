"""The best set of rules for all labelled cases together, if there is one that is proved.

A set is judged on cases that had no part in finding it (cross-validation in blocks of time). It
must beat the scorecard alone by more than chance, and the rules that stand.

From few cases hardly any set is so sure. Where a test over all fields then shows that there is
something to learn, the set that explains held-out cases best is taken. Sets that few cases cannot
tell apart are put together. Rules that are learned case by case are on trial too, because few rules
around single cases may say what a sum of many does not. So are curves, because few cases do not
tell where a field is cut best.

Each rule must pay for its place: from thirty frauds that leaves one or two, from two hundred it may
leave twenty-five. Where fraud is rare or has a price, payments are ranked by their risk: then the
set is found without the rules that stand, and its small corrections are kept as they were found.
"""

import math
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np

from acegraph.nodes.curator.refinement.by_case import ByCase, Learn
from acegraph.nodes.curator.refinement.candidates import BY_CASE, STANDS, SearchedRows, Shape
from acegraph.nodes.curator.refinement.curves import curves_of
from acegraph.nodes.curator.refinement.held_out import FEW, PAYS, hold_out, in_standard_errors
from acegraph.nodes.curator.refinement.polishing import needed, polished
from acegraph.nodes.curator.refinement.rule_ensemble import Conjunction, conditions_of
from acegraph.nodes.curator.refinement.shortening import (
    LENGTHS,
    FittedRules,
    ridge_weights,
    unlike,
)
from acegraph.nodes.evidence.columns.entities import case_shares
from acegraph.nodes.evidence.residuals import Numbers, log_odds_of
from acegraph.nodes.rules.points import start_over
from acegraph.nodes.rules.scale import RARE, HighestRisk, RiskScale
from acegraph.nodes.rules.weights import fired_over
from acegraph.nodes.runtime.blas import one_blas_thread
from acegraph.state import DECLINE, Condition
from acegraph.state.run.costs import CostMatrix
from acegraph.state.values.cases import CaseTable

_MIN_OF_EACH: Final = 15
"""How many cases of either label are needed."""
MOST_SEARCHED: Final = 6_000
"""How many cases of each label are searched; where there are more, they stand for all."""
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
_CHOSEN: Final = 2.0
"""How much log-likelihood a comparison of a standing rule seems to gain without a cause: its field
and its cut were chosen with the cases that are held out (Akaike 1974)."""


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
    rows = SearchedRows.of(table, standing, pool, costs, searched)
    if not rows.tests.comparisons:
        return None
    sure_without_signal = _SURE_IN_A_STREAM if is_stream else _SURE
    sure = _SURE_GIVEN_SIGNAL if has_signal else sure_without_signal
    has_few = has_signal and len(table) < FEW and not is_ranked and not is_stream
    by_case = ByCase(learn, table) if learn and has_few else None
    held_out = hold_out(rows, standing, by_case, is_ranked=is_ranked, has_curves=has_few)
    shapes = held_out.best_shapes(sure, is_ranked=is_ranked)
    log_odds, explained = held_out.log_odds[shapes[0]], held_out.likelihood[shapes[0]]
    better, over_standing = explained - held_out.plain, explained - held_out.stood
    sureness = in_standard_errors(better)
    if sureness < sure:
        return None
    sets = _sets(rows, pool, shapes, by_case, is_ranked=is_ranked)
    stays = frozenset(standing[:staying])
    found = sets[0] if is_ranked else _as_one(sets, table, stays)
    found = _with_steps(found, rows, shapes, table, stays)
    if not found:
        return None
    highest = HighestRisk()
    if is_ranked:
        cases = round(float(case_shares(table).sum()))
        highest = HighestRisk.of(rows.fraud, log_odds, rows.stand_for, cases)
    return RuleSet(
        tuple(_unlike(found, table, most)),
        float(better.mean()),
        sureness,
        in_standard_errors(over_standing, _CHOSEN * sum(len(c.comparisons) for c in standing)),
        highest,
        _held_out(rows, log_odds, highest),
        has_signal,
    )


def _sets(
    rows: SearchedRows,
    pool: Sequence[Condition],
    shapes: Sequence[Shape],
    by_case: ByCase | None,
    *,
    is_ranked: bool,
) -> list[list[Condition]]:
    """For each shape the rules that fit all cases; each set once."""
    sets: dict[tuple[Condition, ...], None] = {}
    by_depth: dict[int, tuple[list[Conjunction], dict[Shape, FittedRules]]] = {}
    for shape in (shape for shape in shapes if not shape.is_curves):
        if by_case and shape == BY_CASE:
            sets[tuple(by_case.rules())] = None
            continue
        if shape.depth not in by_depth:
            rules = rows.new_rules(shape.depth, seed=0, is_ranked=is_ranked)
            by_depth[shape.depth] = (rules, rows.fits(rules, shape.depth))
        rules, fits = by_depth[shape.depth]
        sets[tuple(_conditions(rows, pool, rules, fits[shape]))] = None
    return [list(conditions) for conditions in sets]


def _as_one(
    sets: Sequence[Sequence[Condition]], table: CaseTable, stays: frozenset[Condition]
) -> list[Condition]:
    """The best set, polished; with the rules of others that are as good, unless it is one rule."""
    if not sets or not sets[0]:
        return []
    found = polished(sets[0], table, stays)
    if len(sets) == 1 or len(found) == 1:
        return found
    as_good = [found, *(polished(other, table, stays) for other in sets[1:] if other)]
    return polished(_together(as_good, table), table, stays)


def _with_steps(
    found: list[Condition],
    rows: SearchedRows,
    shapes: Sequence[Shape],
    table: CaseTable,
    stays: frozenset[Condition],
) -> list[Condition]:
    """The rules and the steps of curves that are better, unless the rules are a single one."""
    fields = max((shape.length for shape in shapes if shape.is_curves), default=0)
    if not fields or len(found) == 1:
        return found
    steps = curves_of(rows)[:fields][-1].rules(rows)
    together = _unlike([*found, *steps], table, LENGTHS[-1])
    return needed(together, table, PAYS, stays)


def _unlike(rules: Sequence[Condition], table: CaseTable, most: int) -> list[Condition]:
    """The first so many rules, without those that say almost the same as one before them."""
    return [rules[i] for i in unlike(range(len(rules)), fired_over(rules, table), most)]


def _together(sets: Sequence[Sequence[Condition]], table: CaseTable) -> list[Condition]:
    """The rules of all sets, first those that matter most in them; of near-twins one."""
    worth: defaultdict[Condition, float] = defaultdict(float)
    for rules in sets:
        fired = fired_over(rules, table)
        begin, start, shares = np.zeros(len(rules) + 1), start_over(table), case_shares(table)
        weights, _ = ridge_weights(fired, table.fraud, start, shares, begin)
        for rule, weight, mask in zip(rules, weights[:-1], fired, strict=True):
            worth[rule] += abs(float(weight)) * float(mask.std())
    ranked = sorted(worth, key=worth.__getitem__, reverse=True)
    return _unlike(ranked, table, LENGTHS[-1])


def _conditions(
    rows: SearchedRows, pool: Sequence[Condition], rules: Sequence[Conjunction], fitted: FittedRules
) -> list[Condition]:
    """The rules of a set as conditions, best first, without those that contradict a verdict."""
    fired, weights = rows.fired(rules), np.zeros(len(pool) + len(rules))
    weights[list(fitted.rules)] = fitted.weights
    conditions = [*pool, *conditions_of(rows.tests.comparisons, rules, weights[len(pool) :])]
    worth = np.abs(weights) * fired.std(axis=1)
    worth[: len(pool)] *= STANDS
    agrees = np.array([(rule.verdict == DECLINE) for rule in conditions]) == (weights > 0)
    ranked = np.argsort(-worth)
    return [conditions[i] for i in ranked if abs(weights[i]) > _MIN_WEIGHT and agrees[i]]


def _held_out(rows: SearchedRows, log_odds: Numbers, highest: HighestRisk) -> dict[str, float]:
    by = (rows.stand_for, rows.shares)
    share, drawn = (float(np.average(rows.fraud, weights=weights)) for weights in by)
    shift = log_odds_of(share) - log_odds_of(drawn) - math.log(highest.risk)
    declined = RiskScale(shift, highest.risk, share).declines(log_odds, {})
    honest = rows.shares * ~rows.fraud
    return {
        "frauds": int(rows.fraud.sum()),
        "caught": int((declined & rows.fraud).sum()),
        "false_declines": round(float(honest @ declined) / float(honest.sum()), 4),
        "highest_risk": highest.risk,
    }
