"""Stages 3 to 5 for one transaction, over the arrays of a playbook's view.

It reads arrays; the vectors are fetched in selector.py.
"""

import numpy as np

from acegraph.nodes.selector import scoring
from acegraph.nodes.selector.pool import Pool, Selection
from acegraph.nodes.selector.scoring import Candidates, Floats, StageSettings
from acegraph.state.playbook.rule_table import HOLDS
from acegraph.state.playbook.vector_matrix import Vector


def choose(
    pool: Pool, vector: Vector, matrix: Vector, settings: StageSettings, decision_id: str
) -> Selection:
    """Stages 3 to 5: `vector` is that of the transaction, `matrix` has a row per bullet."""
    threshold, weights = settings.threshold, settings.weights
    rows = np.flatnonzero(pool.is_open)
    products = scoring.near(matrix, rows, vector)
    holds = pool.answers[rows] == HOLDS
    is_relevant = holds | scoring.pass_semantic(products, rows, matrix, vector, threshold)
    rows, products, holds = rows[is_relevant], products[is_relevant], holds[is_relevant]
    if not len(rows):
        return pool.selection()
    rng = scoring.decision_rng(settings.seed, decision_id)
    quality = pool.rates[rows]
    thompson = scoring.thompson_draws(pool.helpful[rows], pool.harmful[rows], rng)
    candidates = Candidates(
        matrix=matrix,
        rows=rows,
        query=vector,
        products=products,
        floors=np.where(holds, threshold, -np.inf),
        fixed=weights["quality"] * quality + weights["thompson"] * thompson,
        semantic_weight=weights["semantic"],
    )
    picks = np.array(
        scoring.pick_diverse(candidates, settings.n_bullets, settings.diversity_weight)
    )
    bullets, (semantic, alike) = pool.view.bullets(rows[picks]), candidates.exactly(picks, picks)
    combined = candidates.fixed[picks] + weights["semantic"] * semantic
    bonuses = _bonuses(alike, settings.diversity_weight)
    values = (quality[picks], semantic, thompson[picks], combined, bonuses, combined + bonuses)
    scores = {
        bullet.id: dict(zip(scoring.COMPONENTS, row, strict=True))
        for bullet, row in zip(bullets, np.array(values).T.tolist(), strict=True)
    }
    return pool.selection(bullets, scores, len(rows))


def _bonuses(alike: Floats, weight: float) -> Floats:
    """The diversity bonus of each pick, by its cosines to the picks before it."""
    unlike = [1 - sum(cosines[:i]) / i for i, cosines in enumerate(alike.tolist()) if i]
    return weight * np.array([0.0, *unlike])
