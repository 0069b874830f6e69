"""The selector: five stages from all bullets of a node to the few that the agent sees.

Context, quality, semantics, score, diversity. It reads the playbook and writes nothing but missing
vectors; the stages are in stages.py, their mathematics in selection.py and diversity.py.
"""

from __future__ import annotations

import uuid
from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any, get_args

import numpy as np
from langchain_core.embeddings import Embeddings

from acegraph.nodes.models import providers
from acegraph.nodes.models.embedding_models import EmbeddingModel, named_embeddings
from acegraph.nodes.runtime.sync_async import AWAITING, BLOCKING, Wait, finish
from acegraph.nodes.selector import scoring as selection
from acegraph.nodes.selector.stages import Pool, Query, Selection, Settings, choose
from acegraph.nodes.text.reader import read_fields
from acegraph.state import (
    Bullet,
    InvalidSettings,
    ModelAnswerInvalid,
    ModelError,
    Source,
    Transaction,
)
from acegraph.state.playbook.vector_matrix import Vector, unit
from acegraph.state.values.memos import facts_text

if TYPE_CHECKING:
    from acegraph.state.playbook.frozen_view import ReadablePlaybook


_ENOUGH_TO_WARN = 20
_DEFAULT_WEIGHTS = {"quality": 0.3, "semantic": 0.4, "thompson": 0.3}


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
        embeddings: Embeddings | EmbeddingModel | None = None,
        seed: int = 0,
        keep_queries: bool = True,
    ) -> None:
        given: dict[str, float] = {**_DEFAULT_WEIGHTS, **(weights or {})}
        if given.keys() != _DEFAULT_WEIGHTS.keys():
            raise InvalidSettings(
                f"weights are quality, semantic and thompson; found {sorted(given)}"
            )
        if not 0 <= quality_threshold <= 1:
            raise InvalidSettings(f"quality_threshold is 0 to 1, not {quality_threshold}")
        if diversity_weight < 0:
            raise InvalidSettings(f"diversity_weight is 0 or more, not {diversity_weight}")
        self.quality_threshold = quality_threshold
        self.semantic_threshold = semantic_threshold
        self.diversity_weight = diversity_weight
        self.weights = given
        self.seed = seed
        self.keep_queries = keep_queries
        """Whether the vectors of transactions are stored; with them a guess at one is checked."""
        self._selections = self._emptied = 0
        self._model: EmbeddingModel | None = named_embeddings(embeddings) if embeddings else None
        self._model_name = embedding_model
        if self._model is None and embedding_model is not None:
            providers.embedding_model(embedding_model)  # one that cannot be had is refused here

    @property
    def embedding(self) -> EmbeddingModel:
        """The embedding model in use: the one given, else as the environment says now."""
        return self._model or providers.embedding_model(self._model_name)

    def select_bullets(
        self,
        query: str | Mapping[str, Any],
        node: str,
        playbook: ReadablePlaybook,
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
        playbook: ReadablePlaybook,
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

    def select_many(
        self,
        queries: Sequence[str | Mapping[str, Any]],
        node: str,
        playbook: ReadablePlaybook,
        n_bullets: int = 5,
        source: str | None = None,
        *,
        decision_ids: Sequence[str] | None = None,
    ) -> list[tuple[list[Bullet], dict[str, dict[str, float]]]]:
        """`select_bullets` for many transactions, with one matrix product for all of them."""
        transactions = [Transaction.of(query) for query in queries]
        ids = list(decision_ids) if decision_ids else [uuid.uuid4().hex for _ in queries]
        if len(ids) != len(transactions):
            raise InvalidSettings(
                f"{len(transactions)} queries want as many decision_ids; found {len(ids)}"
            )
        found = finish(
            self.select_each(transactions, node, playbook, n_bullets, source, ids, BLOCKING)
        )
        return [(list(chosen.bullets), chosen.scores) for chosen in found]

    async def select(
        self,
        transaction: Transaction,
        node: str,
        playbook: ReadablePlaybook,
        n_bullets: int,
        source: str | None,
        decision_id: str,
        wait: Wait,
    ) -> Selection:
        """The five stages, with the funnel: what the graph's node runs."""
        (chosen,) = await self.select_each(
            [transaction], node, playbook, n_bullets, source, [decision_id], wait
        )
        return chosen

    async def select_each(
        self,
        transactions: Sequence[Transaction],
        node: str,
        playbook: ReadablePlaybook,
        n_bullets: int,
        source: str | None,
        decision_ids: Sequence[str],
        wait: Wait,
    ) -> list[Selection]:
        """The five stages for some transactions; all calls above run this."""
        if source not in (None, *get_args(Source)):
            raise InvalidSettings(f"the source of bullets is offline or online, not {source!r}")
        if not transactions:
            return []
        view = await wait.work(playbook.view, node)
        pool = Pool.of(view, source, self.quality_threshold, n_bullets)
        asked = [
            Query.of(
                pool,
                read_fields(transaction),
                partial(selection.decision_rng, self.seed, decision_id),
            )
            for transaction, decision_id in zip(transactions, decision_ids, strict=True)
        ]
        if not pool.is_good.any() or n_bullets < 1:
            return [one.chosen() for one in asked]
        warnings: tuple[str, ...] = ()
        try:
            texts = [facts_text(transaction) for transaction in transactions]
            queries, matrix = await self._embed(texts, pool, playbook, wait)
        except ModelError as error:
            # Without vectors only a rule that holds is known to be relevant.
            asked = [one.without_vectors() for one in asked]
            queries, matrix = (np.zeros((n, 1), np.float32) for n in (len(asked), view.size))
            warnings = (f"selection without embeddings: {error}",)
        settings = Settings(n_bullets, self._threshold(), self.weights, self.diversity_weight)
        found = await wait.work(choose, asked, queries, matrix, settings)
        if not warnings and pool.has_prose:  # rules need no threshold
            return [replace(one, warnings=self._often_empty(one)) for one in found]
        return [replace(one, warnings=warnings) for one in found]

    async def _embed(
        self, texts: Sequence[str], pool: Pool, playbook: ReadablePlaybook, wait: Wait
    ) -> tuple[Vector, Vector]:
        """The unit vectors of the queries and of the bullets; what is not stored yet is bought in
        one batch.
        """
        model, view = self.embedding, pool.view
        matrix = await wait.work(playbook.matrix, view, model.name, pool.is_good)
        lacking = view.bullets(view.lacking(model.name, pool.is_good))
        contents = [b.content for b in lacking]
        if self.keep_queries:
            vectors = await model.vectors([*texts, *contents], wait, playbook)
        else:
            vectors = await model.vectors(texts, wait)
            vectors += await model.vectors(contents, wait, playbook)
        queries, bought = np.stack(vectors[: len(texts)]), vectors[len(texts) :]
        if lacking:
            fresh = {b.id: vector for b, vector in zip(lacking, bought, strict=True)}
            await wait.work(playbook.store_vectors, model.name, fresh)
            matrix = await wait.work(playbook.matrix, view, model.name, pool.is_good)
        assert matrix is not None
        if matrix.rows.shape[1] != queries.shape[1]:
            raise ModelAnswerInvalid(
                f"{model.name} gave vectors of {queries.shape[1]} dimensions; others are stored"
            )
        return unit(queries), matrix.rows[: view.size]

    def _threshold(self) -> float:
        given = self.semantic_threshold
        return self.embedding.threshold if given is None else given

    def _often_empty(self, found: Selection) -> tuple[str, ...]:
        """Say so when stage 3 leaves nothing most of the time: the threshold does not fit the
        model.
        """
        self._selections += 1
        self._emptied += not found.funnel["semantic"]
        if self._selections < _ENOUGH_TO_WARN or 2 * self._emptied <= self._selections:
            return ()
        return (
            f"stage 3 left no bullet in {self._emptied} of {self._selections} selections; "
            "lower semantic_threshold if these bullets should apply",
        )
