"""The mathematics of the five stages: arrays in, order out. No I/O, no clock, no logger.

Chance comes in as a parameter. Products are computed in single precision with a bound on the error;
what is too close to call is computed again in double precision, so that the result is exact.
"""

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.floating]
Bools = NDArray[np.bool_]
Rows = NDArray[np.intp]

DIGITS: Final = 9
"""Scores that agree to this many digits are equal: what differs beyond them is rounding."""
COMPONENTS: Final = ("quality", "semantic", "thompson", "combined", "diversity_bonus", "final")
"""The parts of a bullet's score, as they are recorded."""
_ROWS_AT_ONCE: Final = 1024
_SPARSE_BELOW: Final = 0.25
"""Below this share of the rows it is cheaper to fetch them than to multiply with all."""


@dataclass(frozen=True)
class StageSettings:
    """The settings of stages 3 to 5."""

    n_bullets: int
    threshold: float
    weights: Mapping[str, float]
    diversity_weight: float
    seed: int = 0


def decision_rng(seed: int, decision_id: str) -> "np.random.Generator":
    """The random generator of one decision: always the same, so that a decision can be replayed."""
    digest = hashlib.blake2b(decision_id.encode(), digest_size=8).digest()
    return np.random.default_rng([seed, int.from_bytes(digest, "big")])


def thompson_draws(helpful: Floats, harmful: Floats, rng: "np.random.Generator") -> Floats:
    """Stage 4: one draw from Beta(helpful + 1, harmful + 1) for each bullet."""
    return rng.beta(helpful + 1, harmful + 1)


def max_error(dimensions: int) -> float:
    """The largest error of single precision in a cosine of unit vectors, in any order of summing.

    The textbook bound n u (Higham 2002, section 3.1) counts twice: once for the product, once
    because the length of a stored unit vector is itself rounded.
    """
    return 2 * (dimensions + 2) * 2.0**-24


def cosines(matrix: Floats, rows: Rows, vectors: Floats) -> Floats:
    """The cosines of some rows with one unit vector or several, in double precision."""
    wide = vectors.astype(np.float64).T
    products = np.empty((len(rows), *wide.shape[1:]))
    for start in range(0, len(rows), _ROWS_AT_ONCE):
        part = slice(start, start + _ROWS_AT_ONCE)
        products[part] = matrix[rows[part]].astype(np.float64) @ wide
    return products.round(DIGITS)


def near(matrix: Floats, rows: Rows, vector: Floats) -> Floats:
    """The cosines of some rows with a unit vector, in single precision."""
    if len(rows) < _SPARSE_BELOW * len(matrix):
        return np.asarray(matrix[rows] @ vector)
    return np.asarray((matrix @ vector)[rows])


def pass_semantic(
    products: Floats, rows: Rows, matrix: Floats, query: Floats, threshold: float
) -> Bools:
    """Stage 3 for bullets whose rule does not decide: a cosine at or above the threshold."""
    error = max_error(matrix.shape[1])
    passed = products >= threshold - error
    close = (passed & (products <= threshold + error)).nonzero()[0]
    if len(close):
        passed[close] = cosines(matrix, rows[close], query) >= threshold
    return passed


@dataclass(frozen=True)
class Candidates:
    """The bullets that reached stage 4, in the order of their ids."""

    matrix: Floats
    """Unit vectors in single precision, of these bullets and of others."""
    rows: Rows
    """The rows of the matrix that belong to these bullets."""
    query: Floats
    """The unit vector of the transaction."""
    products: Floats
    """Their cosines with the query, in single precision."""
    floors: Floats
    """The least semantic score of each bullet: the threshold where its rule holds."""
    fixed: Floats
    """The other part of each score: weighted quality and Thompson draw."""
    semantic_weight: float

    def exactly(self, which: Rows, others: Rows) -> tuple[Floats, Floats]:
        """The semantic scores of some, and their cosines to others, in double precision."""
        towards = np.vstack([self.query, self.matrix[self.rows[others]]])
        products = cosines(self.matrix, self.rows[which], towards)
        return np.maximum(products[:, 0], self.floors[which]), products[:, 1:]


def pick_diverse(candidates: Candidates, n: int, weight: float) -> list[int]:
    """Stage 5, greedy: each pick maximises score + weight * (1 - mean cosine to the picks so far).

    That is exact: what rounding leaves open is computed again in double precision. Picks come best
    first; equal totals go to the earlier candidate.
    """
    c, error = candidates, max_error(candidates.matrix.shape[1])
    slack = 2 * ((abs(c.semantic_weight) + weight) * error + 10.0**-DIGITS)
    scores = c.fixed + c.semantic_weight * np.maximum(c.products, c.floors)
    # No bonus is above twice the weight: what is farther behind the n-th best is never picked.
    nth = np.partition(scores, -n)[-n] if len(scores) > n else -np.inf
    left = np.flatnonzero(scores >= nth - 2 * weight - slack)
    scores, rows = scores[left], c.rows[left]
    totals, similarity, picked = scores, np.zeros(len(left)), np.zeros(0, np.intp)
    while len(picked) < min(n, len(left)):
        close = np.flatnonzero(totals >= totals.max() - slack)
        best = close[_exactly_best(c, left[close], left[picked], weight)]
        picked, scores[best] = np.append(picked, best), -np.inf
        similarity += near(c.matrix, rows, c.matrix[rows[best]])
        totals = scores + weight * (1 - similarity / len(picked))
    return [int(row) for row in left[picked]]


def _exactly_best(c: Candidates, close: Rows, picked: Rows, weight: float) -> int:
    """The place of the best total in double precision, where rounding leaves it open."""
    if len(close) == 1:
        return 0
    semantic, alike = c.exactly(close, picked)
    exact = c.fixed[close] + c.semantic_weight * semantic
    if len(picked):
        exact += weight * (1 - alike.mean(axis=1))
    return int(np.argmax(exact.round(DIGITS)))
