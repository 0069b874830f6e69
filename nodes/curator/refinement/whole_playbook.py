"""The best set of rules for all labelled cases together, if there is one that is proved.

A set is judged on cases that had no part in finding it (cross-validation in blocks of time). It
must beat the scorecard alone by more than chance, and the rules that stand.

From few cases hardly any set is so sure. Where a test over all fields then shows that there is
something to learn, less is asked of them.

Each rule must pay for its place: from thirty frauds that leaves one or two, from two hundred it may
leave twenty-five. Where fraud is rare or has a price, payments are ranked by their risk: then the
set is found without the rules that stand, and its small corrections are kept as they were found.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np

from acegraph.nodes.curator.refinement.candidates import STANDS, SearchedRows
from acegraph.nodes.curator.refinement.held_out import hold_out, in_standard_errors
from acegraph.nodes.curator.refinement.polishing import polished
from acegraph.nodes.curator.refinement.rule_ensemble import Conjunction, conditions_of
from acegraph.nodes.curator.refinement.shortening import FittedRules, unlike
from acegraph.nodes.evidence.columns.entities import case_shares
from acegraph.nodes.evidence.residuals import Numbers, log_odds_of
from acegraph.nodes.rules.scale import RARE, HighestRisk, RiskScale
from acegraph.nodes.rules.weights import fired_over
from acegraph.nodes.runtime.blas import one_blas_thread
from acegraph.state import DECLINE, Condition
from acegraph.state.values.cases import CaseTable
from acegraph.state.values.costs import CostMatrix

_MIN_OF_EACH: Final = 15
"""How many cases of either label are needed."""
_MOST_SEARCHED: Final = 6_000
"""How many cases of each label are searched; where there are more, they stand for all."""
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
    *,
    is_stream: bool = False,
    has_signal: bool = False,
) -> RuleSet | None:
    """At most so many rules that explain these cases best; None if none are proved.

    With `costs` the cases where more is at stake weigh more. The first so many `standing` rules
    stay, whatever is found. In a stream the set is found without the rules that stand: each was
    found around a case that is held out here. If the fields are known to have a signal, less is
    asked of held-out cases.
    """
    fraud = table.fraud
    if min(int(fraud.sum()), int((~fraud).sum())) < _MIN_OF_EACH:
        return None
    is_ranked = ranks_payments(table, costs)
    pool = standing[:staying] if is_ranked or is_stream else standing
    rows = SearchedRows.of(table, standing, pool, costs, _MOST_SEARCHED)
    if not rows.tests.comparisons:
        return None
    sure_without_signal = _SURE_IN_A_STREAM if is_stream else _SURE
    sure = _SURE_GIVEN_SIGNAL if has_signal else sure_without_signal
    held_out = hold_out(rows, standing, is_ranked=is_ranked)
    # A stream has the bullets of single mistakes, which a short set seldom betters.
    shape = held_out.best_shape(sure, is_shortest=not (is_ranked or is_stream))
    log_odds, explained = held_out.log_odds[shape], held_out.likelihood[shape]
    better, over_standing = explained - held_out.plain, explained - held_out.stood
    sureness = in_standard_errors(better)
    if sureness < sure:
        return None
    rules = rows.new_rules(shape.depth, seed=0, is_ranked=is_ranked)
    found = _conditions(rows, pool, rules, rows.fits(rules, shape.depth)[shape])
    if not is_ranked:
        found = polished(found, table, frozenset(standing[:staying]))
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


def _unlike(rules: Sequence[Condition], table: CaseTable, most: int) -> list[Condition]:
    """The first so many rules, without those that say almost the same as one before them."""
    return [rules[i] for i in unlike(range(len(rules)), fired_over(rules, table), most)]


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
