"""Vectors of texts, stored by embedding model: vectors of two models are never compared.

The database keeps them by model and hash of the text, so that a model is asked once for each text.
"""

from collections.abc import Iterable, Mapping
from typing import Final

import numpy as np
import sqlalchemy as sa

from acegraph.state.database.base import Database
from acegraph.state.database.encoding import chunks, text_hash
from acegraph.state.database.tables import bullets, embeddings, trial_answers
from acegraph.state.database.writer import LedgerWriter
from acegraph.state.errors import ModelAnswerInvalid
from acegraph.state.playbook.index import Vector

_VECTORS: Final = sa.select(embeddings.c.text_hash, embeddings.c.vector).where(
    embeddings.c.model == sa.bindparam("model"),
    embeddings.c.text_hash.in_(sa.bindparam("names", expanding=True)),
)


class VectorStore:
    """The stored vectors of one playbook, by model and text."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def read(self, model: str, texts: Iterable[str]) -> dict[str, Vector]:
        """The vectors of those texts that have one."""
        names = {text_hash(text): text for text in texts}
        vectors: dict[str, Vector] = {}
        with self._database.reading() as connection:
            for some in chunks(list(names)):
                rows = connection.execute(_VECTORS, {"model": model, "names": some})
                vectors |= {names[name]: np.frombuffer(v, dtype="<f4") for name, v in rows}
        return vectors

    def store(self, model: str, vectors: Mapping[str, Vector]) -> None:
        """Store vectors of one model, by text; all vectors of a model have the same size."""
        with self._database.writing() as writer:
            known, rows = self.read(model, vectors), []
            for text in vectors.keys() - known.keys():
                data = np.asarray(vectors[text], dtype="<f4").tobytes()
                rows.append({"model": model, "text_hash": text_hash(text), "vector": data})
            length = sa.select(sa.func.length(embeddings.c.vector))
            stored = writer.connection.scalar(length.where(embeddings.c.model == model).limit(1))
            sizes = {len(vector) for vector in vectors.values()}
            sizes |= {stored // 4} if stored else set()
            if len(sizes) > 1:
                raise ModelAnswerInvalid(
                    f"{model} gave vectors of {sorted(sizes)} dimensions, which do not compare; "
                    "playbook.forget_vectors(model) lets them be fetched anew"
                )
            if rows:
                writer.connection.execute(embeddings.insert(), rows)


def forget_vectors(writer: LedgerWriter) -> None:
    """Delete the vectors of all texts but those of bullets: a vector tells of its text, and that of
    a transaction is needed once. Answers that older versions kept of trials go too.
    """
    writer.connection.execute(trial_answers.delete())
    stored = set(writer.connection.scalars(sa.select(embeddings.c.text_hash)))
    stored -= set(map(text_hash, writer.connection.scalars(sa.select(bullets.c.content))))
    for some in chunks(sorted(stored)):
        writer.connection.execute(embeddings.delete().where(embeddings.c.text_hash.in_(some)))
