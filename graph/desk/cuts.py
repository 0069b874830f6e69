"""Where to cut: what a rule would do if one of the numbers in it were another."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Final

import numpy as np

from acegraph.graph.metrics.records import Cases, Record
from acegraph.state import Condition
from acegraph.state.values.condition import Comparison

_SHARES: Final = np.linspace(0, 1, 6)
"""Where frauds, and where good payments, are cut into equal parts."""


@dataclass(frozen=True)
class Cut:
    """A rule with another number in one of its comparisons, and what it does then."""

    value: float
    tried: Record
    is_now: bool


def other_cuts(cases: Cases, condition: Condition) -> dict[Comparison, list[Cut]]:
    """For each comparison with a number, what the rule does with others in its place."""
    numeric = (one for one in condition.comparisons if one.op in ("<", "<=", ">", ">="))
    return {one: _cuts_of(cases, condition, one) for one in dict.fromkeys(numeric)}


def _cuts_of(cases: Cases, condition: Condition, comparison: Comparison) -> list[Cut]:
    column, now = cases.table.column(comparison.field), comparison.value
    assert isinstance(now, int | float)
    values = {float(now)}
    # Frauds and good payments weigh the same, however rare one of them is.
    for kind in (cases.fraud, cases.honest):
        numbers = column.numbers[kind] if column else np.zeros(0)
        known = numbers[~np.isnan(numbers)]
        places = np.quantile(known, _SHARES, method="nearest") if len(known) else ()
        values |= {float(f"{value:.4g}") for value in places}
    return [Cut(value, _tried(cases, condition, comparison, value), value == now)
            for value in sorted(values)]  # fmt: skip


def _tried(cases: Cases, condition: Condition, comparison: Comparison, value: float) -> Record:
    written = int(value) if value.is_integer() else value
    another = replace(comparison, value=written)
    changed = (another if one == comparison else one for one in condition.comparisons)
    rule = replace(condition, comparisons=tuple(changed))
    return cases.tried(rule, rule.holds_over(cases.table))
