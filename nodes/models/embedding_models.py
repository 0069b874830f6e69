"""Which embedder is used, under which name, and from which cosine on its texts are related.

What was bought is kept in the playbook's database. Of those who want the same text at the same time
one buys it and the others wait.
"""

import asyncio
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import Future
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from functools import partial
from threading import Lock
from typing import Final, Protocol

import numpy as np
from langchain_core.embeddings import Embeddings

from acegraph.nodes.models.concept_embeddings import EMBEDDED_MODEL, ConceptEmbeddings
from acegraph.nodes.models.language_model import as_model_errors
from acegraph.nodes.runtime.sync_async import BLOCKING, Wait
from acegraph.nodes.runtime.usage import begin_call
from acegraph.state import ModelAnswerInvalid, ModelError, ModelUnavailable
from acegraph.state.playbook.vector_matrix import Vector

THRESHOLDS: Final = {
    EMBEDDED_MODEL: 0.5,
    "text-embedding-3-small": 0.5,
    "all-MiniLM-L6-v2": 0.5,
}
"""The semantic threshold per known model: calibrated for the embedded one, stated by the design for
text-embedding-3-small, seen to separate paraphrases (about .65) for all-MiniLM-L6-v2."""
DEFAULT_THRESHOLD: Final = 0.5
_IN_MEMORY: Final = 4096


class Store(Protocol):
    """Where vectors of texts last: a playbook."""

    def text_vectors(self, model: str, texts: Sequence[str]) -> dict[str, Vector]:
        """Those that are known."""
        ...

    def store_text_vectors(self, model: str, vectors: Mapping[str, Vector]) -> None:
        """Keep them."""
        ...


_Promise = Future[Vector | None]
"""None: its buyer left before he had bought it."""


class _InFlight:
    """What somebody is buying now, and what was bought lately, where that is remembered."""

    def __init__(self, remembers: int = 0) -> None:
        self._lock = Lock()
        self._remembers = remembers
        self._bought: dict[str, Vector] = {}
        self._buying: dict[tuple[int, str], _Promise] = {}

    def known(self, texts: Sequence[str]) -> dict[str, Vector]:
        with self._lock:
            return {text: self._bought[text] for text in texts if text in self._bought}

    def keep(self, vectors: Mapping[str, Vector]) -> None:
        with self._lock:
            for text, vector in vectors.items():
                self._bought[text] = vector
            while len(self._bought) > self._remembers:
                del self._bought[next(iter(self._bought))]

    def divide(
        self, texts: Sequence[str], scope: int
    ) -> tuple[dict[str, _Promise], dict[str, _Promise]]:
        """Which of the texts are mine to buy, and which another is buying in this scope."""
        with self._lock:
            others = {t: self._buying[scope, t] for t in texts if (scope, t) in self._buying}
            mine: dict[str, _Promise] = {t: Future() for t in texts if t not in others}
            for promise in mine.values():
                promise.set_running_or_notify_cancel()  # a waiter that is cancelled ends nothing
            self._buying |= {(scope, t): promise for t, promise in mine.items()}
        return mine, others

    @contextmanager
    def buying(self, mine: Mapping[str, _Promise], scope: int) -> Iterator[None]:
        """While this lasts others wait; who waits in vain is told so, or left to buy himself."""
        try:
            yield
        except ModelError:
            for promise in mine.values():
                promise.set_exception(ModelUnavailable("the vectors could not be bought"))
            raise
        finally:
            self._settle(mine, scope)

    def _settle(self, mine: Mapping[str, _Promise], scope: int) -> None:
        with self._lock:
            for text, promise in mine.items():
                self._buying.pop((scope, text), None)
                if not promise.done():
                    promise.set_result(None)


@dataclass(frozen=True)
class EmbeddingModel:
    """An embedder with the name under which its vectors are kept."""

    name: str
    embeddings: Embeddings
    on_line: bool = False
    """Whether its HTTP client counts its calls."""
    _desk: _InFlight = field(default_factory=_InFlight, repr=False, compare=False)

    @property
    def threshold(self) -> float:
        """From which cosine on two texts are about the same thing."""
        return THRESHOLDS.get(self.name, DEFAULT_THRESHOLD)

    @property
    def is_free(self) -> bool:
        """Whether a vector costs nothing, so that keeping it costs more than making it."""
        return self.name == EMBEDDED_MODEL

    def remembering(self) -> "EmbeddingModel":
        """The same model with a memory: for a pipeline, whose copies of a playbook come and go."""
        return replace(self, _desk=_InFlight(_IN_MEMORY))

    async def vectors(
        self, texts: Sequence[str], wait: Wait, store: Store | None = None
    ) -> list[Vector]:
        """The vectors of some texts; what is not known yet is bought in one batch and kept."""
        if self.is_free:
            return await self._buy(texts, wait)
        found = self._desk.known(texts)
        if store is not None and (open_ones := [t for t in texts if t not in found]):
            found |= await wait.work(store.text_vectors, self.name, open_ones)
            self._desk.keep(found)
        # Nobody waits on the spot for somebody in an event loop, which may be his own.
        scope = 0 if wait is BLOCKING else id(asyncio.get_running_loop())
        lacking = list(dict.fromkeys(t for t in texts if t not in found))
        mine, others = self._desk.divide(lacking, scope)
        with self._desk.buying(mine, scope):
            if mine:
                fresh = dict(zip(mine, await self._buy(list(mine), wait), strict=True))
                if store is not None:
                    await wait.work(store.store_text_vectors, self.name, fresh)
                self._desk.keep(fresh)
                found |= fresh
                for text, promise in mine.items():
                    promise.set_result(fresh[text])
        if others:
            found |= await self._from_others(others, wait, store)
        return [found[text] for text in texts]

    async def _from_others(
        self, others: Mapping[str, _Promise], wait: Wait, store: Store | None
    ) -> dict[str, Vector]:
        """What others bought; what they left is bought after all."""
        found: dict[str, Vector] = {}
        for text, promise in others.items():
            vector = await wait.either(promise.result, partial(asyncio.wrap_future, promise))
            if vector is not None:
                found[text] = vector
        left = [text for text in others if text not in found]
        if left:
            found |= zip(left, await self.vectors(left, wait, store), strict=True)
        return found

    async def _buy(self, texts: Sequence[str], wait: Wait) -> list[Vector]:
        if not texts:
            return []
        batch = list(texts)
        with as_model_errors(self.name):
            if not (self.on_line or self.is_free):
                begin_call(self.name)
            found = await wait.either(
                lambda: self.embeddings.embed_documents(batch),
                lambda: self.embeddings.aembed_documents(batch),
            )
            matrix = np.asarray(found, dtype=np.float32)
        fits = matrix.ndim == 2 and len(matrix) == len(batch) and matrix.size > 0
        if not fits or not np.isfinite(matrix).all():
            raise ModelAnswerInvalid(f"embedding model {self.name} gave no usable vectors")
        return list(matrix)


EMBEDDED = EmbeddingModel(EMBEDDED_MODEL, ConceptEmbeddings())


def named_embeddings(embeddings: Embeddings | EmbeddingModel) -> EmbeddingModel:
    """An embeddings object under its own name: its `model` where it has one, else its class."""
    if isinstance(embeddings, EmbeddingModel):
        return embeddings
    given = (
        getattr(embeddings, attribute, None) for attribute in ("model", "model_name", "model_id")
    )
    name = next((name for name in given if name), type(embeddings).__name__)
    return (
        EMBEDDED
        if isinstance(embeddings, ConceptEmbeddings)
        else EmbeddingModel(str(name), embeddings)
    )
