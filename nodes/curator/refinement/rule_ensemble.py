"""A set of rules for a whole table of labelled cases: many are found, few are kept.

Rules are found by boosting on samples of the cases (Friedman and Popescu 2008, RuleFit): each is
the conjunction that explains most of what the ones before it leave unexplained. All rules of all
samples are then fitted together with an L1 penalty, which leaves the weights of most at zero.
shortening.py leaves fewer, and held_out.py tells how many.
"""

from collections.abc import Callable, Iterable, Sequence
from typing import Final

import numpy as np
from numpy.typing import NDArray

from acegraph.nodes.curator.refinement.comparisons import MIN_FIRES, Comparisons
from acegraph.nodes.curator.refinement.shortening import has_many
from acegraph.nodes.evidence.columns.cut_points import closest_cuts
from acegraph.nodes.evidence.residuals import Mask, Numbers, best_shift, sigmoid
from acegraph.state import APPROVE, DECLINE, Condition
from acegraph.state.values.condition import MENTIONS, Comparison

_BAGS: Final = 4
_IN_A_SAMPLE: Final = 1_000
"""How many cases of each label a sample has, where there are more."""
_ROUNDS: Final = 40
_RATE: Final = 0.5
_BEAM: Final = 6
_LONGER: Final = 0.9
"""What the gain of a rule with one more comparison is multiplied by: the shorter one wins a tie."""
_LEAST_GAIN: Final = 1.0
_MOST_WEIGHT: Final = 6.0
_PENALTY: Final = 1.0
_FALLS: Final = 2.220446049250313e-09
"""A fit ends when the loss falls by less than this share of itself."""
_FALLS_OF_MANY: Final = 1e-5
Conjunction = tuple[int, ...]
"""A rule as the sorted numbers of its comparisons."""


def found_rules(
    tests: Comparisons, fraud: Mask, start: Numbers, shares: Numbers, depth: int, seed: int
) -> set[Conjunction]:
    """The rules that boosting finds on several samples of these cases."""
    rules: set[Conjunction] = set()
    raises = np.array([test.op == MENTIONS for test in tests.comparisons])
    rng = np.random.default_rng(seed)
    rows = np.arange(len(fraud))
    is_large = has_many(fraud)
    for _ in range(_BAGS):
        chosen = np.zeros(len(fraud), bool)
        for label in (fraud, ~fraud):
            of_label = rows[label]
            size = _IN_A_SAMPLE if is_large else max(int(0.8 * len(of_label)), 1)
            chosen[rng.choice(of_label, size, replace=False)] = True
        some = tests.part(chosen)
        rules |= _boost(some, fraud[chosen], start[chosen], shares[chosen], depth, raises)
    return rules


def _boost(
    tests: Comparisons,
    fraud: Mask,
    start: Numbers,
    shares: Numbers,
    depth: int,
    raises: Mask,
) -> set[Conjunction]:
    rules: set[Conjunction] = set()
    log_odds, sums_over = start.astype(np.float64), tests.adder()
    for _ in range(_ROUNDS):
        log_odds += _RATE * best_shift(fraud, log_odds, shares)
        p = sigmoid(log_odds)
        gradient, curvature = shares * (fraud - p), shares * p * (1 - p)
        rule, gain = _best_rule(tests.masks, sums_over, gradient, curvature, depth, raises)
        if gain < _LEAST_GAIN:
            break
        rules.add(rule)
        fired = np.logical_and.reduce(tests.masks[list(rule)])
        step = float(gradient @ fired) / (float(curvature @ fired) + 1.0)
        log_odds += _RATE * step * fired
    return rules


def _best_rule(
    masks: Mask,
    sums_over: Callable[[Numbers], Numbers],
    gradient: Numbers,
    curvature: Numbers,
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
    numbers = np.array([gradient, curvature, np.ones(len(gradient))], np.float32)
    for level in range(depth):
        numbered = np.array(beam, int)
        fired = np.ascontiguousarray(masks[numbered].all(axis=1).T)
        columns = np.einsum("in,nj->nij", numbers, fired).reshape(len(fired), -1)
        sums = sums_over(columns).reshape(-1, 3, len(beam))
        gradients, curvatures, fires = sums[:, 0], sums[:, 1], sums[:, 2]
        gains = np.where(fires < MIN_FIRES, 0.0, gradients**2 / (curvatures + 1.0))
        if has_one_way:
            of_beam = raises[numbered].any(axis=1)
            gains[(gradients < 0) & (raises[:, None] | of_beam)] = 0.0
        scored: dict[Conjunction, float] = {}
        order, ranked = _largest(gains.T, _BEAM)
        for rule, tested, best_gains in zip(beam, order.tolist(), ranked.tolist(), strict=True):
            for i, gain in zip(tested, best_gains, strict=True):
                if i not in rule:
                    scored[tuple(sorted((*rule, i)))] = gain
        beam = sorted(scored, key=lambda rule: -scored[rule])[:_BEAM]
        if beam and scored[beam[0]] * _LONGER**level > most:
            best, most = beam[0], scored[beam[0]] * _LONGER**level
    return best, most


def _largest(gains: Numbers, most: int) -> tuple[NDArray[np.int64], Numbers]:
    """By row, the columns of so many largest numbers, in falling order, and these numbers."""
    rows = np.arange(len(gains))[:, None]
    if gains.shape[1] <= most:
        order = np.argsort(-gains, axis=1)
    else:
        some = np.argpartition(-gains, most, axis=1)[:, :most]
        order = some[rows, np.argsort(-gains[rows, some], axis=1)]
    return order, gains[rows, order]


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
        loss,
        split,
        jac=True,
        method="L-BFGS-B",
        bounds=bounds,
        options={"maxiter": 400, "ftol": _FALLS_OF_MANY if has_many(fraud) else _FALLS},
    ).x
    return np.append(split[:n] - split[n : 2 * n], split[-1])


def conditions_of(
    tests: Sequence[Comparison], rules: Iterable[Conjunction], weights: Numbers
) -> list[Condition]:
    """The rules as conditions, each with the verdict that its weight argues for; what a text
    mentions can argue for DECLINE only. Of two cuts that go the same way the closer one says all.
    """
    conditions = []
    for rule, weight in zip(rules, weights, strict=True):
        tested = closest_cuts([tests[i] for i in rule])
        declines = weight > 0 or any(test.op == MENTIONS for test in tested)
        conditions.append(Condition(tested, DECLINE if declines else APPROVE))
    return conditions
