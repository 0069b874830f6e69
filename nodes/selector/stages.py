"""The five stages for one transaction, over the arrays of a playbook's view.

Stages 1 and 2 are the same for all transactions of a batch, stages 3 to 5 are computed for each.
It reads arrays; the vectors are fetched in selector.py.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from acegraph.nodes.selector import scoring
from acegraph.nodes.selector.scoring import Bools, Candidates, Floats, Rows, StageSettings
from acegraph.state import Bullet
from acegraph.state.playbook.index import View
from acegraph.state.playbook.rule_table import CANNOT_SAY, FAILS, HOLDS, Answers
from acegraph.state.playbook.vector_matrix import Vector
from acegraph.state.values.decision import Clock
from acegraph.state.values.transaction import Fields


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
    decision_id: str = ""

    @classmethod
    def of(cls, pool: Pool, fields: Fields, decision_id: str = "") -> "Query":
        """The query of a transaction: all rules are tested on its fields."""
        return cls(pool, pool.view.holds(fields), decision_id)

    def without_vectors(self) -> "Query":
        """The query for a run without vectors: only a rule that holds is relevant."""
        answers = np.where(self.answers == CANNOT_SAY, FAILS, self.answers)
        return Query(self.pool, answers, self.decision_id)

    @property
    def is_open(self) -> Bools:
        """The bullets for stage 3: a rule that fails is out, whatever its cosine."""
        return np.asarray(self.pool.is_good & (self.answers != FAILS))

    def selection(
        self,
        bullets: tuple[Bullet, ...] = (),
        scores: dict[str, dict[str, float]] | None = None,
        relevant: int = 0,
    ) -> Selection:
        """The chosen bullets with the counts of all stages and the rules held back."""
        pool, shown = self.pool, {b.id for b in bullets}
        rules = pool.view.bullets(np.flatnonzero(pool.in_context & (self.answers == HOLDS)))
        unshown = tuple(rule for rule in rules if rule.id not in shown)
        funnel = {
            "context": int(np.count_nonzero(pool.in_context)),
            "quality": int(np.count_nonzero(pool.is_good)),
            "semantic": relevant,
            "score": relevant,
            "diversity": len(bullets),
        }
        clock = pool.view.clock
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


def choose(
    queries: Sequence[Query], vectors: Vector, matrix: Vector, settings: StageSettings
) -> list[Selection]:
    """Stages 3 to 5 for each query of one pool; one matrix product compares all with the bullets.

    `vectors` has a row per query, `matrix` one per bullet.
    """
    rows = np.flatnonzero(np.any([query.is_open for query in queries], axis=0))
    compared = scoring.Products(matrix, rows).near(vectors).T
    return [
        _choose_one(query, rows, products, vector, matrix, settings)
        for query, products, vector in zip(queries, compared, vectors, strict=True)
    ]


def _choose_one(
    query: Query,
    rows: Rows,
    products: Floats,
    vector: Vector,
    matrix: Vector,
    settings: StageSettings,
) -> Selection:
    pool, threshold, weights = query.pool, settings.threshold, settings.weights
    holds = query.answers[rows] == HOLDS
    is_near = scoring.pass_semantic(products, rows, matrix, vector, threshold)
    is_relevant = query.is_open[rows] & (is_near | holds)
    rows, products, holds = rows[is_relevant], products[is_relevant], holds[is_relevant]
    if not len(rows):
        return query.selection()
    rng = scoring.decision_rng(settings.seed, query.decision_id)
    quality = pool.rates[rows]
    thompson = scoring.thompson_draws(pool.helpful[rows], pool.harmful[rows], rng)
    candidates = Candidates(
        matrix=matrix,
        rows=rows,
        query=vector,
        products=products,
        floors=np.where(holds, threshold, -np.inf),
        fixed=weights["quality"] * quality + weights["thompson"] * thompson,
        semantic_weight=weights["semantic"],
    )
    picks = np.array(
        scoring.pick_diverse(candidates, settings.n_bullets, settings.diversity_weight)
    )
    bullets, (semantic, alike) = pool.view.bullets(rows[picks]), candidates.exactly(picks, picks)
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
