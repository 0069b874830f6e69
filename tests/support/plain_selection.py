"""The five stages as a plain loop, bullet by bullet, from their definitions: what fast code must
give.
"""

import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from acegraph.state import AceContext, Bullet
from acegraph.state.playbook.index import unit

DIGITS = 9


def cosine(a: np.ndarray, b: np.ndarray) -> float:
    """Of vectors brought to length 1 in single precision, as they are kept."""
    pairs = zip(unit(a).tolist(), unit(b).tolist(), strict=True)
    return round(math.fsum(x * y for x, y in pairs), DIGITS)


def plain_selection(
    bullets: Sequence[Bullet],
    vectors: Mapping[str, np.ndarray],
    query: np.ndarray,
    fields: Mapping[str, Any],
    n: int,
    rng: np.random.Generator,
    settings: AceContext,
) -> list[tuple[str, dict[str, float]]]:
    """Bullet ids, best first, with their scores."""
    threshold, weights = settings.semantic_threshold, dict(settings.weights)
    assert threshold is not None
    good = [b for b in bullets if b.get_success_rate() >= settings.quality_threshold]
    if len(good) < n:
        least = 0.8 * settings.quality_threshold - 1e-12
        good = [b for b in bullets if b.get_success_rate() >= least]
    scored: dict[str, dict[str, float]] = {}
    for bullet in good:
        semantic = cosine(query, vectors[bullet.id])
        holds = bullet.condition.holds(fields) if bullet.condition else None
        if holds is False or (holds is None and semantic < threshold):
            continue
        draw = rng.beta(bullet.helpful_count + 1, bullet.harmful_count + 1)
        parts = {
            "quality": bullet.get_success_rate(),
            "semantic": max(semantic, threshold) if holds else semantic,
            "thompson": draw,
        }
        combined = sum(weights[name] * part for name, part in parts.items())
        scored[bullet.id] = {**parts, "combined": combined}
    picked: list[tuple[str, dict[str, float]]] = []
    while scored and len(picked) < n:
        for bullet_id, found in scored.items():
            similar = [cosine(vectors[bullet_id], vectors[i]) for i, _ in picked]
            bonus = settings.diversity_weight * (1 - sum(similar) / len(similar)) if similar else 0
            found |= {"diversity_bonus": bonus, "final": found["combined"] + bonus}
        best = max(scored, key=lambda i: round(scored[i]["final"], DIGITS))
        picked.append((best, scored.pop(best)))
    return picked
