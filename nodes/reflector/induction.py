"""Rule induction: find the condition that best explains one mistake among labelled cases.

A beam search tries conjunctions that hold on the case, scored by how much they would improve on
what the playbook says. Then every comparison of a rule must earn its place. It returns nothing
rather than a rule that chance explains. It knows tables and numbers, not playbooks or prompts.
"""

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Final

import numpy as np
from numpy.typing import NDArray

from acegraph.nodes.evidence.backtest import Backtest, backtest, can_prove
from acegraph.nodes.evidence.columns.cut_points import (
    Grid,
    closest_cuts,
    common_values,
    grid_of,
    roundest,
)
from acegraph.nodes.evidence.columns.entities import case_shares, distinct_numbers
from acegraph.nodes.evidence.columns.signal_check import has_signal
from acegraph.nodes.evidence.proof_levels import Gate, gate_of
from acegraph.nodes.evidence.residuals import Numbers, Residuals, residuals
from acegraph.nodes.runtime.blas import one_blas_thread
from acegraph.state import DECLINE, Condition
from acegraph.state.values.cases import CaseTable
from acegraph.state.values.condition import MAX_COMPARISONS, MENTIONS, Comparison
from acegraph.state.values.texts import mentions
from acegraph.state.values.transaction import Scalar
from acegraph.state.values.verdict import Verdict

_STANDARD: Final = gate_of("standard")
_MIN_FIRES: Final = 4
_BEAM: Final = 12
_CANDIDATES: Final = 6
"""How many of the best conjunctions are tested before the search gives up."""
_PER_COMPARISON: Final = 0.7
"""Standard errors that a further comparison must bring: the shorter rule wins a near tie."""
_LATER_SPREAD: Final = 4
_BETTER_ELSEWHERE: Final = 1.0
"""Standard errors by which a cut that excludes the case may do better before the rule is dropped:
beyond that the case is an outlier that would only stretch another rule."""
_SMALL: Final = 150
"""Up to this many cases a signal lowers the demands on further rules too, not only the first."""
_FLOOR: Final = 1.0
"""The least variance of a difference: few cases prove little, however sure the playbook was."""
Masks = NDArray[np.bool_]
Conjunction = tuple[int, ...]
"""A rule as the sorted row numbers of its comparisons in the masks."""


@dataclass(frozen=True)
class Induced:
    """A condition with the evidence for it."""

    condition: Condition
    evidence: Backtest
    tried: int
    """How many conditions the search could have found; the significance is corrected for them."""


@one_blas_thread
def induce(
    fields: Mapping[str, Scalar],
    label: Verdict,
    table: CaseTable,
    log_odds: Numbers,
    *,
    known_fields: frozenset[str] = frozenset(),
    gate: Gate | None = _STANDARD,
) -> Induced | None:
    """The best condition that holds on these fields and argues for this label, or None.

    `log_odds` is what the playbook says of each case now; its proven rules use `known_fields`.
    Without a gate the best condition of the search is returned, proven or not.
    """
    if not can_prove(table):
        return None
    grid = grid_of(table)
    tests, masks = _comparisons(fields, label, grid, table)
    if not tests:
        return None
    rest = residuals(table.fraud, log_odds, case_shares(table)).towards(
        1.0 if label == DECLINE else -1.0
    )
    search = _RuleSearch(fields, label, table, log_odds, known_fields, grid, tests, masks, rest)
    induced = search.best(gate)
    if induced or gate is None or gate.given_signal is None:
        return induced
    # No rule is proven alone. If all fields together show a signal, a first rule needs less proof.
    if known_fields and len(table) > _SMALL:
        return None  # comparisons that only go along with a known field would pass too
    return search.best(gate.given_signal) if has_signal(table, log_odds, gate.signal) else None


def fields_of(rules: Iterable[Condition]) -> frozenset[str]:
    """The fields that some rules compare."""
    return frozenset(name for rule in rules for name in rule.fields)


@dataclass(frozen=True)
class _RuleSearch:
    """The search for a rule that holds on one case."""

    fields: Mapping[str, Scalar]
    label: Verdict
    table: CaseTable
    log_odds: Numbers
    known_fields: frozenset[str]
    grid: Grid
    tests: Sequence[Comparison]
    masks: Masks
    rest: Residuals

    @cached_property
    def _candidates(self) -> list[Conjunction]:
        return _BeamSearch(self.masks, self.rest).run()

    def best(self, gate: Gate | None) -> Induced | None:
        """The best rule that meets the demands of a level of proof."""
        marks = sum(len(marks) for marks in self.grid.values())
        seen: set[Conjunction] = set()
        for candidate in self._candidates:
            rule = self._pruned(candidate, self._bars(marks, gate)) if gate else candidate
            if not rule or rule in seen:
                continue
            seen.add(rule)
            coarse = Condition(closest_cuts([self.tests[i] for i in rule]), self.label)
            condition = self._with_fine_cuts(coarse)
            if condition is None:
                continue
            evidence = backtest(condition, self.table, self.log_odds)
            further = len(condition.comparisons) - 1
            spread = _LATER_SPREAD if self.known_fields else max(marks, 1)
            tried = max(marks, 1) * spread**further
            chance = evidence.p_chance * tried
            if gate and (evidence.gain < gate.min_gain or chance > self._allowed(gate)):
                continue
            return Induced(condition, evidence, tried)
        return None

    def _allowed(self, gate: Gate) -> float:
        """The chance allowed to a rule as a whole.

        Until one is proved, the question is asked again as labels come in, and each doubling of
        their number has its part of the allowance.
        """
        looks = 1 if self.known_fields else self.table.times_grown
        return gate.first / (1 + math.log2(looks))

    def _bars(self, marks: int, gate: Gate) -> dict[str, float]:
        """The z that a comparison on each field must reach."""
        bars = {}
        for name, of_field in self.grid.items():
            is_known = name in self.known_fields
            bars[name] = gate.bar(len(of_field) if is_known else marks, is_known=is_known)
        return bars

    def _pruned(self, kept: Conjunction, bars: Mapping[str, float]) -> Conjunction:
        """A rule without the comparisons that miss their bars, the weakest dropped first."""
        while kept:
            fired: Masks = np.logical_and.reduce(self.masks[list(kept)])
            margin = {}
            for i in kept:
                others = [j for j in kept if j != i]
                barred: Masks = np.logical_and.reduce(self.masks[others]) & ~fired
                contrast = self.rest.contrast(fired, barred, _FLOOR)
                margin[i] = contrast - bars[self.tests[i].field]
            weakest = min(kept, key=margin.__getitem__)
            if margin[weakest] >= 0:
                return kept
            kept = tuple(i for i in kept if i != weakest)
        return ()

    def _with_fine_cuts(self, condition: Condition) -> Condition | None:
        """The condition with each cut moved to the best place between its neighbours on the grid.

        None where a cut that excludes the case does clearly better: then the case is an outlier.
        """
        tests = list(condition.comparisons)
        for at, test in enumerate(tests):
            value, column = self.fields.get(test.field), self.table.column(test.field)
            if test.op not in ("<", ">=") or column is None or not isinstance(value, int | float):
                continue
            others = np.ones(len(self.table), dtype=bool)
            for other in (*tests[:at], *tests[at + 1 :]):
                others &= other.holds_over(self.table)
            cuts = distinct_numbers(column)
            z = _z_of_cuts(column.numbers, cuts, test.op, others, self.rest)
            marks = np.array([m for m in self.grid[test.field] if isinstance(m, int | float)])
            low = marks[marks < test.value].max(initial=cuts[0])
            high = marks[marks > test.value].min(initial=cuts[-1])
            includes = (value >= cuts) if test.op == ">=" else (value < cuts)
            allowed = np.where((cuts > low) & (cuts <= high) & includes, z, -np.inf)
            best = int(np.argmax(allowed))
            if z.max() > allowed[best] + _BETTER_ELSEWHERE:
                return None
            tests[at] = Comparison(test.field, test.op, roundest(cuts[best - 1], cuts[best]))
        return Condition(tuple(tests), condition.verdict)


class _BeamSearch:
    """A beam search over conjunctions of the comparisons in `masks`."""

    def __init__(self, masks: Masks, rest: Residuals) -> None:
        self._masks = masks.astype(np.float32)
        self._gradient = rest.gradient.astype(np.float32)
        self._variance = rest.variance.astype(np.float32)
        self._shares = rest.shares.astype(np.float32)

    def run(self) -> list[Conjunction]:
        """The best conjunctions, best first."""
        scores: dict[Conjunction, float] = {}
        beam: list[Conjunction] = [()]
        for depth in range(1, MAX_COMPARISONS + 1):
            scored = self._extend(beam)
            beam = sorted(scored, key=lambda rule: -scored[rule])[:_BEAM]
            if not beam:
                break
            scores |= {rule: scored[rule] - _PER_COMPARISON * depth for rule in beam}
        worthy = [rule for rule, score in scores.items() if score > 0]
        return sorted(worthy, key=lambda rule: -scores[rule])[:_CANDIDATES]

    def _extend(self, beam: list[Conjunction]) -> dict[Conjunction, float]:
        """The z of the best conjunctions that add one comparison to one of the beam."""
        together = self._masks[np.array(beam, int)].prod(axis=1)
        fires = (together * self._shares) @ self._masks.T
        gains = (together * self._gradient) @ self._masks.T
        spread = (together * self._variance) @ self._masks.T
        z = np.where(fires >= _MIN_FIRES - 0.5, gains / np.sqrt(spread + 0.5), -np.inf)
        if beam[0]:  # a comparison that excludes no case adds nothing
            z[fires >= (together @ self._shares)[:, None] - 0.5] = -np.inf
        scored: dict[Conjunction, float] = {}
        order = np.argsort(-z, axis=1)[:, : 4 * _BEAM]
        ranked = np.take_along_axis(z, order, axis=1)
        for rule, columns, best in zip(beam, order.tolist(), ranked.tolist(), strict=True):
            for column, score in zip(columns, best, strict=True):
                if score > 0 and column not in rule:
                    scored[tuple(sorted((*rule, column)))] = score
        return scored


def _comparisons(
    fields: Mapping[str, Scalar], label: Verdict, grid: Grid, table: CaseTable
) -> tuple[list[Comparison], Masks]:
    """Every comparison worth trying that holds on these fields, and the cases where it holds."""
    tests: list[Comparison] = []
    for name, marks in grid.items():
        column, value = table.column(name), fields.get(name)
        assert column is not None
        if table.is_text(name):
            phrases = (str(mark) for mark in marks if isinstance(value, str))
            said = (p for p in phrases if label == DECLINE and mentions(str(value), p))
            tests.extend(Comparison(name, MENTIONS, phrase) for phrase in said)
        elif value is None:
            tests.append(Comparison(name, "is missing"))
        elif isinstance(value, bool | str):
            equal = [v for v in marks if isinstance(v, bool | str) and v == value]  # 1 is not true
            tests.extend(Comparison(name, "is", mark) for mark in equal)
            tests.extend(Comparison(name, "is not", v) for v in common_values(column) if v != value)
        elif column.is_numeric:
            for cut in marks:
                assert isinstance(cut, int | float)
                tests.append(Comparison(name, ">=" if value >= cut else "<", cut))
    masks = [test.holds_over(table) for test in tests]
    shares = case_shares(table)
    useful = [
        i for i, m in enumerate(masks) if shares @ m >= _MIN_FIRES - 0.5 and m.sum() < len(table)
    ]
    kept = [tests[i] for i in useful]
    return kept, np.array([masks[i] for i in useful]) if kept else np.zeros((0, 0), dtype=bool)


def _z_of_cuts(numbers: Numbers, cuts: Numbers, op: str, others: Masks, rest: Residuals) -> Numbers:
    """The z of a rule for every value at which one of its comparisons could cut."""
    inside = others & ~np.isnan(numbers)
    order = np.argsort(numbers[inside], kind="stable")
    gains = np.insert(np.cumsum(rest.gradient[inside][order]), 0, 0.0)
    spread = np.insert(np.cumsum(rest.variance[inside][order]), 0, 0.0)
    below = np.searchsorted(numbers[inside][order], cuts)
    shares = np.insert(np.cumsum(rest.shares[inside][order]), 0, 0.0)
    fires = shares[below] if op == "<" else shares[-1] - shares[below]
    gain = gains[below] if op == "<" else gains[-1] - gains[below]
    variance = spread[below] if op == "<" else spread[-1] - spread[below]
    return np.where(fires >= _MIN_FIRES - 0.5, gain / np.sqrt(variance + 0.5), -np.inf)
