"""Curves: how the risk goes with single fields, whatever the others say, in a few steps each.

From few cases nobody can tell where a field is cut best. A curve need not: it has a step at every
cut, and each is held down, so that cuts beside each other share what they have to say (Hastie and
Tibshirani 1986, generalized additive models). Fields are taken one after another; held_out.py tells
how many. What is kept are a few steps of each curve, each of them a rule like any other.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Final

import numpy as np

from acegraph.nodes.curator.refinement.candidates import OPPOSITES, SearchedRows
from acegraph.nodes.curator.refinement.shortening import ridge_weights
from acegraph.nodes.evidence.residuals import Numbers, best_shift, sigmoid
from acegraph.state import APPROVE, DECLINE, Condition
from acegraph.state.values.condition import Comparison

_MOST_FIELDS: Final = 4
_HELD_DOWN: Final = 3.0
"""The ridge on each step of a curve."""
_STEPS: Final = 3
"""So many steps of a curve are kept."""
_LEAST_STEP: Final = 0.05
_IN_A_CURVE: Final = (">=", "is", "is missing")


@dataclass(frozen=True)
class Curves:
    """The curves of some fields, as steps: comparisons and what each adds to the log-odds."""

    steps: tuple[int, ...]
    """The numbers of the comparisons."""
    weights: Numbers
    shift: float

    def log_odds(self, rows: SearchedRows) -> Numbers:
        """What the curves give to cases, on top of the scorecard."""
        holds = rows.tests.masks[list(self.steps)]
        return np.asarray(rows.start + self.weights @ holds + self.shift)

    def rules(self, rows: SearchedRows) -> list[Condition]:
        """A few steps of each curve as rules."""
        by_field: dict[str, list[tuple[int, float]]] = {}
        for i, weight in zip(self.steps, self.weights.tolist(), strict=True):
            by_field.setdefault(rows.tests.comparisons[i].field, []).append((i, weight))
        few = (step for steps in by_field.values() for step in _few_steps(steps, rows))
        return [_as_rule(i, weight, rows) for i, weight in few if abs(weight) > _LEAST_STEP]


def curves_of(rows: SearchedRows) -> list[Curves]:
    """Curves of one field, of two and so on: the next field explains most of what is left."""
    by_field: dict[str, list[int]] = {}
    for i, test in enumerate(rows.tests.comparisons):
        if test.op in _IN_A_CURVE:
            by_field.setdefault(test.field, []).append(i)
    found: list[Curves] = []
    steps: list[int] = []
    shift = best_shift(rows.fraud, rows.start, rows.shares)
    weights, log_odds = np.array([shift]), rows.start + shift
    while by_field and len(found) < _MOST_FIELDS:
        gains = {field: _gain(by_field[field], rows, log_odds) for field in by_field}
        new = by_field.pop(max(gains, key=gains.__getitem__))
        steps = [*steps, *new]
        begin = np.concatenate([weights[:-1], np.zeros(len(new)), weights[-1:]])
        holds = rows.tests.masks[steps]
        weights, _ = ridge_weights(
            holds, rows.fraud, rows.start, rows.shares, begin, ridge=_HELD_DOWN
        )
        found.append(Curves(tuple(steps), weights[:-1], float(weights[-1])))
        log_odds = found[-1].log_odds(rows)
    return found


def _gain(steps: Sequence[int], rows: SearchedRows, log_odds: Numbers) -> float:
    """About how much log-likelihood the curve of a field brings: that of one Newton step."""
    holds = np.vstack([rows.tests.masks[steps], np.ones(len(log_odds))])
    p = sigmoid(log_odds)
    slope = holds @ (rows.shares * (rows.fraud - p))
    ridge = np.append(np.full(len(steps), _HELD_DOWN), 1e-6)
    information = (holds * (rows.shares * p * (1 - p))) @ holds.T + np.diag(ridge)
    return float(slope @ np.linalg.solve(information, slope)) / 2


def _few_steps(
    steps: Sequence[tuple[int, float]], rows: SearchedRows
) -> Iterator[tuple[int, float]]:
    """The cuts between the levels that are left when levels that differ least are made one; of
    words the ones that matter most.
    """
    tests, masks = rows.tests.comparisons, rows.tests.masks
    words = [step for step in steps if tests[step[0]].op != ">="]
    worth = {i: abs(weight) * float(masks[i].std()) for i, weight in words}
    yield from sorted(words, key=lambda step: -worth[step[0]])[:_STEPS]
    cuts = sorted((s for s in steps if tests[s[0]].op == ">="), key=lambda s: _cut(tests[s[0]]))
    if not cuts:
        return
    numbers = np.array([i for i, _ in cuts])
    cases = np.bincount(masks[numbers].sum(axis=0), rows.shares, len(cuts) + 1)
    levels = np.append(0.0, np.cumsum([weight for _, weight in cuts]))
    while len(numbers) > _STEPS:
        both = np.maximum(cases[:-1] + cases[1:], 1e-9)
        at = int(np.argmin(cases[:-1] * cases[1:] / both * np.diff(levels) ** 2))  # Ward 1963
        levels[at] = (cases[at : at + 2] @ levels[at : at + 2]) / both[at]
        cases[at] += cases[at + 1]
        levels, cases = np.delete(levels, at + 1), np.delete(cases, at + 1)
        numbers = np.delete(numbers, at)
    yield from zip(numbers.tolist(), np.diff(levels).tolist(), strict=True)


def _cut(test: Comparison) -> float:
    assert isinstance(test.value, int | float)
    return float(test.value)


def _as_rule(number: int, weight: float, rows: SearchedRows) -> Condition:
    """A step as a rule: of a cut the side on which fewer cases are."""
    test = rows.tests.comparisons[number]
    if test.op == ">=" and rows.tests.masks[number].mean() > 0.5:
        test, weight = replace(test, op=OPPOSITES[test.op]), -weight
    return Condition((test,), DECLINE if weight > 0 else APPROVE)
