"""Stage 5: a greedy choice; each pick maximises score + weight * (1 - mean cosine to the picks).

The choice is exact without reading every vector. A vector is fetched only when the bullet's score
plus its largest possible bonus reaches the best total so far. The cosines with the query bound the
bonus: the angle between two vectors is at most the sum of their angles to the query.
"""

from typing import Final

import numpy as np

from acegraph.nodes.selector.scoring import DIGITS, Candidates, Floats, Rows, best_of, max_error

_FIRST_FETCH: Final = 64


def pick_diverse(candidates: Candidates, n: int, weight: float) -> list[int]:
    """The picks, best first; equal totals go to the earlier candidate."""
    choice, wanted = _GreedyChoice(candidates, weight), min(n, len(candidates))
    while len(choice.picked) < wanted:
        if choice.picked:
            choice.compare_with(choice.picked[-1])
        choice.pick()
    return choice.picked


class _GreedyChoice:
    """Upper bounds of all totals; where the vector was fetched, the total itself, rounded."""

    def __init__(self, candidates: Candidates, weight: float) -> None:
        self.candidates, self.weight = candidates, weight
        self.picked: list[int] = []
        self.error = max_error(candidates.matrix.shape[1])
        weights = abs(candidates.semantic_weight) + weight
        self.slack = 2 * (weights * self.error + 10.0**-DIGITS)
        semantic = np.maximum(candidates.products, candidates.floors)
        self.scores = candidates.fixed + candidates.semantic_weight * semantic
        self.similarity = np.zeros(len(candidates))
        """The sum of the cosines to the picks; a lower bound where the vector was not fetched."""
        self.unfetched = np.ones(len(candidates), bool)
        self.blocks: list[tuple[Rows, Floats]] = []
        self._fetch(best_of(self.scores, _FIRST_FETCH))
        certain = np.maximum(np.abs(candidates.products) - self.error, 0)
        self.sines = np.sqrt(np.maximum(1 - certain * certain, 0))

    def pick(self) -> None:
        """Fetch vectors until the best total is certain, and pick its candidate."""
        totals, size = self._totals(), _FIRST_FETCH
        while True:
            close = (totals >= totals.max() - self.slack).nonzero()[0]
            if not self.unfetched[close].any():
                break
            self._fetch(self._most_promising(totals, size))
            totals, size = self._totals(), 2 * size
        best = self._exactly_best(close) if len(close) > 1 else int(close[0])
        self.picked.append(best)
        self.scores[best] = -np.inf

    def compare_with(self, pick: int) -> None:
        """Add every candidate's cosine to a pick, or the least that it can be."""
        c = self.candidates
        vector = c.matrix[c.rows[pick]]
        alike = c.products * c.products[pick] - self.sines * self.sines[pick] - 3 * self.error
        for which, vectors in self.blocks:
            alike[which] = vectors @ vector
        self.similarity += alike

    def _totals(self) -> Floats:
        if not self.picked:
            return self.scores
        return self.scores + self.weight * (1 - self.similarity / len(self.picked))

    def _most_promising(self, totals: Floats, size: int) -> Rows:
        """The candidates to fetch next: the best bounds that may beat the best known total."""
        enough = totals[~self.unfetched].max() - self.slack
        rivals = np.flatnonzero(self.unfetched & (totals >= enough))
        return rivals[best_of(totals[rivals], size)]

    def _fetch(self, which: Rows) -> None:
        """Read the vectors of some candidates, and compare them with the picks."""
        c = self.candidates
        vectors = c.matrix[c.rows[which]]
        self.blocks.append((which, vectors))
        self.unfetched[which] = False
        if self.picked:
            self.similarity[which] = (vectors @ c.matrix[c.rows[self.picked]].T).sum(axis=1)

    def _exactly_best(self, close: Rows) -> int:
        """The best total in double precision, where rounding leaves it open."""
        c = self.candidates
        semantic, alike = c.exactly(close, np.array(self.picked, np.intp))
        exact = c.fixed[close] + c.semantic_weight * semantic
        if self.picked:
            exact += self.weight * (1 - alike.mean(axis=1))
        return int(close[np.argmax(exact.round(DIGITS))])
