"""What a further rule saves: the cost of decisions on cases that its weight was not fitted on."""

from collections.abc import Sequence
from typing import Final

import numpy as np

from acegraph.nodes.evidence.columns.entities import case_shares
from acegraph.nodes.evidence.residuals import Numbers, best_shift, sigmoid
from acegraph.nodes.evidence.stakes import amounts_over, costs_behind, prices_of, stakes_over
from acegraph.nodes.rules.points import UNIT, points_over, start_over
from acegraph.nodes.rules.scale import HighestRisk, RiskScale
from acegraph.nodes.rules.weights import fired_over, fit_weights
from acegraph.state.values import Bullet, CaseTable, Condition, newest_set, sign_of

_PARTS: Final = 5


def saves(condition: Condition, table: CaseTable, active: Sequence[Bullet]) -> bool:
    """Whether cases that are held out in turn cost less with a further rule beside a refined set.

    No risk is limited where a rule is added to a set.
    """
    if not newest_set(active):
        return True
    rules = [b.condition for b in active if b.condition and not b.is_graded]
    without = _costs(table, active, rules, HighestRisk.behind(active) or HighestRisk())
    added = _costs(table, active, [*rules, condition], HighestRisk())
    return bool(added.sum() < without.sum())


def _costs(
    table: CaseTable, active: Sequence[Bullet], rules: Sequence[Condition], highest: HighestRisk
) -> Numbers:
    """What decisions cost that rules make, with graded ones, each part weighed on the others."""
    costs, shares, fraud = costs_behind(active), case_shares(table), table.fraud
    fired, signs = fired_over(rules, table), np.array([sign_of(r.verdict) for r in rules])
    start = start_over(table) + sum(points_over(table, b) for b in active if b.is_graded) / UNIT
    stand_for, wrong = shares * table.weights, np.zeros(len(table), bool)
    share, amounts = float(np.average(fraud, weights=stand_for)), amounts_over(table)
    limits = np.full(len(table), RiskScale(base_rate=share).decline_from({}))
    prices = np.where(fraud, 1 - limits, limits)
    if costs:
        limits, prices = costs.break_even_over(amounts), prices_of(costs, fraud, amounts)
        shares = shares * stakes_over(table, costs)
    for number in range(_PARTS):
        out = np.arange(len(table)) % _PARTS == number
        known, most = ~out, highest.at(share)
        log_odds = start + fired.T @ fit_weights(
            fired[:, known], signs, fraud[known], start[known], shares[known]
        )
        shift = best_shift(fraud[known], log_odds[known], stand_for[known], most)
        wrong[out] = (most * sigmoid(log_odds + shift) > limits)[out] != fraud[out]
    return stand_for * prices * wrong
