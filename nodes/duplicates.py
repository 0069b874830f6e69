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
from acegraph.state.index import View

if TYPE_CHECKING:
    from acegraph.nodes.difference import Difference

_ROUNDING: Final = 1e-9


@dataclass(frozen=True)
class Likeness:
    """A bullet that looks like the candidate, or tests the same."""

    bullet: Bullet
    difference: "Difference | None"
    """What it says differently; None for a duplicate."""


def alike(candidate: str, texts: Sequence[str], threshold: float) -> list[int]:
    """Which texts pass the text test, in order.

    The blocks that `SequenceMatcher` matches form a common subsequence, so its ratio is never above
    the indel similarity, which rapidfuzz computes for all texts in one call (and not at all where
    the lengths rule it out). The true ratio is computed for those that this bound lets through.
    """
    from rapidfuzz import process
    from rapidfuzz.distance import Indel

    if not texts:
        return []
    candidate, lowered = candidate.lower(), [text.lower() for text in texts]
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
        if SequenceMatcher(None, candidate, lowered[i]).ratio() > threshold
    ]


def likenesses(
    content: str, condition: Condition | None, view: View, threshold: float
) -> list[Likeness]:
    """The bullets of a node, retired ones too, that a candidate may repeat or contradict."""
    from acegraph.nodes.difference import between_conditions, difference  # many patterns to compile

    bullets = view.shelf.bullets[: view.size]
    rows = set(alike(content, [b.content for b in bullets], threshold))
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
