"""The unit vectors of a node's bullets as one array in memory."""

import numpy as np
from numpy.typing import NDArray

from acegraph.state.values.cases import grown

Vector = NDArray[np.float32]


def unit(vectors: Vector) -> Vector:
    """The vectors scaled to length 1; a zero vector stays zero.

    >>> unit(np.array([[3.0, 4.0], [0.0, 0.0]], np.float32)).round(3).tolist()
    [[0.6000000238418579, 0.800000011920929], [0.0, 0.0]]
    """
    wide = vectors.astype(np.float64)
    lengths = np.sqrt((wide * wide).sum(axis=-1, keepdims=True))
    return np.asarray(wide / np.where(lengths > 0, lengths, 1), np.float32)


class VectorMatrix:
    """The unit vectors of one model for the bullets of one node; it grows in place."""

    def __init__(self, size: int) -> None:
        self.rows: Vector = np.zeros((0, size), np.float32)
        self.is_known = np.zeros(0, bool)

    def put(self, row: int, vector: Vector, expected: int = 0) -> None:
        """Write one row; room for `expected` rows is made at once."""
        self.reserve(max(row + 1, expected))
        self.rows[row] = unit(vector)
        self.is_known[row] = True

    def reserve(self, rows: int) -> None:
        """Make room for so many rows."""
        self.rows = grown(self.rows, rows)
        self.is_known = grown(self.is_known, rows)
