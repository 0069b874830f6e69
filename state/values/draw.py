"""Which of very many labelled cases count, so that a long history fits into memory."""

import hashlib
from collections.abc import Mapping
from typing import Final

import numpy as np
from numpy.typing import NDArray

from acegraph.state.values.verdict import Verdict

ALL_COUNT: Final = 20_000
"""Of a label with fewer cases all count; of one with more every second, every fourth and so on."""
TABLE: Final = "table:"
"""How the id of a case begins that was drawn from a whole table; the eight digits behind it decide
whether it is drawn."""


def drawing_number(case_id: str) -> int:
    """The number that drew a case from a whole table."""
    return int(case_id[len(TABLE) :][:8], 16)


def is_in_share(key: str, share: float) -> bool:
    """Whether a key belongs to a share of all keys; always the same for one key.

    >>> [is_in_share("order-1", share) for share in (0.0, 1.0)]
    [False, True]
    """
    drawn = hashlib.sha256(key.encode("utf-8", "replace")).digest()[:8]
    return int.from_bytes(drawn) < share * 2**64


def is_drawn(numbers: NDArray[np.uint64], halvings: int) -> NDArray[np.bool_]:
    """Which rows are drawn, by their numbers, if one half is left out as often as `halvings` says.

    Those that are drawn with more halvings are among those that are drawn with fewer.

    >>> [int(is_drawn(np.arange(10_000, dtype=np.uint64), n).sum()) for n in (0, 1, 3)]
    [10000, 4992, 1289]
    """
    mixed = numbers  # so that neighbours differ in all bits (Steele, Lea and Flood 2014)
    for shift, factor in ((30, 0xBF58476D1CE4E5B9), (27, 0x94D049BB133111EB)):
        mixed = (mixed ^ (mixed >> np.uint64(shift))) * np.uint64(factor)
    return np.asarray(mixed ^ (mixed >> np.uint64(31)) <= np.uint64((1 << (64 - halvings)) - 1))


class Draw:
    """Which of the labelled cases count.

    It depends on the ids alone: every process draws the same cases. Whether a case is drawn depends
    on its label and on nothing else that a rule could test. So tests of rules and the weights of
    rules need no correction (Prentice and Pyke 1979): only the rate of fraud does.
    """

    def __init__(self, counts: Mapping[Verdict, int], all_count: int = ALL_COUNT) -> None:
        """`counts` are those of all cases, also of those that a whole table left out."""
        self._counts, self._all_count = dict(counts), all_count
        self.halvings = self._wanted()
        """By label, how often one half of the cases is left out."""

    def _wanted(self) -> dict[Verdict, int]:
        most, counts = self._all_count, self._counts.items()
        return {label: max((2 * n // most).bit_length() - 1, 0) for label, n in counts}

    @property
    def is_outdated(self) -> bool:
        """Whether more cases have come, so that a smaller share of them should be drawn."""
        return self._wanted() != self.halvings

    def count(self, label: Verdict) -> None:
        """Count one more labelled case."""
        self._counts[label] = self._counts.get(label, 0) + 1
        self.halvings.setdefault(label, 0)

    def weight(self, case_id: str, label: Verdict) -> float:
        """How many cases it stands for; 0 if it is not drawn."""
        halvings = self.halvings.get(label, 0)
        if not halvings:
            return 1.0
        if case_id.startswith(TABLE):
            numbers = np.array([drawing_number(case_id)], dtype=np.uint64)
            counts = bool(is_drawn(numbers, halvings)[0])
        else:
            hashed = hashlib.blake2b(case_id.encode(), digest_size=8, person=b"ace-evidence")
            counts = int.from_bytes(hashed.digest(), "big") < 1 << (64 - halvings)
        return float(1 << halvings) if counts else 0.0
