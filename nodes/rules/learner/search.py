"""The search: which literals, and pairs of them, together explain labelled cases best.

One term is added at a time: all candidates by the score test beside the terms so far (Rao 1948),
the best of them fitted again, and then each literal may change places with any other one, and a
term may become longer or shorter. How many terms are worth having, held-out cases tell (whole.py).
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import reduce
from itertools import combinations
from typing import Final

import numpy as np
from numpy.typing import NDArray

from acegraph.nodes.evidence.backtest import ALIKE
from acegraph.nodes.evidence.residuals import Mask, Numbers, sigmoid
from acegraph.nodes.rules.learner.literals import MIN_HOLDS, Literals, Singles
from acegraph.state.values import MAX_COMPARISONS

Term = tuple[int, ...]
"""The literals of a rule, as sorted numbers."""
RIDGE: Final = 1.0
_PAYS: Final = 1.0
"""So much log-likelihood a term must bring."""
_FURTHER: Final = 2.0
"""So much more log-likelihood each further literal of a term must bring."""
_CHOSEN: Final = 2.0
"""How much log-likelihood a term gains that was chosen among many without a cause (Akaike 1974)."""
_ADDED: Final = 3.0
"""The same of a literal beside others: it was chosen among more."""
_BEAM: Final = 30
_OF_A_FIELD: Final = 5
_REFITTED: Final = 4
_LOOKED_AT: Final = 200
"""Among so many singles, and so many pairs, those are sought that say something new."""
_MOST_TO_SWAP: Final = 4_000
"""Up to so many cases literals change places; with more, the order hardly matters."""
_SWAPPED_AT: Final = (*range(1, 9), 12, 16)
"""They do when the set has so many terms: each look takes as long as all that is found by it."""
_NEWTON_STEPS: Final = 12
_OF_CANDIDATES: Final = 12
"""So many of each length are made longer where one rule is sought."""
_ROUGHLY: Final = 4
"""The sums of a rough test: over the cases, their residuals, their variance, and the shift."""
_AT_ONCE: Final = 8
"""So many of the beam are multiplied at once."""
_FOLDS: Final = 5
_FOLDS_OF_MANY: Final = 3
_MANY: Final = 1_000
"""From so many cases of the rarer label on fewer folds are enough."""


@dataclass(frozen=True)
class Rows:
    """Labelled cases as a search sees them."""

    literals: Literals
    fraud: Mask
    start: Numbers
    """The log-odds from which rules start."""
    shares: Numbers
    """How much of a case each counts."""

    def part(self, cases: Mask) -> "Rows":
        """Some of the cases."""
        return Rows(
            self.literals.part(cases), self.fraud[cases], self.start[cases], self.shares[cases]
        )

    def fired(self, terms: Iterable[Term]) -> Mask:
        """On which cases each term holds."""
        masks, none = self.literals.masks, np.ones(len(self.fraud), bool)
        held = [reduce(np.logical_and, (masks[i] for i in term), none) for term in terms]
        return np.array(held, bool).reshape(len(held), len(self.fraud))

    def log_likelihood(self, log_odds: Numbers) -> Numbers:
        """By case, how well the log-odds explain its label."""
        return np.asarray(self.shares * (self.fraud * log_odds - np.logaddexp(0, log_odds)))


@dataclass(frozen=True)
class Fit:
    """Terms with the weights that explain some cases best."""

    terms: tuple[Term, ...]
    weights: Numbers
    shift: float
    worth: float
    """The log-likelihood, less what large weights cost."""

    @classmethod
    def of(cls, rows: Rows, terms: Sequence[Term], begin: Numbers | None = None) -> "Fit":
        """The weights for these terms."""
        fired = rows.fired(terms)
        weights, worth = ridge_fit(fired, rows.fraud, rows.start, rows.shares, begin)
        return cls(tuple(terms), weights[:-1], float(weights[-1]), worth)

    def log_odds(self, rows: Rows) -> Numbers:
        """What it says of cases."""
        return np.asarray(rows.start + self.weights @ rows.fired(self.terms) + self.shift)


def ridge_fit(
    fired: Mask, fraud: Mask, start: Numbers, shares: Numbers, begin: Numbers | None = None
) -> tuple[Numbers, float]:
    """Weights and shift by ridge logistic regression, and the log-likelihood less their cost."""
    x = np.vstack([fired, np.ones(len(fraud))]).astype(np.float32)
    ridge = np.append(np.full(len(fired), RIDGE), 1e-6)
    w = np.zeros(len(ridge)) if begin is None else begin

    def worth(w: Numbers) -> tuple[float, Numbers]:
        log_odds = start + w.astype(np.float32) @ x
        explained = shares @ (fraud * log_odds - np.logaddexp(0, log_odds))
        return float(explained - 0.5 * ridge @ (w * w)), log_odds

    best, log_odds = worth(w)
    for _ in range(_NEWTON_STEPS):
        p = sigmoid(log_odds)
        gradient = x @ (shares * (fraud - p)).astype(np.float32) - ridge * w
        curved = x * np.sqrt(shares * p * (1 - p)).astype(np.float32)
        step = np.linalg.solve(curved @ curved.T + np.diag(ridge), gradient)
        promised, length = float(gradient @ step), 1.0
        if promised < 1e-3:
            break
        now, log_odds = worth(w + step)
        while now < best and length > 1e-3:
            length /= 2
            now, log_odds = worth(w + length * step)
        w, best = w + length * step, now
    return np.asarray(w, np.float64), best


class _Slopes:
    """What further terms would gain beside the terms of a fit, to the second order."""

    def __init__(self, rows: Rows, fit: Fit, instead: int | None = None) -> None:
        """`instead` is the number of a term that would be left out."""
        fired = rows.fired(fit.terms).astype(np.float64)
        p = sigmoid(rows.start + fit.weights @ fired + fit.shift)
        curve = rows.shares * p * (1 - p)
        rest = rows.shares * (rows.fraud - p)
        if instead is not None:
            rest = rest + curve * fit.weights[instead] * fired[instead]
            fired = np.delete(fired, instead, axis=0)
        root = np.sqrt(curve) + 1e-9
        basis, _ = np.linalg.qr((np.vstack([np.ones(len(p)), fired]) * root).T)
        rest = rest - root * (basis @ (basis.T @ (rest / root)))
        self._rows = rows
        columns = [np.ones(len(p)), rest, curve, *(root * one for one in basis.T)]
        self._columns = np.array(columns, np.float32).T

    def extended(self, beam: Sequence[Term], *, roughly: bool = False) -> Numbers:
        """The z of each of the beam together with each literal; 0 where too few cases are left, or
        all of them. Roughly, what the terms so far have in common with it is left out.
        """
        literals = self._rows.literals
        by_case = self._columns[:, :_ROUGHLY] if roughly else self._columns
        found = [np.zeros((0, len(literals.tests)))]
        for first in range(0, len(beam), _AT_ONCE):
            some = beam[first : first + _AT_ONCE]
            fired = self._rows.fired(some)
            columns = fired.astype(np.float32)[:, :, None] * by_case
            sums = literals.numbers @ columns.transpose(1, 0, 2).reshape(len(by_case), -1)
            sums = sums.reshape(len(sums), len(some), by_case.shape[1])
            z, holds = _z(sums), sums[..., 0]
            raising = [literals.only_raise[list(term)].any() for term in some]
            is_wrong = (literals.only_raise[:, None] | raising) & (z < 0)
            excludes = (holds < fired.sum(axis=1) - 0.5) | [not term for term in some]
            found.append(np.where((holds >= MIN_HOLDS - 0.5) & excludes & ~is_wrong, z, 0.0).T)
        return np.vstack(found)

    def of(self, terms: Sequence[Term]) -> Numbers:
        """The z of each of some terms."""
        return _z(self._rows.fired(terms).astype(np.float32) @ self._columns)


def _z(sums: Singles) -> Numbers:
    """Rao's score test (1948) from the sums over the cases on which terms hold."""
    known = (sums[..., 3:] ** 2).sum(axis=-1)
    return np.asarray(sums[..., 1] / np.sqrt(np.maximum(sums[..., 2] - known, 0.0) + 0.5))


def search(rows: Rows, most: int, *, pairs: bool, staying: Sequence[Term] = ()) -> Iterator[Fit]:
    """The best sets of none, one, two ... at most so many terms beside those that stay."""
    fit = Fit.of(rows, staying)
    yield fit
    for length in range(1, most + 1):
        longer = _longer(rows, fit, pairs=pairs)
        if longer is None:
            return
        swaps = len(rows.fraud) <= _MOST_TO_SWAP and length in _SWAPPED_AT
        fit = _swapped(rows, longer, len(staying), pairs=pairs) if swaps else longer
        yield fit


def _longer(rows: Rows, fit: Fit, *, pairs: bool) -> Fit | None:
    """The fit with the best further term; None if none pays for its place."""
    slopes = _Slopes(rows, fit)
    gains = slopes.extended([()])[0] ** 2 / 2
    alone = np.where(rows.literals.narrow, gains, 0.0)
    found = [(float(alone[i]), (i,)) for i in _best(alone, _LOOKED_AT)]
    if pairs:
        beam = _beam(rows.literals, gains)
        roughly = np.abs(slopes.extended([(i,) for i in beam], roughly=True))
        roughly[:, [not name for name in rows.literals.fields]] = 0.0
        places = (divmod(i, roughly.shape[1]) for i in _best(roughly, _LOOKED_AT))
        terms = list(dict.fromkeys(tuple(sorted((beam[first], i))) for first, i in places))
        gained = slopes.of(terms) ** 2 / 2 - _FURTHER if terms else ()
        found += zip(map(float, gained), terms, strict=True)
    tried: list[Term] = []
    for gain, term in sorted(found, reverse=True):
        if gain < _PAYS or len(tried) == _REFITTED:
            break
        if _is_new(rows, term, (*fit.terms, *tried)):
            tried.append(term)
    begin = np.append(fit.weights, (0.0, fit.shift))
    longer = [Fit.of(rows, (*fit.terms, term), begin) for term in tried]
    left = [one.worth - _price(one.terms[-1]) for one in longer]
    return longer[int(np.argmax(left))] if max(left, default=-np.inf) > fit.worth else None


def _price(term: Term) -> float:
    return _PAYS + _FURTHER * (len(term) - 1)


def _best(gains: Numbers, most: int) -> list[int]:
    """The numbers of the largest gains that are above 0, largest first."""
    flat = gains.ravel()
    some = np.argpartition(-flat, most)[:most] if len(flat) > most else np.arange(len(flat))
    return [int(i) for i in some[np.argsort(-flat[some], kind="stable")] if flat[i] > 0]


def _beam(literals: Literals, gains: Numbers) -> list[int]:
    """The best literals, of each field at most a few."""
    of_field: dict[str, int] = {}
    beam = []
    for i in np.argsort(-gains, kind="stable"):
        name = literals.fields[i]
        of_field[name] = of_field.get(name, 0) + 1
        if name and of_field[name] <= _OF_A_FIELD and gains[i] > 0:
            beam.append(int(i))
        if len(beam) == _BEAM:
            break
    return beam


def _is_new(rows: Rows, term: Term, known: Sequence[Term]) -> bool:
    """Whether no known term says almost the same as a term, or the opposite."""
    if not known:
        return True
    fired, others = rows.fired([term])[0], rows.fired(known)
    both, either = (others & fired).sum(axis=1), (others | fired).sum(axis=1)
    agreement = (others == fired).mean(axis=1)
    alike = both / np.maximum(either, 1)
    return not bool(((alike > ALIKE) | (agreement < 1 - ALIKE) | (agreement == 1)).any())


def _swapped(rows: Rows, fit: Fit, staying: int, *, pairs: bool) -> Fit:
    """The fit with each literal changed for the one that is best in its place; with `pairs` a term
    may become longer, too.
    """
    for place, term in enumerate(fit.terms):
        if place < staying:
            continue
        is_rule = not rows.literals.fields[term[0]]  # a standing rule is taken as a whole
        beam = _parts(term) if pairs and not is_rule else [()]
        gains = _Slopes(rows, fit, instead=place).extended(beam) ** 2 / 2
        gains[0, ~rows.literals.narrow] = 0.0
        gains[1:, [not name for name in rows.literals.fields]] = 0.0
        gains -= _FURTHER * np.array([[len(part)] for part in beam])
        row, literal = divmod(int(np.argmax(gains)), gains.shape[1])
        best = tuple(sorted((*beam[row], literal)))
        others = [other for i, other in enumerate(fit.terms) if i != place]
        if best == term or not _is_new(rows, best, others):
            continue
        terms = [best if i == place else other for i, other in enumerate(fit.terms)]
        changed = Fit.of(rows, terms, np.append(fit.weights, fit.shift))
        if changed.worth - _price(best) > fit.worth - _price(term) + 1e-3:
            fit = changed
    return fit


def shortened(rows: Rows, fit: Fit, staying: int) -> Fit:
    """The fit without the literals and terms that hardly matter: each was chosen among many."""
    while True:
        without = []
        for place, term in enumerate(fit.terms):
            if place < staying:
                continue
            rests = combinations(term, len(term) - 1) if len(term) > 1 else []
            changes = [*((rest, _ADDED) for rest in rests), ((), _CHOSEN)]
            for rest, price in changes:
                terms = [*fit.terms[:place], *([rest] if rest else []), *fit.terms[place + 1 :]]
                one = Fit.of(rows, terms)
                without.append((fit.worth - one.worth - price, one))
        least, shorter = min(without, key=lambda found: found[0], default=(1.0, fit))
        if least >= 0 or not shorter.terms:
            return fit
        fit = shorter


def _parts(term: Term) -> list[Term]:
    """What is left of a term without some literals, and the term itself, if it may be longer."""
    parts = [part for n in range(len(term)) for part in combinations(term, n)]
    return [*parts, term] if len(term) < MAX_COMPARISONS else parts


def candidates(rows: Rows, most: int, price: float) -> list[Term]:
    """The best terms that argue for the label that is sought, each tested alone, best first.

    A further literal must bring so many standard errors more: the shorter rule wins a near tie.
    """
    slopes = _Slopes(rows, Fit.of(rows, ()))
    scored: dict[Term, float] = {}
    beam: list[Term] = [()]
    for depth in range(1, MAX_COMPARISONS + 1):
        z = slopes.extended(beam) - price * depth
        found: dict[Term, float] = {}
        for i in _best(z, 4 * _OF_CANDIDATES):
            row, literal = divmod(i, z.shape[1])
            found.setdefault(tuple(sorted((*beam[row], literal))), float(z[row, literal]))
        scored |= found
        beam = list(found)[:_OF_CANDIDATES]
    return sorted(scored, key=lambda term: -scored[term])[:most]


def parts_of(fraud: Mask, times: int) -> Iterator[Mask]:
    """The cases to hold out: first blocks of time, each with its part of the frauds, then at
    random.
    """
    rng = np.random.default_rng(len(fraud))
    many = min(int(fraud.sum()), int((~fraud).sum())) >= _MANY
    folds = _FOLDS_OF_MANY if many else _FOLDS
    for time in range(times):
        fold: NDArray[np.int64] = np.zeros(len(fraud), np.int64)
        for label in (fraud, ~fraud):
            n = int(label.sum())
            places = np.arange(n) if time == 0 else rng.permutation(n)
            fold[label] = places * folds // n
        yield from (fold == number for number in range(folds))
