"""The selector: five stages from all bullets of a node to the few that the agent sees.

Context, quality, semantics, score, diversity. It reads the playbook and writes only missing
vectors. The stages are in stages.py.
"""

from __future__ import annotations

import uuid
from collections.abc import Iterable, Mapping
from dataclasses import replace
from functools import lru_cache, partial
from operator import attrgetter
from typing import TYPE_CHECKING, Final, cast, get_args

import numpy as np
from langchain_core.embeddings import Embeddings

from acegraph.nodes.models import named
from acegraph.nodes.models.embedding_models import THRESHOLD, EmbeddingModel, named_embeddings
from acegraph.nodes.runtime.sync_async import BLOCKING, Wait, finish
from acegraph.nodes.selector.stages import Pool, Selection, StageSettings, choose, unread
from acegraph.nodes.text.understand import fields_to_test, understand_given
from acegraph.state import AceContext, InvalidSettings, ModelError
from acegraph.state.errors import ModelAnswerInvalid
from acegraph.state.playbook.index import Vector, unit
from acegraph.state.values import Bullet, Source, Transaction, facts_text

if TYPE_CHECKING:
    from acegraph.state.playbook.playbook import BulletPlaybook
    from acegraph.state.run.schema import RunSettings

ScoredBullets = tuple[list[Bullet], dict[str, dict[str, float]]]
"""Bullets, best first, and by bullet id every component of their scores."""
NOTHING: Final = Selection(
    (), {}, dict.fromkeys(("context", "quality", "semantic", "score", "diversity"), 0)
)


class HybridSelector:
    """Selects the best bullets for a transaction."""

    def __init__(
        self,
        quality_threshold: float = 0.3,
        semantic_threshold: float | None = None,
        diversity_weight: float = 0.15,
        weights: Mapping[str, float] | Iterable[tuple[str, float]] | None = None,
        embedding_model: str | None = None,
        *,
        embeddings: Embeddings | EmbeddingModel | None = None,
        seed: int = 0,
        keep_queries: bool = True,
    ) -> None:
        usual = AceContext()
        self.settings = AceContext(
            quality_threshold=quality_threshold,
            semantic_threshold=semantic_threshold,
            diversity_weight=diversity_weight,
            weights={**usual.weights, **dict(weights or ())},
            seed=seed,
        )
        self.keep_queries = keep_queries
        """Whether vectors of transactions are stored: by its vector one can guess at a text."""
        self._model: EmbeddingModel | None = named_embeddings(embeddings) if embeddings else None
        self._model_name = embedding_model
        if self._model is None and embedding_model is not None:
            named.embedding_model(embedding_model)  # an unknown name is refused here

    @property
    def embedding(self) -> EmbeddingModel:
        """The embedding model in use: the one passed in, else the one of the environment now."""
        return self._model or named.embedding_model(self._model_name)

    def select_bullets(
        self,
        query: str | Mapping[str, object],
        node: str,
        playbook: BulletPlaybook,
        n_bullets: int = 5,
        source: str | None = None,
        *,
        decision_id: str | None = None,
    ) -> ScoredBullets:
        """The best bullets for a transaction and every component of their scores.

        The Thompson draws follow from the seed and the decision id; without an id they differ from
        call to call.
        """
        task = playbook.task(node)
        transaction = understand_given(Transaction.of(query), task).transaction
        decision_id = decision_id or uuid.uuid4().hex
        selection = finish(
            self.select(transaction, node, playbook, n_bullets, source, decision_id, BLOCKING)
        )
        return list(selection.bullets), selection.scores

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
        """The five stages for a transaction."""
        if source not in (None, *get_args(Source)):
            raise InvalidSettings(f"the source of bullets is offline or online, not {source!r}")
        view = await wait.work(playbook.view, node)
        odds = (await wait.work(playbook.cases, node)).fraud_odds()
        fields = fields_to_test(transaction)
        pool = Pool.of(view, source, self.settings.quality_threshold, n_bullets, fields, odds)
        if not pool.is_good.any() or n_bullets < 1:
            return pool.selection()
        warnings: tuple[str, ...] = ()
        try:
            vector, matrix = await self._embed(facts_text(transaction), pool, playbook, wait)
        except ModelError as error:
            # Without vectors only a rule that holds is known to be relevant.
            pool = pool.without_vectors()
            vector, matrix = np.zeros(1, np.float32), np.zeros((view.size, 1), np.float32)
            warnings = (f"selection without embeddings: {error}",)
        ours, given = self.settings, self.settings.semantic_threshold
        threshold = THRESHOLD if given is None else given
        weights = cast("Mapping[str, float]", ours.weights)
        settings = StageSettings(n_bullets, threshold, weights, ours.diversity_weight, ours.seed)
        selection = await wait.work(choose, pool, vector, matrix, settings, decision_id)
        return replace(selection, warnings=warnings) if warnings else selection

    async def _embed(
        self, text: str, pool: Pool, playbook: BulletPlaybook, wait: Wait
    ) -> tuple[Vector, Vector]:
        """The unit vectors of query and bullets; one batch fetches what is not stored yet."""
        model, view = self.embedding, pool.view
        matrix = await wait.work(playbook.matrix, view, model.name, pool.is_good)
        lacking = view.bullets(view.lacking(model.name, pool.is_good))
        contents = list(map(attrgetter("content"), lacking))
        if self.keep_queries:
            query, *vectors = await model.vectors([text, *contents], wait, playbook)
        else:
            (query,) = await model.vectors([text], wait)
            vectors = await model.vectors(contents, wait, playbook)
        if lacking:
            fresh = {b.id: v for b, v in zip(lacking, vectors, strict=True)}
            await wait.work(playbook.keep_vectors, model.name, fresh)
            matrix = await wait.work(playbook.matrix, view, model.name, pool.is_good)
        assert matrix is not None
        if matrix.rows.shape[1] != len(query):
            raise ModelAnswerInvalid(
                f"{model.name} gave vectors of {len(query)} dimensions; others are stored"
            )
        return unit(query), matrix.rows[: view.size]


class Selectors:
    """Builds selectors by the settings of runs, and selects with them."""

    def __init__(self, embeddings: Embeddings | EmbeddingModel | None = None) -> None:
        self._built = lru_cache(maxsize=64)(partial(HybridSelector, embeddings=embeddings))

    def embedding(self, settings: RunSettings) -> EmbeddingModel:
        """The embedding model that a run's settings ask for."""
        return self._selector(settings).embedding

    async def select(
        self,
        transaction: Transaction,
        settings: RunSettings,
        playbook: BulletPlaybook,
        decision_id: str,
        wait: Wait,
    ) -> Selection:
        """Run the five stages; in a mode that shows no bullets, select none.

        Where nobody reads, the rules that hold are found, and no stage chooses among them.
        """
        if not settings["selects"] or not settings["n_bullets"]:
            return NOTHING
        node, source = settings["node"], settings["source"]
        if not settings.get("reads", True):
            return unread(await wait.work(playbook.view, node), source, fields_to_test(transaction))
        return await self._selector(settings).select(
            transaction, node, playbook, settings["n_bullets"], source, decision_id, wait
        )

    def _selector(self, settings: RunSettings) -> HybridSelector:
        return self._built(
            settings["quality_threshold"],
            settings["semantic_threshold"],
            settings["diversity_weight"],
            tuple(sorted(settings["weights"].items())),
            settings["embedding_model"],
            seed=settings["seed"],
            keep_queries=not settings.get("redact"),
        )
