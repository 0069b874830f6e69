"""The five stages for one transaction, over arrays: bullets in, order out.

No I/O, no clock, no logger. Chance comes from the seed and the decision's id. Products are computed
in single precision with a bound on the error; what is too close to call is computed again in double
precision, so that the result is exact.
"""

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass, replace
from operator import attrgetter
from typing import Final

import numpy as np
from numpy.typing import NDArray

from acegraph.state.playbook.index import Vector, View
from acegraph.state.playbook.rule_table import CANNOT_SAY, FAILS, HOLDS, Answers
from acegraph.state.values import Bullet, Clock, Fields

Floats = NDArray[np.floating]
Bools = NDArray[np.bool_]
Rows = NDArray[np.intp]
_DIGITS: Final = 9
"""Scores that agree to this many digits are equal: what differs beyond them is rounding."""
_DIGITS_SHOWN: Final = 6
_COMPONENTS: Final = ("quality", "semantic", "thompson", "combined", "diversity_bonus", "final")
"""The parts of a bullet's score, as they are recorded."""
_ROWS_AT_ONCE: Final = 1024
_SPARSE_BELOW: Final = 0.25
"""Below this share of the rows it is cheaper to fetch them than to multiply with all."""
_ERROR: Final = 2 * 2.0**-24
"""The largest error of single precision in a cosine of unit vectors of n - 2 numbers, divided by n,
in any order of summing. The textbook bound n u (Higham 2002, section 3.1) counts twice: once for
the product, once because the length of a stored unit vector is itself rounded."""
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
    threshold, weights, n = settings.threshold, settings.weights, settings.n_bullets
    # A rule that fails is out, whatever its cosine.
    rows = (pool.is_good & (pool.answers != FAILS)).nonzero()[0]
    products, holds = near(matrix, rows, vector), pool.answers[rows] == HOLDS
    is_relevant = holds | pass_semantic(products, rows, matrix, vector, threshold)
    rows, products, holds = rows[is_relevant], products[is_relevant], holds[is_relevant]
    if not len(rows):
        return pool.selection()
    rng, quality = decision_rng(settings.seed, decision_id), pool.rates[rows]
    thompson = rng.beta(pool.helpful[rows] + 1, pool.harmful[rows] + 1)
    fixed = weights["quality"] * quality + weights["thompson"] * thompson
    floors = np.where(holds, threshold, -np.inf)
    candidates = Candidates(matrix, rows, vector, products, floors, fixed, weights["semantic"])
    picks = np.array(pick_diverse(candidates, n, settings.diversity_weight))
    bullets, (semantic, alike) = pool.view.bullets(rows[picks]), candidates.exactly(picks, picks)
    combined = fixed[picks] + weights["semantic"] * semantic
    before = [sum(row[:place]) / max(place, 1) for place, row in enumerate(alike.tolist())]
    bonuses = settings.diversity_weight * (1 - np.array(before))
    bonuses[0] = 0.0
    parts = (quality[picks], semantic, thompson[picks], combined, bonuses, combined + bonuses)
    scores = {
        bullet.id: dict(zip(_COMPONENTS, row, strict=True))
        for bullet, row in zip(
            bullets, np.array(parts).round(_DIGITS_SHOWN).T.tolist(), strict=True
        )
    }
    return pool.selection(bullets, scores, len(rows))


def decision_rng(seed: int, decision_id: str) -> "np.random.Generator":
    """The random generator of one decision: always the same, so that a decision can be replayed."""
    digest = hashlib.blake2b(decision_id.encode(), digest_size=8).digest()
    return np.random.default_rng([seed, int.from_bytes(digest, "big")])


def near(matrix: Floats, rows: Rows, vectors: Floats) -> Floats:
    """The cosines of some rows with a unit vector, or with columns of them, in single precision."""
    if len(rows) < _SPARSE_BELOW * len(matrix):
        return np.asarray(matrix[rows] @ vectors)
    return np.asarray((matrix @ vectors)[rows])


def cosines(matrix: Floats, rows: Rows, vectors: Floats) -> Floats:
    """The cosines of some rows with one unit vector or several, in double precision."""
    wide = vectors.astype(np.float64).T
    products = np.empty((len(rows), *wide.shape[1:]))
    for start in range(0, len(rows), _ROWS_AT_ONCE):
        part = slice(start, start + _ROWS_AT_ONCE)
        products[part] = matrix[rows[part]].astype(np.float64) @ wide
    return products.round(_DIGITS)


def pass_semantic(
    products: Floats, rows: Rows, matrix: Floats, query: Floats, threshold: float
) -> Bools:
    """Stage 3 for bullets whose rule does not decide: a cosine at or above the threshold."""
    error: float = _ERROR * (matrix.shape[1] + 2)
    passed = products >= threshold - error
    close = np.flatnonzero(passed & (products <= threshold + error))
    if len(close):
        passed[close] = cosines(matrix, rows[close], query) >= threshold
    return passed


@dataclass(frozen=True)
class Candidates:
    """The bullets that reached stage 4, in the order of their ids."""

    matrix: Floats
    """Unit vectors in single precision, of these bullets and of others."""
    rows: Rows
    """The rows of the matrix that belong to these bullets."""
    query: Floats
    """The unit vector of the transaction."""
    products: Floats
    """Their cosines with the query, in single precision."""
    floors: Floats
    """The least semantic score of each bullet: the threshold where its rule holds."""
    fixed: Floats
    """The other part of each score: weighted quality and Thompson draw."""
    semantic_weight: float

    def exactly(self, which: Rows, others: Rows) -> tuple[Floats, Floats]:
        """The semantic scores of some, and their cosines to others, in double precision."""
        towards = np.vstack([self.query, self.matrix[self.rows[others]]])
        products = cosines(self.matrix, self.rows[which], towards)
        return np.maximum(products[:, 0], self.floors[which]), products[:, 1:]


def pick_diverse(c: Candidates, n: int, weight: float) -> list[int]:
    """Stage 5, greedy: each pick maximises score + weight * (1 - mean cosine to the picks so far).

    That is exact: what rounding leaves open is computed again in double precision. Picks come best
    first; equal totals go to the earlier candidate.
    """
    n, error = min(n, len(c.rows)), _ERROR * (c.matrix.shape[1] + 2)
    slack = 2 * ((abs(c.semantic_weight) + weight) * error + 10.0**-_DIGITS)
    scores = c.fixed + c.semantic_weight * np.maximum(c.products, c.floors)
    # A bonus is between 0 and twice the weight: what is that far below the first n is never picked.
    least = np.partition(scores, -n)[-n] - 2 * weight - slack
    left = (scores >= least).nonzero()[0]
    vectors, scores, picked = c.matrix[c.rows[left]], scores[left], list[int]()
    alike, totals = np.zeros(len(left)), scores
    while True:
        close = (totals >= totals.max() - slack).nonzero()[0]
        best = close[_exactly_best(c, left[close], picked, weight) if len(close) > 1 else 0]
        picked.append(int(left[best]))
        if len(picked) == n:
            return picked
        scores[best] = -np.inf
        alike += vectors @ vectors[best]
        totals = scores + weight * (1 - alike / len(picked))


def _exactly_best(c: Candidates, close: Rows, picked: list[int], weight: float) -> int:
    """The place of the best total in double precision, where rounding leaves it open."""
    semantic, alike = c.exactly(close, np.array(picked, np.intp))
    exact = c.fixed[close] + c.semantic_weight * semantic
    if len(picked):
        exact += weight * (1 - alike.mean(axis=1))
    return int(np.argmax(exact.round(_DIGITS)))
