"""From many rules to few: the one that is missed least is left out, and the others are fitted anew.

An L1 penalty keeps more rules than a set needs, because it shrinks the good ones too and others
make up for it. Without the penalty, and with fewer rules step by step, a short set says as much.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np

from acegraph.nodes.evidence.backtest import ALIKE
from acegraph.nodes.evidence.residuals import Mask, Numbers, sigmoid

_RIDGE: Final = 1.0
_NEWTON_STEPS: Final = 30
_LONGEST: Final = 60
LENGTHS: Final = (1, 2, 3, 4, 5, 6, 7, 8, 10, 13, 16, 20, 25)
"""How long a set may be."""
_ON_THE_WAY: Final = (30, 35, 40, 45, 50, 55)
"""Of many cases weights are fitted only at the lengths of sets, and at these; of fewer after each
rule that is left out."""
_MANY: Final = 2_000


@dataclass(frozen=True)
class FittedRules:
    """Some of the rules, with weights that fit the labelled cases."""

    rules: tuple[int, ...]
    """Their row numbers."""
    weights: Numbers
    shift: float

    def log_odds(self, fired: Mask, start: Numbers) -> Numbers:
        """What they give to cases, on top of the `start` log-odds."""
        return np.asarray(start + self.weights @ fired[list(self.rules)] + self.shift)


def shorter_and_shorter(
    fired: Mask, fraud: Mask, start: Numbers, shares: Numbers, weights: Numbers, worth: Numbers
) -> list[FittedRules]:
    """Sets of rules, the longest first, each without some rules of the one before it.

    `weights`, with a shift last, are those of all rules under an L1 penalty: most are zero. Of two
    rules that say the same the one of more `worth` is taken.
    """
    ranked = [i for i in np.argsort(-worth).tolist() if worth[i] > 0]
    rules = unlike(ranked, fired, _LONGEST)
    fitted, spread = np.append(weights[rules], weights[-1]), np.zeros((0, 0))
    found: list[FittedRules] = []
    fits_all = not has_many(fraud)
    while rules:
        if fits_all or not found or len(rules) in (*LENGTHS, *_ON_THE_WAY):
            fitted, spread = ridge_weights(fired[rules], fraud, start, shares, fitted)
            found.append(FittedRules(tuple(rules), fitted[:-1], float(fitted[-1])))
        least = int(np.argmin(missed(fitted, spread)[:-1]))
        # The others take over what they share with it (Hassibi and Stork 1993), so that little is
        # left to fit.
        taken_over = spread[:, least] / spread[least, least]
        fitted = fitted - fitted[least] * taken_over
        spread = spread - np.outer(taken_over, spread[least])
        rules, fitted = rules[:least] + rules[least + 1 :], np.delete(fitted, least)
        spread = np.delete(np.delete(spread, least, axis=0), least, axis=1)
    return found


def has_many(fraud: Mask) -> bool:
    """Whether there are so many cases of both labels that less exact work tells as much."""
    return min(int(fraud.sum()), int((~fraud).sum())) >= _MANY


def unlike(ranked: Sequence[int], fired: Mask, most: int) -> list[int]:
    """The first so many rules, without those that say almost the same as one before them.

    A rule and its opposite say the same: what one adds, the other takes away.
    """
    chosen: list[int] = []
    both = _common(fired, fired)
    fires = np.diag(both)
    either = fires[:, None] + fires - both
    common = both / np.maximum(either, 1)
    is_alike = (common > ALIKE) | (agreement(fired, fired) < 1 - ALIKE)
    for i in ranked:
        if len(chosen) < most and not is_alike[i, chosen].any():
            chosen.append(i)
    return chosen


def agreement(fired: Mask, others: Mask) -> Numbers:
    """By rule and other rule, the share of cases on which both fire or neither does."""
    only_one = fired.sum(axis=1)[:, None] + others.sum(axis=1) - 2 * _common(fired, others)
    return np.asarray(1 - only_one / fired.shape[1])


def _common(fired: Mask, others: Mask) -> Numbers:
    """By rule and other rule, on how many cases both fire."""
    both = fired.astype(np.float32) @ others.astype(np.float32).T
    return np.asarray(both.astype(np.float64))  # exact up to 16 million cases


def ridge_weights(
    fired: Mask,
    fraud: Mask,
    start: Numbers,
    shares: Numbers,
    begin: Numbers,
    ridge: float = _RIDGE,
) -> tuple[Numbers, Numbers]:
    """Weights and shift by ridge logistic regression, and how far they spread: their covariance."""
    rows = np.vstack([fired, np.ones(len(fraud))]).astype(np.float64)
    single = rows.astype(np.float32)  # precise enough for the length of a step
    held_down = np.append(np.full(len(fired), ridge), 1e-6)

    def loss(w: Numbers) -> tuple[float, Numbers]:
        log_odds = start + w @ rows
        likelihood = shares @ (np.logaddexp(0, log_odds) - fraud * log_odds)
        return float(likelihood + 0.5 * held_down @ (w * w)), log_odds

    w, (least, log_odds) = begin, loss(begin)
    for _ in range(_NEWTON_STEPS):
        p = sigmoid(log_odds)
        gradient = rows @ (shares * (fraud - p)) - held_down * w
        curved = single * np.sqrt(shares * p * (1 - p)).astype(np.float32)
        information = curved @ curved.T + np.diag(held_down)  # half the work, as it is symmetric
        step = np.linalg.solve(information, gradient)
        promised, length = float(gradient @ step), 1.0
        if promised < 1e-3:
            break
        now, log_odds = loss(w + step)
        while now > least - 1e-4 * length * promised and length > 1e-3:
            length /= 2
            now, log_odds = loss(w + length * step)
        w, least = w + length * step, now
    return w, np.linalg.inv(information)


def missed(weights: Numbers, spread: Numbers) -> Numbers:
    """How much each weight is worth: about how far the log-likelihood falls without it."""
    return np.asarray(weights**2 / (2 * np.diag(spread)))
