"""What the benchmarks share: a clock, a comparison with a baseline, a playbook of any size."""

import statistics
import time
from collections.abc import Callable, Iterable
from typing import Any

import numpy as np
from langchain_core.embeddings import Embeddings

from acegraph.graph import generate_transactions
from acegraph.nodes.models.embedding_models import EmbeddingModel, named_embeddings
from acegraph.state import Bullet, BulletPlaybook, Case, Condition
from acegraph.state.playbook.index import Vector

NODE = "bench"
PAYMENTS = "fraud_detection"
DIMENSIONS = 1536
REPEATS = 21
Work = Callable[[], Any]


FIELDS = ("amount", "hour", "account_age_days", "distance_km", "tx_last_hour", "merchant_rating")
RULES = 24


def rules_playbook(url: str | None = None) -> BulletPlaybook:
    """A playbook with 24 bullets of two comparisons each, and labelled cases."""
    examples = list(generate_transactions(400, seed=1))
    book = BulletPlaybook(url)
    book.remember([Case(e.id, e.fields, e.answer) for e in examples], PAYMENTS)
    for k in range(RULES):
        one, other = FIELDS[k % 6], FIELDS[(k + 1 + k // 6) % 6]
        high, low = (
            float(np.quantile([e.fields[name] for e in examples], share))
            for name, share in ((one, 0.8 - k / 60), (other, 0.3 + k / 60))
        )
        verdict = "DECLINE" if k % 3 else "APPROVE"
        rule = f"{verdict} when {one} >= {high} and {other} < {low}"
        bullet_id = book.add_bullet(rule, PAYMENTS, condition=Condition.parse(rule))
        book.set_weights({bullet_id: (0.2 + k / 20) * (1 if verdict == "DECLINE" else -1)})
    return book


def compare(*works: Work, repeats: int = REPEATS) -> list[float]:
    """The median CPU seconds of each; they take turns, so that a busy moment slows all alike."""
    times: list[list[float]] = [[] for _ in works]
    for turn in range(repeats + 1):
        for work, seconds in zip(works, times, strict=True):
            start = time.process_time()
            work()
            if turn:  # the first turn warms up
                seconds.append(time.process_time() - start)
    return [statistics.median(seconds) for seconds in times]


class Embedded(Embeddings):
    """An embedding model that knows the vectors of its texts."""

    model = "bench"

    def __init__(self, vectors: dict[str, Vector]) -> None:
        self.vectors = vectors

    def embed_query(self, text: str) -> list[float]:
        """The vector of a query."""
        return self.vectors[text]  # type: ignore[return-value]

    def embed_documents(self, texts: list[str]) -> list[list[float]]:
        """The vectors of several texts."""
        return [self.embed_query(text) for text in texts]


def embedded(vectors: dict[str, Vector]) -> EmbeddingModel:
    """The model with a memory: a text is embedded once, in the turn that warms up."""
    return named_embeddings(Embedded(vectors)).remembering()


def bullets_of(size: int, seed: int = 0, *, rules: bool = False) -> Iterable[Bullet]:
    """Bullets with records; with `rules` each carries a condition that holds for one in twenty."""
    rng = np.random.default_rng(seed)
    helpful, harmful = rng.integers(0, 20, size), rng.integers(0, 10, size)
    for i in range(size):
        rule = f"DECLINE when amount >= {100 * (i % 20)} and hour < {24 - i % 2} and vpn is true"
        yield Bullet(
            f"b{i + 1}",
            f"Heuristic number {i}: payments of kind {i % 97} on channel {i % 13} deserve a look",
            NODE,
            helpful_count=int(helpful[i]) + 3,
            harmful_count=int(harmful[i]),
            condition=Condition.parse(rule) if rules else None,
        )


def around(query: Vector, size: int, seed: int = 0) -> Vector:
    """Unit vectors whose cosines with the query are spread evenly from 0.1 to 0.9."""
    rng = np.random.default_rng(seed)
    vectors = rng.standard_normal((size, len(query)), dtype=np.float32)
    vectors -= np.outer(vectors @ query, query)
    vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)
    cosines = rng.uniform(0.1, 0.9, size).astype(np.float32)[:, None]
    vectors *= np.sqrt(1 - cosines**2)
    vectors += cosines * query
    return vectors


def playbook_of(bullets: Iterable[Bullet], vectors: Vector) -> BulletPlaybook:
    """A playbook filled in memory only: 100,000 inserts would take longer than the measurements."""
    playbook = BulletPlaybook()
    for bullet in bullets:
        playbook._bullets[bullet.number] = bullet
    node_bullets = playbook._bullets.of_node(NODE)
    node_bullets.put_vectors(Embedded.model, enumerate(vectors, start=1))
    return playbook


def table(title: str, rows: list[list[str]]) -> None:
    """Print rows in columns."""
    widths = [max(len(row[i]) for row in rows) for i in range(len(rows[0]))]
    print(f"\n{title}")
    for row in rows:
        first, *rest = (
            cell.ljust(w) if not i else cell.rjust(w)
            for i, (cell, w) in enumerate(zip(row, widths, strict=True))
        )
        print("  ".join([first, *rest]))
