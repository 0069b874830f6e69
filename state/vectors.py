"""Vectors of bullets, kept per embedding model: those of two models are never compared.

Read from the database when a model is first asked for, then kept in memory and written through.
"""

from collections.abc import Mapping
from itertools import islice

import numpy as np
import sqlalchemy as sa
from numpy.typing import NDArray

from acegraph.state.database import Database
from acegraph.state.errors import ModelAnswerInvalid
from acegraph.state.tables import embeddings

Vector = NDArray[np.float32]


class VectorShelf:
    """The stored vectors of one playbook, by model and bullet number."""

    def __init__(self, database: Database) -> None:
        self._database = database
        self._known: dict[str, dict[int, Vector]] = {}

    def of_model(self, model: str) -> Mapping[int, Vector]:
        """All vectors of one model."""
        if model not in self._known:
            with self._database.reading() as connection:
                rows = connection.execute(
                    sa.select(embeddings.c.bullet, embeddings.c.vector).where(
                        embeddings.c.model == model
                    )
                ).all()
            self._known[model] = {n: np.frombuffer(vector, dtype="<f4") for n, vector in rows}
        return self._known[model]

    def store(self, model: str, vectors: Mapping[int, Vector]) -> None:
        """Keep vectors of one model; all of them have the same size."""
        known = self.of_model(model)
        sizes = {len(vector) for vector in (*vectors.values(), *islice(known.values(), 1))}
        if len(sizes) > 1:
            raise ModelAnswerInvalid(f"{model} gave vectors of {sorted(sizes)} dimensions")
        rows = [
            {"bullet": n, "model": model, "vector": np.asarray(vector, dtype="<f4").tobytes()}
            for n, vector in vectors.items()
        ]
        with self._database.writing() as page:
            page.connection.execute(
                embeddings.delete().where(
                    embeddings.c.model == model, embeddings.c.bullet.in_(list(vectors))
                )
            )
            page.connection.execute(embeddings.insert(), rows)
        self._known[model] = {**known, **{n: np.asarray(v, np.float32) for n, v in vectors.items()}}

    def forget(self) -> None:
        """Read anew when next asked: the database has changed."""
        self._known.clear()
