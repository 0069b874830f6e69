"""Stage 5: greedy, each pick maximises score + weight * (1 - mean cosine to those picked).

Exact, and without looking at everybody: a candidate's vector is fetched only when its score plus
the largest bonus it can possibly have reaches the best total found. The cosines with the query are
known, and two vectors are no further apart than their angles to the query together.
"""

from typing import Final

import numpy as np

from acegraph.nodes.selector.scoring import DIGITS, Candidates, Floats, Rows, best_of, rounding

_FIRST_LOOK: Final = 64


def pick_diverse(candidates: Candidates, n: int, weight: float) -> list[int]:
    """The picks, best first; equal totals go to the earlier candidate."""
    contest, wanted = _Contest(candidates, weight), min(n, len(candidates))
    while len(contest.picked) < wanted:
        if contest.picked:
            contest.compare_with(contest.picked[-1])
        contest.pick()
    return contest.picked


class _Contest:
    """Upper bounds of everybody's total; for those looked at, the total itself but for rounding."""

    def __init__(self, candidates: Candidates, weight: float) -> None:
        self.candidates, self.weight = candidates, weight
        self.picked: list[int] = []
        self.error = rounding(candidates.matrix.shape[1])
        weights = abs(candidates.semantic_weight) + weight
        self.slack = 2 * (weights * self.error + 10.0**-DIGITS)
        semantic = np.maximum(candidates.products, candidates.floors)
        self.scores = candidates.fixed + candidates.semantic_weight * semantic
        self.similarity = np.zeros(len(candidates))
        """The sum of the cosines to those picked, or the least that it can be."""
        self.unseen = np.ones(len(candidates), bool)
        self.blocks: list[tuple[Rows, Floats]] = []
        self._look(best_of(self.scores, _FIRST_LOOK))
        certain = np.maximum(np.abs(candidates.products) - self.error, 0)
        self.sines = np.sqrt(np.maximum(1 - certain * certain, 0))

    def pick(self) -> None:
        """Look at whoever may have the best total, and take who has it."""
        totals, size = self._totals(), _FIRST_LOOK
        while True:
            close = (totals >= totals.max() - self.slack).nonzero()[0]
            if not self.unseen[close].any():
                break
            self._look(self._next(totals, size))
            totals, size = self._totals(), 2 * size
        best = self._exactly_best(close) if len(close) > 1 else int(close[0])
        self.picked.append(best)
        self.scores[best] = -np.inf

    def compare_with(self, pick: int) -> None:
        """Add everybody's cosine to a pick; for those not looked at, the least it can be."""
        c = self.candidates
        vector = c.matrix[c.rows[pick]]
        apart = c.products * c.products[pick] - self.sines * self.sines[pick] - 3 * self.error
        for which, vectors in self.blocks:
            apart[which] = vectors @ vector
        self.similarity += apart

    def _totals(self) -> Floats:
        if not self.picked:
            return self.scores
        return self.scores + self.weight * (1 - self.similarity / len(self.picked))

    def _next(self, totals: Floats, size: int) -> Rows:
        """Whom to look at next: the most promising of those who may beat the best one seen."""
        enough = totals[~self.unseen].max() - self.slack
        rivals = np.flatnonzero(self.unseen & (totals >= enough))
        return rivals[best_of(totals[rivals], size)]

    def _look(self, which: Rows) -> None:
        """Fetch the vectors of some, and compare them with those picked."""
        c = self.candidates
        vectors = c.matrix[c.rows[which]]
        self.blocks.append((which, vectors))
        self.unseen[which] = False
        if self.picked:
            self.similarity[which] = (vectors @ c.matrix[c.rows[self.picked]].T).sum(axis=1)

    def _exactly_best(self, close: Rows) -> int:
        """Who has the best total where rounding leaves it open, by double precision."""
        c = self.candidates
        semantic, alike = c.exactly(close, np.array(self.picked, np.intp))
        exact = c.fixed[close] + c.semantic_weight * semantic
        if self.picked:
            exact += self.weight * (1 - alike.mean(axis=1))
        return int(close[np.argmax(exact.round(DIGITS))])
