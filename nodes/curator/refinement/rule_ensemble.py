"""A set of rules for a whole table of labelled cases: many are found, few are kept.

Rules are found by boosting on samples of the cases (Friedman and Popescu 2008, RuleFit): each is
the conjunction that explains most of what the ones before it leave unexplained. All rules of all
samples are then fitted together with an L1 penalty, which leaves the weights of most at zero.
shortening.py leaves fewer, and whole_playbook.py decides how many.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

from acegraph.nodes.evidence.columns.cut_points import common_values, grid_of, roundest
from acegraph.nodes.evidence.residuals import Mask, Numbers, best_shift, sigmoid
from acegraph.state import APPROVE, DECLINE, CaseTable, Comparison, Condition
from acegraph.state.values.cases import Column
from acegraph.state.values.condition import MENTIONS
from acegraph.state.values.memos import is_free_text

_CUTS: Final = 12
"""At so many quantiles of the frauds, and of the honest cases, a number is cut."""
_MIN_FIRES: Final = 4.0
_BAGS: Final = 4
_ROUNDS: Final = 40
_RATE: Final = 0.5
_BEAM: Final = 6
_LONGER: Final = 0.9
"""What the gain of a rule with one more comparison is multiplied by: the shorter one wins a tie."""
_LEAST_GAIN: Final = 1.0
_MOST_WEIGHT: Final = 6.0
_PENALTY: Final = 1.0
Conjunction = tuple[int, ...]
"""A rule as the sorted numbers of its comparisons."""


@dataclass(frozen=True)
class Tests:
    """The comparisons that rules are made of, and the cases on which each holds."""

    comparisons: tuple[Comparison, ...]
    masks: Mask

    @classmethod
    def of(cls, table: CaseTable) -> "Tests":
        """Every comparison worth trying on this table."""
        found: list[Comparison] = []
        for name, marks in grid_of(table).items():
            column = table.column(name)
            assert column is not None
            if column.is_numeric:
                for cut in _cuts(column, table.fraud):
                    found += [Comparison(name, "<", cut), Comparison(name, ">=", cut)]
            elif is_free_text(name):
                found += [Comparison(name, MENTIONS, mark) for mark in marks]
                continue
            else:
                found += [Comparison(name, "is", mark) for mark in marks]
                found += [Comparison(name, "is not", mark) for mark in common_values(column)]
            if not column.known().all():
                found.append(Comparison(name, "is missing"))
        masks = [comparison.holds_over(table) for comparison in found]
        useful = [i for i, m in enumerate(masks) if _MIN_FIRES <= m.sum() < len(table)]
        kept = np.array([masks[i] for i in useful]) if useful else np.zeros((0, len(table)), bool)
        return cls(tuple(found[i] for i in useful), kept)


def _cuts(column: Column, fraud: Mask) -> list[float | int]:
    """Where a number may be cut: near the quantiles of either label, and where its frauds end."""
    known = ~np.isnan(column.numbers)
    values, upper = np.unique(column.numbers[known]), set[int]()
    for part in (column.numbers[known & fraud], column.numbers[known & ~fraud]):
        if len(part):
            quantiles = np.quantile(part, np.linspace(0, 1, _CUTS + 2), method="nearest")
            upper |= set(np.searchsorted(values, quantiles).tolist())
            upper.add(int(np.searchsorted(values, part.max())) + 1)
    inside = sorted(i for i in upper if 0 < i < len(values))
    return list(dict.fromkeys(roundest(values[i - 1], values[i]) for i in inside))


def found_rules(
    tests: Tests, fraud: Mask, start: Numbers, shares: Numbers, depth: int, seed: int
) -> set[Conjunction]:
    """The rules that boosting finds on several samples of these cases."""
    rules: set[Conjunction] = set()
    raises = np.array([test.op == MENTIONS for test in tests.comparisons])
    rng = np.random.default_rng(seed)
    rows = np.arange(len(fraud))
    for _ in range(_BAGS):
        chosen = np.zeros(len(fraud), bool)
        for label in (fraud, ~fraud):
            some = rows[label]
            chosen[rng.choice(some, max(int(0.8 * len(some)), 1), replace=False)] = True
        masks = tests.masks[:, chosen].astype(np.float32)
        rules |= _boost(masks, fraud[chosen], start[chosen], shares[chosen], depth, raises)
    return rules


def _boost(
    masks: NDArray[np.float32],
    fraud: Mask,
    start: Numbers,
    shares: Numbers,
    depth: int,
    raises: Mask,
) -> set[Conjunction]:
    rules: set[Conjunction] = set()
    log_odds = start.astype(np.float64)
    for _ in range(_ROUNDS):
        log_odds += _RATE * best_shift(fraud, log_odds, shares)
        p = sigmoid(log_odds)
        gradient = (shares * (fraud - p)).astype(np.float32)
        curvature = (shares * p * (1 - p)).astype(np.float32)
        rule, gain = _best_rule(masks, gradient, curvature, depth, raises)
        if gain < _LEAST_GAIN:
            break
        rules.add(rule)
        fired = masks[list(rule)].prod(axis=0)
        step = float(gradient @ fired) / (float(curvature @ fired) + 1.0)
        log_odds += _RATE * step * fired
    return rules


def _best_rule(
    masks: NDArray[np.float32],
    gradient: NDArray[np.float32],
    curvature: NDArray[np.float32],
    depth: int,
    raises: Mask,
) -> tuple[Conjunction, float]:
    """The conjunction with the largest gain in likelihood, by a beam search.

    With a comparison that `raises` risk it may not lower it.
    """
    has_one_way = bool(raises.any())
    best: Conjunction = ()
    most = 0.0
    beam: list[Conjunction] = [()]
    for level in range(depth):
        fired = masks[np.array(beam, int)].prod(axis=1)
        # One product for the whole beam: it reads all masks once.
        sums = masks @ np.vstack([gradient * fired, curvature * fired, fired]).T
        gradients, curvatures, fires = sums.reshape(len(masks), 3, len(beam)).swapaxes(0, 1)
        gains = np.where(fires < _MIN_FIRES, 0.0, gradients**2 / (curvatures + 1.0))
        if has_one_way:
            of_beam = np.array([raises[list(rule)].any() for rule in beam])
            gains[(gradients < 0) & (raises[:, None] | of_beam)] = 0.0
        scored: dict[Conjunction, float] = {}
        order = np.argsort(-gains.T, axis=1)[:, :_BEAM]
        ranked = np.take_along_axis(gains.T, order, axis=1)
        for rule, numbers, best_gains in zip(beam, order.tolist(), ranked.tolist(), strict=True):
            for i, gain in zip(numbers, best_gains, strict=True):
                if i not in rule:
                    scored[tuple(sorted((*rule, i)))] = gain
        beam = sorted(scored, key=lambda rule: -scored[rule])[:_BEAM]
        if beam and scored[beam[0]] * _LONGER**level > most:
            best, most = beam[0], scored[beam[0]] * _LONGER**level
    return best, most


def fit_sparsely(fired: Mask, fraud: Mask, start: Numbers, shares: Numbers) -> Numbers:
    """Weights of rules and, last, a shift, by logistic regression with an L1 penalty."""
    from scipy.optimize import minimize  # takes half a second, and only learning needs it

    rules = fired.astype(np.float32)
    n = len(rules)

    def loss(split: Numbers) -> tuple[float, Numbers]:
        """The loss for positive and negative parts of the weights, and the shift."""
        weights = (split[:n] - split[n : 2 * n]).astype(np.float32)
        log_odds = start + weights @ rules + split[-1]
        likelihood = shares @ (np.logaddexp(0, log_odds) - fraud * log_odds)
        rest = (shares * (sigmoid(log_odds) - fraud)).astype(np.float32)
        slopes = (rules @ rest).astype(np.float64)
        gradient = np.concatenate([_PENALTY + slopes, _PENALTY - slopes, [float(rest.sum())]])
        return float(likelihood + _PENALTY * split[:-1].sum()), gradient

    split = np.append(np.zeros(2 * n), best_shift(fraud, start, shares))
    bounds = [(0.0, _MOST_WEIGHT)] * (2 * n) + [(None, None)]
    split = minimize(
        loss, split, jac=True, method="L-BFGS-B", bounds=bounds, options={"maxiter": 400}
    ).x
    return np.append(split[:n] - split[n : 2 * n], split[-1])


def conditions_of(
    tests: Sequence[Comparison], rules: Iterable[Conjunction], weights: Numbers
) -> list[Condition]:
    """The rules as conditions, each with the verdict that its weight argues for; what a text
    mentions can argue for DECLINE only.
    """
    conditions = []
    for rule, weight in zip(rules, weights, strict=True):
        tested = tuple(tests[i] for i in rule)
        declines = weight > 0 or any(test.op == MENTIONS for test in tested)
        conditions.append(Condition(tested, DECLINE if declines else APPROVE))
    return conditions
