"""Vectors of bullets, kept per embedding model: those of two models are never compared.

The shelf keeps them in the database as they were given; the matrix holds them in memory as one
block of unit vectors, a row for each bullet of a node, for selection to compute on.
"""

from collections.abc import Iterator, Mapping, Sequence

import numpy as np
import sqlalchemy as sa
from numpy.typing import NDArray

from acegraph.state.database import Database
from acegraph.state.errors import ModelAnswerInvalid
from acegraph.state.grown import grown
from acegraph.state.tables import embeddings

Vector = NDArray[np.float32]

_AT_ONCE = 500
"""How many bullets one statement may name; for more, all vectors of the model are read."""


def unit(vectors: Vector) -> Vector:
    """The vectors at length 1; a zero vector stays what it is.

    >>> unit(np.array([[3.0, 4.0], [0.0, 0.0]], np.float32)).round(3).tolist()
    [[0.6000000238418579, 0.800000011920929], [0.0, 0.0]]
    """
    wide = vectors.astype(np.float64)
    lengths = np.linalg.norm(wide, axis=-1, keepdims=True)
    return np.asarray(wide / np.where(lengths > 0, lengths, 1), np.float32)


class VectorMatrix:
    """The unit vectors of one model for the bullets of one node; it grows in place."""

    def __init__(self, size: int) -> None:
        self.rows: Vector = np.zeros((0, size), np.float32)
        self.is_known = np.zeros(0, bool)

    def put(self, row: int, vector: Vector, expected: int = 0) -> None:
        """Write one row; `expected` rows are made room for at once."""
        self.reserve(max(row + 1, expected))
        self.rows[row] = unit(vector)
        self.is_known[row] = True

    def reserve(self, rows: int) -> None:
        """Have room for so many rows."""
        self.rows = grown(self.rows, rows)
        self.is_known = grown(self.is_known, rows)


class VectorShelf:
    """The stored vectors of one playbook, by model and bullet number."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def read(self, model: str, numbers: Sequence[int]) -> Iterator[tuple[int, Vector]]:
        """The stored vectors of these bullets, one after the other."""
        wanted = sa.select(embeddings.c.bullet, embeddings.c.vector).where(
            embeddings.c.model == model
        )
        if len(numbers) <= _AT_ONCE:
            wanted = wanted.where(embeddings.c.bullet.in_(numbers))
        asked = set(numbers)
        with self._database.reading() as connection:
            for number, vector in connection.execute(wanted):
                if number in asked:
                    yield number, np.frombuffer(vector, dtype="<f4")

    def store(self, model: str, vectors: Mapping[int, Vector]) -> None:
        """Keep vectors of one model; all of them have the same size."""
        with self._database.writing() as page:
            one = page.connection.scalar(
                sa.select(sa.func.length(embeddings.c.vector))
                .where(embeddings.c.model == model)
                .limit(1)
            )
            sizes = {len(vector) for vector in vectors.values()} | ({one // 4} if one else set())
            if len(sizes) > 1:
                raise ModelAnswerInvalid(f"{model} gave vectors of {sorted(sizes)} dimensions")
            rows = [
                {"bullet": n, "model": model, "vector": np.asarray(vector, dtype="<f4").tobytes()}
                for n, vector in vectors.items()
            ]
            page.connection.execute(
                embeddings.delete().where(
                    embeddings.c.model == model, embeddings.c.bullet == sa.bindparam("number")
                ),
                [{"number": n} for n in vectors],
            )
            page.connection.execute(embeddings.insert(), rows)
