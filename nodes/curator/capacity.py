"""Which bullets a full playbook can spare: by their evidence, their redundancy and their age.

Candidates have a capacity of their own. Where there are more, the author who has most loses one.

It names them with a reason; the curator retires them, reversibly (curator.py).
"""

from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Final

import numpy as np
from numpy.typing import NDArray

from acegraph.nodes.curator.duplicates import similarities
from acegraph.state import Bullet
from acegraph.state.values.bullet import WAITS_FOR

_RELATED: Final = 0.6
"""Below this likeness two sentences of one language have nothing to do with each other."""
_SHORT_LIST: Final = 16
"""How many bullets with the least evidence are compared with all: comparing takes the time."""


def evidence(bullet: Bullet) -> float:
    """The evidence for a bullet: its weight or success rate times the root of its successes.

    >>> evidence(Bullet("b1", "text", "node", helpful_count=3, harmful_count=1))
    1.5
    """
    weight = abs(bullet.weight) if bullet.weight is not None else bullet.get_success_rate()
    return float(weight * (1 + bullet.helpful_count) ** 0.5)


def expendable(
    active: Sequence[Bullet], capacity: int, keep: str | None = None
) -> Iterator[tuple[Bullet, str]]:
    """The bullets to retire so that `capacity` of them stay, each with the reason.

    A bullet is worth its evidence, less up to half of it the more another bullet of the same
    verdict reads like it. Of equals the older goes: it had more time to prove itself.
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
        row, nearest = ranked[worst][2], int(likeness[worst].argmax())
        share = likeness[worst, nearest]
        twin = f", {share:.0%} like {active[nearest].id}" if share > 0 else ""
        why = f"least useful of {size} ({_record(active[row])}{twin})"
        yield active[row], f"{why}; the playbook holds {capacity}"
        record[worst], likeness[:, row] = np.inf, 0


def expired(
    candidates: Sequence[Bullet], room: int, keep: str | None = None
) -> Iterator[tuple[Bullet, str]]:
    """The candidates to retire so that `room` unproven ones may stay, each with the reason.

    They are the oldest of the author who has most: whoever proposes much crowds out nobody else.
    What is proven and waits only for a person stays; prose goes before what can be tested.
    """
    waiting = [b for b in candidates if b.proof == "unproven" or WAITS_FOR in b.evidence]
    while len(waiting) > room:
        may_leave = [b for b in waiting if b.id != keep]
        (author, share), *_ = Counter(map(author_of, may_leave)).most_common(1)
        of_author = [b for b in may_leave if author_of(b) == author]
        oldest = min(of_author, key=lambda b: (b.proof == "proven", bool(b.condition), b.number))
        waiting.remove(oldest)
        yield oldest, f"expired: nothing bore it out, and {share} of its author were waiting"


def author_of(bullet: Bullet) -> str:
    """Who proposed a bullet: the file that it was imported from, or else its author."""
    return str(bullet.origin.get("imported_from") or bullet.origin.get("author") or "")


def _likeness(bullets: Sequence[Bullet], some: list[int]) -> NDArray[np.float64]:
    """How much some bullets read like each of all; a contradiction is not redundant."""
    texts = [b.content.lower() for b in bullets]
    likeness = similarities([texts[i] for i in some], texts, _RELATED)
    verdicts = np.array([_verdict(b) for b in bullets])
    likeness[verdicts[some][:, None] != verdicts] = 0
    likeness[range(len(some)), some] = 0
    return likeness


def _verdict(bullet: Bullet) -> str:
    if bullet.verdict is not None:
        return bullet.verdict.lower()
    from acegraph.nodes.text.difference import verdict_in

    return verdict_in(bullet.content)


def _record(bullet: Bullet) -> str:
    weight = f", weight {bullet.weight:.2f}" if bullet.weight is not None else ""
    return f"{bullet.helpful_count} right, {bullet.harmful_count} wrong{weight}"
