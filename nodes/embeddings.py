"""Which embedder is used, under which name, and from which cosine on its texts are related."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np
from langchain_core.embeddings import Embeddings

from acegraph.nodes.embedder import EMBEDDED_MODEL, ConceptEmbeddings
from acegraph.nodes.models import as_model_errors
from acegraph.nodes.waiting import Wait
from acegraph.state import ModelAnswerInvalid
from acegraph.state.vectors import Vector

THRESHOLDS: Final = {EMBEDDED_MODEL: 0.5, "text-embedding-3-small": 0.5}
"""The calibrated semantic threshold per known model."""
DEFAULT_THRESHOLD: Final = 0.5


@dataclass(frozen=True)
class EmbeddingModel:
    """An embedder with the name under which its vectors are kept."""

    name: str
    embeddings: Embeddings

    @property
    def threshold(self) -> float:
        """From which cosine on two texts are about the same thing."""
        return THRESHOLDS.get(self.name, DEFAULT_THRESHOLD)

    async def vectors(self, texts: Sequence[str], wait: Wait) -> list[Vector]:
        """The vectors of some texts, in one batch."""
        if not texts:
            return []
        batch = list(texts)
        with as_model_errors(self.name):
            found = await wait.either(
                lambda: self.embeddings.embed_documents(batch),
                lambda: self.embeddings.aembed_documents(batch),
            )
            matrix = np.asarray(found, dtype=np.float32)
        if matrix.ndim != 2 or len(matrix) != len(batch) or not np.isfinite(matrix).all():
            raise ModelAnswerInvalid(f"embedding model {self.name} gave no usable vectors")
        return list(matrix)


EMBEDDED = EmbeddingModel(EMBEDDED_MODEL, ConceptEmbeddings())


def named_embeddings(embeddings: Embeddings) -> EmbeddingModel:
    """An embeddings object under its own name: its `model` where it has one, else its class."""
    given = (
        getattr(embeddings, attribute, None) for attribute in ("model", "model_name", "model_id")
    )
    name = next((name for name in given if name), type(embeddings).__name__)
    return (
        EMBEDDED
        if isinstance(embeddings, ConceptEmbeddings)
        else EmbeddingModel(str(name), embeddings)
    )
