"""Fit the weights of active rules on the labelled cases, and find the rules to retire."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Final

import numpy as np
from numpy.typing import NDArray

from acegraph.nodes.evidence.backtest import chance
from acegraph.nodes.evidence.residuals import Mask, Numbers, _sigmoid, case_weights, marginal_gain
from acegraph.nodes.evidence.scorecard import scorecard_over, weight_of
from acegraph.nodes.runtime.blas import one_blas_thread
from acegraph.state import DECLINE, Bullet, CaseTable

_RIDGE: Final = 1.0
_MAX_WEIGHT: Final = 4.0

_BITS: Final = 20
"""How many rules make one number when cases are grouped by what fires on them."""


@one_blas_thread
def fit_weights(
    fired: NDArray[np.bool_],
    signs: Numbers,
    fraud: Mask,
    start: Numbers,
    guess: Numbers | None = None,
) -> Numbers:
    """Log-odds weights of rules, by ridge logistic regression on top of the scorecard's log-odds.

    `fired` has a row per rule. A rule never gets a weight against its own verdict: one that would
    is given none. The last weights as a `guess` save most of the way.
    """
    from scipy.optimize import minimize  # half a second to import: only learning pays for it

    rows, frauds, honests = _grouped(fired, start, fraud)
    matrix, start = fired[:, rows].astype(np.float64), start[rows]
    total = frauds + honests

    def loss(w: Numbers) -> tuple[float, Numbers]:
        log_odds = start + w @ matrix
        p = _sigmoid(log_odds)
        likelihood = frauds @ np.logaddexp(0, -log_odds) + honests @ np.logaddexp(0, log_odds)
        gradient = -matrix @ (frauds - total * p) + _RIDGE * w
        return float(likelihood + 0.5 * _RIDGE * w @ w), gradient

    bounds = [(0, _MAX_WEIGHT) if s > 0 else (-_MAX_WEIGHT, 0) for s in signs]
    begin = np.zeros(len(signs)) if guess is None else guess
    found = minimize(loss, begin, jac=True, method="L-BFGS-B", bounds=bounds)
    return np.asarray(found.x, dtype=np.float64)


def _grouped(
    fired: NDArray[np.bool_], start: Numbers, fraud: Mask
) -> tuple[NDArray[np.int64], Numbers, Numbers]:
    """One row for all cases that the model cannot tell apart, with their weight by label."""
    weights = case_weights(fraud)
    pattern = np.unique(start, return_inverse=True)[1].astype(np.int64)
    for some in np.array_split(fired, range(_BITS, len(fired), _BITS)):  # any number fits
        code = (1 << np.arange(len(some))) @ some
        pattern = np.unique((pattern << _BITS) + code, return_inverse=True)[1]
    _, rows, group = np.unique(pattern, return_index=True, return_inverse=True)
    frauds, honests = np.zeros(len(rows)), np.zeros(len(rows))
    np.add.at(frauds, group, weights * fraud)
    np.add.at(honests, group, weights * ~fraud)
    return rows.astype(np.int64), frauds, honests


_FIRES_TO_FIT: Final = 3
_FIRES_TO_RETIRE: Final = 10
_FIRES_TO_TELL: Final = 30
_LIKELY_CHANCE: Final = 0.2


def fired_over(bullets: Sequence[Bullet], table: CaseTable) -> NDArray[np.bool_]:
    """Which of the checkable bullets fires on which case: a row for each bullet."""
    return np.array([b.condition.holds_over(table) for b in bullets if b.condition])


def fitted_weights(table: CaseTable, bullets: Sequence[Bullet]) -> list[float | None]:
    """The weights of checkable bullets that fit the labelled cases best."""
    return weights_of(bullets, fired_over(bullets, table), table, scorecard_over(table))


def weights_of(
    bullets: Sequence[Bullet], fired: NDArray[np.bool_], table: CaseTable, start: Numbers
) -> list[float | None]:
    """The same, where it is known what fires and what the scorecard says.

    None for a bullet that hardly fires: no cases are no evidence against it.
    """
    tells = fired.sum(axis=1) >= _FIRES_TO_FIT
    fitted = [b for b, told in zip(bullets, tells, strict=True) if told]
    for bullet, own, told in zip(bullets, fired, tells, strict=True):
        if not told:
            start = start + weight_of(replace(bullet, weight=None)) * own
    signs = np.array([1.0 if b.verdict == DECLINE else -1.0 for b in fitted])
    guess = np.array([b.weight or 0.0 for b in fitted])
    found = iter(fit_weights(fired[tells], signs, table.fraud, start, guess) if fitted else ())
    return [round(float(next(found)), 4) if told else None for told in tells]


def reason_to_retire(bullet: Bullet, fired: Mask, table: CaseTable, log_odds: Numbers) -> str:
    """Why a bullet no longer earns its place, or nothing."""
    weight = weight_of(bullet)
    wanted = table.fraud if bullet.verdict == DECLINE else ~table.fraud
    fires, right, total = int(fired.sum()), int((fired & wanted).sum()), int(wanted.sum())
    if fires < _FIRES_TO_RETIRE:
        return ""
    record = f"right on {right} of {fires} labelled cases"
    if right * len(table) <= total * fires:
        return f"{record}: no better than chance"
    if weight == 0:
        return f"no weight left: on its {fires} labelled cases the other bullets say it all"
    if fires >= _FIRES_TO_TELL and chance(right, fires, total, len(table)) > _LIKELY_CHANCE:
        # An exception may be right no more often than chance and still mend what others say.
        brings = marginal_gain(fired, table.fraud, log_odds - weight * fired)
        if brings * (1 if bullet.verdict == DECLINE else -1) < 1:
            return f"{record}: hardly better than chance, and the others do without it"
    return ""
