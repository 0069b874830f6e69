"""What the active rules leave unexplained in the labelled cases."""

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
    """Weights under which both labels sum to half of the cases."""
    n, frauds = len(fraud), int(fraud.sum())
    if frauds in (0, n):
        return np.ones(n)
    return np.where(fraud, n / (2 * frauds), n / (2 * (n - frauds)))


@dataclass(frozen=True)
class Residuals:
    """What the playbook leaves unexplained of each case: the slope of the likelihood."""

    gradient: Numbers
    variance: Numbers
    information: Numbers

    def towards(self, sign: float) -> "Residuals":
        """Seen from the verdict that a rule argues for: 1 for fraud, -1 for honest."""
        return Residuals(sign * self.gradient, self.variance, self.information)

    def contrast(self, inside: Mask, outside: Mask, floor: float = 0.0) -> float:
        """Rao's score test for telling two groups of cases apart: its z, towards the first."""
        gain, variance, within = self._sums(inside)
        lost, beyond, without = self._sums(outside)
        share = within / (within + without + 1e-9)
        spread = (1 - share) ** 2 * (variance + floor) + share**2 * beyond
        return ((1 - share) * gain - share * lost) / math.sqrt(spread + 1e-9)

    def _sums(self, mask: Mask) -> tuple[float, float, float]:
        chosen = mask.astype(np.float64)
        return (
            float(self.gradient @ chosen),
            float(self.variance @ chosen),
            float(self.information @ chosen),
        )


def residuals(fraud: Mask, log_odds: Numbers) -> Residuals:
    """What the log-odds leave unexplained of each case, weighted, and its variance.

    The log-odds are first shifted as a whole to fit best: a playbook that is too strict or too
    lenient throughout must not make every broad rule look like a discovery.
    """
    weights, p = case_weights(fraud), _expected(fraud, log_odds)
    information = weights * p * (1 - p)
    return Residuals(weights * (fraud - p), weights * information, information)


def rescaled_log_odds(fraud: Mask, log_odds: Numbers) -> Numbers:
    """The log-odds stretched or flattened as a whole to fit best, but not turned round."""
    weights, shift, slope = case_weights(fraud), 0.0, 1.0
    centred = log_odds - np.average(log_odds, weights=weights)
    for _ in range(_NEWTON_STEPS):
        p = _sigmoid(slope * centred + shift)
        information = weights * p * (1 - p)
        shift += float(weights @ (fraud - p)) / (float(information.sum()) + 1e-9)
        steep = float(information @ centred**2)
        slope += float((weights * (fraud - p)) @ centred) / steep if steep > 1e-9 else 0.0
        shift, slope = min(max(shift, -10.0), 10.0), min(max(slope, 0.0), _STEEPEST)
    return slope * centred


def simulated_residuals(
    fraud: Mask, log_odds: Numbers, times: int, rng: np.random.Generator
) -> Numbers:
    """What would be left unexplained if the log-odds were the whole truth: `times` rows of it."""
    frauds, p = int(fraud.sum()), _expected(fraud, log_odds)
    heavy, light = case_weights(fraud)[[fraud.argmax(), fraud.argmin()]]
    # The share of fraud as it is, where `p` is what it would be among as many honest cases.
    odds = p / (1 - p + 1e-12) * frauds / (len(fraud) - frauds)
    labels = rng.random((times, len(fraud))) < odds / (1 + odds)
    return np.asarray(np.where(labels, heavy * (1 - p), -light * p))


def _expected(fraud: Mask, log_odds: Numbers) -> Numbers:
    """How likely fraud is by the log-odds, shifted as a whole to fit best; both labels weigh the
    same.
    """
    weights, shift = case_weights(fraud), 0.0
    for _ in range(_NEWTON_STEPS):
        p = _sigmoid(log_odds + shift)
        shift += float(weights @ (fraud - p)) / (float(weights @ (p * (1 - p))) + 1e-9)
        shift = min(max(shift, -10.0), 10.0)
    return _sigmoid(log_odds + shift)


def _sigmoid(log_odds: Numbers) -> Numbers:
    return np.asarray(1 / (1 + np.exp(-np.clip(log_odds, -30, 30))))


def marginal_gain(fired: Mask, fraud: Mask, log_odds: Numbers) -> float:
    """Rao's score test for adding a rule to what is said already: its z, towards fraud."""
    rest = residuals(fraud, log_odds)
    spread = math.sqrt(float(rest.variance[fired].sum()) + 1e-9)
    return float(rest.gradient[fired].sum()) / spread if fired.any() else 0.0
