"""The five stages for one transaction, over the arrays of a playbook's view.

It reads arrays; the vectors are fetched in selector.py.
"""

from dataclasses import dataclass, replace

import numpy as np

from acegraph.nodes.selector import scoring
from acegraph.nodes.selector.scoring import Bools, Candidates, Floats, StageSettings
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
        is_good = scoring.pass_quality(rates, threshold, wanted)
        return cls(view, in_context, is_good, view.holds(fields or {}), *records)

    def without_vectors(self) -> "Pool":
        """The pool of a run without vectors: only a rule that holds is relevant."""
        answers = np.where(self.answers == CANNOT_SAY, FAILS, self.answers)
        return replace(self, answers=answers)

    @property
    def is_open(self) -> Bools:
        """The bullets for stage 3: a rule that fails is out, whatever its cosine."""
        return np.asarray(self.is_good & (self.answers != FAILS))

    @property
    def has_prose(self) -> bool:
        """Whether any bullet has no rule, so that it must pass the semantic threshold."""
        return bool((self.is_good & ~self.view.is_rule).any())

    def selection(
        self,
        bullets: tuple[Bullet, ...] = (),
        scores: dict[str, dict[str, float]] | None = None,
        relevant: int = 0,
    ) -> Selection:
        """The chosen bullets with the counts of all stages and the rules held back."""
        shown = {bullet.id for bullet in bullets}
        rules = self.view.bullets(np.flatnonzero(self.in_context & (self.answers == HOLDS)))
        unshown = tuple(rule for rule in rules if rule.id not in shown)
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


def choose(
    pool: Pool, vector: Vector, matrix: Vector, settings: StageSettings, decision_id: str
) -> Selection:
    """Stages 3 to 5: `vector` is that of the transaction, `matrix` has a row per bullet."""
    threshold, weights = settings.threshold, settings.weights
    rows = np.flatnonzero(pool.is_open)
    products = scoring.near(matrix, rows, vector)
    holds = pool.answers[rows] == HOLDS
    is_relevant = holds | scoring.pass_semantic(products, rows, matrix, vector, threshold)
    rows, products, holds = rows[is_relevant], products[is_relevant], holds[is_relevant]
    if not len(rows):
        return pool.selection()
    rng = scoring.decision_rng(settings.seed, decision_id)
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
    return pool.selection(bullets, scores, len(rows))


def _bonuses(alike: Floats, weight: float) -> Floats:
    """The diversity bonus of each pick, by its cosines to the picks before it."""
    unlike = [1 - sum(cosines[:i]) / i for i, cosines in enumerate(alike.tolist()) if i]
    return weight * np.array([0.0, *unlike])
