"""The unit vectors of a node's bullets as one array in memory, and how such arrays grow."""

from typing import Final, TypeVar

import numpy as np
from numpy.typing import NDArray

Vector = NDArray[np.float32]

_ROOM: Final = 16
_START: Final = 16
_Item = TypeVar("_Item", bound=np.generic)


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


def grown(array: NDArray[_Item], rows: int, axis: int = 0) -> NDArray[_Item]:
    """The array itself if it has that many rows, else a longer copy, filled up with zeros.

    It grows by a sixteenth at a time, so that a new row costs the same on average. The old array
    stays as it was: a computation that still uses it sees the rows that it had.

    >>> len(grown(np.ones(20), 21))
    38
    """
    if rows <= array.shape[axis]:
        return array
    shape = list(array.shape)
    shape[axis] = rows + rows // _ROOM + _START
    longer = np.zeros(shape, array.dtype)
    longer[tuple(slice(size) for size in array.shape)] = array
    return longer
