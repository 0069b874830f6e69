"""Residuals: what the log-odds of the playbook leave unexplained in the labelled cases."""

import math
from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

Mask = NDArray[np.bool_]
Numbers = NDArray[np.float64]

_NEWTON_STEPS: Final = 6
_STEEPEST: Final = 4.0


def case_weights(fraud: Mask) -> Numbers:
    """Weights of the cases that add up to half of their number for either label."""
    n, frauds = len(fraud), int(fraud.sum())
    if frauds in (0, n):
        return np.ones(n)
    return np.where(fraud, n / (2 * frauds), n / (2 * (n - frauds)))


@dataclass(frozen=True)
class Residuals:
    """What the playbook leaves unexplained of each case: the gradient of its log-likelihood."""

    gradient: Numbers
    variance: Numbers
    information: Numbers

    def towards(self, sign: float) -> "Residuals":
        """The residuals in the direction of a verdict: 1 for fraud, -1 for honest."""
        return Residuals(sign * self.gradient, self.variance, self.information)

    def contrast(self, inside: Mask, outside: Mask, floor: float = 0.0) -> float:
        """The z of Rao's score test that separates two groups of cases, towards the first."""
        gradient_in, variance_in, information_in = self._sums(inside)
        gradient_out, variance_out, information_out = self._sums(outside)
        share = information_in / (information_in + information_out + 1e-9)
        spread = (1 - share) ** 2 * (variance_in + floor) + share**2 * variance_out
        return ((1 - share) * gradient_in - share * gradient_out) / math.sqrt(spread + 1e-9)

    def _sums(self, mask: Mask) -> tuple[float, float, float]:
        chosen = mask.astype(np.float64)
        return (
            float(self.gradient @ chosen),
            float(self.variance @ chosen),
            float(self.information @ chosen),
        )


def residuals(fraud: Mask, log_odds: Numbers) -> Residuals:
    """The weighted residual of each case under these log-odds, and its variance.

    All log-odds are first shifted by the amount that fits best: a playbook that is too strict or
    too lenient everywhere must not make every broad rule look like a discovery.
    """
    weights, p = case_weights(fraud), _expected(fraud, log_odds)
    information = weights * p * (1 - p)
    return Residuals(weights * (fraud - p), weights * information, information)


def rescaled_log_odds(fraud: Mask, log_odds: Numbers) -> Numbers:
    """The centred log-odds times the factor that fits the labels best, which is never negative."""
    weights, shift, slope = case_weights(fraud), 0.0, 1.0
    centred = log_odds - np.average(log_odds, weights=weights)
    for _ in range(_NEWTON_STEPS):
        p = sigmoid(slope * centred + shift)
        information = weights * p * (1 - p)
        shift += float(weights @ (fraud - p)) / (float(information.sum()) + 1e-9)
        steep = float(information @ centred**2)
        slope += float((weights * (fraud - p)) @ centred) / steep if steep > 1e-9 else 0.0
        shift, slope = min(max(shift, -10.0), 10.0), min(max(slope, 0.0), _STEEPEST)
    return slope * centred


def simulated_residuals(
    fraud: Mask, log_odds: Numbers, times: int, rng: np.random.Generator
) -> Numbers:
    """Residuals that chance would leave if the log-odds were the whole truth, in `times` rows."""
    frauds, p = int(fraud.sum()), _expected(fraud, log_odds)
    heavy, light = case_weights(fraud)[[fraud.argmax(), fraud.argmin()]]
    # `p` is for equally many frauds and honest cases; the odds are for their real numbers.
    odds = p / (1 - p + 1e-12) * frauds / (len(fraud) - frauds)
    labels = rng.random((times, len(fraud))) < odds / (1 + odds)
    return np.asarray(np.where(labels, heavy * (1 - p), -light * p))


def _expected(fraud: Mask, log_odds: Numbers) -> Numbers:
    """The probability of fraud after the best shift, with equal weight for both labels."""
    weights, shift = case_weights(fraud), 0.0
    for _ in range(_NEWTON_STEPS):
        p = sigmoid(log_odds + shift)
        shift += float(weights @ (fraud - p)) / (float(weights @ (p * (1 - p))) + 1e-9)
        shift = min(max(shift, -10.0), 10.0)
    return sigmoid(log_odds + shift)


def sigmoid(log_odds: Numbers) -> Numbers:
    """The probabilities that belong to log-odds."""
    return np.asarray(1 / (1 + np.exp(-np.clip(log_odds, -30, 30))))


def marginal_gain(fired: Mask, fraud: Mask, log_odds: Numbers) -> float:
    """The z of Rao's score test for adding a rule to these log-odds, towards fraud."""
    rest = residuals(fraud, log_odds)
    spread = math.sqrt(float(rest.variance[fired].sum()) + 1e-9)
    return float(rest.gradient[fired].sum()) / spread if fired.any() else 0.0
