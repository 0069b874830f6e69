"""Stages 3 to 5 for many transactions at once, where few bullets may be chosen.

Everything is computed for all pairs of a transaction and a bullet, in double precision, and nothing
is pruned. Among many bullets stages.py chooses for one transaction after the other; both choose the
same.
"""

from collections.abc import Sequence
from typing import Final

import numpy as np

from acegraph.nodes.selector.scoring import (
    COMPONENTS,
    DIGITS,
    Floats,
    Rows,
    StageSettings,
    cosines,
    thompson_draws,
)
from acegraph.nodes.selector.stages import Query, Selection
from acegraph.state.playbook.rule_table import FAILS, HOLDS
from acegraph.state.playbook.vector_matrix import Vector

FEW: Final = 100
"""So many bullets that passed stage 2 are few."""


def choose_among_few(
    queries: Sequence[Query], vectors: Vector, matrix: Vector, settings: StageSettings
) -> list[Selection]:
    """What `stages.choose` returns for queries of one pool."""
    pool, weights, threshold = queries[0].pool, settings.weights, settings.threshold
    rows = np.flatnonzero(pool.is_good)
    answers = np.stack([query.answers[rows] for query in queries])
    holds, semantic = answers == HOLDS, cosines(matrix, rows, vectors).T
    is_relevant = (answers != FAILS) & (holds | (semantic >= threshold))
    semantic = np.where(holds, np.maximum(semantic, threshold), semantic)
    quality = np.broadcast_to(pool.rates[rows], semantic.shape)
    thompson = np.zeros(semantic.shape)
    helpful, harmful = pool.helpful[rows], pool.harmful[rows]
    for drawn, relevant, query in zip(thompson, is_relevant, queries, strict=True):
        if relevant.any():
            drawn[relevant] = thompson_draws(helpful[relevant], harmful[relevant], query.rng())
    fixed = weights["quality"] * quality + weights["thompson"] * thompson
    combined = fixed + weights["semantic"] * semantic
    counts = np.count_nonzero(is_relevant, axis=1)
    picks, bonuses = _greedy_picks(
        np.where(is_relevant, combined, -np.inf),
        cosines(matrix, rows, matrix[rows]),
        min(settings.n_bullets, int(counts.max())),
        settings.diversity_weight,
    )
    parts = [
        *(np.take_along_axis(each, picks, axis=1) for each in (quality, semantic, thompson)),
        best := np.take_along_axis(combined, picks, axis=1),
        bonuses,
        best + bonuses,
    ]
    selections = []
    for query, count, picked, scores in zip(
        queries, counts.tolist(), rows[picks], np.stack(parts, axis=-1).tolist(), strict=True
    ):
        bullets = pool.view.bullets(picked[:count])
        shown = zip(bullets, scores, strict=False)
        by_id = {bullet.id: dict(zip(COMPONENTS, row, strict=True)) for bullet, row in shown}
        selections.append(query.selection(bullets, by_id, count))
    return selections


def _greedy_picks(scores: Floats, alike: Floats, n: int, weight: float) -> tuple[Rows, Floats]:
    """Per query the columns of the picks, best first, and their diversity bonuses.

    `alike` are the cosines of the bullets with each other. Equal totals go to the earlier bullet.
    """
    each = np.arange(len(scores))
    picks, bonuses = np.zeros((len(scores), n), np.intp), np.zeros((len(scores), n))
    similarity, bonus = np.zeros(scores.shape), np.zeros(scores.shape)
    for place in range(n):
        if place:
            bonus = weight * (1 - similarity / place)
        best = (scores + bonus).round(DIGITS).argmax(axis=1)
        picks[:, place], bonuses[:, place] = best, bonus[each, best]
        similarity += alike[best]
        scores[each, best] = -np.inf
    return picks, bonuses
