"""Probabilities as log-odds, for one number."""

import math


def log_odds_of(risk: float) -> float:
    """The log-odds of a probability; certainty is one in a billion short of it."""
    risk = min(max(risk, 1e-9), 1 - 1e-9)
    return math.log(risk / (1 - risk))
