"""Curves: how far the risk goes with the value of each field, as graded rules (graded.py).

Where causes add up, small steps of a few fields say more than rules that hold or not. Fields take
turns: each adds a tenth or so of what two cuts of it best explain of what is left (boosting, one
field at a time: Lou, Caruana and Gehrke 2012). Sets with fewer fields keep those that matter most.
How many fields and turns are worth having, held-out cases tell, as they do of rules (whole.py). The
curves of all parts that held cases out are averaged, and each becomes a few steps.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from acegraph.nodes.evidence.columns.learnable_fields import is_protected, learnable_fields
from acegraph.nodes.evidence.residuals import Mask, Numbers, in_standard_errors, sigmoid
from acegraph.nodes.rules.learner.literals import MIN_HOLDS, common_groups, cuts_of
from acegraph.state.values import (
    BY,
    DECLINE,
    POINTS,
    CaseTable,
    Comparison,
    Condition,
    Scalar,
    is_observed,
)
from acegraph.state.values.graded import MAX_STEPS, Steps

Codes = NDArray[np.intp]
_TURNS: Final = 50
_LOOKED_AT: Final = 5
"""After so many turns each it is looked at held-out cases."""
_PART: Final = 0.2
"""The part of what is explained that a turn adds."""
_RIDGE: Final = 1.0
_LENGTHS: Final = (1, 2, 3, 4, 6)
"""Of so many fields curves are tried."""
_HARDLY: Final = 1.0
"""Standard errors by which more fields may be worse: each then weighs less, and errs less alone."""
_CLOSE: Final = 0.02
"""So much log-likelihood may be lost when a curve becomes steps."""
_MOST: Final = 19 * POINTS


@dataclass(frozen=True)
class Binned:
    """A field in bins: numbers between cuts, or words; the last bin is for what is missing."""

    name: str
    places: tuple[Scalar, ...]
    """The cuts between the first bins; or the words, of which all others share the first bin."""
    codes: Codes
    """By case the number of its bin."""

    @property
    def are_words(self) -> bool:
        """Whether its bins have no order."""
        return isinstance(self.places[0], str | bool)

    @property
    def size(self) -> int:
        """How many bins there are."""
        return len(self.places) + 2


def binned(table: CaseTable, shares: Numbers, chosen: Mask) -> list[Binned]:
    """The fields that a rule may use, in bins, over the chosen cases."""
    found = []
    for name in learnable_fields(table):
        column = table.column(name)
        hidden = table.is_text(name) or is_observed(name) or is_protected(name, table)
        if hidden or column is None:
            continue
        codes = np.full(len(table), 0, np.intp)
        if column.is_numeric:
            places: list[Scalar] = [*cuts_of(column.numbers, table.fraud, shares)]
            codes = np.searchsorted(np.array(places, float), column.numbers, side="right")
        else:
            places = [v for v in common_groups(column) if column.equals(v).sum() >= MIN_HOLDS]
            for number, place in enumerate(places, start=1):
                codes[column.equals(place)] = number
        codes[~column.known()] = len(places) + 1
        if places:
            found.append(Binned(name, tuple(places), codes[chosen]))
    return found


@dataclass(frozen=True)
class Curves:
    """Curves of some fields, for several samples of the cases at once."""

    fields: Sequence[Binned]
    fraud: Mask
    start: Numbers
    samples: Numbers
    """By sample and case how much the case counts."""

    def grown(self, uses: Mask, turns: int) -> Iterator[tuple[list[Numbers], Numbers, Numbers]]:
        """The curves after some turns and some more, by sample and bin, with the shifts and the
        log-odds; `uses` tells which sample uses which field.
        """
        curves = [np.zeros((len(self.samples), one.size)) for one in self.fields]
        log_odds = np.tile(self.start, (len(self.samples), 1))
        shift = self._shifted(log_odds, 6)
        for turn in range(1, turns + 1):
            for curve, one, users in zip(curves, self.fields, uses.T, strict=True):
                if users.any():
                    step = _PART * self._explained(one, log_odds[users], self.samples[users])
                    curve[users] += step
                    log_odds[users] += step[:, one.codes]
            shift = shift + self._shifted(log_odds, 1)
            if turn % _LOOKED_AT == 0 or turn == turns:
                yield curves, shift, log_odds

    def _shifted(self, log_odds: Numbers, times: int) -> Numbers:
        """Shift the log-odds of each sample to its share of fraud; gives by how much."""
        before = log_odds[:, :1].copy()
        for _ in range(times):
            p = sigmoid(log_odds)
            rest = (self.samples * (self.fraud - p)).sum(axis=1)
            step = rest / ((self.samples * p * (1 - p)).sum(axis=1) + 1e-9)
            log_odds += np.clip(step, -2, 2)[:, None]
        return np.asarray(log_odds[:, :1] - before)

    def _explained(self, one: Binned, log_odds: Numbers, samples: Numbers) -> Numbers:
        """By sample and bin, what two cuts of a field best explain of what is left."""
        p, n = sigmoid(log_odds), len(samples)
        places = (one.codes + one.size * np.arange(n)[:, None]).ravel()
        gain, curve = (
            np.bincount(places, of_case.ravel(), one.size * n).reshape(n, one.size).astype(float)
            for of_case in (samples * (self.fraud - p), samples * p * (1 - p))
        )
        each = gain / (curve + _RIDGE)
        if one.are_words:
            order = np.argsort(each, axis=1, kind="stable")
            ordered = (np.take_along_axis(sums, order, 1) for sums in (gain, curve))
            np.put_along_axis(each, order, _three_parts(*ordered), 1)
        else:
            each[:, :-1] = _three_parts(gain[:, :-1], curve[:, :-1])
        return each


def _three_parts(gain: Numbers, curve: Numbers) -> Numbers:
    """By row, the best values of bins in order of which at most three differ."""
    n, size = gain.shape
    gains, curves = (np.hstack([np.zeros((n, 1)), np.cumsum(x, axis=1)]) for x in (gain, curve))
    all_gain, all_curve = gains[:, -1:], curves[:, -1:]
    inner = gains[:, None, :] - gains[:, :, None]
    explained = inner**2 / (np.abs(curves[:, None, :] - curves[:, :, None]) + _RIDGE)
    explained += (gains**2 / (curves + _RIDGE))[:, :, None]
    explained += ((all_gain - gains) ** 2 / (all_curve - curves + _RIDGE))[:, None, :]
    explained[:, np.tri(size + 1, k=-1, dtype=bool)] = -np.inf
    first, last = np.divmod(explained.reshape(n, -1).argmax(axis=1), size + 1)
    rows, ends = np.arange(n), [np.zeros(n, np.intp), first, last, np.full(n, size)]
    found = np.zeros((n, size))
    for low, high in pairwise(ends):
        value = (gains[rows, high] - gains[rows, low]) / (
            curves[rows, high] - curves[rows, low] + _RIDGE
        )
        inside = (np.arange(size) >= low[:, None]) & (np.arange(size) < high[:, None])
        found[inside] = np.broadcast_to(value[:, None], found.shape)[inside]
    return found


@dataclass(frozen=True)
class BestCurves:
    """The curves that explain held-out cases best."""

    length: int
    """Of so many fields."""
    log_odds: Numbers
    """Of each case as it was held out."""
    likelihood: Numbers
    """By case, how well that explains its label."""
    conditions: tuple[Condition, ...]


def best_curves(
    fields: Sequence[Binned],
    fraud: Mask,
    start: Numbers,
    shares: Numbers,
    held_out: Mask,
    most: int,
) -> BestCurves:
    """The curves of as many fields as explain held-out cases about as well as the best, at the
    `most` so many; `held_out` has a row for each part that was held out.
    """
    samples = np.vstack([~held_out * shares, shares])
    curves = Curves(fields, fraud, start, samples)
    times = held_out.sum(axis=0)
    *_, (every, _, _) = curves.grown(np.ones((len(samples), len(fields)), bool), _TURNS)
    rank = _ranks(every, fields, samples)
    looks: dict[int, _Look] = {}
    for length in [n for n in _LENGTHS if n <= min(most, len(fields))]:
        for look, (_, _, log_odds) in enumerate(curves.grown(rank < length, _TURNS), start=1):
            by_part = np.where(held_out, log_odds[:-1], 0.0)
            explained = shares * (fraud * by_part - np.logaddexp(0, by_part))
            likelihood = np.where(held_out, explained, 0.0).sum(axis=0) / times
            one = _Look(look * _LOOKED_AT, by_part.sum(axis=0) / times, likelihood)
            if length not in looks or likelihood.sum() > looks[length].likelihood.sum():
                looks[length] = one
    best = max(looks.values(), key=lambda look: float(look.likelihood.sum()))
    length = max(n for n, look in looks.items() if _hardly_worse(look, best))
    turns, by_case, likelihood = looks[length]
    uses = np.tile(rank[-1] < length, (len(samples), 1))
    *_, (grown, shift, _) = curves.grown(uses, turns)
    mean = [curve.mean(axis=0) for curve in grown]
    last = start + shift.mean() + sum(c[f.codes] for c, f in zip(mean, fields, strict=True))
    p = sigmoid(np.asarray(last))
    steps = [
        Condition((Comparison(one.name, BY, steps.render()),), DECLINE)
        for one, curve, is_used in zip(fields, mean, uses[-1], strict=True)
        if is_used and (steps := steps_of_curve(one, curve, shares * p * (1 - p)))
    ]
    return BestCurves(length, by_case, likelihood, tuple(steps))


class _Look(NamedTuple):
    """Curves at one time of their growth."""

    turns: int
    log_odds: Numbers
    """Of each case as it was held out."""
    likelihood: Numbers
    """By case, how well that explains its label."""


def _hardly_worse(look: _Look, best: _Look) -> bool:
    """Whether a look is at most one standard error worse than the best one."""
    return in_standard_errors(best.likelihood - look.likelihood) <= _HARDLY


def _ranks(curves: Sequence[Numbers], fields: Sequence[Binned], samples: Numbers) -> Codes:
    """By sample the rank of each field: how far its curve lies from its mean."""
    spreads = []
    for curve, one in zip(curves, fields, strict=True):
        by_case, counts = curve[:, one.codes], samples.sum(axis=1)
        mean = (samples * by_case).sum(axis=1) / counts
        spreads.append((samples * (by_case - mean[:, None]) ** 2).sum(axis=1) / counts)
    order = np.argsort(-np.array(spreads).T, axis=1, kind="stable")
    return np.argsort(order, axis=1)


def steps_of_curve(one: Binned, curve: Numbers, weights: Numbers) -> Steps | None:
    """A curve as the fewest steps that say about as much; None if it says nothing."""
    counted = np.bincount(one.codes, weights, one.size).astype(float)
    ordered = np.arange(one.size - 1)
    if one.are_words:  # those with the same points share a step; of many the farthest are named
        apart = counted * (curve - np.average(curve, weights=counted + 1e-9)) ** 2
        named = 1 + np.argsort(-apart[1:-1], kind="stable")[:MAX_STEPS]
        others = np.setdiff1d(ordered, named)
        base = np.average(curve[others], weights=counted[others] + 1e-9)
        values = np.array([base, *curve[named]])
        places = tuple(one.places[i - 1] for i in named)
    else:
        ends, values = _few_steps(curve[:-1], counted[:-1])
        places = tuple(one.places[i - 1] for i in ends)
    missing = curve[-1] if counted[-1] > 0 else values.min()
    values = np.append(values, missing)
    points = np.rint((values - values.min()) * POINTS).clip(0, _MOST).astype(int)
    if not places or not points.any():
        return None
    return Steps(places, tuple(points[:-1].tolist()), int(points[-1]))


def _few_steps(curve: Numbers, weights: Numbers) -> tuple[list[int], Numbers]:
    """Where the fewest steps begin that are close to a curve, after the first, and their values."""
    n, sums = len(curve), [np.append(0.0, np.cumsum(weights * curve**k)) for k in range(3)]
    count, total, square = (s[None, :] - s[:, None] for s in sums)
    lost = np.where(np.tri(n + 1, dtype=bool), np.inf, square - total**2 / (count + 1e-12)) / 2
    least, begins = lost[0], list[Codes]()
    while least[n] > _CLOSE and len(begins) < MAX_STEPS:
        by_begin = least[:, None] + lost
        begins.append(np.argmin(by_begin, axis=0))
        least = by_begin.min(axis=0)
    ends = [n]
    for before in reversed(begins):
        ends.insert(0, int(before[ends[0]]))
    values = [float(total[i, j] / (count[i, j] + 1e-12)) for i, j in pairwise([0, *ends])]
    return ends[:-1], np.array(values)
