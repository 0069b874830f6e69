"""Stage 5: greedy, each pick maximises score + weight * (1 - mean cosine to those picked).

Exact, and without looking at everybody: a candidate's vector is fetched only when its score plus
the largest bonus it can possibly have reaches the best total found. The cosines with the query are
known, and two vectors are no further apart than their angles to the query together.
"""

from typing import Final

import numpy as np

from acegraph.nodes.selection import DIGITS, Candidates, Floats, Rows, best_of, rounding

_FIRST_LOOK: Final = 64


def pick_diverse(candidates: Candidates, n: int, weight: float) -> list[int]:
    """The picks, best first; equal totals go to the earlier candidate."""
    contest = _Contest(candidates, weight)
    while len(contest.picked) < min(n, len(candidates)):
        contest.pick()
    return contest.picked


class _Contest:
    """Upper bounds of everybody's total; for those looked at, the total itself but for rounding."""

    def __init__(self, candidates: Candidates, weight: float) -> None:
        self.candidates, self.weight = candidates, weight
        self.picked: list[int] = []
        self.error = rounding(candidates.matrix.shape[1])
        self.slack = 2 * (abs(candidates.semantic_weight) + weight) * self.error
        semantic = np.maximum(candidates.products, candidates.floors)
        self.scores = candidates.fixed + candidates.semantic_weight * semantic
        self.similarity = np.zeros(len(candidates))
        """The sum of the cosines to those picked, or the least that it can be."""
        self.unseen = np.ones(len(candidates), bool)
        self.blocks: list[tuple[Rows, Floats]] = []
        self._look(best_of(self.scores, _FIRST_LOOK))
        self.sines: Floats | None = None
        if self.unseen.any():
            certain = np.clip(np.abs(candidates.products) - self.error, 0, 1)
            self.sines = np.sqrt(1 - certain**2)

    def pick(self) -> None:
        """Look at whoever may have the best total, and add who has it."""
        totals = self._totals(slice(None))
        totals[self.picked] = -np.inf
        size = _FIRST_LOOK
        while self.sines is not None:
            enough = totals[~self.unseen].max() - self.slack
            rivals = np.flatnonzero(self.unseen & (totals >= enough))
            if not len(rivals):
                break
            block = rivals[best_of(totals[rivals], size)]
            self._look(block)
            totals[block] = self._totals(block)
            size *= 2
        self._add(self._best(totals))

    def _totals(self, which: slice | Rows) -> Floats:
        if not self.picked:
            return np.array(self.scores[which])
        mean = self.similarity[which] / len(self.picked)
        return self.scores[which] + self.weight * (1 - mean)

    def _look(self, which: Rows) -> None:
        """Fetch the vectors of some, and compare them with those picked."""
        c = self.candidates
        vectors = c.matrix[c.rows[which]]
        self.blocks.append((which, vectors))
        self.unseen[which] = False
        if self.picked:
            self.similarity[which] = (vectors @ c.matrix[c.rows[self.picked]].T).sum(axis=1)

    def _best(self, totals: Floats) -> int:
        """Who has the best total; where rounding leaves it open, by double precision."""
        close = np.flatnonzero(totals >= totals.max() - self.slack)
        if len(close) > 1:
            exact = self.candidates.combined(close)
            if self.picked:
                mean = self.candidates.similarity(close, np.array(self.picked))
                exact = exact + self.weight * (1 - mean)
            return int(close[np.argmax(np.round(exact, DIGITS))])
        return int(close[0])

    def _add(self, pick: int) -> None:
        c = self.candidates
        self.picked.append(pick)
        vector = c.matrix[c.rows[pick]]
        if self.sines is None:
            ((which, vectors),) = self.blocks
            self.similarity[which] += vectors @ vector
            return
        apart = c.products * c.products[pick] - self.sines * self.sines[pick] - 3 * self.error
        for which, vectors in self.blocks:
            apart[which] = vectors @ vector
        self.similarity += apart
