"""Embedding models: the name, the similarity threshold and the vectors of each.

Vectors are kept in the playbook's database. A vector is kept only if it can be one: a bad answer
must not stay for ever. providers.py chooses the model.
"""

import logging
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from time import monotonic
from typing import TYPE_CHECKING, Final

import numpy as np
from langchain_core.embeddings import Embeddings

from acegraph.nodes.runtime.sync_async import Wait
from acegraph.nodes.runtime.usage import begin_call
from acegraph.state.errors import ModelAnswerInvalid
from acegraph.state.playbook.index import Vector, unit

if TYPE_CHECKING:
    from acegraph.state import BulletPlaybook

EMBEDDED_MODEL: Final = "acegraph-concepts-1"
"""The embedded embedder, whose vectors cost nothing."""
logger = logging.getLogger(__name__)
THRESHOLD: Final = 0.5
"""The cosine from which on two texts are about the same thing: calibrated for the embedded model,
stated by the design for text-embedding-3-small, seen to separate paraphrases (about .65) for
all-MiniLM-L6-v2."""
_IN_MEMORY: Final = 4096


@dataclass(frozen=True)
class EmbeddingModel:
    """An embedder with the name under which its vectors are kept."""

    name: str
    embeddings: Embeddings | None
    """None: the embedded one, which is imported when it is first needed."""
    seconds: float | None = None
    """For one request, with all attempts at it; then its own HTTP client counts its calls."""
    _memory: dict[str, Vector] | None = field(default=None, repr=False, compare=False)

    @property
    def is_free(self) -> bool:
        """Whether a vector costs nothing, so that keeping it costs more than making it."""
        return self.name == EMBEDDED_MODEL

    def remembering(self) -> "EmbeddingModel":
        """A copy with a memory, for a pipeline whose copies of a playbook come and go."""
        return replace(self, _memory={})

    async def vectors(
        self, texts: Sequence[str], wait: Wait, store: "BulletPlaybook | None" = None
    ) -> list[Vector]:
        """The vectors of some texts; missing ones are fetched in one batch and stored."""
        if self.is_free:
            from acegraph.nodes.models.concept_embeddings import embed

            return list(map(embed, texts))
        memory = self._memory or {}
        vectors = {text: memory[text] for text in texts if text in memory}
        if store is not None and (unknown := [t for t in texts if t not in vectors]):
            vectors |= await wait.work(store.text_vectors, self.name, unknown)
        if missing := list(dict.fromkeys(t for t in texts if t not in vectors)):
            fetched = await self.fetch(missing, wait)
            if store is not None:
                await wait.work(store.store_text_vectors, self.name, fetched)
            vectors |= fetched
        if self._memory is not None:
            if len(self._memory) > _IN_MEMORY:
                self._memory.clear()
            self._memory.update(vectors)
        return [vectors[text] for text in texts]

    async def fetch(self, texts: Sequence[str], wait: Wait) -> dict[str, Vector]:
        """The vectors of some texts, fetched now even if they are known."""
        wanted = list(dict.fromkeys(texts))
        if self.is_free or not wanted:
            return dict(zip(wanted, await self.vectors(wanted, wait), strict=True))
        from acegraph.nodes.models.language_model import as_model_errors

        with as_model_errors(self.name):
            rows = await self._asked(wanted, wait)
            with np.errstate(over="ignore"):  # what is too large becomes infinite
                matrix = np.asarray(rows, dtype=np.float32)
        fits = matrix.ndim == 2 and len(matrix) == len(wanted) and matrix.size > 0
        if not fits or not np.isfinite(matrix).all() or not matrix.any(axis=1).all():
            raise ModelAnswerInvalid(f"embedding model {self.name} gave no usable vectors")
        directions = unit(matrix).round(5)
        if len({text.casefold() for text in wanted}) > 1 and (directions == directions[0]).all():
            raise ModelAnswerInvalid(
                f"embedding model {self.name} gave the same vector for different texts"
            )
        logger.debug("fetched %d vectors from %s", len(wanted), self.name)
        return dict(zip(wanted, matrix, strict=True))

    async def _asked(self, texts: list[str], wait: Wait) -> list[list[float]]:
        assert self.embeddings is not None
        embeddings = self.embeddings
        if self.seconds is not None:
            from acegraph.nodes.models.background import in_background

            end = monotonic() + self.seconds
            return await in_background(lambda: embeddings.aembed_documents(texts), end, wait)
        begin_call(self.name)
        return await wait.either(
            lambda: embeddings.embed_documents(texts), lambda: embeddings.aembed_documents(texts)
        )


EMBEDDED = EmbeddingModel(EMBEDDED_MODEL, None)


def named_embeddings(embeddings: Embeddings | EmbeddingModel) -> EmbeddingModel:
    """An embedding model named after the `model` of a LangChain object, or else after its class."""
    if isinstance(embeddings, EmbeddingModel):
        return embeddings
    names = (getattr(embeddings, name, None) for name in ("model", "model_name", "model_id"))
    return EmbeddingModel(str(next(filter(None, names), type(embeddings).__name__)), embeddings)
