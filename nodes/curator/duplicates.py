"""Which bullets look like a candidate: the result of a full scan in a fraction of its time.

The text test is `SequenceMatcher(None, candidate.lower(), existing.lower()).ratio()` above a
threshold. This module knows texts and conditions; the curator decides what follows.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher
from typing import Final

from acegraph.nodes.text.difference import says_the_same
from acegraph.state.playbook.index import View
from acegraph.state.values import Bullet, Condition

ALIKE_FROM: Final = 0.85
"""Texts that match by more look alike."""
_ROUNDING: Final = 1e-9
_AUTOJUNK: Final = 200


@dataclass(frozen=True)
class Likeness:
    """A bullet that looks like the candidate, or has the same condition."""

    bullet: Bullet
    is_duplicate: bool
    """Whether the two say the same, not only something similar."""


def alike(candidate: str, texts: Sequence[str], threshold: float) -> list[int]:
    """The positions of the texts that pass the text test, in order; all are in lower case.

    The blocks that `SequenceMatcher` matches form a common subsequence, so its ratio is never above
    the indel similarity, which rules out most texts.
    """
    if not texts:
        return []
    from rapidfuzz import process
    from rapidfuzz.distance import Indel

    scorer, least = Indel.normalized_similarity, max(threshold - _ROUNDING, 0)
    near = process.extract(candidate, texts, scorer=scorer, score_cutoff=least, limit=None)
    return sorted(place for text, _, place in near if _ratio(candidate, text) > threshold)


def _ratio(candidate: str, existing: str) -> float:
    """`SequenceMatcher(None, candidate, existing).ratio()`.

    From 200 characters on it ignores frequent characters; below that its blocks are simple.

    >>> _ratio("abcd", "bcde")
    0.75
    """
    if len(existing) >= _AUTOJUNK or not existing or not candidate:
        return SequenceMatcher(None, candidate, existing).ratio()
    return 2.0 * _matched(candidate, existing) / (len(candidate) + len(existing))


def _matched(a: str, b: str) -> int:
    """The number of characters in matching blocks: the longest, and those to its left and right.

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


def lengths_of(candidate: str, threshold: float) -> tuple[float, float]:
    """The least and the greatest length of a text whose ratio may reach the threshold.

    At most the shorter text can match: ratio <= 2 min(m, n) / (m + n).
    """
    share = threshold / (2 - threshold) - _ROUNDING
    return len(candidate) * share, len(candidate) / share if share > 0 else float("inf")


def likenesses(
    content: str, condition: Condition | None, view: View, threshold: float
) -> list[Likeness]:
    """The bullets of a node that a candidate may repeat or contradict; retired ones if it repeats
    them.
    """
    bullets, candidate = view.rows, content.lower()
    near = view.of_length(*lengths_of(candidate, threshold)).tolist()
    lowered = [bullets[row].content.lower() for row in near]
    rows = {near[i] for i in alike(candidate, lowered, threshold)}
    if condition is not None:
        rows |= set(view.same_tests(condition).tolist())
    found = []
    for row in (row for row in sorted(rows) if bullets[row].status != "removed"):
        bullet = bullets[row]
        if condition and bullet.condition:
            is_duplicate = condition.same_as(bullet.condition)
        else:
            is_duplicate = says_the_same(content, bullet.content)
        # Of the retired bullets, which may be many, only those that say the same matter.
        if is_duplicate or bullet.status != "retired":
            found.append(Likeness(bullet, is_duplicate))
    return found
