"""Stages 1 and 2 for one transaction: which bullets of a playbook's view may be chosen."""

from dataclasses import dataclass, replace
from typing import Final

import numpy as np
from numpy.typing import NDArray

from acegraph.state import Bullet
from acegraph.state.playbook.index import View
from acegraph.state.playbook.rule_table import CANNOT_SAY, FAILS, HOLDS, Answers
from acegraph.state.values.decision import Clock
from acegraph.state.values.transaction import Fields

Floats = NDArray[np.floating]
Bools = NDArray[np.bool_]
RELAXATION: Final = 0.8
"""How far stage 2 relaxes when it leaves too few bullets: a threshold of 0.3 becomes 0.24."""


@dataclass(frozen=True)
class Selection:
    """The chosen bullets, best first, and why they were chosen."""

    bullets: tuple[Bullet, ...]
    scores: dict[str, dict[str, float]]
    """Per bullet id: quality, semantic, thompson, combined, diversity_bonus, final."""
    funnel: dict[str, int]
    """How many bullets were left after each stage."""
    warnings: tuple[str, ...] = ()
    unshown: tuple[Bullet, ...] = ()
    """Rules that hold but were held back by stage 2, or for which there was no room. A language
    model does not see them, yet the outcome counts for them: a bad start is not for life."""
    clock: Clock | None = None
    """The moment of the playbook at which the bullets were chosen."""


@dataclass(frozen=True)
class Pool:
    """The result of stages 1 and 2: which bullets of a node may be chosen for a transaction."""

    view: View
    in_context: Bools
    is_good: Bools
    answers: Answers
    """What each rule says of the transaction."""
    helpful: Floats
    harmful: Floats
    rates: Floats

    @classmethod
    def of(
        cls,
        view: View,
        source: str | None,
        threshold: float,
        wanted: int,
        fields: Fields | None = None,
        odds: float = 1.0,
    ) -> "Pool":
        """The active bullets, offline or online only if asked, that pass the quality threshold.

        `odds` are the frauds to an honest payment among the labelled cases.
        """
        in_context, records = view.in_context(source), view.records(odds)
        rates = np.where(in_context, records[2], -np.inf)
        is_good = pass_quality(rates, threshold, wanted)
        return cls(view, in_context, is_good, view.holds(fields or {}), *records)

    def without_vectors(self) -> "Pool":
        """The pool of a run without vectors: only a rule that holds is relevant."""
        answers = np.where(self.answers == CANNOT_SAY, FAILS, self.answers)
        return replace(self, answers=answers)

    @property
    def is_open(self) -> Bools:
        """The bullets for stage 3: a rule that fails is out, whatever its cosine."""
        return np.asarray(self.is_good & (self.answers != FAILS))

    def selection(
        self,
        bullets: tuple[Bullet, ...] = (),
        scores: dict[str, dict[str, float]] | None = None,
        relevant: int = 0,
    ) -> Selection:
        """The chosen bullets with the counts of all stages and the rules held back."""
        shown = {bullet.id for bullet in bullets}
        rules = self.view.bullets(np.flatnonzero(self.in_context & (self.answers == HOLDS)))
        unshown = tuple([rule for rule in rules if rule.id not in shown])
        funnel = {
            "context": int(np.count_nonzero(self.in_context)),
            "quality": int(np.count_nonzero(self.is_good)),
            "semantic": relevant,
            "score": relevant,
            "diversity": len(bullets),
        }
        clock = self.view.clock
        return Selection(bullets, scores or {}, funnel, unshown=unshown, clock=clock)


def unread(view: View, source: str | None, fields: Fields) -> Selection:
    """All active rules that hold, for a run in which nobody reads: none is scored or shown."""
    in_context = view.in_context(source)
    rules = view.bullets(np.flatnonzero(in_context & (view.holds(fields) == HOLDS)))
    active = int(np.count_nonzero(in_context))
    funnel = {"context": active, "quality": active, "semantic": len(rules)}
    return Selection(
        (), {}, {**funnel, "score": 0, "diversity": 0}, unshown=rules, clock=view.clock
    )


def pass_quality(rates: Floats, threshold: float, wanted: int) -> Bools:
    """Stage 2: at or above the threshold; with too few left, at or above 0.8 of it, never lower.

    >>> pass_quality(np.array([0.9, 0.25, 0.1]), 0.3, wanted=2).tolist()
    [True, True, False]
    """
    passed = rates >= threshold
    # 0.3 * 0.8 is a hair above 0.24 in binary: a rate of exactly 6 in 25 must pass.
    enough = np.count_nonzero(passed) >= wanted
    return passed if enough else rates >= threshold * RELAXATION - 1e-12
