"""What labelled cases say about a condition: backtest, intervals, tests, fitted weights.

Arrays in, numbers out: no clock, no database, no logger. Fraud and honest cases weigh the same in
total, whatever their share, so that a rule is measured by how it separates them and not by how rare
fraud is.
"""

import math
from dataclasses import asdict, dataclass
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from acegraph.nodes.blas import one_blas_thread
from acegraph.state import DECLINE, CaseTable, Condition

Mask = NDArray[np.bool_]
Numbers = NDArray[np.float64]

_MIN_CASES: Final = 12
_RIDGE: Final = 1.0
_MAX_WEIGHT: Final = 4.0
_NEWTON_STEPS: Final = 6
_STEEPEST: Final = 4.0
_BITS: Final = 20
"""How many rules make one number when cases are grouped by what fires on them."""


@dataclass(frozen=True)
class Backtest:
    """How a condition would have done on labelled cases."""

    cases: int
    fires: int
    right: int
    """Of the fires, those where its verdict was the label."""
    precision: float
    precision_low: float
    precision_high: float
    recall: float
    """Share of all cases with its verdict as label on which it fires."""
    false_positive_rate: float
    p_chance: float
    """How likely a condition that knows nothing does as well, by the hypergeometric law."""
    gain: float
    """Standard errors by which it improves on what the playbook already says."""

    def to_json(self) -> dict[str, Any]:
        """Rounded for reading."""
        return {k: round(v, 6) if isinstance(v, float) else v for k, v in asdict(self).items()}


def can_prove(table: CaseTable) -> bool:
    """Whether there are cases enough, of both labels, to prove anything."""
    return len(table) >= _MIN_CASES and 0 < int(table.fraud.sum()) < len(table)


def backtest(
    condition: Condition, table: CaseTable, log_odds: Numbers, without: int | None = None
) -> Backtest:
    """Replay a condition over labelled cases, beside what the playbook says of them now.

    `without` is the row of the case it was drawn from, which proves nothing.
    """
    fired, fraud = condition.holds_over(table), table.fraud
    if without is not None:
        fired, fraud = np.delete(fired, without), np.delete(fraud, without)
        log_odds = np.delete(log_odds, without)
    wanted = fraud if condition.verdict == DECLINE else ~fraud
    fires, right, total = int(fired.sum()), int((fired & wanted).sum()), int(wanted.sum())
    low, high = wilson_interval(right, fires)
    others = len(fraud) - total
    sign = 1.0 if condition.verdict == DECLINE else -1.0
    return Backtest(
        cases=len(fraud),
        fires=fires,
        right=right,
        precision=right / fires if fires else 0.0,
        precision_low=low,
        precision_high=high,
        recall=right / total if total else 0.0,
        false_positive_rate=(fires - right) / others if others else 0.0,
        p_chance=chance(right, fires, total, len(fraud)),
        gain=sign * marginal_gain(fired, fraud, log_odds),
    )


def wilson_interval(right: float, n: int, z: float = 1.96) -> tuple[float, float]:
    """The Wilson score interval of a proportion (Wilson 1927).

    >>> [round(x, 3) for x in wilson_interval(8, 10)]
    [0.49, 0.943]
    """
    if n == 0:
        return 0.0, 1.0
    p, z2 = right / n, z * z
    centre = (p + z2 / (2 * n)) / (1 + z2 / n)
    half = z * math.sqrt(p * (1 - p) / n + z2 / (4 * n * n)) / (1 + z2 / n)
    return max(0.0, centre - half), min(1.0, centre + half)


def chance(right: int, fires: int, wanted: int, cases: int) -> float:
    """P(at least `right` of `fires` cases drawn blindly out of `cases` are among the `wanted`).

    >>> round(chance(6, 6, 6, 12), 6) == round(1 / 924, 6)
    True
    """
    if right <= max(0, fires + wanted - cases):
        return 1.0
    k = np.arange(right, min(fires, wanted) + 1)
    logs = _log_choose(wanted, k) + _log_choose(cases - wanted, fires - k)
    return float(min(1.0, np.exp(logs - _log_choose(cases, np.array([fires]))).sum()))


def _log_choose(n: int, k: NDArray[np.int64]) -> Numbers:
    factorial = _log_factorials(n)
    valid = (k >= 0) & (k <= n)
    inside = np.where(valid, k, 0)
    return np.where(valid, factorial[n] - factorial[inside] - factorial[n - inside], -np.inf)


def _log_factorials(n: int) -> Numbers:
    global _FACTORIALS
    if n >= len(_FACTORIALS):
        _FACTORIALS = np.concatenate([[0.0], np.cumsum(np.log(np.arange(1, 2 * n + 1)))])
    return _FACTORIALS


_FACTORIALS: Numbers = np.zeros(1)


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


def calibrated(fraud: Mask, log_odds: Numbers) -> Numbers:
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


def would_be(fraud: Mask, log_odds: Numbers, times: int, rng: np.random.Generator) -> Numbers:
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
