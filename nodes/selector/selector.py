"""The selector: five stages from all bullets of a node to the few that the agent sees.

Context, quality, semantics, score, diversity. It reads the playbook and writes only missing
vectors. The stages are in stages.py, their mathematics in scoring.py and diversity.py.
"""

from __future__ import annotations

import uuid
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Final, get_args

import numpy as np
from langchain_core.embeddings import Embeddings

from acegraph.nodes.models import named
from acegraph.nodes.models.embedding_models import THRESHOLD, EmbeddingModel, named_embeddings
from acegraph.nodes.runtime.sync_async import BLOCKING, Wait, finish
from acegraph.nodes.selector.scoring import StageSettings
from acegraph.nodes.selector.stages import Pool, Query, Selection, choose
from acegraph.nodes.text.reader import fields_to_test
from acegraph.nodes.text.understand import understand_given
from acegraph.state import Bullet, InvalidSettings, ModelError, Transaction
from acegraph.state.errors import ModelAnswerInvalid
from acegraph.state.playbook.vector_matrix import Vector, unit
from acegraph.state.values.bullet import Source
from acegraph.state.values.texts import facts_text

if TYPE_CHECKING:
    from acegraph.state.playbook.playbook import BulletPlaybook

ScoredBullets = tuple[list[Bullet], dict[str, dict[str, float]]]
"""Bullets, best first, and by bullet id every component of their scores."""
_ENOUGH_TO_WARN = 20
_BATCH: Final = 64
_DEFAULT_WEIGHTS = {"quality": 0.3, "semantic": 0.4, "thompson": 0.3}


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
        self.weights = {**_DEFAULT_WEIGHTS, **dict(weights or ())}
        if self.weights.keys() != _DEFAULT_WEIGHTS.keys():
            raise InvalidSettings(
                f"weights are quality, semantic and thompson; found {sorted(self.weights)}"
            )
        if not 0 <= quality_threshold <= 1:
            raise InvalidSettings(f"quality_threshold is 0 to 1, not {quality_threshold}")
        if diversity_weight < 0:
            raise InvalidSettings(f"diversity_weight is 0 or more, not {diversity_weight}")
        self.quality_threshold = quality_threshold
        self.semantic_threshold = semantic_threshold
        self.diversity_weight = diversity_weight
        self.seed = seed
        self.keep_queries = keep_queries
        """Whether vectors of transactions are stored: by its vector one can guess at a text."""
        self._selections = self._emptied = 0
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
        ids = [decision_id] if decision_id else None
        return self.select_many([query], node, playbook, n_bullets, source, decision_ids=ids)[0]

    def select_many(
        self,
        queries: Sequence[str | Mapping[str, object]],
        node: str,
        playbook: BulletPlaybook,
        n_bullets: int = 5,
        source: str | None = None,
        *,
        decision_ids: Sequence[str] | None = None,
    ) -> list[ScoredBullets]:
        """`select_bullets` for many transactions, with one matrix product for all of them."""
        task = playbook.task(node)
        transactions = [understand_given(Transaction.of(q), task).transaction for q in queries]
        ids = list(decision_ids) if decision_ids else [uuid.uuid4().hex for _ in queries]
        if len(ids) != len(transactions):
            raise InvalidSettings(
                f"{len(transactions)} queries want as many decision_ids; found {len(ids)}"
            )
        selections = finish(
            self.select_each(transactions, node, playbook, n_bullets, source, ids, BLOCKING)
        )
        return [(list(selection.bullets), selection.scores) for selection in selections]

    async def select_each(
        self,
        transactions: Sequence[Transaction],
        node: str,
        playbook: BulletPlaybook,
        n_bullets: int,
        source: str | None,
        decision_ids: Sequence[str],
        wait: Wait,
    ) -> list[Selection]:
        """The five stages for some transactions; the other methods and the graph run this one."""
        if not transactions:
            return []
        queries = await self._queries(
            transactions, node, playbook, n_bullets, source, decision_ids, wait
        )
        pool = queries[0].pool
        if not pool.is_good.any() or n_bullets < 1:
            return [query.selection() for query in queries]
        warnings: tuple[str, ...] = ()
        try:
            texts = [facts_text(transaction) for transaction in transactions]
            vectors, matrix = await self._embed(texts, pool, playbook, wait)
        except ModelError as error:
            # Without vectors only a rule that holds is known to be relevant.
            queries = [query.without_vectors() for query in queries]
            vectors, matrix = (np.zeros((n, 1), np.float32) for n in (len(queries), pool.view.size))
            warnings = (f"selection without embeddings: {error}",)
        given = self.semantic_threshold
        threshold = THRESHOLD if given is None else given
        settings = StageSettings(
            n_bullets, threshold, self.weights, self.diversity_weight, self.seed
        )
        selections: list[Selection] = []
        for start in range(0, len(queries), _BATCH):
            part = slice(start, start + _BATCH)
            selections += await wait.work(choose, queries[part], vectors[part], matrix, settings)
        if not warnings and pool.has_prose:  # rules need no threshold
            return [replace(s, warnings=self._warn_if_often_empty(s)) for s in selections]
        return [replace(s, warnings=warnings) for s in selections] if warnings else selections

    async def _queries(
        self,
        transactions: Sequence[Transaction],
        node: str,
        playbook: BulletPlaybook,
        n_bullets: int,
        source: str | None,
        decision_ids: Sequence[str],
        wait: Wait,
    ) -> list[Query]:
        """Stages 1 and 2, and what the rules say of each transaction."""
        if source not in (None, *get_args(Source)):
            raise InvalidSettings(f"the source of bullets is offline or online, not {source!r}")
        view = await wait.work(playbook.view, node)
        odds = await wait.work(lambda: playbook.cases(node).fraud_odds())
        pool = Pool.of(view, source, self.quality_threshold, n_bullets, odds)
        return [
            Query.of(pool, fields_to_test(transaction), decision_id)
            for transaction, decision_id in zip(transactions, decision_ids, strict=True)
        ]

    async def _embed(
        self, texts: Sequence[str], pool: Pool, playbook: BulletPlaybook, wait: Wait
    ) -> tuple[Vector, Vector]:
        """The unit vectors of queries and bullets; one batch fetches what is not stored yet."""
        model, view = self.embedding, pool.view
        matrix = await wait.work(playbook.matrix, view, model.name, pool.is_good)
        lacking = view.bullets(view.lacking(model.name, pool.is_good))
        contents = [b.content for b in lacking]
        if self.keep_queries:
            vectors = await model.vectors([*texts, *contents], wait, playbook)
        else:
            vectors = await model.vectors(texts, wait)
            vectors += await model.vectors(contents, wait, playbook)
        queries = np.stack(vectors[: len(texts)])
        if lacking:
            fresh = {b.id: v for b, v in zip(lacking, vectors[len(texts) :], strict=True)}
            await wait.work(playbook.keep_vectors, model.name, fresh)
            matrix = await wait.work(playbook.matrix, view, model.name, pool.is_good)
        assert matrix is not None
        if matrix.rows.shape[1] != queries.shape[1]:
            raise ModelAnswerInvalid(
                f"{model.name} gave vectors of {queries.shape[1]} dimensions; others are stored"
            )
        return unit(queries), matrix.rows[: view.size]

    def _warn_if_often_empty(self, selection: Selection) -> tuple[str, ...]:
        """A warning when stage 3 mostly leaves nothing: the threshold does not fit the model."""
        self._selections += 1
        self._emptied += not selection.funnel["semantic"]
        if self._selections < _ENOUGH_TO_WARN or 2 * self._emptied <= self._selections:
            return ()
        return (
            f"stage 3 left no bullet in {self._emptied} of {self._selections} selections; "
            "lower semantic_threshold if these bullets should apply",
        )
