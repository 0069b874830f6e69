"""Which selector a run uses: one for each set of settings, built once (the stages: selector.py)."""

from __future__ import annotations

from functools import lru_cache, partial
from typing import TYPE_CHECKING, Final

from langchain_core.embeddings import Embeddings

from acegraph.nodes.models.embedding_models import EmbeddingModel
from acegraph.nodes.runtime.sync_async import Wait
from acegraph.nodes.selector.selector import HybridSelector
from acegraph.nodes.selector.stages import Selection, unread
from acegraph.nodes.text.reader import fields_to_test
from acegraph.state import Transaction

if TYPE_CHECKING:
    from acegraph.state.playbook.playbook import BulletPlaybook
    from acegraph.state.run.schema import RunSettings

_NO_BULLETS: Final = Selection(
    (), {}, dict.fromkeys(("context", "quality", "semantic", "score", "diversity"), 0)
)


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
            return _NO_BULLETS
        node, source = settings["node"], settings["source"]
        if not settings.get("reads", True):
            return unread(await wait.work(playbook.view, node), source, fields_to_test(transaction))
        (selection,) = await self._selector(settings).select_each(
            [transaction], node, playbook, settings["n_bullets"], source, [decision_id], wait
        )
        return selection

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
