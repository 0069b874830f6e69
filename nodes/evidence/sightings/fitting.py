"""How what labels said of entities counts best: the days that it looks back, and its weight."""

from collections.abc import Sequence
from itertools import product
from math import sqrt
from typing import Final

import numpy as np
from numpy.typing import NDArray

from acegraph.nodes.evidence.sightings.derivation import in_time
from acegraph.state.values import DECLINE, Evidence, Sighting, Verdict

Numbers = NDArray[np.float64]
_DAYS: Final = (7, 14, 30, 90)
_WEIGHTS: Final = (0.3, 1.0, 3.0, 10.0, 30.0)
_LOOKED_AT: Final = 100_000
"""So many of the newest payments tell how evidence counts best."""
_CLEARLY: Final = 2.0
"""Evidence counts if it tells fraud better by so many standard errors."""


def fitted_evidence(
    sightings: Sequence[Sighting | None], labels: Sequence[Verdict | None], delay: float
) -> dict[str, Evidence]:
    """By kind of entity how what labels said of it tells fraud best; without those of which it
    tells nothing.

    Each payment is told by labels that were known before it, `delay` days after their payments, so
    that what is promised here is what later payments get.
    """
    newest = slice(-_LOOKED_AT, None)
    sightings, labels = sightings[newest], labels[newest]
    usual = labels.count(DECLINE) / max(len(labels) - labels.count(None), 1)
    if not 0 < usual < 1:
        return {}
    best: dict[str, tuple[float, Evidence]] = {}
    kinds = {kind for one in sightings if one for kind in one.who}
    for days in _DAYS:
        each = dict.fromkeys(kinds, Evidence(usual, days, delay))
        told: dict[str, list[tuple[int, int, bool]]] = {kind: [] for kind in kinds}
        for number, _, pasts in in_time(sightings, labels, each):
            if label := labels[number]:
                for kind, past in pasts.items():
                    told[kind].append((past.settled, past.frauds, label == DECLINE))
        for kind, weight in product(sorted(kinds), _WEIGHTS):
            one = Evidence(usual, days, delay, weight)
            gain = _gain(one, np.array(told[kind], dtype=float).T)
            if gain > best.get(kind, (_CLEARLY, one))[0]:
                best[kind] = gain, one
    return {kind: one for kind, (_, one) in best.items()}


def _gain(evidence: Evidence, told: Numbers) -> float:
    """How much better it tells fraud than the usual share does, in standard errors of the mean."""
    settled, frauds, is_fraud = told
    weight, usual = evidence.weight, evidence.usual
    share = (frauds + weight * usual) / (np.maximum(settled, frauds) + weight)
    said = np.where(is_fraud > 0, share, 1 - share)
    gains = np.log(said) - np.log(np.where(is_fraud > 0, usual, 1 - usual))
    spread = float(gains.std())
    return float(gains.mean()) * sqrt(len(gains)) / spread if spread else 0.0
