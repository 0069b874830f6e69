"""Vectors of texts, kept per embedding model: those of two models are never compared.

A vector is kept under the model and a hash of the text, so that no text is bought twice. Those that
were read are kept in memory; all are written through.
"""

import hashlib
from collections.abc import Iterable, Mapping
from itertools import islice
from typing import Any, Final

import numpy as np
import sqlalchemy as sa
from numpy.typing import NDArray
from sqlalchemy.dialects import postgresql, sqlite

from acegraph.state.errors import ModelAnswerInvalid
from acegraph.state.tables import Database, embeddings, meta

Vector = NDArray[np.float32]

_AT_ONCE: Final = 500
"""How many hashes one statement asks for: databases limit the number of parameters."""
_MODEL_KEY: Final = "embedding_model"
_INSERT: Final[dict[str, Any]] = {"sqlite": sqlite.insert, "postgresql": postgresql.insert}


def text_hash(text: str) -> str:
    """The name under which a text's vector is kept."""
    return hashlib.sha256(text.encode()).hexdigest()


class VectorShelf:
    """The stored vectors of one playbook, by model and text."""

    def __init__(self, database: Database) -> None:
        self._database = database
        self._known: dict[str, dict[str, Vector]] = {}
        self._bound: str | None = None

    def of_texts(self, model: str, texts: Iterable[str], *, keep: bool = True) -> dict[str, Vector]:
        """The vectors of those of the texts that have one; `keep` them in memory or not."""
        known = self._known.setdefault(model, {})
        hashes = {text: text_hash(text) for text in texts}
        read = self._read(model, [h for h in hashes.values() if h not in known])
        if keep:
            known |= read
        found = {**read, **known}
        return {text: found[h] for text, h in hashes.items() if h in found}

    def store(self, model: str, vectors: Mapping[str, Vector], *, keep: bool = True) -> None:
        """Keep vectors of one model, by text; all of them have the same size."""
        fresh = {text_hash(t): np.asarray(v, np.float32) for t, v in vectors.items()}
        self._check_size(model, fresh.values())
        rows = [
            {"model": model, "text_hash": h, "vector": v.astype("<f4").tobytes()}
            for h, v in fresh.items()
        ]
        with self._database.writing() as connection:
            insert = _INSERT[connection.dialect.name](embeddings)
            connection.execute(insert.on_conflict_do_nothing(), rows)
        if keep:
            self._known.setdefault(model, {}).update(fresh)

    def bound_model(self) -> str | None:
        """The model whose vectors the bullets of this playbook have."""
        if self._bound is None:
            wanted = sa.select(meta.c.value).where(meta.c.key == _MODEL_KEY)
            with self._database.reading() as connection:
                self._bound = connection.scalar(wanted)
        return self._bound

    def bind(self, model: str) -> None:
        """Say whose vectors the bullets have from now on."""
        with self._database.writing() as connection:
            insert = _INSERT[connection.dialect.name](meta)
            connection.execute(
                insert.on_conflict_do_update(index_elements=[meta.c.key], set_={"value": model}),
                {"key": _MODEL_KEY, "value": model},
            )
        self._bound = model

    def forget(self) -> None:
        """Read anew when next asked: the database has changed."""
        self._known.clear()
        self._bound = None

    def _read(self, model: str, hashes: list[str]) -> dict[str, Vector]:
        found: dict[str, Vector] = {}
        for some in _in_parts(hashes):
            wanted = sa.select(embeddings.c.text_hash, embeddings.c.vector).where(
                embeddings.c.model == model, embeddings.c.text_hash.in_(some)
            )
            with self._database.reading() as connection:
                rows = connection.execute(wanted).all()
            found |= {h: np.frombuffer(vector, dtype="<f4") for h, vector in rows}
        return found

    def _check_size(self, model: str, vectors: Iterable[Vector]) -> None:
        sizes = {len(vector) for vector in vectors}
        known = next(islice(self._known.get(model, {}).values(), 1), None)
        if known is None:
            one = sa.select(embeddings.c.vector).where(embeddings.c.model == model).limit(1)
            with self._database.reading() as connection:
                stored = connection.scalar(one)
            known = None if stored is None else np.frombuffer(stored, dtype="<f4")
        if known is not None:
            sizes.add(len(known))
        if len(sizes) > 1:
            raise ModelAnswerInvalid(f"{model} gave vectors of {sorted(sizes)} dimensions")


def _in_parts(hashes: list[str]) -> Iterable[list[str]]:
    return (hashes[i : i + _AT_ONCE] for i in range(0, len(hashes), _AT_ONCE))
