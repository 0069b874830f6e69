"""Arrays that grow: room for a sixteenth more each time, so that a row costs the same on average.

The old array is left as it was: whoever still computes on it sees the rows it had.
"""

from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

_ROOM: Final = 16
_START: Final = 16


def grown(array: NDArray[Any], rows: int, axis: int = 0) -> NDArray[Any]:
    """The array itself where it has that many rows, else a longer copy, filled up with zeros.

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
