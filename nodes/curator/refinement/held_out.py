"""What cases say of sets of rules that they had no part in finding.

Each case is held out once: this is cross-validation in blocks of time.
"""

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

from acegraph.nodes.curator.refinement.candidates import SearchedRows, Shape
from acegraph.nodes.evidence.residuals import Mask, Numbers, best_line, best_shift
from acegraph.nodes.rules.weights import fit_weights
from acegraph.state import Condition
from acegraph.state.values.verdict import sign_of

_FOLDS: Final = 5
_FOLDS_OF_MANY: Final = 3
_FOR_FEWER_FOLDS: Final = 3_000
"""From this many cases of either label on, three folds are enough: each has a thousand."""
_DEPTHS: Final = (1, 3)
_PAYS: Final = 0.5
"""How much log-likelihood of held-out cases each rule must gain."""
_HARDLY: Final = 1.0
"""Within so many standard errors of the best the shorter set is taken (Breiman et al. 1984), but
not where payments are ranked."""


@dataclass(frozen=True)
class HeldOut:
    """What sets of rules say of cases that had no part in finding them."""

    log_odds: Mapping[Shape, Numbers]
    """By shape, what its sets give to each case."""
    likelihood: Mapping[Shape, Numbers]
    """By shape, how well that explains the label of each case."""
    lengths: Mapping[Shape, float]
    """By shape how many rules its sets have, in the mean of the parts."""
    plain: Numbers
    """By case the log-likelihood by the scorecard alone."""
    stood: Numbers
    """The same with the rules that stand."""

    def best_shape(self, sure: float, *, is_shortest: bool) -> Shape:
        """The shape to choose: the best, or the shortest that is hardly worse; `sure` are the
        standard errors that are wanted.
        """
        gains = {shape: found - self.plain for shape, found in self.likelihood.items()}
        proved = {s: f for s, f in gains.items() if in_standard_errors(f) >= sure}
        tried, lengths = proved or gains, self.lengths
        best = max(tried, key=lambda shape: float(tried[shape].sum()) - _PAYS * lengths[shape])
        if not is_shortest:
            return best
        worse = {shape: tried[best] - found for shape, found in tried.items()}
        alike = [shape for shape, by in worse.items() if in_standard_errors(by) <= _HARDLY]
        return min(alike, key=lambda shape: (lengths[shape], float(worse[shape].sum())))


def hold_out(rows: SearchedRows, standing: Sequence[Condition], *, is_ranked: bool) -> HeldOut:
    """Hold each part of the cases out, and find sets of every shape on the others."""
    fold = _blocks_of_time(rows.fraud)
    folds = int(fold.max()) + 1
    log_odds: dict[Shape, Numbers] = {}
    lengths: Counter[Shape] = Counter()
    plain, stood = np.zeros(len(fold)), np.zeros(len(fold))
    for number in range(folds):
        out = fold == number
        known, unseen = rows.part(~out), rows.part(out)
        plain[out], stood[out] = _without_new_rules(known, unseen, standing)
        for depth in _DEPTHS:
            rules = known.new_rules(depth, seed=number, is_ranked=is_ranked)
            fired = unseen.fired(rules)
            for shape, fitted in known.fits(rules, depth).items():
                found = log_odds.setdefault(shape, np.zeros(len(fold)))
                found[out] = fitted.log_odds(fired, unseen.start)
                lengths[shape] += len(fitted.rules)
    in_the_mean = {shape: total / folds for shape, total in lengths.items()}
    likelihood = {shape: rows.log_likelihood(found) for shape, found in log_odds.items()}
    return HeldOut(log_odds, likelihood, in_the_mean, plain, stood)


def _blocks_of_time(fraud: Mask) -> NDArray[np.int64]:
    """The number of the block of each case; each block has its part of the frauds."""
    fold = np.zeros(len(fraud), np.int64)
    are_many = min(fraud.sum(), (~fraud).sum()) >= _FOR_FEWER_FOLDS
    for label in (fraud, ~fraud):
        n = int(label.sum())
        fold[label] = np.arange(n) * (_FOLDS_OF_MANY if are_many else _FOLDS) // n
    return fold


def _without_new_rules(
    known: SearchedRows, unseen: SearchedRows, standing: Sequence[Condition]
) -> tuple[Numbers, Numbers]:
    """The log-likelihood of unseen cases by the scorecard alone, and with the standing rules.

    A scorecard that is too sure of itself as a whole is no pattern in the fields.
    """
    slope, shift = best_line(known.fraud, known.start, known.shares)
    plain = unseen.log_likelihood(slope * unseen.start + shift)
    if not len(standing):
        return plain, plain
    signs = np.array([sign_of(rule.verdict) for rule in standing])
    w = fit_weights(known.standing, signs, known.fraud, known.start, shares=known.shares)
    shift = best_shift(known.fraud, known.start + w @ known.standing, known.shares)
    return plain, unseen.log_likelihood(unseen.start + w @ unseen.standing + shift)


def in_standard_errors(gains: Numbers, more: float = 0.0) -> float:
    """The sum of the gains of all cases, and of `more`, in standard errors of that sum."""
    return float(gains.sum() + more) / (float(gains.std()) * math.sqrt(len(gains)) + 1e-12)
