"""What a refinement did to each bullet: before and after, and which other bullet now says it.

It compares the active bullets of two moments, however they came to differ.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final, Literal

import numpy as np

from acegraph.state import Bullet
from acegraph.state.values.cases import CaseTable
from acegraph.state.values.verdict import Verdict

Change = Literal["added", "retired", "revised", "reweighed", "kept"]
_ALIKE: Final = 0.5
"""Two bullets are named together if so much of the cases of either are cases of both."""
_SAME_WEIGHT: Final = 0.05


@dataclass(frozen=True)
class RefinedBullet:
    """How a refinement left one bullet."""

    bullet: str
    """Its id."""
    change: Change
    verdict: Verdict | None
    content: str
    """Its text now, or its last one."""
    was: str
    """Of a revision: the id and the text of the bullet that it revises."""
    weight_before: float | None
    """None if it did not act before."""
    weight_after: float | None
    """None if it acts no more."""
    like: str
    """The bullet on the other side of the refinement that fires on the same cases, if one does."""
    in_common: float
    """The share of the cases of either on which both fire."""
    why: str
    """The reason that the history gives."""

    def __str__(self) -> str:
        """A line for people: sign, id, weight, text, and what it is like."""
        sign = {"added": "+", "retired": "-", "kept": " "}.get(self.change, "~")
        weights = [f"{w:+.2f}" for w in (self.weight_before, self.weight_after) if w is not None]
        was = f"; was: {self.was}" if self.was else ""
        like = f"; {self.in_common:.0%} of its cases in common with {self.like}"
        end = was + (like if self.like else "")
        return f"{sign} {self.bullet} [{' to '.join(dict.fromkeys(weights))}] {self.content}{end}"


def refined_bullets(
    before: Sequence[Bullet],
    after: Sequence[Bullet],
    cases: CaseTable,
    reasons: Mapping[str, str],
) -> list[RefinedBullet]:
    """All bullets that acted before or act after: first those that stay, revised or not,
    then new ones, then those that are gone.
    """
    old = {b.id: b for b in before}
    former = {b.id: old.get(b.id) or old.get(str(b.origin.get("revises"))) for b in after}
    found = [_of(former[b.id], b, (), cases, reasons) for b in after if former[b.id]]
    found += [_of(None, b, before, cases, reasons) for b in after if not former[b.id]]
    stayed = {b.id for b in former.values() if b}
    return found + [_of(b, None, after, cases, reasons) for b in before if b.id not in stayed]


def _of(
    old: Bullet | None,
    new: Bullet | None,
    others: Sequence[Bullet],
    cases: CaseTable,
    reasons: Mapping[str, str],
) -> RefinedBullet:
    bullet = new or old
    assert bullet is not None
    change: Change = "kept"
    if old is None or new is None:
        change = "added" if old is None else "retired"
    elif old.id != new.id:
        change = "revised"
    elif abs((old.weight or 0.0) - (new.weight or 0.0)) > _SAME_WEIGHT:
        change = "reweighed"
    like, in_common = _most_alike(bullet, others, cases)
    return RefinedBullet(
        bullet=bullet.id,
        change=change,
        verdict=bullet.verdict,
        content=bullet.content,
        was=f"{old.id} {old.content}" if old and change == "revised" else "",
        weight_before=(old.weight or 0.0) if old else None,
        weight_after=(new.weight or 0.0) if new else None,
        like=like,
        in_common=in_common,
        why="" if change in ("reweighed", "kept") else reasons.get(bullet.id, ""),
    )


def _most_alike(bullet: Bullet, others: Sequence[Bullet], cases: CaseTable) -> tuple[str, float]:
    """The bullet that fires on most of the same cases, and on what share."""
    best, most = "", _ALIKE
    fired = bullet.condition.holds_over(cases) if bullet.condition else None
    for other in others:
        if fired is not None and other.condition and other.verdict == bullet.verdict:
            also = other.condition.holds_over(cases)
            share = float(np.sum(fired & also)) / max(float(np.sum(fired | also)), 1.0)
            if share >= most:
                best, most = other.id, share
    return best, round(most, 4) if best else 0.0
