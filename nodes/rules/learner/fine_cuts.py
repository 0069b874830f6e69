"""Fine cuts: each number of a rule at the best place between the neighbours that the search had."""

from collections.abc import Mapping
from typing import Final

import numpy as np

from acegraph.nodes.evidence.columns.entities import distinct_numbers
from acegraph.nodes.evidence.residuals import Mask, Numbers, Residuals
from acegraph.nodes.rules.learner.literals import MIN_HOLDS, Literals, is_cut, roundest
from acegraph.state.values import CaseTable, Comparison, Condition, Scalar

_BETTER_ELSEWHERE: Final = 1.0
"""Standard errors by which a cut that excludes the case may do better before the rule is dropped:
beyond that the case is an outlier that would only stretch another rule."""


def with_fine_cuts(
    rule: Condition,
    table: CaseTable,
    rest: Residuals,
    literals: Literals,
    case: Mapping[str, Scalar] | None = None,
) -> Condition | None:
    """The rule with each cut moved to where it explains most of the `rest`.

    A rule that was found around a `case` goes on to hold on it; None where cuts that exclude the
    case do clearly better.
    """
    tests = list(rule.comparisons)
    for at in (*range(len(tests)), *range(len(tests))):  # one cut moves the other
        test = tests[at]
        column = table.column(test.field)
        if not is_cut(test) or column is None:
            continue
        others = np.ones(len(table), dtype=bool)
        for other in (*tests[:at], *tests[at + 1 :]):
            others &= other.holds_over(table)
        cuts, marks = distinct_numbers(column), literals.cuts(test.field)
        z = _z_of_cuts(column.numbers, cuts, test.op, others, rest)
        now = float(test.value or 0)
        low = marks[marks < now].max(initial=cuts[0])
        high = marks[marks > now].min(initial=cuts[-1])
        is_allowed = (cuts > low) & (cuts <= high)
        if case is not None:
            value = float(case[test.field] or 0)
            is_allowed &= (value >= cuts) if test.op == ">=" else (value < cuts)
        allowed = np.where(is_allowed, z, -np.inf)
        best = int(np.argmax(allowed))
        if case is not None and z.max() > allowed[best] + _BETTER_ELSEWHERE:
            return None
        if np.isfinite(allowed[best]):
            tests[at] = Comparison(test.field, test.op, roundest(cuts[best - 1], cuts[best]))
    return Condition(tuple(tests), rule.verdict)


def _z_of_cuts(numbers: Numbers, cuts: Numbers, op: str, others: Mask, rest: Residuals) -> Numbers:
    """The z of a rule for every value at which one of its comparisons could cut."""
    inside = others & ~np.isnan(numbers)
    order = np.argsort(numbers[inside], kind="stable")
    below = np.searchsorted(numbers[inside][order], cuts)

    def passing(of_case: Numbers) -> Numbers:
        sums = np.insert(np.cumsum(of_case[inside][order]), 0, 0.0)
        return np.asarray(sums[below] if op == "<" else sums[-1] - sums[below])

    gain, spread, holds = passing(rest.gradient), passing(rest.variance), passing(rest.shares)
    spread = spread - spread**2 / float(rest.variance.sum())  # all log-odds may shift as well
    return np.where(holds >= MIN_HOLDS - 0.5, gain / np.sqrt(spread + 0.5), -np.inf)
