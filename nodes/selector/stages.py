"""The five stages for one transaction, over the arrays of a playbook's view.

Context and quality are the same for all transactions of a batch; relevance, score and choice are
each one's own. It reads arrays and fetches nobody's vector.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Final

import numpy as np

from acegraph.nodes.selector import scoring as selection
from acegraph.nodes.selector.diversity import pick_diverse
from acegraph.nodes.selector.scoring import Bools, Floats, Rows
from acegraph.state import Bullet, Clock, Fields
from acegraph.state.playbook.index import View
from acegraph.state.playbook.rule_table import CANNOT_SAY, FAILS, HOLDS, Answers
from acegraph.state.playbook.vector_matrix import Vector

_FETCH_BELOW: Final = 0.25
"""Below this share of the rows it is cheaper to fetch them than to multiply with all."""
_BATCH: Final = 64
_COMPONENTS: Final = ("quality", "semantic", "thompson", "combined", "diversity_bonus", "final")


@dataclass(frozen=True)
class Selection:
    """The chosen bullets, best first, and why."""

    bullets: tuple[Bullet, ...]
    scores: dict[str, dict[str, float]]
    """Per bullet id: quality, semantic, thompson, combined, diversity_bonus, final."""
    funnel: dict[str, int]
    """How many bullets were left after each stage."""
    warnings: tuple[str, ...] = ()
    held_back: tuple[Bullet, ...] = ()
    """Rules that hold here but were held back by stage 2: not shown, yet tested by the outcome, so
    that one unlucky first firing is not for life."""
    clock: Clock | None = None
    """The moment whose bullets and counters were looked at."""


@dataclass(frozen=True)
class Settings:
    """What stages 3 to 5 are told."""

    n_bullets: int
    threshold: float
    weights: Mapping[str, float]
    diversity_weight: float


@dataclass(frozen=True)
class Pool:
    """Stages 1 and 2: which bullets of a node are in question."""

    view: View
    in_context: Bools
    is_good: Bools

    @classmethod
    def of(cls, view: View, source: str | None, threshold: float, wanted: int) -> "Pool":
        """The active bullets, of one source if asked, and those with a good enough record."""
        in_context = view.in_context(source)
        rates = np.where(in_context, view.rates, -np.inf)
        return cls(view, in_context, selection.pass_quality(rates, threshold, wanted))

    @property
    def has_prose(self) -> bool:
        """Whether anybody has to pass the semantic threshold."""
        return bool((self.is_good & ~self.view.is_rule).any())


@dataclass(frozen=True)
class Query:
    """One transaction on its way through stages 3 to 5."""

    pool: Pool
    answers: Answers
    """What the rules say of it."""
    rng: Callable[[], "np.random.Generator"]
    """Makes its chance, where it comes to that."""
    funnel: dict[str, int] = field(default_factory=dict)

    @classmethod
    def of(cls, pool: Pool, fields: Fields, rng: Callable[[], "np.random.Generator"]) -> "Query":
        """Ask every rule."""
        counts = {
            "context": int(np.count_nonzero(pool.in_context)),
            "quality": int(np.count_nonzero(pool.is_good)),
        }
        return cls(pool, pool.view.holds(fields), rng, counts)

    def without_vectors(self) -> "Query":
        """The same where only a rule that holds can be known to be relevant."""
        answers = self.answers.copy()
        answers[answers == CANNOT_SAY] = FAILS
        return replace(self, answers=answers)

    @property
    def rows(self) -> Rows:
        """Whom stage 3 has to look at: a rule that fails is out, whatever its cosine."""
        return np.flatnonzero(self.pool.is_good & (self.answers != FAILS))

    def chosen(
        self,
        bullets: tuple[Bullet, ...] = (),
        scores: dict[str, dict[str, float]] | None = None,
        relevant: int = 0,
    ) -> Selection:
        """The result, with what came out of each stage."""
        pool = self.pool
        held_back: tuple[Bullet, ...] = ()
        if pool.view.has_rules:
            is_held_back = pool.in_context & ~pool.is_good & (self.answers == HOLDS)
            held_back = pool.view.bullets(np.flatnonzero(is_held_back))
        return Selection(
            bullets,
            scores or {},
            {**self.funnel, "semantic": relevant, "score": relevant, "diversity": len(bullets)},
            held_back=held_back,
            clock=pool.view.clock,
        )


def choose(
    asked: Sequence[Query], queries: Vector, matrix: Vector, settings: Settings
) -> list[Selection]:
    """Stages 3 to 5 for each."""
    return [
        _choose_one(one, rows, products, query, matrix, settings)
        for one, query, (rows, products) in zip(
            asked, queries, _products(asked, queries, matrix), strict=True
        )
    ]


def _products(
    asked: Sequence[Query], queries: Vector, matrix: Vector
) -> Iterator[tuple[Rows, Floats]]:
    """Whom each has to look at, and their cosines; for many transactions one matrix product."""
    for start in range(0, len(asked), _BATCH):
        batch = slice(start, start + _BATCH)
        rows = [one.rows for one in asked[batch]]
        is_sparse = sum(map(len, rows)) < _FETCH_BELOW * len(rows) * len(matrix)
        if is_sparse:
            yield from ((r, matrix[r] @ q) for r, q in zip(rows, queries[batch], strict=True))
        elif len(rows) == 1:
            yield rows[0], (matrix @ queries[start])[rows[0]]
        else:
            products = queries[batch] @ matrix.T
            yield from ((r, p[r]) for r, p in zip(rows, products, strict=True))


def _choose_one(
    one: Query, rows: Rows, products: Floats, query: Vector, matrix: Vector, settings: Settings
) -> Selection:
    view, threshold = one.pool.view, settings.threshold
    is_near = selection.pass_semantic(products, rows, matrix, query, threshold)
    if view.has_rules:
        is_near |= one.answers[rows] == HOLDS
    relevant = is_near.nonzero()[0]
    rows, products = rows[relevant], products[relevant]
    if not len(rows):
        return one.chosen()
    quality = view.rates[rows]
    thompson = selection.thompson_draws(view.helpful[rows], view.harmful[rows], one.rng())
    weights = settings.weights
    candidates = selection.Candidates(
        matrix=matrix,
        rows=rows,
        query=query,
        products=products,
        floors=np.where(one.answers[rows] == HOLDS, threshold, -np.inf),
        fixed=weights["quality"] * quality + weights["thompson"] * thompson,
        semantic_weight=weights["semantic"],
    )
    picks = np.array(pick_diverse(candidates, settings.n_bullets, settings.diversity_weight))
    bullets, (semantic, alike) = view.bullets(rows[picks]), candidates.exactly(picks, picks)
    combined = candidates.fixed[picks] + weights["semantic"] * semantic
    bonuses = _bonuses(alike, settings.diversity_weight)
    values = (quality[picks], semantic, thompson[picks], combined, bonuses, combined + bonuses)
    scores = {
        bullet.id: dict(zip(_COMPONENTS, row, strict=True))
        for bullet, row in zip(bullets, np.array(values).T.tolist(), strict=True)
    }
    return one.chosen(bullets, scores, len(rows))


def _bonuses(alike: Floats, weight: float) -> Floats:
    """What each pick gained by being unlike those before it, by the cosines of all to all."""
    unlike = [1 - sum(found[:i]) / i for i, found in enumerate(alike.tolist()) if i]
    return weight * np.array([0.0, *unlike])
