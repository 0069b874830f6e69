"""Selectors by the settings of a run, each built once."""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING, Final, Protocol

from langchain_core.embeddings import Embeddings

from acegraph.nodes.models.embedding_models import EmbeddingModel
from acegraph.nodes.runtime.sync_async import Wait
from acegraph.nodes.selector.selector import HybridSelector
from acegraph.nodes.selector.stages import Selection
from acegraph.state import Transaction

if TYPE_CHECKING:
    from acegraph.state.playbook.frozen_view import ReadablePlaybook
    from acegraph.state.run.schema import RunSettings

NO_BULLETS: Final = Selection(
    (), {}, dict.fromkeys(("context", "quality", "semantic", "score", "diversity"), 0)
)


class Selecting(Protocol):
    """What the selector node calls."""

    def embedding(self, settings: RunSettings) -> EmbeddingModel:
        """The embedding model that a run's settings ask for."""
        ...

    async def select(
        self,
        transaction: Transaction,
        settings: RunSettings,
        playbook: ReadablePlaybook,
        decision_id: str,
        wait: Wait,
    ) -> Selection:
        """Select bullets as a run's settings ask for."""
        ...


class Selectors:
    """Selects as the settings of a run ask for."""

    def __init__(self, embeddings: Embeddings | EmbeddingModel | None = None) -> None:
        self._embeddings = embeddings
        self._built = lru_cache(maxsize=64)(self._build)

    def embedding(self, settings: RunSettings) -> EmbeddingModel:
        """The embedding model that a run's settings ask for."""
        return self._selector(settings).embedding

    async def select(
        self,
        transaction: Transaction,
        settings: RunSettings,
        playbook: ReadablePlaybook,
        decision_id: str,
        wait: Wait,
    ) -> Selection:
        """The five stages; no bullets in a mode that shows none."""
        if not settings["selects"]:
            return NO_BULLETS
        return await self._selector(settings).select(
            transaction,
            settings["node"],
            playbook,
            settings["n_bullets"],
            settings["source"],
            decision_id,
            wait,
        )

    def _selector(self, settings: RunSettings) -> HybridSelector:
        return self._built(
            settings["quality_threshold"],
            settings["semantic_threshold"],
            settings["diversity_weight"],
            tuple(sorted(settings["weights"].items())),
            settings["embedding_model"],
            settings["seed"],
            not settings.get("redact"),
        )

    def _build(
        self,
        quality: float,
        semantic: float | None,
        diversity: float,
        weights: tuple[tuple[str, float], ...],
        model: str | None,
        seed: int,
        keep_queries: bool,
    ) -> HybridSelector:
        return HybridSelector(
            quality,
            semantic,
            diversity,
            dict(weights),
            model,
            embeddings=self._embeddings,
            seed=seed,
            keep_queries=keep_queries,
        )
