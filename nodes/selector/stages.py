"""The five stages for one transaction, over arrays: bullets in, order out.

No I/O, no clock, no logger. Chance comes from the seed and the decision's id. Products of stored
vectors, which are in single precision, are computed in double precision, so that ties are ties.
"""

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass, replace
from operator import attrgetter
from typing import Final

import numpy as np
from numpy.typing import NDArray

from acegraph.state import Bullet
from acegraph.state.playbook.index import CANNOT_SAY, FAILS, HOLDS, Answers, Vector, View
from acegraph.state.values.decision import Clock
from acegraph.state.values.transaction import Fields

Floats = NDArray[np.floating]
Bools = NDArray[np.bool_]
Rows = NDArray[np.intp]
_DIGITS: Final = 9
"""Scores that agree to this many digits are equal: what differs beyond them is rounding."""
_DIGITS_SHOWN: Final = 6
_COMPONENTS: Final = ("quality", "semantic", "thompson", "combined", "diversity_bonus", "final")
"""The parts of a bullet's score, as they are recorded."""
_ROWS_AT_ONCE: Final = 1024
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

    def selection(
        self,
        bullets: tuple[Bullet, ...] = (),
        scores: dict[str, dict[str, float]] | None = None,
        relevant: int = 0,
    ) -> Selection:
        """The chosen bullets with the counts of all stages and the rules held back."""
        shown = set(map(attrgetter("id"), bullets))
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


@dataclass(frozen=True)
class StageSettings:
    """The settings of stages 3 to 5."""

    n_bullets: int
    threshold: float
    weights: Mapping[str, float]
    diversity_weight: float
    seed: int = 0


def choose(
    pool: Pool, vector: Vector, matrix: Vector, settings: StageSettings, decision_id: str
) -> Selection:
    """Stages 3 to 5: `vector` is that of the transaction, `matrix` has a row per bullet."""
    threshold, weights = settings.threshold, settings.weights
    # A rule that fails is out, whatever its cosine.
    rows = np.flatnonzero(pool.is_good & (pool.answers != FAILS))
    products = cosines(matrix, rows, vector)
    holds = pool.answers[rows] == HOLDS
    is_relevant = holds | (products >= threshold)
    rows, products, holds = rows[is_relevant], products[is_relevant], holds[is_relevant]
    if not len(rows):
        return pool.selection()
    rng = decision_rng(settings.seed, decision_id)
    quality, semantic = pool.rates[rows], np.where(holds, np.maximum(products, threshold), products)
    thompson = rng.beta(pool.helpful[rows] + 1, pool.harmful[rows] + 1)
    combined = weights["quality"] * quality + weights["semantic"] * semantic
    combined += weights["thompson"] * thompson
    picks, bonuses = pick_diverse(
        combined, matrix, rows, settings.n_bullets, settings.diversity_weight
    )
    parts = np.array([quality, semantic, thompson, combined])[:, picks]
    values = np.vstack([parts, bonuses, parts[-1] + bonuses]).round(_DIGITS_SHOWN)
    bullets = pool.view.bullets(rows[picks])
    scores = {
        bullet.id: dict(zip(_COMPONENTS, row, strict=True))
        for bullet, row in zip(bullets, values.T.tolist(), strict=True)
    }
    return pool.selection(bullets, scores, len(rows))


def decision_rng(seed: int, decision_id: str) -> "np.random.Generator":
    """The random generator of one decision: always the same, so that a decision can be replayed."""
    digest = hashlib.blake2b(decision_id.encode(), digest_size=8).digest()
    return np.random.default_rng([seed, int.from_bytes(digest, "big")])


def cosines(matrix: Floats, rows: Rows, vector: Floats) -> Floats:
    """The cosines of some rows with a unit vector, in double precision."""
    products = np.empty(len(rows))
    for start in range(0, len(rows), _ROWS_AT_ONCE):
        part = slice(start, start + _ROWS_AT_ONCE)
        products[part] = matrix[rows[part]].astype(np.float64) @ vector.astype(np.float64)
    return products.round(_DIGITS)


def pick_diverse(
    scores: Floats, matrix: Floats, rows: Rows, n: int, weight: float
) -> tuple[list[int], Floats]:
    """Stage 5, greedy: each pick maximises score + weight * (1 - mean cosine to the picks so far).

    Picks come best first, with the bonus of each; equal totals go to the earlier candidate.
    """
    # No bonus is above twice the weight: what is farther behind the n-th best is never picked.
    nth = np.partition(scores, -n)[-n] if len(scores) > n else -np.inf
    left = np.flatnonzero(scores >= nth - 2 * weight - 10.0**-_DIGITS)
    open_scores, similarity, bonus = scores[left], np.zeros(len(left)), np.zeros(len(left))
    picks: list[int] = []
    bonuses: list[float] = []
    while len(picks) < min(n, len(left)):
        if picks:
            similarity += cosines(matrix, rows[left], matrix[rows[picks[-1]]])
            bonus = weight * (1 - similarity / len(picks))
        best = int(np.argmax((open_scores + bonus).round(_DIGITS)))
        picks.append(int(left[best]))
        bonuses.append(float(bonus[best]))
        open_scores[best] = -np.inf
    return picks, np.array(bonuses)
