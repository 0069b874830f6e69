"""Which bullets a full playbook can spare: by their evidence and their age.

Candidates have a capacity of their own. Where there are more, the author who has most loses one.

It names them with a reason; the curator retires them, reversibly (curator.py).
"""

from collections import Counter
from collections.abc import Iterator, Sequence

from acegraph.nodes.rules.points import weight_of
from acegraph.state.values import WAITS_FOR, Bullet


def evidence(bullet: Bullet) -> float:
    """The evidence for a bullet: its weight or success rate times the root of its successes.

    >>> evidence(Bullet("b1", "text", "node", helpful_count=3, harmful_count=1))
    1.5
    """
    is_told = bullet.weight is not None or bullet.is_graded
    weight = abs(weight_of(bullet)) if is_told else bullet.get_success_rate()
    return float(weight * (1 + bullet.helpful_count) ** 0.5)


def expendable(
    active: Sequence[Bullet], capacity: int, keep: str | None = None
) -> Iterator[tuple[Bullet, str]]:
    """The bullets to retire so that `capacity` of them stay, each with the reason.

    Of equals the older goes: it had more time to prove itself.
    """
    excess = max(len(active) - capacity, 0)
    ranked = sorted((b for b in active if b.id != keep), key=lambda b: (evidence(b), b.number))
    for bullet in ranked[:excess]:
        weight = f", weight {bullet.weight:.2f}" if bullet.weight is not None else ""
        record = f"{bullet.helpful_count} right, {bullet.harmful_count} wrong{weight}"
        why = f"least useful of {len(active)} ({record}); the playbook holds {capacity}"
        yield bullet, why


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
        (author, share), *_ = Counter(map(_author_of, may_leave)).most_common(1)
        of_author = [b for b in may_leave if _author_of(b) == author]
        oldest = min(of_author, key=lambda b: (b.proof == "proven", bool(b.condition), b.number))
        waiting.remove(oldest)
        yield oldest, f"expired: nothing bore it out, and {share} of its author were waiting"


def _author_of(bullet: Bullet) -> str:
    """Who proposed a bullet: the file that it was imported from, or else its author."""
    return str(bullet.origin.get("imported_from") or bullet.origin.get("author") or "")
