"""Stages 3 to 5 for one transaction: arrays in, order out. No I/O, no clock, no logger.

Chance comes from the seed and the decision's id. Products of stored vectors, which are in single
precision, are computed in double precision, so that ties are ties.
"""

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

from acegraph.nodes.selector.pool import Floats, Pool, Selection
from acegraph.state.playbook.rule_table import HOLDS
from acegraph.state.playbook.vector_matrix import Vector

Rows = NDArray[np.intp]
_DIGITS: Final = 9
"""Scores that agree to this many digits are equal: what differs beyond them is rounding."""
_COMPONENTS: Final = ("quality", "semantic", "thompson", "combined", "diversity_bonus", "final")
"""The parts of a bullet's score, as they are recorded."""
_ROWS_AT_ONCE: Final = 1024


@dataclass(frozen=True)
class StageSettings:
    """The settings of stages 3 to 5."""

    n_bullets: int
    threshold: float
    weights: Mapping[str, float]
    diversity_weight: float
    seed: int = 0


def choose(
    pool: Pool, vector: Vector, matrix: Vector, settings: StageSettings, decision_id: str
) -> Selection:
    """Stages 3 to 5: `vector` is that of the transaction, `matrix` has a row per bullet."""
    threshold, weights = settings.threshold, settings.weights
    rows = np.flatnonzero(pool.is_open)
    products = cosines(matrix, rows, vector)
    holds = pool.answers[rows] == HOLDS
    is_relevant = holds | (products >= threshold)
    rows, products, holds = rows[is_relevant], products[is_relevant], holds[is_relevant]
    if not len(rows):
        return pool.selection()
    rng = decision_rng(settings.seed, decision_id)
    quality, semantic = pool.rates[rows], np.where(holds, np.maximum(products, threshold), products)
    thompson = rng.beta(pool.helpful[rows] + 1, pool.harmful[rows] + 1)
    combined = weights["quality"] * quality + weights["semantic"] * semantic
    combined += weights["thompson"] * thompson
    picks, bonuses = pick_diverse(
        combined, matrix, rows, settings.n_bullets, settings.diversity_weight
    )
    parts = (part[picks] for part in (quality, semantic, thompson, combined))
    values = (*parts, bonuses, combined[picks] + bonuses)
    bullets = pool.view.bullets(rows[picks])
    scores = {
        bullet.id: dict(zip(_COMPONENTS, row, strict=True))
        for bullet, row in zip(bullets, np.array(values).T.tolist(), strict=True)
    }
    return pool.selection(bullets, scores, len(rows))


def decision_rng(seed: int, decision_id: str) -> "np.random.Generator":
    """The random generator of one decision: always the same, so that a decision can be replayed."""
    digest = hashlib.blake2b(decision_id.encode(), digest_size=8).digest()
    return np.random.default_rng([seed, int.from_bytes(digest, "big")])


def cosines(matrix: Floats, rows: Rows, vector: Floats) -> Floats:
    """The cosines of some rows with a unit vector, in double precision."""
    products = np.empty(len(rows))
    for start in range(0, len(rows), _ROWS_AT_ONCE):
        part = slice(start, start + _ROWS_AT_ONCE)
        products[part] = matrix[rows[part]].astype(np.float64) @ vector.astype(np.float64)
    return products.round(_DIGITS)


def pick_diverse(
    scores: Floats, matrix: Floats, rows: Rows, n: int, weight: float
) -> tuple[list[int], Floats]:
    """Stage 5, greedy: each pick maximises score + weight * (1 - mean cosine to the picks so far).

    Picks come best first, with the bonus of each; equal totals go to the earlier candidate.
    """
    # No bonus is above twice the weight: what is farther behind the n-th best is never picked.
    nth = np.partition(scores, -n)[-n] if len(scores) > n else -np.inf
    left = np.flatnonzero(scores >= nth - 2 * weight - 10.0**-_DIGITS)
    open_scores, similarity, bonus = scores[left], np.zeros(len(left)), np.zeros(len(left))
    picks: list[int] = []
    bonuses: list[float] = []
    while len(picks) < min(n, len(left)):
        if picks:
            similarity += cosines(matrix, rows[left], matrix[rows[picks[-1]]])
            bonus = weight * (1 - similarity / len(picks))
        best = int(np.argmax((open_scores + bonus).round(_DIGITS)))
        picks.append(int(left[best]))
        bonuses.append(float(bonus[best]))
        open_scores[best] = -np.inf
    return picks, np.array(bonuses)
