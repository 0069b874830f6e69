"""Which bullets a full playbook can spare: by their evidence, their redundancy and their age.

It names them and says why; to retire them, reversibly, is the curator's work.
"""

from collections.abc import Iterator, Sequence
from typing import Final

import numpy as np
from numpy.typing import NDArray

from acegraph.state import DECLINE, Bullet

_RELATED: Final = 0.6
"""Below this likeness two sentences of one language are strangers."""
_SHORT_LIST: Final = 16
"""Of how many with the least evidence the redundancy is looked at; it is what costs time."""


def evidence(bullet: Bullet) -> float:
    """How much a bullet's record says for it: its weight or success rate, by its helpful outcomes.

    >>> evidence(Bullet("b1", "text", "node", helpful_count=3, harmful_count=1))
    1.5
    """
    weight = abs(bullet.weight) if bullet.weight is not None else bullet.get_success_rate()
    return float(weight * (1 + bullet.helpful_count) ** 0.5)


def expendable(
    active: Sequence[Bullet], capacity: int, keep: str | None = None
) -> Iterator[tuple[Bullet, str]]:
    """The bullets to retire so that no more than so many stay, each with the reason.

    What a bullet is worth is its evidence, less up to half of it the more another bullet of the
    same verdict reads like it. Among equals the older goes: it had more time to prove itself.
    """
    excess = len(active) - capacity
    if excess < 1:
        return
    ranked = sorted((evidence(b), b.number, i) for i, b in enumerate(active) if b.id != keep)
    ranked = ranked[: max(_SHORT_LIST, 2 * excess)]
    record, numbers = np.array([r[0] for r in ranked]), np.array([r[1] for r in ranked])
    likeness = _likeness(active, [i for _, _, i in ranked])
    for size in range(len(active), capacity, -1):
        worth = np.round(record * (1 - likeness.max(axis=1) / 2), 9)
        worst = int(np.lexsort((numbers, worth))[0])
        row = ranked[worst][2]
        nearest = int(likeness[worst].argmax())
        twin = (
            f", {likeness[worst, nearest]:.0%} like {active[nearest].id}"
            if likeness[worst, nearest] > 0
            else ""
        )
        yield (
            active[row],
            f"least useful of {size} ({_record(active[row])}{twin}); "
            + (f"the playbook holds {capacity}"),
        )
        record[worst], likeness[:, row] = np.inf, 0


def _likeness(bullets: Sequence[Bullet], some: list[int]) -> NDArray[np.float64]:
    """How much some bullets read like each of all; a contradiction is not redundant."""
    from rapidfuzz import process
    from rapidfuzz.distance import Indel

    texts = [b.content.lower() for b in bullets]
    likeness = process.cdist(
        [texts[i] for i in some],
        texts,
        scorer=Indel.normalized_similarity,
        score_cutoff=_RELATED,
        dtype=np.float64,
    )
    verdicts = np.array([_verdict(b) for b in bullets])
    likeness[verdicts[some][:, None] != verdicts] = 0
    likeness[range(len(some)), some] = 0
    return np.asarray(likeness)


def _verdict(bullet: Bullet) -> int:
    if bullet.verdict is not None:
        return 1 if bullet.verdict == DECLINE else -1
    from acegraph.nodes.text.sentence import parse_sentence

    return next(iter(parse_sentence(bullet.content).verdicts), 0)


def _record(bullet: Bullet) -> str:
    weight = f", weight {bullet.weight:.2f}" if bullet.weight is not None else ""
    return f"{bullet.helpful_count} right, {bullet.harmful_count} wrong{weight}"
