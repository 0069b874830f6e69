"""Residuals: what the log-odds of the playbook leave unexplained in the labelled cases.

`shares` says how much of a case each case counts (entities.py); without it each counts in full.
"""

import math
from dataclasses import dataclass, replace
from typing import Final

import numpy as np
from numpy.typing import NDArray

from acegraph.state.values.verdict import log_odds_of as log_odds_of

Mask = NDArray[np.bool_]
Numbers = NDArray[np.float64]

_NEWTON_STEPS: Final = 20
_CLOSE: Final = 1e-6
_LONGEST_STEP: Final = 2.0
_FARTHEST: Final = 12.0
_STEEPEST: Final = 4.0


@dataclass(frozen=True)
class Residuals:
    """What the playbook leaves unexplained of each case: the gradient of its log-likelihood."""

    gradient: Numbers
    variance: Numbers
    shares: Numbers

    def towards(self, sign: float) -> "Residuals":
        """The residuals in the direction of a verdict: 1 for fraud, -1 for honest."""
        return replace(self, gradient=sign * self.gradient)

    def contrast(self, inside: Mask, outside: Mask, floor: float = 0.0) -> float:
        """The z of Rao's score test that separates two groups of cases, towards the first."""
        gradient_in, variance_in = self._sums(inside)
        gradient_out, variance_out = self._sums(outside)
        share = variance_in / (variance_in + variance_out + 1e-9)
        spread = (1 - share) ** 2 * (variance_in + floor) + share**2 * variance_out
        return ((1 - share) * gradient_in - share * gradient_out) / math.sqrt(spread + 1e-9)

    def _sums(self, mask: Mask) -> tuple[float, float]:
        chosen = mask.astype(np.float64)
        return float(self.gradient @ chosen), float(self.variance @ chosen)


def residuals(fraud: Mask, log_odds: Numbers, shares: Numbers) -> Residuals:
    """The residual of each case under these log-odds, and its variance.

    All log-odds are first shifted by the amount that fits best: a playbook that is too strict or
    too lenient everywhere must not make every broad rule look like a discovery.
    """
    weights = shares
    p = sigmoid(log_odds + best_shift(fraud, log_odds, shares))
    # The variance of so many cases as the shares add up to: nobody gets surer by repetition.
    information = weights * p * (1 - p)
    return Residuals(weights * (fraud - p), information, weights)


def rescaled_log_odds(fraud: Mask, log_odds: Numbers, shares: Numbers) -> Numbers:
    """The centred log-odds times the factor that fits the labels best, which is never negative."""
    slope, _ = best_line(fraud, log_odds, shares)
    return slope * (log_odds - np.average(log_odds, weights=shares))


def best_line(fraud: Mask, log_odds: Numbers, shares: Numbers) -> tuple[float, float]:
    """The factor, which is never negative, and the shift with which log-odds fit the labels best.

    The shift belongs to centred log-odds times the factor, and is given for those not centred.
    """
    weights = shares
    middle = float(np.average(log_odds, weights=weights))
    centred = log_odds - middle
    slope, shift = 1.0, best_shift(fraud, centred, shares)
    for _ in range(_NEWTON_STEPS):
        p = sigmoid(slope * centred + shift)
        rest, information = weights * (fraud - p), weights * p * (1 - p)
        level, tilt, steep = (float(information @ centred**power) + 1e-9 for power in range(3))
        # Both at once: where fraud is rare, each alone would take hundreds of steps.
        uphill = (float(rest.sum()), float(rest @ centred))
        whole = max(level * steep - tilt**2, 1e-9)
        across = (steep * uphill[0] - tilt * uphill[1]) / whole
        along = (level * uphill[1] - tilt * uphill[0]) / whole
        length = min(1.0, _LONGEST_STEP / (abs(across) + abs(along) + 1e-9))
        shift, slope = shift + length * across, slope + length * along
        slope = min(max(slope, 0.0), _STEEPEST)
        shift = min(max(shift, -_FARTHEST), _FARTHEST)
        if abs(across) + abs(along) < _CLOSE:
            break
    return slope, shift - slope * middle


def simulated_residuals(
    fraud: Mask, log_odds: Numbers, times: int, rng: np.random.Generator, shares: Numbers
) -> Numbers:
    """Residuals that chance would leave if the log-odds were the whole truth, in `times` rows."""
    p = sigmoid(log_odds + best_shift(fraud, log_odds, shares))
    drawn = (rng.random((times, len(fraud))) < p) - p
    return np.asarray(drawn * shares)


def best_shift(fraud: Mask, log_odds: Numbers, shares: Numbers, highest: float = 1.0) -> float:
    """What must be added to all log-odds for their risks to add up to the frauds; no risk is above
    the `highest`.
    """
    weights, shift = shares, 0.0
    for _ in range(_NEWTON_STEPS):
        p = sigmoid(log_odds + shift)
        rest = float(weights @ (fraud - highest * p))
        step = rest / (float(weights @ (highest * p * (1 - p))) + 1e-9)
        shift += min(max(step, -_LONGEST_STEP), _LONGEST_STEP)
        if abs(step) < _CLOSE:
            break
    return min(max(shift, -_FARTHEST), _FARTHEST)


def sigmoid(log_odds: Numbers) -> Numbers:
    """The probabilities that belong to log-odds."""
    bounded = np.minimum(np.maximum(log_odds, -30), 30)  # np.clip takes longer than the rest
    return np.asarray(1 / (1 + np.exp(-bounded)))


def in_standard_errors(gains: Numbers, more: float = 0.0) -> float:
    """The sum of the gains of all cases, and of `more`, in standard errors of that sum."""
    return float(gains.sum() + more) / (float(gains.std()) * math.sqrt(len(gains)) + 1e-12)


def marginal_gain(fired: Mask, fraud: Mask, log_odds: Numbers, shares: Numbers) -> float:
    """The z of Rao's score test for adding a rule to these log-odds, towards fraud."""
    rest = residuals(fraud, log_odds, shares)
    spread = math.sqrt(float(rest.variance[fired].sum()) + 1e-9)
    return float(rest.gradient[fired].sum()) / spread if fired.any() else 0.0
