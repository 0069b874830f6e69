"""The five stages applied bullet by bullet with numpy, straight from their definitions."""

from collections.abc import Sequence

import numpy as np

from acegraph.state import Bullet
from acegraph.state.playbook.index import Vector


def cosine(a: Vector, b: Vector) -> float:
    """The cosine of two vectors."""
    lengths = np.linalg.norm(a) * np.linalg.norm(b)
    return float(np.dot(a, b) / lengths) if lengths > 0 else 0.0


def select(
    bullets: Sequence[Bullet],
    vectors: Vector,
    query: Vector,
    threshold: float,
    n: int,
    rng: np.random.Generator,
) -> list[str]:
    """The ids of the best bullets."""
    active = [b for b in bullets if b.status == "active"]
    good = [b for b in active if b.get_success_rate() >= 0.3]
    scores: dict[int, float] = {}
    for bullet in good:
        semantic = cosine(vectors[bullet.number - 1], query)
        if semantic >= threshold:
            draw = rng.beta(bullet.helpful_count + 1, bullet.harmful_count + 1)
            quality = bullet.get_success_rate()
            scores[bullet.number] = 0.3 * quality + 0.4 * semantic + 0.3 * draw
    picked: list[int] = []
    while scores and len(picked) < n:
        totals = {}
        for number, score in scores.items():
            similar = [cosine(vectors[number - 1], vectors[p - 1]) for p in picked]
            bonus = 0.15 * (1 - np.mean(similar)) if similar else 0.0
            totals[number] = score + bonus
        best = max(totals, key=lambda number: (totals[number], -number))
        picked.append(best)
        del scores[best]
    return [f"b{number}" for number in picked]
