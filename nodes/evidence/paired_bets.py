"""A test of pairs that may be looked at after each of them: whether one of two does better.

Somebody bets on the next pair, with an amount that cannot be lost as a whole. If neither is better,
nobody multiplies the first amount by `k` with a chance above 1 / k, whenever they stop (Ville 1939;
Waudby-Smith and Ramdas 2024). Several bettors, each with a share of its own, share the amount.
"""

from collections.abc import Sequence
from typing import Final

import numpy as np

_SHARES: Final = np.arange(0.05, 1.0, 0.1)
"""What each bettor risks of what it has."""


def multiplied(gains: Sequence[float]) -> float:
    """By how much bets on gains have multiplied the first amount; a gain is between -1 and 1.

    >>> round(multiplied([1.0] * 12)), round(multiplied([1.0, -1.0] * 12), 3)
    (620, 0.248)
    """
    logs = np.log1p(np.outer(_SHARES, np.asarray(gains, dtype=np.float64))).sum(axis=1)
    return float(np.exp(np.minimum(logs, 700.0)).mean())
