"""Embedding models: the name, the similarity threshold and the vectors of each.

Vectors are kept in the playbook's database. If several callers need the vector of the same text at
the same time, one of them fetches it and the others wait for a moment. A vector is kept only if it
can be one: a bad answer must not stay for ever. providers.py chooses the model.
"""

import asyncio
import logging
import re
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import Future
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from functools import partial
from threading import Lock
from time import monotonic
from typing import Final, Protocol

import numpy as np
from langchain_core.embeddings import Embeddings

from acegraph.nodes.models.concept_embeddings import EMBEDDED_MODEL, ConceptEmbeddings, embed
from acegraph.nodes.models.language_model import as_model_errors
from acegraph.nodes.runtime.sync_async import BLOCKING, Wait
from acegraph.nodes.runtime.usage import begin_call
from acegraph.state import ModelError, ModelUnavailable
from acegraph.state.errors import ModelAnswerInvalid
from acegraph.state.playbook.vector_matrix import Vector, unit

logger = logging.getLogger(__name__)
THRESHOLDS: Final = {EMBEDDED_MODEL: 0.5, "text-embedding-3-small": 0.5, "all-MiniLM-L6-v2": 0.5}
"""The semantic thresholds of known models: calibrated for the embedded one, stated by the design
for the second, seen to separate paraphrases (about .65) for the third."""
DEFAULT_THRESHOLD: Final = 0.5
_IN_MEMORY: Final = 4096
_PATIENCE: Final = 0.75
"""Seconds to wait for what another caller is fetching, before it is fetched here as well."""
_ROOM_TO_DIFFER: Final = 16
"""Dimensions from which on two different texts never have the same vector by chance."""
_WORD = re.compile(r"\w+")


class Store(Protocol):
    """Where the vectors of texts are kept: a playbook."""

    def text_vectors(self, model: str, texts: Sequence[str]) -> dict[str, Vector]:
        """The stored vectors of these texts."""

    def store_text_vectors(self, model: str, vectors: Mapping[str, Vector]) -> None:
        """Store the vectors of some texts."""


_Pending = Future[Vector | None]
"""A vector that one caller is fetching; None if that caller stopped before it arrived."""


class _InFlight:
    """The vectors that are being fetched now, and the latest ones if any are to be remembered."""

    def __init__(self, remembers: int = 0) -> None:
        self._lock = Lock()
        self._remembers = remembers
        self._remembered: dict[str, Vector] = {}
        self._fetching: dict[tuple[int, str], _Pending] = {}
        self.latest: dict[bytes, str] = {}
        """The last vector that came, with its text: the next one must be another."""

    def remembered(self, texts: Sequence[str]) -> dict[str, Vector]:
        with self._lock:
            return {text: self._remembered[text] for text in texts if text in self._remembered}

    def remember(self, vectors: Mapping[str, Vector]) -> None:
        with self._lock:
            self._remembered |= vectors
            while len(self._remembered) > self._remembers:
                del self._remembered[next(iter(self._remembered))]

    def claim(
        self, texts: Sequence[str], scope: int
    ) -> tuple[dict[str, _Pending], dict[str, _Pending]]:
        """The texts that this caller has to fetch, and those that another one is fetching."""
        with self._lock:
            others = {t: self._fetching[scope, t] for t in texts if (scope, t) in self._fetching}
            mine: dict[str, _Pending] = {t: Future() for t in texts if t not in others}
            for pending in mine.values():
                pending.set_running_or_notify_cancel()  # a cancelled waiter must not cancel it
            self._fetching |= {(scope, t): pending for t, pending in mine.items()}
        return mine, others

    @contextmanager
    def fetching(self, mine: Mapping[str, _Pending], scope: int) -> Iterator[None]:
        """Make other callers wait for these texts. If the model fails, they get an error; if this
        caller stops for another reason, they fetch the texts themselves.
        """
        try:
            yield
        except ModelError:
            for pending in mine.values():
                pending.set_exception(ModelUnavailable("the vectors could not be bought"))
            raise
        finally:
            with self._lock:
                for text, pending in mine.items():
                    self._fetching.pop((scope, text), None)
                    if not pending.done():
                        pending.set_result(None)


@dataclass(frozen=True)
class EmbeddingModel:
    """An embedder with the name under which its vectors are kept."""

    name: str
    embeddings: Embeddings
    on_line: bool = False
    """Whether its HTTP client counts its calls."""
    _in_flight: _InFlight = field(default_factory=_InFlight, repr=False, compare=False)

    @property
    def threshold(self) -> float:
        """The cosine from which on two texts are about the same thing."""
        return THRESHOLDS.get(self.name, DEFAULT_THRESHOLD)

    @property
    def is_free(self) -> bool:
        """Whether a vector costs nothing, so that keeping it costs more than making it."""
        return self.name == EMBEDDED_MODEL

    def remembering(self) -> "EmbeddingModel":
        """A copy with a memory, for a pipeline whose copies of a playbook come and go."""
        return replace(self, _in_flight=_InFlight(_IN_MEMORY))

    async def vectors(
        self, texts: Sequence[str], wait: Wait, store: Store | None = None
    ) -> list[Vector]:
        """The vectors of some texts; missing ones are fetched in one batch and stored."""
        if self.is_free:
            return await self._embed(texts, wait)
        vectors = self._in_flight.remembered(texts)
        if store is not None and (unknown := [t for t in texts if t not in vectors]):
            vectors |= await wait.work(store.text_vectors, self.name, unknown)
            self._in_flight.remember(vectors)
        # A blocking caller never waits for one in an event loop: it could block that very loop.
        scope = 0 if wait is BLOCKING else id(asyncio.get_running_loop())
        missing = list(dict.fromkeys(t for t in texts if t not in vectors))
        mine, others = self._in_flight.claim(missing, scope)
        with self._in_flight.fetching(mine, scope):
            if mine:
                fetched = await self._fetch(list(mine), wait, store)
                vectors |= fetched
                for text, pending in mine.items():
                    pending.set_result(fetched[text])
        if others:
            vectors |= await self._from_others(others, wait, store)
        return [vectors[text] for text in texts]

    async def fetch(self, texts: Sequence[str], wait: Wait) -> dict[str, Vector]:
        """The vectors of some texts, fetched now even if they are known."""
        return await self._fetch(list(dict.fromkeys(texts)), wait, None)

    async def _fetch(
        self, texts: Sequence[str], wait: Wait, store: Store | None
    ) -> dict[str, Vector]:
        fetched = dict(zip(texts, await self._embed(texts, wait), strict=True))
        logger.debug("fetched %d vectors from %s", len(fetched), self.name)
        if store is not None:
            await wait.work(store.store_text_vectors, self.name, fetched)
        self._in_flight.remember(fetched)
        return fetched

    async def _from_others(
        self, others: Mapping[str, _Pending], wait: Wait, store: Store | None
    ) -> dict[str, Vector]:
        """The vectors that other callers are fetching, and those that do not come from them.

        A request of another caller that hangs or fails says nothing about the one made here.
        """
        vectors: dict[str, Vector] = {}
        given_up, end = [], monotonic() + _PATIENCE
        for text, pending in others.items():
            left = max(end - monotonic(), 0)
            try:
                vector = await wait.either(
                    partial(pending.result, left), partial(_result_within, pending, left)
                )
            except (TimeoutError, ModelError):
                continue
            if vector is None:
                given_up.append(text)
            else:
                vectors[text] = vector
        if given_up:
            vectors |= zip(given_up, await self.vectors(given_up, wait, store), strict=True)
        if missing := [text for text in others if text not in vectors]:
            vectors |= await self._fetch(missing, wait, store)
        return vectors

    async def _embed(self, texts: Sequence[str], wait: Wait) -> list[Vector]:
        if self.is_free:
            return [embed(text) for text in texts]
        if not texts:
            return []
        batch = list(texts)
        with as_model_errors(self.name):
            if not self.on_line:
                begin_call(self.name)
            rows = await wait.either(
                lambda: self.embeddings.embed_documents(batch),
                lambda: self.embeddings.aembed_documents(batch),
            )
            with np.errstate(over="ignore"):  # what is too large becomes infinite
                matrix = np.asarray(rows, dtype=np.float32)
        fits = matrix.ndim == 2 and len(matrix) == len(batch) and matrix.size > 0
        if not fits or not np.isfinite(matrix).all():
            raise ModelAnswerInvalid(f"embedding model {self.name} gave no usable vectors")
        self._check_that_they_differ(batch, matrix)
        return list(matrix)

    def _check_that_they_differ(self, texts: Sequence[str], matrix: Vector) -> None:
        """Refuse zeros, and the same vector for texts that have little in common."""
        if not matrix.any(axis=1).all():
            raise ModelAnswerInvalid(f"embedding model {self.name} gave vectors of zeros")
        is_small = matrix.shape[1] < _ROOM_TO_DIFFER
        known = {} if is_small else dict(self._in_flight.latest)
        keys = [vector.tobytes() for vector in unit(matrix).round(5)]
        pairs = zip(texts, keys, strict=True)
        is_same = [_differ_clearly(text, known.setdefault(key, text)) for text, key in pairs]
        if any(is_same) and not (is_small and len(known) > 1):
            raise ModelAnswerInvalid(
                f"embedding model {self.name} gave the same vector for different texts"
            )
        self._in_flight.latest = {keys[-1]: known[keys[-1]]}


async def _result_within(pending: _Pending, seconds: float) -> Vector | None:
    return await asyncio.wait_for(asyncio.wrap_future(pending), seconds)


def _differ_clearly(text: str, other: str) -> bool:
    """Whether two texts have less than half of their words in common.

    >>> _differ_clearly("gift card at night", "A gift card, at noon"), _differ_clearly("a", "b c")
    (False, True)
    """
    words, others = (set(_WORD.findall(t.lower())) for t in (text, other))
    return 2 * len(words & others) < len(words | others)


EMBEDDED = EmbeddingModel(EMBEDDED_MODEL, ConceptEmbeddings())


def named_embeddings(embeddings: Embeddings | EmbeddingModel) -> EmbeddingModel:
    """An embedding model named after the `model` of a LangChain object, or else after its class."""
    if isinstance(embeddings, EmbeddingModel):
        return embeddings
    if isinstance(embeddings, ConceptEmbeddings):
        return EMBEDDED
    names = (getattr(embeddings, name, None) for name in ("model", "model_name", "model_id"))
    return EmbeddingModel(str(next(filter(None, names), type(embeddings).__name__)), embeddings)
