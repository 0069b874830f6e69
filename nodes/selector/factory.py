"""Selectors by the settings of a run, each built once."""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING, Any, Protocol

from langchain_core.embeddings import Embeddings

from acegraph.nodes.models.embedding_models import EmbeddingModel
from acegraph.nodes.runtime.sync_async import Wait
from acegraph.nodes.selector.selector import HybridSelector
from acegraph.nodes.selector.stages import Selection
from acegraph.state import Transaction

if TYPE_CHECKING:
    pass


def selectors(embeddings: Embeddings | EmbeddingModel | None) -> Any:
    """Selectors by the settings that make them, so that each is built once."""

    @lru_cache(maxsize=64)
    def build(
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
            embeddings=embeddings,
            seed=seed,
            keep_queries=keep_queries,
        )

    def selector_for(settings: dict[str, Any]) -> HybridSelector:
        return build(
            settings["quality_threshold"],
            settings["semantic_threshold"],
            settings["diversity_weight"],
            tuple(sorted(settings["weights"].items())),
            settings["embedding_model"],
            settings["seed"],
            not settings.get("redact"),
        )

    return selector_for


class Selecting(Protocol):
    """What the selector node calls."""

    @property
    def embedding(self) -> EmbeddingModel:
        """The embedding model in use."""
        ...

    async def select(
        self,
        transaction: Transaction,
        node: str,
        playbook: Any,
        n_bullets: int,
        source: str | None,
        decision_id: str,
        wait: Wait,
    ) -> Selection:
        """Select."""
        ...
