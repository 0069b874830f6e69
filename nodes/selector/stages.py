"""The five stages for one transaction, over the arrays of a playbook's view.

Stages 1 and 2 are the same for all transactions of a batch, stages 3 to 5 are computed for each.
It reads arrays; the vectors are fetched in selector.py.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import Final

import numpy as np

from acegraph.nodes.selector import scoring
from acegraph.nodes.selector.diversity import pick_diverse
from acegraph.nodes.selector.scoring import Bools, Floats, Rows, StageSettings
from acegraph.state import Bullet
from acegraph.state.playbook.index import View
from acegraph.state.playbook.rule_table import CANNOT_SAY, FAILS, HOLDS, Answers
from acegraph.state.playbook.vector_matrix import Vector
from acegraph.state.values.decision import Clock
from acegraph.state.values.transaction import Fields

_SPARSE_BELOW: Final = 0.25
"""Below this share of the rows it is cheaper to fetch them than to multiply with all."""
_BATCH: Final = 64


@dataclass(frozen=True)
class Selection:
    """The chosen bullets, best first, and why they were chosen."""

    bullets: tuple[Bullet, ...]
    scores: dict[str, dict[str, float]]
    """Per bullet id: quality, semantic, thompson, combined, diversity_bonus, final."""
    funnel: dict[str, int]
    """How many bullets were left after each stage."""
    warnings: tuple[str, ...] = ()
    held_back: tuple[Bullet, ...] = ()
    """Rules that hold but were held back by stage 2. They are not shown, yet the outcome counts for
    them, so that a bad start is not for life."""
    unshown: tuple[Bullet, ...] = ()
    """Rules that hold and passed stage 2, but for which there was no room. A language model does
    not see them; the embedded analyst, for whom reading costs nothing, counts them too."""
    clock: Clock | None = None
    """The moment of the playbook at which the bullets were chosen."""


@dataclass(frozen=True)
class Pool:
    """The result of stages 1 and 2: which bullets of a node may be chosen."""

    view: View
    in_context: Bools
    is_good: Bools
    helpful: Floats
    harmful: Floats
    rates: Floats

    @classmethod
    def of(
        cls, view: View, source: str | None, threshold: float, wanted: int, odds: float = 1.0
    ) -> "Pool":
        """The active bullets, offline or online only if asked, that pass the quality threshold.

        `odds` are the frauds to an honest payment among the labelled cases.
        """
        in_context, records = view.in_context(source), view.records(odds)
        rates = np.where(in_context, records[2], -np.inf)
        return cls(view, in_context, scoring.pass_quality(rates, threshold, wanted), *records)

    @property
    def has_prose(self) -> bool:
        """Whether any bullet has no rule, so that it must pass the semantic threshold."""
        return bool((self.is_good & ~self.view.is_rule).any())


@dataclass(frozen=True)
class Query:
    """One transaction on its way through stages 3 to 5."""

    pool: Pool
    answers: Answers
    """What each rule says of the transaction."""
    rng: Callable[[], "np.random.Generator"]
    """Makes the random generator of the decision, when draws are needed."""
    funnel: dict[str, int] = field(default_factory=dict)

    def without_vectors(self) -> "Query":
        """The query for a run without vectors: only a rule that holds is relevant."""
        answers = self.answers.copy()
        answers[answers == CANNOT_SAY] = FAILS
        return replace(self, answers=answers)

    @property
    def rows(self) -> Rows:
        """The bullets for stage 3: a rule that fails is out, whatever its cosine."""
        return np.flatnonzero(self.pool.is_good & (self.answers != FAILS))

    def selection(
        self,
        bullets: tuple[Bullet, ...] = (),
        scores: dict[str, dict[str, float]] | None = None,
        relevant: int = 0,
    ) -> Selection:
        """The chosen bullets with the counts of all stages and the rules held back."""
        pool = self.pool
        held_back: tuple[Bullet, ...] = ()
        unshown: tuple[Bullet, ...] = ()
        if pool.view.has_rules:
            rows = np.flatnonzero(pool.in_context & (self.answers == HOLDS))
            good = pool.is_good[rows]
            held_back = pool.view.bullets(rows[~good])
            if bullets:
                # Rules that cannot say, for want of a field, may take the places of some that hold.
                shown = {b.id for b in bullets}
                unshown = tuple(b for b in pool.view.bullets(rows[good]) if b.id not in shown)
        return Selection(
            bullets,
            scores or {},
            {**self.funnel, "semantic": relevant, "score": relevant, "diversity": len(bullets)},
            held_back=held_back,
            unshown=unshown,
            clock=pool.view.clock,
        )


def queries_of(
    pool: Pool,
    transactions: Sequence[Fields],
    rngs: Sequence[Callable[[], "np.random.Generator"]],
) -> Iterator[Query]:
    """The queries of some transactions: their rules are tested on the fields of each."""
    counts = {
        "context": int(np.count_nonzero(pool.in_context)),
        "quality": int(np.count_nonzero(pool.is_good)),
    }
    for start in range(0, len(transactions), _BATCH):
        part = slice(start, start + _BATCH)
        answers = pool.view.holds_for_each(transactions[part])
        for row, rng in zip(answers, rngs[part], strict=True):
            yield Query(pool, row, rng, counts)


def choose(
    queries: Sequence[Query], vectors: Vector, matrix: Vector, settings: StageSettings
) -> list[Selection]:
    """Stages 3 to 5 for each query; `vectors` has a row per query, `matrix` one per bullet."""
    return [
        _choose_one(query, rows, products, vector, matrix, settings)
        for query, vector, (rows, products) in zip(
            queries, vectors, _products(queries, vectors, matrix), strict=True
        )
    ]


def _products(
    queries: Sequence[Query], vectors: Vector, matrix: Vector
) -> Iterator[tuple[Rows, Floats]]:
    """Per query the rows for stage 3 and their cosines; one matrix product for a whole batch."""
    for start in range(0, len(queries), _BATCH):
        batch = slice(start, start + _BATCH)
        rows = [query.rows for query in queries[batch]]
        is_sparse = sum(map(len, rows)) < _SPARSE_BELOW * len(rows) * len(matrix)
        if is_sparse:
            yield from ((r, matrix[r] @ v) for r, v in zip(rows, vectors[batch], strict=True))
        elif len(rows) == 1:
            yield rows[0], (matrix @ vectors[start])[rows[0]]
        else:
            products = vectors[batch] @ matrix.T
            yield from ((r, p[r]) for r, p in zip(rows, products, strict=True))


def _choose_one(
    query: Query,
    rows: Rows,
    products: Floats,
    vector: Vector,
    matrix: Vector,
    settings: StageSettings,
) -> Selection:
    pool, view, threshold = query.pool, query.pool.view, settings.threshold
    is_near = scoring.pass_semantic(products, rows, matrix, vector, threshold)
    if view.has_rules:
        is_near |= query.answers[rows] == HOLDS
    relevant = is_near.nonzero()[0]
    rows, products = rows[relevant], products[relevant]
    if not len(rows):
        return query.selection()
    quality = pool.rates[rows]
    thompson = scoring.thompson_draws(pool.helpful[rows], pool.harmful[rows], query.rng())
    weights = settings.weights
    candidates = scoring.Candidates(
        matrix=matrix,
        rows=rows,
        query=vector,
        products=products,
        floors=np.where(query.answers[rows] == HOLDS, threshold, -np.inf),
        fixed=weights["quality"] * quality + weights["thompson"] * thompson,
        semantic_weight=weights["semantic"],
    )
    picks = np.array(pick_diverse(candidates, settings.n_bullets, settings.diversity_weight))
    bullets, (semantic, alike) = view.bullets(rows[picks]), candidates.exactly(picks, picks)
    combined = candidates.fixed[picks] + weights["semantic"] * semantic
    bonuses = _bonuses(alike, settings.diversity_weight)
    values = (quality[picks], semantic, thompson[picks], combined, bonuses, combined + bonuses)
    scores = {
        bullet.id: dict(zip(scoring.COMPONENTS, row, strict=True))
        for bullet, row in zip(bullets, np.array(values).T.tolist(), strict=True)
    }
    return query.selection(bullets, scores, len(rows))


def _bonuses(alike: Floats, weight: float) -> Floats:
    """The diversity bonus of each pick, by its cosines to the picks before it."""
    unlike = [1 - sum(cosines[:i]) / i for i, cosines in enumerate(alike.tolist()) if i]
    return weight * np.array([0.0, *unlike])
