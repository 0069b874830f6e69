"""Selection by arrays gives what a plain loop gives: same bullets, same order, same scores."""

from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st
from langchain_core.embeddings import Embeddings
from plain_selection import plain_selection

from acegraph.nodes import HybridSelector
from acegraph.nodes.selector.stages import Pool, StageSettings, choose, decision_rng
from acegraph.state import Bullet, BulletPlaybook, Condition
from acegraph.state.playbook.index import View, unit
from acegraph.state.values.decision import Clock

NODE = "fraud_detection"
QUERY = "the query"
FIELDS = {"amount": 10, "vpn": True, "memo": None, "place": "Oslo"}
CONDITIONS = [
    None,
    "DECLINE when amount >= 10",
    "DECLINE when amount > 10",
    "APPROVE when vpn is true and place is not \"Rome\"",
    "APPROVE when memo is missing",
    "APPROVE when memo is not \"x\"",
    "DECLINE when unheard_of < 5",
    "DECLINE when unheard_of < 5 and amount < 3",
]  # fmt: skip


class Fixed(Embeddings):
    """Vectors by text."""

    def __init__(self, vectors: dict[str, Any]) -> None:
        self.vectors = vectors

    def embed_query(self, text: str) -> list[float]:
        return list(map(float, self.vectors[text]))

    def embed_documents(self, texts: list[str]) -> list[list[float]]:
        return [self.embed_query(text) for text in texts]


def rule(number: int) -> Condition | None:
    text = CONDITIONS[number]
    return Condition.parse(text) if text else None


bullets = st.builds(
    Bullet,
    id=st.just(""),
    content=st.just(""),
    node=st.just(NODE),
    source=st.sampled_from(["offline", "online"]),
    helpful_count=st.integers(0, 4),
    harmful_count=st.integers(0, 6),
    status=st.sampled_from(["active", "active", "active", "retired", "candidate"]),
    condition=st.integers(0, len(CONDITIONS) - 1).map(rule),
)
small = st.lists(st.integers(-2, 2), min_size=3, max_size=3).filter(any)  # zeros are no vector


@settings(max_examples=30, deadline=None, suppress_health_check=[HealthCheck.filter_too_much])
@given(
    drawn=st.lists(st.tuples(bullets, small), max_size=12),
    query=small,
    n=st.integers(0, 6),
    source=st.sampled_from([None, "offline", "online"]),
    thompson=st.sampled_from([0.0, 0.3]),
    weight=st.sampled_from([0.0, 0.15, 2.0]),
)
def test_the_selector_gives_what_the_plain_loop_gives(
    drawn: list[tuple[Bullet, list[int]]],
    query: list[int],
    n: int,
    source: str | None,
    thompson: float,
    weight: float,
) -> None:
    # A server that gives one vector for different texts is not believed (embedding_models.py).
    assume(all(np.linalg.matrix_rank([query, vector]) == 2 for _, vector in drawn))
    playbook, vectors = BulletPlaybook(), {str(FIELDS): query}
    for i, (bullet, vector) in enumerate(drawn):
        vectors[f"text {i}"] = vector
        bullet_id = playbook.add_bullet(
            f"text {i}", NODE, bullet.source, condition=bullet.condition, status=bullet.status
        )
        for is_helpful in [True] * bullet.helpful_count + [False] * bullet.harmful_count:
            playbook.update_stats(bullet_id, is_helpful)
    selector = HybridSelector(
        semantic_threshold=0.5,
        diversity_weight=weight,
        weights={"thompson": thompson},
        embeddings=_Any(vectors, query),
        seed=3,
    )
    chosen, scores = selector.select_bullets(FIELDS, NODE, playbook, n, source, decision_id="d")
    wanted = plain_selection(
        playbook.get_bullets_for_node(NODE, source),
        {b.id: np.array(vectors[b.content], np.float32) for b in playbook},
        np.array(query, np.float32),
        FIELDS,
        n,
        decision_rng(3, "d"),
        selector.settings,
    )
    assert [b.id for b in chosen] == [bullet_id for bullet_id, _ in wanted]
    for bullet_id, found in wanted:
        assert scores[bullet_id] == pytest.approx(found, abs=1e-6)


class _Any(Fixed):
    """Vectors by text; the query's for any other."""

    def __init__(self, vectors: dict[str, Any], query: Any) -> None:
        super().__init__(vectors)
        self.query = query

    def embed_query(self, text: str) -> list[float]:
        return list(map(float, self.vectors.get(text, self.query)))


def crowd(seed: int, size: int, dimensions: int) -> tuple[View, dict[str, np.ndarray], np.ndarray]:
    """Bullets around a query, some of them equal, some without a vector to speak of."""
    rng = np.random.default_rng(seed)
    query = rng.standard_normal(dimensions).astype(np.float32)
    spread = rng.choice([0.3, 1.0, 3.0])
    vectors, view = {}, View()
    records = rng.integers(0, rng.choice([1, 3, 40]), (size, 2), endpoint=True)
    for number in range(1, size + 1):
        vector = query / np.linalg.norm(query) + spread * rng.standard_normal(dimensions) / np.sqrt(
            dimensions
        )
        kind = rng.random()
        if kind < 0.05:
            vector = np.zeros(dimensions)
        elif kind < 0.3 and number > 1:
            vector = vectors[f"b{rng.integers(1, number)}"]
        vectors[f"b{number}"] = vector.astype(np.float32)
        helpful, harmful = records[number - 1].tolist()
        view.put(
            Bullet(
                f"b{number}",
                "text",
                NODE,
                "online" if rng.random() < 0.5 else "offline",
                helpful_count=helpful,
                harmful_count=harmful,
                status="active" if rng.random() < 0.9 else "retired",
                condition=rule(rng.integers(1, len(CONDITIONS))) if rng.random() < 0.2 else None,
            )
        )
    view.put_vectors("m", [(int(i[1:]), v) for i, v in vectors.items()])
    return view, vectors, query


@settings(max_examples=12, deadline=None)
@given(
    seed=st.integers(0, 10**6),
    size=st.integers(1, 260),
    dimensions=st.sampled_from([2, 5, 40]),
    thompson=st.sampled_from([0.0, 0.01, 0.3]),
    weight=st.sampled_from([0.0, 0.15, 1.0]),
)
def test_a_crowd_is_chosen_from_as_by_the_plain_loop(
    seed: int, size: int, dimensions: int, thompson: float, weight: float
) -> None:
    view, vectors, query = crowd(seed, size, dimensions)
    weights = {"quality": 0.3, "semantic": 0.4, "thompson": thompson}
    selector = HybridSelector(semantic_threshold=0.2, diversity_weight=weight, weights=weights)
    pool = Pool.of(view.at(Clock(0, 0)), None, selector.settings.quality_threshold, 5, FIELDS)
    matrix = view.matrix("m")
    assert matrix is not None
    chosen = StageSettings(5, 0.2, weights, weight, seed)
    found = choose(pool, unit(query), matrix.rows[:size], chosen, "d")
    wanted = plain_selection(
        [b for b in view.rows if b.status == "active"],
        vectors,
        query,
        FIELDS,
        5,
        decision_rng(seed, "d"),
        selector.settings,
    )
    assert [b.id for b in found.bullets] == [bullet_id for bullet_id, _ in wanted]
    for bullet_id, scores in wanted:
        assert found.scores[bullet_id] == pytest.approx(scores, abs=1e-6)
