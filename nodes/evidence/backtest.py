"""Backtests: how a condition would have done on labelled cases, with intervals and chances.

How much proof a rule needs is decided in proof_levels.py.
"""

import math
from dataclasses import asdict, dataclass
from typing import Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from acegraph.nodes.evidence.columns.entities import case_shares
from acegraph.nodes.evidence.residuals import Mask, Numbers, best_shift, marginal_gain, sigmoid
from acegraph.state.values import DECLINE, CaseTable, Condition, sign_of

ALIKE: Final = 0.9
"""Two rules of one verdict with a larger share of common cases say the same, and so do two of which
exactly one holds for a larger share of all cases: opposites."""
_MIN_CASES: Final = 12


@dataclass(frozen=True)
class Backtest:
    """How a condition would have done on labelled cases; it fires on a case where it holds.

    A customer or merchant with many cases counts as a few of them (entities.py).
    """

    cases: int
    fires: int
    right: int
    """On how many of these cases its verdict was the label."""
    precision: float
    precision_low: float
    precision_high: float
    recall: float
    """The share of the cases labelled with its verdict on which it fires."""
    false_positive_rate: float
    p_chance: float
    """The chance that a condition which knows nothing does as well: by the hypergeometric law, and
    where a model departed from the playbook, beside the risk that the model gave.
    """
    gain: float
    """Standard errors by which it improves on what the playbook already says."""

    def to_json(self) -> dict[str, int | float]:
        """All figures by name, rounded for reading."""
        return {k: round(v, 6) if isinstance(v, float) else v for k, v in asdict(self).items()}


def can_prove(table: CaseTable) -> bool:
    """Whether there are enough cases of both labels to prove anything."""
    return len(table) >= _MIN_CASES and 0 < int(table.fraud.sum()) < len(table)


def backtest(
    condition: Condition, table: CaseTable, log_odds: Numbers, without: int | None = None
) -> Backtest:
    """Test a condition on labelled cases, to which the playbook already gives these log-odds.

    `without` is the row of the case that the condition was derived from; it proves nothing.
    """
    fired, fraud, shares = condition.holds_over(table), table.fraud, case_shares(table)
    weights, departed = table.weights, table.departures
    if without is not None:
        fired, fraud = np.delete(fired, without), np.delete(fraud, without)
        log_odds, shares = np.delete(log_odds, without), np.delete(shares, without)
        weights, departed = np.delete(weights, without), np.delete(departed, without)
    agreeing = fraud if condition.verdict == DECLINE else ~fraud
    right, fires, total, cases = tally(fired, agreeing, shares)
    # Of a label with very many cases some are drawn: the precision is that among all cases.
    stood_for = float((shares * weights) @ fired)
    precision = float((shares * weights) @ (fired & agreeing)) / stood_for if stood_for else 0.0
    low, high = wilson_interval(precision * fires, fires)
    others = cases - total
    sign = sign_of(condition.verdict)
    by_chance = chance(right, fires, total, cases)
    if departed[fired].any():
        risks = sigmoid(sign * (log_odds + best_shift(fraud, log_odds, shares)))
        expected = float(np.average(risks[fired], weights=shares[fired]))
        beside = chance_beside(right, fires, expected)
        # What lowers risk must be right by itself too, not only where a model declines too much.
        by_chance = beside if condition.verdict == DECLINE else max(beside, by_chance)
    return Backtest(
        cases=cases,
        fires=fires,
        right=right,
        precision=precision if fires else 0.0,
        precision_low=low,
        precision_high=high,
        recall=right / total if total else 0.0,
        false_positive_rate=(fires - right) / others if others else 0.0,
        p_chance=by_chance,
        gain=sign * marginal_gain(fired, fraud, log_odds, shares),
    )


class Tally(NamedTuple):
    """On how many cases a rule is right and fires, how many agree with it, and how many are."""

    right: int
    fires: int
    agreeing: int
    cases: int


def tally(fired: Mask, agreeing: Mask, shares: Numbers) -> Tally:
    """Count cases by their shares; each of the four kinds is rounded to whole cases."""
    kinds = np.bincount(2 * fired + agreeing, weights=shares, minlength=4)
    others, missed, wrong, right = (int(n) for n in np.rint(kinds))
    return Tally(right, right + wrong, right + missed, right + wrong + missed + others)


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


def chance(right: int, fires: int, agreeing: int, cases: int) -> float:
    """P(at least `right` of `fires` cases drawn at random out of `cases` are `agreeing` ones).

    >>> round(chance(6, 6, 6, 12), 6) == round(1 / 924, 6)
    True
    """
    if right <= max(0, fires + agreeing - cases):
        return 1.0
    k = np.arange(right, min(fires, agreeing) + 1)
    logs = _log_choose(agreeing, k) + _log_choose(cases - agreeing, fires - k)
    return float(min(1.0, np.exp(logs - _log_choose(cases, np.array([fires]))).sum()))


def chance_beside(right: int, fires: int, expected: float) -> float:
    """P(at least `right` of `fires` cases) if each is as probable as the agent says on average.

    Whatever the single risks, chance does this well at most so often (Hoeffding 1956).

    >>> round(chance_beside(9, 10, 0.5), 4)
    0.0107
    """
    from scipy.special import bdtrc  # takes time, and only learning needs it

    return float(bdtrc(right - 1, fires, expected)) if right > fires * expected else 1.0


def _log_choose(n: int, k: NDArray[np.int64]) -> Numbers:
    """The logarithms of the binomial coefficients n over k."""
    from scipy.special import betaln  # takes time, and only learning needs it

    return np.asarray(-np.log1p(n) - betaln(n - k + 1, k + 1))
