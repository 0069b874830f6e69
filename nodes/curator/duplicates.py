"""Which bullets look like a candidate, exactly as a full scan would find them, in a fraction of it.

The text test is `SequenceMatcher(None, candidate.lower(), existing.lower()).ratio()` above a
threshold. It knows texts and conditions; what follows from likeness is the curator's to say.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher
from typing import TYPE_CHECKING, Final

import numpy as np

from acegraph.state import Bullet, Condition
from acegraph.state.playbook.index import View

if TYPE_CHECKING:
    from acegraph.nodes.text.difference import WordingDifference


_ROUNDING: Final = 1e-9
_AUTOJUNK: Final = 200


@dataclass(frozen=True)
class Likeness:
    """A bullet that looks like the candidate, or tests the same."""

    bullet: Bullet
    difference: "WordingDifference | None"
    """What it says differently; None for a duplicate."""


def alike(candidate: str, texts: Sequence[str], threshold: float) -> list[int]:
    """Which texts pass the text test, in order."""
    candidate, lowered = candidate.lower(), [text.lower() for text in texts]
    low, high = lengths_of(candidate, threshold)
    rows = [i for i, text in enumerate(lowered) if low <= len(text) <= high]
    return [rows[i] for i in _alike(candidate, [lowered[i] for i in rows], threshold)]


def _alike(candidate: str, lowered: Sequence[str], threshold: float) -> list[int]:
    """The same for texts in lower case that their lengths do not rule out.

    The blocks that `SequenceMatcher` matches form a common subsequence, so its ratio is never above
    the indel similarity, which rapidfuzz computes for all texts in one call. The true ratio is
    computed for the few that this bound lets through.
    """
    from rapidfuzz import process
    from rapidfuzz.distance import Indel

    if not lowered:
        return []
    bounds = process.cdist(
        [candidate],
        lowered,
        scorer=Indel.normalized_similarity,
        score_cutoff=max(threshold - _ROUNDING, 0),
        dtype=np.float64,
    )[0]
    return [
        i
        for i in np.flatnonzero(bounds >= threshold - _ROUNDING).tolist()
        if _ratio(candidate, lowered[i]) > threshold
    ]


def lengths_of(candidate: str, threshold: float) -> tuple[float, float]:
    """How short and how long a text can be whose ratio may reach the threshold.

    No more can match than the shorter of the two has: ratio <= 2 min(m, n) / (m + n).
    """
    share = threshold / (2 - threshold) - _ROUNDING
    return len(candidate) * share, len(candidate) / share if share > 0 else float("inf")


def _ratio(candidate: str, existing: str) -> float:
    """`SequenceMatcher(None, candidate, existing).ratio()`.

    From 200 characters on it leaves popular ones out; below that its blocks are easily found.

    >>> _ratio("abcd", "bcde")
    0.75
    """
    if len(existing) >= _AUTOJUNK or not existing or not candidate:
        return SequenceMatcher(None, candidate, existing).ratio()
    return 2.0 * _matched(candidate, existing) / (len(candidate) + len(existing))


def _matched(a: str, b: str) -> int:
    """How many characters lie in matching blocks: the longest, and those to its left and right.

    Of equally long blocks the earliest in `a` counts, then the earliest in `b`.
    """
    start = length = 0
    for i in range(len(a)):
        while i + length < len(a) and a[i : i + length + 1] in b:
            start, length = i, length + 1
    if not length:
        return 0
    at = b.find(a[start : start + length])
    left = _matched(a[:start], b[:at])
    return length + left + _matched(a[start + length :], b[at + length :])


def likenesses(
    content: str, condition: Condition | None, view: View, threshold: float
) -> list[Likeness]:
    """The bullets of a node, retired ones too, that a candidate may repeat or contradict."""
    from acegraph.nodes.text.difference import between_conditions, difference

    bullets, lowered, candidate = view.shelf.bullets, view.shelf.lowered, content.lower()
    near = view.of_length(*lengths_of(candidate, threshold)).tolist()
    rows = {near[i] for i in _alike(candidate, [lowered[row] for row in near], threshold)}
    if condition is not None:
        rows |= set(view.same_tests(condition).tolist())
    found = []
    for bullet in (bullets[row] for row in sorted(rows)):
        if bullet.status == "removed":
            continue
        if condition and bullet.condition:
            found.append(Likeness(bullet, between_conditions(condition, bullet.condition)))
        else:
            found.append(Likeness(bullet, difference(content, bullet.content)))
    return found
