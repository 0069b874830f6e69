"""Fit the weights of active rules on the labelled cases, and find the rules to retire.

nodes/curator/curator.py writes both to the playbook.
"""

from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import Final

import numpy as np
from numpy.typing import NDArray

from acegraph.nodes.evidence.backtest import chance, tally
from acegraph.nodes.evidence.columns.entities import case_shares
from acegraph.nodes.evidence.residuals import (
    Mask,
    Numbers,
    best_shift,
    in_standard_errors,
    marginal_gain,
    sigmoid,
)
from acegraph.nodes.evidence.stakes import costs_behind, stakes_over
from acegraph.nodes.rules.points import UNIT, points_over, start_over, weight_of
from acegraph.nodes.runtime.blas import one_blas_thread
from acegraph.state.values import Bullet, CaseTable, Condition, sign_of

_RIDGE: Final = 1.0
_BITS: Final = 20
"""How many rules are packed into one number when cases are grouped by the rules that fire."""
_FIRES_TO_FIT: Final = 3
_FIRES_TO_RETIRE: Final = 10
_FIRES_TO_TELL: Final = 30
_LIKELY_CHANCE: Final = 0.2
_SURE: Final = 1.64
"""Standard errors by which cases must be explained better without a graded rule."""


@one_blas_thread
def fit_weights(
    fired: Mask,
    signs: Numbers,
    fraud: Mask,
    start: Numbers,
    shares: Numbers,
    guess: Numbers | None = None,
) -> Numbers:
    """Log-odds weights of rules, by ridge logistic regression on top of the `start` log-odds.

    A shift of all log-odds is fitted with them and not kept: scale.py finds it again.
    `fired` has a row for each rule. A rule whose weight would contradict its verdict gets weight 0.
    The previous weights as a `guess` save most of the work. `shares` are those of entities.py.
    """
    from scipy.optimize import minimize  # takes half a second, and only learning needs it

    rows, frauds, honests = _grouped(fired, start, fraud, shares)
    matrix, start = np.ones((len(signs) + 1, len(rows))), start[rows]
    matrix[:-1] = fired[:, rows]
    total, ridge = frauds + honests, np.append(np.full(len(signs), _RIDGE), 0.0)

    def loss(w: Numbers) -> tuple[float, Numbers]:
        log_odds = start + w @ matrix
        p = sigmoid(log_odds)
        likelihood = frauds @ np.logaddexp(0, -log_odds) + honests @ np.logaddexp(0, log_odds)
        gradient = -matrix @ (frauds - total * p) + ridge * w
        return float(likelihood + 0.5 * ridge @ (w * w)), gradient

    bounds = [(0, None) if s > 0 else (None, 0) for s in signs]
    begin = np.append(np.zeros(len(signs)) if guess is None else guess, 0.0)
    optimum = minimize(
        loss,
        begin,
        jac=True,
        method="L-BFGS-B",
        bounds=[*bounds, (None, None)],
        # Precisely: the same cases give the same weights, wherever the search begins.
        options={"ftol": 1e-12, "gtol": 1e-7, "maxiter": 1000},
    )
    return np.asarray(optimum.x[:-1], dtype=np.float64)


def _grouped(
    fired: Mask, start: Numbers, fraud: Mask, shares: Numbers
) -> tuple[NDArray[np.int64], Numbers, Numbers]:
    """A row for each group of indistinguishable cases, and its weights of fraud and honesty."""
    pattern = np.unique(start, return_inverse=True)[1].astype(np.int64)
    for rules in np.array_split(fired, range(_BITS, len(fired), _BITS)):
        code = (1 << np.arange(len(rules))) @ rules
        pattern = np.unique((pattern << _BITS) + code, return_inverse=True)[1]
    _, rows, group = np.unique(pattern, return_index=True, return_inverse=True)
    frauds, honests = np.zeros(len(rows)), np.zeros(len(rows))
    np.add.at(frauds, group, shares * fraud)
    np.add.at(honests, group, shares * ~fraud)
    return rows.astype(np.int64), frauds, honests


def fired_over(conditions: Iterable[Condition | None], table: CaseTable) -> Mask:
    """Which condition fires on which case, with a row for each; prose has no condition."""
    rows = [condition.holds_over(table) for condition in conditions if condition]
    return np.array(rows, bool).reshape(len(rows), len(table))


def fitted_weights(table: CaseTable, bullets: Sequence[Bullet]) -> list[float | None]:
    """The weights of checkable bullets that fit the labelled cases best."""
    return weights_of(
        bullets, fired_over((b.condition for b in bullets), table), table, start_over(table)
    )


def weights_of(
    bullets: Sequence[Bullet], fired: Mask, table: CaseTable, start: Numbers
) -> list[float | None]:
    """The weights of bullets that fit the labelled cases best, on top of the `start` log-odds.

    A bullet that fired too rarely gets None: the lack of cases is no evidence against it; and so
    does a graded one, which says itself what it adds. Bullets that were refined by costs are fitted
    by them.
    """
    shares, costs = case_shares(table), costs_behind(bullets)
    is_graded = np.array([bullet.is_graded for bullet in bullets], bool)
    enough = (np.rint(fired @ shares) >= _FIRES_TO_FIT) & ~is_graded
    fitted = [b for b, is_fitted in zip(bullets, enough, strict=True) if is_fitted]
    for bullet, is_fitted in zip(bullets, enough, strict=True):
        if not is_fitted:
            start = start + points_over(table, replace(bullet, weight=None)) / UNIT
    signs = np.array([sign_of(b.verdict) for b in fitted])
    guess = np.array([b.weight or 0.0 for b in fitted])
    if costs:
        shares = shares * stakes_over(table, costs)
    weights = fit_weights(fired[enough], signs, table.fraud, start, shares, guess) if fitted else ()
    found = iter(weights)
    return [round(float(next(found)), 4) if is_fitted else None for is_fitted in enough]


def _explained(fraud: Mask, log_odds: Numbers, shares: Numbers) -> Numbers:
    """By case, how well log-odds explain its label at the best shift."""
    shifted = log_odds + best_shift(fraud, log_odds, shares)
    return np.asarray(shares * (fraud * shifted - np.logaddexp(0, shifted)))


def reason_to_retire(bullet: Bullet, fired: Mask, table: CaseTable, log_odds: Numbers) -> str:
    """Why a bullet should be retired; empty if it should stay."""
    weight = weight_of(bullet)
    agreeing = table.labelled(bullet.verdict)
    shares = case_shares(table)
    right, fires, total, cases = tally(fired, agreeing, shares)
    if fires < _FIRES_TO_RETIRE:
        return ""
    if bullet.is_graded:
        without = log_odds - points_over(table, bullet) / UNIT
        gains = _explained(table.fraud, without, shares) - _explained(table.fraud, log_odds, shares)
        is_better = in_standard_errors(gains) > _SURE
        return "labelled cases are explained better without it" if is_better else ""
    record = f"right on {right} of {fires} labelled cases"
    if weight == 0:
        return f"no weight left: on its {fires} labelled cases the other bullets say it all"
    is_no_better = right * cases <= total * fires
    is_hardly_better = (
        fires >= _FIRES_TO_TELL and chance(right, fires, total, cases) > _LIKELY_CHANCE
    )
    if is_no_better or is_hardly_better:
        # An exception may be right no more often than chance and still correct other bullets.
        gain = marginal_gain(fired, table.fraud, log_odds - weight * fired, shares)
        if gain * sign_of(bullet.verdict) < 1:
            how = "no" if is_no_better else "hardly"
            return f"{record}: {how} better than chance, and the others do without it"
    return ""
