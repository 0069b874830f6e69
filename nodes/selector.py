"""The selector: five stages from all bullets of a node to the few that the agent sees.

Context, quality, semantics, score, diversity. It reads the playbook and writes nothing but missing
vectors; the mathematics is in selection.py.
"""

import uuid
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from langchain_core.embeddings import Embeddings

from acegraph.nodes import providers, selection
from acegraph.nodes.embeddings import EmbeddingModel, named_embeddings
from acegraph.nodes.reader import read_fields
from acegraph.nodes.waiting import AWAITING, BLOCKING, Wait, finish
from acegraph.state import (
    Bullet,
    BulletPlaybook,
    Clock,
    Fields,
    InvalidSettings,
    ModelAnswerInvalid,
    ModelError,
    Transaction,
    View,
)
from acegraph.state.remarks import facts_text
from acegraph.state.vectors import Vector

_ENOUGH_TO_WARN = 20
_DEFAULT_WEIGHTS = {"quality": 0.3, "semantic": 0.4, "thompson": 0.3}


@dataclass(frozen=True)
class Selection:
    """The chosen bullets, best first, and why."""

    bullets: tuple[Bullet, ...]
    scores: dict[str, dict[str, float]]
    """Per bullet id: quality, semantic, thompson, combined, diversity_bonus, final."""
    funnel: dict[str, int]
    """How many bullets were left after each stage."""
    warnings: tuple[str, ...] = ()
    shadow: tuple[Bullet, ...] = ()
    """Rules that hold here but were held back by stage 2: not shown, yet tested by the outcome, so
    that one unlucky first firing is not for life."""
    clock: Clock | None = None
    """The moment whose bullets and counters were looked at."""


class HybridSelector:
    """Selects the best bullets for a transaction."""

    def __init__(
        self,
        quality_threshold: float = 0.3,
        semantic_threshold: float | None = None,
        diversity_weight: float = 0.15,
        weights: Mapping[str, float] | None = None,
        embedding_model: str | None = None,
        *,
        embeddings: Embeddings | None = None,
        seed: int = 0,
    ) -> None:
        given: dict[str, float] = {**_DEFAULT_WEIGHTS, **(weights or {})}
        if given.keys() != _DEFAULT_WEIGHTS.keys():
            raise InvalidSettings(
                f"weights are quality, semantic and thompson; found {sorted(given)}"
            )
        self.quality_threshold = quality_threshold
        self.semantic_threshold = semantic_threshold
        self.diversity_weight = diversity_weight
        self.weights = given
        self.seed = seed
        self._selections = self._emptied = 0
        self._model: EmbeddingModel | None = named_embeddings(embeddings) if embeddings else None
        if self._model is None and embedding_model is not None:
            self._model = providers.embedding_model(embedding_model)

    @property
    def embedding(self) -> EmbeddingModel:
        """The embedding model in use: the one given, else the configured default."""
        if self._model is None:
            self._model = providers.embedding_model(None)
        return self._model

    def select_bullets(
        self,
        query: str | Mapping[str, Any],
        node: str,
        playbook: BulletPlaybook,
        n_bullets: int = 5,
        source: str | None = None,
        *,
        decision_id: str | None = None,
    ) -> tuple[list[Bullet], dict[str, dict[str, float]]]:
        """The best bullets for a transaction and every component of their scores.

        The Thompson draws follow from the seed and the decision id; without an id each call draws
        anew.
        """
        transaction = Transaction.of(query)
        decision_id = decision_id or uuid.uuid4().hex
        chosen = finish(
            self.select(transaction, node, playbook, n_bullets, source, decision_id, BLOCKING)
        )
        return list(chosen.bullets), chosen.scores

    async def aselect_bullets(
        self,
        query: str | Mapping[str, Any],
        node: str,
        playbook: BulletPlaybook,
        n_bullets: int = 5,
        source: str | None = None,
        *,
        decision_id: str | None = None,
    ) -> tuple[list[Bullet], dict[str, dict[str, float]]]:
        """`select_bullets` for those who must not block."""
        transaction = Transaction.of(query)
        decision_id = decision_id or uuid.uuid4().hex
        chosen = await self.select(
            transaction, node, playbook, n_bullets, source, decision_id, AWAITING
        )
        return list(chosen.bullets), chosen.scores

    async def select(
        self,
        transaction: Transaction,
        node: str,
        playbook: BulletPlaybook,
        n_bullets: int,
        source: str | None,
        decision_id: str,
        wait: Wait,
    ) -> Selection:
        """The five stages, with the funnel; both calls above and the graph's node run this."""
        view: View = await wait.work(playbook.view, node, source)
        in_context = view.bullets
        good = self._of_quality(in_context, n_bullets)
        fields = read_fields(transaction)
        held_back = {b.id for b in in_context} - {b.id for b in good}
        shadow = tuple(
            b for b in in_context if b.id in held_back and b.condition and b.condition.holds(fields)
        )
        funnel = {"context": len(in_context), "quality": len(good)}
        if not good or n_bullets < 1:
            funnel |= {"semantic": 0, "score": 0, "diversity": 0}
            return Selection((), {}, funnel, shadow=shadow, clock=view.clock)
        warnings: tuple[str, ...] = ()
        try:
            query, vectors = await self._embed(facts_text(transaction), good, playbook, wait)
        except ModelError as error:
            # Without vectors only a rule that holds is known to be relevant.
            good = [b for b in good if b.condition and b.condition.holds(fields)]
            query, vectors = np.ones(1, np.float32), [np.zeros(1, np.float32)] * len(good)
            warnings = (f"selection without embeddings: {error}",)
        relevant, semantic = self._relevant(good, query, vectors, fields)
        funnel["semantic"] = len(relevant)
        if any(b.condition is None for b in good):  # rules need no threshold
            warnings += self._often_empty(not relevant)
        chosen = self._choose(
            [good[i] for i in relevant],
            semantic[relevant],
            [vectors[i] for i in relevant],
            n_bullets,
            selection.decision_rng(self.seed, decision_id),
        )
        funnel |= {"score": len(relevant), "diversity": len(chosen.bullets)}
        return Selection(chosen.bullets, chosen.scores, funnel, warnings, shadow, view.clock)

    def _of_quality(self, bullets: Sequence[Bullet], wanted: int) -> list[Bullet]:
        rates = np.array([b.get_success_rate() for b in bullets])
        passed = selection.pass_quality(rates, self.quality_threshold, wanted)
        return [b for b, ok in zip(bullets, passed, strict=True) if ok]

    async def _embed(
        self, text: str, bullets: Sequence[Bullet], playbook: BulletPlaybook, wait: Wait
    ) -> tuple[Vector, list[Vector]]:
        """The query's vector and the bullets', buying in one batch what is not stored yet."""
        model = self.embedding
        known = await wait.work(playbook.vectors, model.name, [b.id for b in bullets])
        lacking = [b for b in bullets if b.id not in known]
        query, *bought = await model.vectors([text, *(b.content for b in lacking)], wait)
        if any(vector.shape != query.shape for vector in known.values()):
            raise ModelAnswerInvalid(
                f"{model.name} gave vectors of {len(query)} dimensions; others are stored"
            )
        if lacking:
            fresh = {b.id: vector for b, vector in zip(lacking, bought, strict=True)}
            await wait.work(playbook.store_vectors, model.name, fresh)
            known |= fresh
        return query, [known[b.id] for b in bullets]

    def _relevant(
        self, bullets: Sequence[Bullet], query: Vector, vectors: Sequence[Vector], fields: Fields
    ) -> tuple[list[int], selection.Floats]:
        """Stage 3: a rule that can be evaluated passes if and only if it holds; others by
        cosine.
        """
        threshold = self.semantic_threshold
        if threshold is None:
            threshold = self.embedding.threshold
        if not bullets:
            return [], np.zeros(0)
        semantic = selection.cosines(np.stack(vectors), query)
        kept = []
        for i, bullet in enumerate(bullets):
            holds = bullet.condition.holds(fields) if bullet.condition else None
            if holds:
                semantic[i] = max(semantic[i], threshold)
            if holds or (holds is None and semantic[i] >= threshold):
                kept.append(i)
        return kept, semantic

    def _often_empty(self, is_empty: bool) -> tuple[str, ...]:
        """Say so when stage 3 leaves nothing most of the time: the threshold does not fit the
        model.
        """
        self._selections += 1
        self._emptied += is_empty
        if self._selections < _ENOUGH_TO_WARN or 2 * self._emptied <= self._selections:
            return ()
        return (
            f"stage 3 left no bullet in {self._emptied} of {self._selections} selections; "
            "lower semantic_threshold if these bullets should apply",
        )

    def _choose(
        self,
        bullets: Sequence[Bullet],
        semantic: selection.Floats,
        vectors: Sequence[Vector],
        n: int,
        rng: np.random.Generator,
    ) -> Selection:
        """Stages 4 and 5."""
        if not bullets:
            return Selection((), {}, {})
        helpful = np.array([b.helpful_count for b in bullets], dtype=float)
        harmful = np.array([b.harmful_count for b in bullets], dtype=float)
        quality = selection.success_rates(helpful, harmful)
        thompson = selection.thompson_draws(helpful, harmful, rng)
        combined = (
            self.weights["quality"] * quality
            + self.weights["semantic"] * semantic
            + self.weights["thompson"] * thompson
        )
        picks = selection.pick_diverse(
            combined, np.stack(vectors), [b.number for b in bullets], n, self.diversity_weight
        )
        scores = {
            bullets[i].id: {
                "quality": float(quality[i]),
                "semantic": float(semantic[i]),
                "thompson": float(thompson[i]),
                "combined": float(combined[i]),
                "diversity_bonus": bonus,
                "final": float(combined[i]) + bonus,
            }
            for i, bonus in picks
        }
        return Selection(tuple(bullets[i] for i, _ in picks), scores, {})
