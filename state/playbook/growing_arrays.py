"""Arrays that grow by a sixteenth at a time, so that a new row costs the same on average.

The old array stays as it was: a computation that still uses it sees the rows that it had.
"""

from typing import Final, TypeVar

import numpy as np
from numpy.typing import NDArray

_ROOM: Final = 16
_START: Final = 16
_Item = TypeVar("_Item", bound=np.generic)


def grown(array: NDArray[_Item], rows: int, axis: int = 0) -> NDArray[_Item]:
    """The array itself if it has that many rows, else a longer copy, filled up with zeros.

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
