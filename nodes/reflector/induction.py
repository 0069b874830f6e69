"""Rule induction: the condition that best explains one mistake, found among labelled cases.

A beam search over conjunctions that hold on the case, scored by how much they would improve what
the playbook already says; then every comparison of a found rule must earn its place. It returns
nothing rather than a rule that chance explains. It knows tables and numbers, nothing of playbooks
or prompts.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Final

import numpy as np
from numpy.typing import NDArray

from acegraph.nodes.evidence.backtest import Backtest, backtest, can_prove
from acegraph.nodes.evidence.cut_points import Grid, common_values, grid_of, roundest
from acegraph.nodes.evidence.proof_levels import Gate, gate_of
from acegraph.nodes.evidence.residuals import Numbers, Residuals, residuals
from acegraph.nodes.reflector.signal_check import FINEST, chance_of_no_signal
from acegraph.nodes.runtime.blas import one_blas_thread
from acegraph.state import DECLINE, CaseTable, Comparison, Condition, Scalar, Verdict
from acegraph.state.values.condition import MAX_COMPARISONS

_MIN_FIRES: Final = 4
_BEAM: Final = 12
_CANDIDATES: Final = 6
"""How many of the best conjunctions are tested before the search gives up."""
_PER_COMPARISON: Final = 0.7
"""Standard errors that a further comparison must bring: the shorter rule wins a near tie."""
_LATER_SPREAD: Final = 4
_BETTER_ELSEWHERE: Final = 1.0
"""Standard errors by which a cut that leaves the case out may do better before the rule falls: the
case is then an outlier that would only stretch somebody else's rule."""
_TOO_FEW: Final = 40
_FEW: Final = 50
"""From how many cases on it is asked whether there is anything to learn, and asked in full."""
_SMALL: Final = 150
"""Up to so many cases a further rule may need less, too, where there is."""
_FLOOR: Final = 1.0
"""Variance that a difference always has: a few cases about which the playbook was all too sure
prove little."""


Masks = NDArray[np.bool_]


@dataclass(frozen=True)
class Induced:
    """A condition with the evidence for it."""

    condition: Condition
    evidence: Backtest
    tried: int
    """How many conditions were looked at: what its significance was corrected for."""


@one_blas_thread
def induce(
    fields: Mapping[str, Scalar],
    label: Verdict,
    table: CaseTable,
    log_odds: Numbers,
    *,
    known: frozenset[str] = frozenset(),
    gate: Gate | None = gate_of("standard"),  # noqa: B008
) -> Induced | None:
    """The best condition that holds on these fields and argues for this label, or None.

    `log_odds` is what the playbook says of each case now, `known` the fields that its proven rules
    use. Without a gate the best condition of the search is given, whatever it is worth.
    """
    if not can_prove(table):
        return None
    grid = grid_of(table)
    tests, masks = _comparisons(fields, grid, table)
    if not tests:
        return None
    rest = residuals(table.fraud, log_odds).towards(1.0 if label == DECLINE else -1.0)
    hunt = _Hunt(fields, label, table, log_odds, known, grid, tests, masks, rest)
    found = hunt.best(gate)
    if found or gate is None or gate.given_signal is None or (known and len(table) > _SMALL):
        return found
    # No rule stands alone. Where something is to be found, the best will do: the first, and from
    # few cases further ones; from many, what rides along with a known field would pass as well.
    # The question is asked again as cases come in: not too early, and later with less patience.
    allowed = gate.signal * min(1.0, _FEW / len(table)) if len(table) >= _TOO_FEW else 0.0
    is_there = allowed >= FINEST and chance_of_no_signal(table, grid, log_odds) <= allowed
    return hunt.best(gate.given_signal) if is_there else None


@dataclass(frozen=True)
class _Hunt:
    """The search for a rule on one case."""

    fields: Mapping[str, Scalar]
    label: Verdict
    table: CaseTable
    log_odds: Numbers
    known: frozenset[str]
    grid: Grid
    tests: Sequence[Comparison]
    masks: Masks
    rest: Residuals

    @cached_property
    def _candidates(self) -> list[tuple[int, ...]]:
        return _Search(self.masks, self.rest).run()

    def best(self, gate: Gate | None) -> Induced | None:
        """The best rule that meets the demands."""
        marks = sum(len(marks) for marks in self.grid.values())
        seen: set[tuple[int, ...]] = set()
        for found in self._candidates:
            rule = found
            if gate:
                bars = _bars(self.grid, marks, self.known, gate)
                rule = _earned(found, self.tests, self.masks, self.rest, bars)
            if not rule or rule in seen:
                continue
            seen.add(rule)
            whole = _simplest(Condition(tuple(self.tests[i] for i in rule), self.label))
            condition = _fine_cut(whole, self.fields, self.table, self.grid, self.rest)
            if condition is None:
                continue
            evidence = backtest(condition, self.table, self.log_odds)
            further = len(condition.comparisons) - 1
            tried = max(marks, 1) * (_LATER_SPREAD if self.known else max(marks, 1)) ** further
            if gate and (evidence.gain < gate.min_gain or evidence.p_chance * tried > gate.first):
                continue
            return Induced(condition, evidence, tried)
        return None


class _Search:
    """Beam search: conjunctions as sorted tuples of row numbers of `masks`."""

    def __init__(self, masks: Masks, rest: Residuals) -> None:
        self._masks = masks.astype(np.float32)
        self._gradient = rest.gradient.astype(np.float32)
        self._variance = rest.variance.astype(np.float32)

    def run(self) -> list[tuple[int, ...]]:
        """The best conjunctions, best first."""
        scores: dict[tuple[int, ...], float] = {}
        beam: list[tuple[int, ...]] = [()]
        for depth in range(1, MAX_COMPARISONS + 1):
            scored = self._extend(beam)
            beam = sorted(scored, key=lambda rule: -scored[rule])[:_BEAM]
            if not beam:
                break
            scores |= {rule: scored[rule] - _PER_COMPARISON * depth for rule in beam}
        worthy = [rule for rule, score in scores.items() if score > 0]
        return sorted(worthy, key=lambda rule: -scores[rule])[:_CANDIDATES]

    def _extend(self, beam: list[tuple[int, ...]]) -> dict[tuple[int, ...], float]:
        """The z of every conjunction that adds one comparison to one of the beam."""
        together = np.array([self._masks[list(rule)].prod(axis=0) for rule in beam])
        fires = together @ self._masks.T
        gains = (together * self._gradient) @ self._masks.T
        spread = (together * self._variance) @ self._masks.T
        z = np.where(fires >= _MIN_FIRES, gains / np.sqrt(spread + 0.5), -np.inf)
        if beam[0]:  # a comparison that excludes no case says nothing
            z[fires >= together.sum(axis=1, keepdims=True) - 0.5] = -np.inf
        scored: dict[tuple[int, ...], float] = {}
        for row, rule in enumerate(beam):
            for column in np.argsort(-z[row])[: 4 * _BEAM]:
                if z[row, column] > 0 and column not in rule:
                    scored[tuple(sorted((*rule, int(column))))] = float(z[row, column])
        return scored


def _comparisons(
    fields: Mapping[str, Scalar], grid: Grid, table: CaseTable
) -> tuple[list[Comparison], Masks]:
    """Every comparison worth trying that holds on these fields, and where it holds."""
    tests: list[Comparison] = []
    for name, marks in grid.items():
        column, value = table.column(name), fields.get(name)
        assert column is not None
        if value is None:
            tests.append(Comparison(name, "is missing"))
        elif isinstance(value, bool | str):
            own = [v for v in marks if isinstance(v, bool | str) and v == value]  # 1 is not true
            tests.extend(Comparison(name, "is", mark) for mark in own)
            tests.extend(Comparison(name, "is not", v) for v in common_values(column) if v != value)
        elif column.is_numeric:
            for cut in marks:
                assert isinstance(cut, int | float)
                tests.append(Comparison(name, ">=" if value >= cut else "<", cut))
    masks = [test.holds_over(table) for test in tests]
    useful = [i for i, mask in enumerate(masks) if _MIN_FIRES <= mask.sum() < len(table)]
    kept = [tests[i] for i in useful]
    return kept, np.array([masks[i] for i in useful]) if kept else np.zeros((0, 0), dtype=bool)


def _bars(grid: Grid, marks: int, known: frozenset[str], gate: Gate) -> dict[str, float]:
    """The z that a comparison on each field must reach."""
    return {
        name: gate.bar(len(own) if name in known else marks, is_known=name in known)
        for name, own in grid.items()
    }


def _earned(
    rule: Sequence[int],
    tests: Sequence[Comparison],
    masks: Masks,
    rest: Residuals,
    bars: Mapping[str, float],
) -> tuple[int, ...]:
    """The rule without the comparisons that ride along: what remains earns its place."""
    kept = tuple(rule)
    while kept:
        fired: Masks = np.logical_and.reduce(masks[list(kept)])
        margin = {}
        for i in kept:
            others = [j for j in kept if j != i]
            barred: Masks = np.logical_and.reduce(masks[others]) & ~fired
            margin[i] = rest.contrast(fired, barred, _FLOOR) - bars[tests[i].field]
        weakest = min(kept, key=margin.__getitem__)
        if margin[weakest] >= 0:
            return kept
        kept = tuple(i for i in kept if i != weakest)
    return ()


def _fine_cut(
    condition: Condition,
    fields: Mapping[str, Scalar],
    table: CaseTable,
    grid: Grid,
    rest: Residuals,
) -> Condition | None:
    """Each cut moved to the best place between its neighbours on the grid.

    None where a cut that leaves the case out does clearly better: then the case is an outlier.
    """
    tests = list(condition.comparisons)
    for at, test in enumerate(tests):
        value, column = fields.get(test.field), table.column(test.field)
        if test.op not in ("<", ">=") or column is None or not isinstance(value, int | float):
            continue
        others = np.ones(len(table), dtype=bool)
        for other in (*tests[:at], *tests[at + 1 :]):
            others &= other.holds_over(table)
        cuts = np.unique(column.numbers[~np.isnan(column.numbers)])
        z = _z_of_cuts(column.numbers, cuts, test.op, others, rest)
        marks = np.array([mark for mark in grid[test.field] if isinstance(mark, int | float)])
        low = marks[marks < test.value].max(initial=cuts[0])
        high = marks[marks > test.value].min(initial=cuts[-1])
        includes = (value >= cuts) if test.op == ">=" else (value < cuts)
        allowed = np.where((cuts > low) & (cuts <= high) & includes, z, -np.inf)
        best = int(np.argmax(allowed))
        if z.max() > allowed[best] + _BETTER_ELSEWHERE:
            return None
        tests[at] = Comparison(test.field, test.op, roundest(cuts[best - 1], cuts[best]))
    return Condition(tuple(tests), condition.verdict)


def _z_of_cuts(numbers: Numbers, cuts: Numbers, op: str, others: Masks, rest: Residuals) -> Numbers:
    """The z of the rule for every place at which one of its numbers could be cut."""
    inside = others & ~np.isnan(numbers)
    order = np.argsort(numbers[inside], kind="stable")
    gains = np.insert(np.cumsum(rest.gradient[inside][order]), 0, 0.0)
    spread = np.insert(np.cumsum(rest.variance[inside][order]), 0, 0.0)
    below = np.searchsorted(numbers[inside][order], cuts)
    fires = below if op == "<" else len(order) - below
    gain = gains[below] if op == "<" else gains[-1] - gains[below]
    variance = spread[below] if op == "<" else spread[-1] - spread[below]
    return np.where(fires >= _MIN_FIRES, gain / np.sqrt(variance + 0.5), -np.inf)


def _simplest(condition: Condition) -> Condition:
    """Without comparisons that a stricter one of the same field and direction implies."""
    strictest: dict[tuple[str, str, Scalar], Comparison] = {}
    for c in condition.comparisons:
        if c.op not in ("<", ">="):
            strictest[c.field, c.op, c.value] = c
            continue
        before = strictest.get((c.field, c.op, None))
        if before is None or _stricter(c, before):
            strictest[c.field, c.op, None] = c
    return Condition(tuple(strictest.values()), condition.verdict)


def _stricter(left: Comparison, right: Comparison) -> bool:
    assert isinstance(left.value, int | float)
    assert isinstance(right.value, int | float)
    return left.value > right.value if left.op == ">=" else left.value < right.value
