"""The mathematics of the five stages: arrays in, order out. No I/O, no clock, no logger.

River's rule holds here: chance comes in as a parameter.
"""

import hashlib
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.floating]

RELAXATION = 0.8
"""How far stage 2 relaxes when it leaves too few bullets: to 0.24 of a threshold of 0.3, never
lower."""


def decision_rng(seed: int, decision_id: str) -> np.random.Generator:
    """The generator of one decision: the same whatever runs beside it, so it can be replayed."""
    digest = hashlib.blake2b(decision_id.encode(), digest_size=8).digest()
    return np.random.default_rng([seed, int.from_bytes(digest, "big")])


def success_rates(helpful: Floats, harmful: Floats) -> Floats:
    """Helpful / (helpful + harmful), 0.5 without outcomes.

    >>> success_rates(np.array([3.0, 0.0]), np.array([1.0, 0.0])).tolist()
    [0.75, 0.5]
    """
    judged = helpful + harmful
    return np.where(judged > 0, helpful / np.maximum(judged, 1), 0.5)


def pass_quality(rates: Floats, threshold: float, wanted: int) -> NDArray[np.bool_]:
    """Stage 2: at or above the threshold; with too few left, at or above 0.8 of it, never lower.

    >>> pass_quality(np.array([0.9, 0.25, 0.1]), 0.3, wanted=2).tolist()
    [True, True, False]
    """
    passed = rates >= threshold
    # 0.3 * 0.8 is a hair above 0.24 in binary: a rate of exactly 6 in 25 must pass.
    return passed if passed.sum() >= wanted else rates >= threshold * RELAXATION - 1e-12


def cosines(matrix: Floats, query: Floats) -> Floats:
    """Cosine of each row with the query; 0 for a zero vector."""
    lengths = np.linalg.norm(matrix, axis=1) * np.linalg.norm(query)
    return np.where(lengths > 0, matrix @ query / np.where(lengths > 0, lengths, 1), 0.0)


def thompson_draws(helpful: Floats, harmful: Floats, rng: np.random.Generator) -> Floats:
    """Stage 4: one draw from Beta(helpful + 1, harmful + 1) for each bullet."""
    return rng.beta(helpful + 1, harmful + 1)


def pick_diverse(
    scores: Floats, vectors: Floats, tie_breaks: Sequence[int], n: int, diversity_weight: float
) -> list[tuple[int, float]]:
    """Stage 5: greedy; each pick maximises score + weight * (1 - mean cosine to those picked).

    Gives the picks with their bonus; equal totals go to the smaller tie break.
    """
    unit = vectors / np.maximum(np.linalg.norm(vectors, axis=1, keepdims=True), 1e-12)
    left = list(range(len(scores)))
    similarity = np.zeros(len(scores))
    picked: list[tuple[int, float]] = []
    while left and len(picked) < n:
        bonus = diversity_weight * (1 - similarity / len(picked)) if picked else similarity
        best = max(left, key=lambda i: (scores[i] + bonus[i], -tie_breaks[i]))
        picked.append((best, float(bonus[best])))
        left.remove(best)
        similarity = similarity + unit @ unit[best]
    return picked
