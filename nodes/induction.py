"""Rule induction: the condition that best explains one mistake, found among labelled cases.

A beam search over conjunctions that hold on the case, scored by how much they would improve what
the playbook already says. It returns nothing rather than a rule that chance explains. It knows
tables and numbers, nothing of playbooks or prompts.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

from acegraph.nodes.blas import one_blas_thread
from acegraph.nodes.evidence import Backtest, Numbers, backtest, residuals
from acegraph.state import DECLINE, CaseTable, Comparison, Condition, Scalar, Verdict
from acegraph.state.cases import Column
from acegraph.state.condition import MAX_COMPARISONS

MIN_CASES: Final = 12
_MIN_FIRES: Final = 4
_BEAM: Final = 12
_CUTS: Final = 12
_ALPHA: Final = 0.02
_MIN_GAIN: Final = 2.0
"""Standard errors by which a rule must improve on what the playbook already says."""
_PER_COMPARISON: Final = 0.7
"""Standard errors that a further comparison must bring: the shorter rule wins a near tie."""
_LATER_SPREAD: Final = 4
_SAMPLE: Final = 2_000
"""How many of the newest values say where a number may be cut."""
_MAX_CATEGORIES: Final = 60
_MAX_WORD: Final = 60
_NAMES_AN_ENTITY: Final = frozenset(
    "uuid guid hash token iban pan ssn email mail phone ip name street zip postcode".split()
)
_NAMES_A_NUMBER: Final = frozenset("id num number nr no".split())
_NAMES_A_QUANTITY: Final = frozenset(
    "amount amt price value balance income sum total cost pop population salary".split()
)


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
    is_first: bool = True,
) -> Induced | None:
    """The best condition that holds on these fields and argues for this label, or None.

    `log_odds` is what the playbook says of each case now. The first rule must stand against all
    conditions of its length that the table offers; once one has, there is something to learn, and a
    further rule must stand against the few that the search looked at (EXPERIMENTS.md has both).
    """
    if len(table) < MIN_CASES or table.fraud.all() or not table.fraud.any():
        return None
    grid = _grid(table)
    tests, masks = _comparisons(fields, grid, table)
    if not tests:
        return None
    sign = 1.0 if label == DECLINE else -1.0
    gradient, variance = residuals(table.fraud, log_odds)
    search = _Search(masks, sign * gradient, variance)
    best = search.run()
    if best is None:
        return None
    condition = _simplest(Condition(tuple(tests[i] for i in best), label))
    found = backtest(condition, table, log_odds)
    further = len(condition.comparisons) - 1
    universe = max(sum(len(marks) for marks in grid.values()), 1)
    tried = universe * (universe if is_first else _LATER_SPREAD) ** further
    if found.gain < _MIN_GAIN or found.p_chance * tried > _ALPHA:
        return None
    return Induced(condition, found, tried)


class _Search:
    """Beam search: conjunctions as sorted tuples of row numbers of `masks`."""

    def __init__(self, masks: NDArray[np.bool_], gradient: Numbers, variance: Numbers) -> None:
        self._masks = masks.astype(np.float32)
        self._gradient = gradient.astype(np.float32)
        self._variance = variance.astype(np.float32)

    def run(self) -> tuple[int, ...] | None:
        best, best_score = None, 0.0
        beam: list[tuple[int, ...]] = [()]
        for depth in range(1, MAX_COMPARISONS + 1):
            scored = self._extend(beam)
            ranked = sorted(scored, key=lambda rule: -scored[rule])[:_BEAM]
            if not ranked:
                break
            score = scored[ranked[0]] - _PER_COMPARISON * depth
            if score > best_score:
                best, best_score = ranked[0], score
            beam = ranked
        return best

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


Grid = dict[str, list[Scalar]]
"""Per field the marks it offers to comparisons: cut points of a number, values of a category."""


def _grid(table: CaseTable) -> Grid:
    grid: Grid = {}
    for name in learnable_fields(table):
        column = table.column(name)
        assert column is not None
        if column.is_numeric:
            grid[name] = list(cut_points(column.numbers[~np.isnan(column.numbers)][-_SAMPLE:]))
        else:
            grid[name] = [v for v in column.values if len(str(v)) <= _MAX_WORD]
    return grid


def _comparisons(
    fields: Mapping[str, Scalar], grid: Grid, table: CaseTable
) -> tuple[list[Comparison], NDArray[np.bool_]]:
    """Every comparison worth trying that holds on these fields, and where it holds."""
    tests: list[Comparison] = []
    for name, marks in grid.items():
        column, value = table.column(name), fields.get(name)
        assert column is not None
        if value is None:
            tests.append(Comparison(name, "is missing"))
        elif isinstance(value, bool | str):
            tests.extend(Comparison(name, "is", mark) for mark in marks if mark == value)
            tests.extend(Comparison(name, "is not", v) for v in _common(column) if v != value)
        elif column.is_numeric:
            for cut in marks:
                assert isinstance(cut, int | float)
                tests.append(Comparison(name, ">=" if value >= cut else "<", cut))
    masks = [test.holds_over(table) for test in tests]
    useful = [i for i, mask in enumerate(masks) if _MIN_FIRES <= mask.sum() < len(table)]
    kept = [tests[i] for i in useful]
    return kept, np.array([masks[i] for i in useful]) if kept else np.zeros((0, 0), dtype=bool)


def _common(column: Column) -> list[Scalar]:
    """The categories frequent enough for an exception ("is not") to make sense; not for flags."""
    if len(column.values) <= 2:
        return []
    known = column.codes[column.codes >= 0]
    counts = np.bincount(known, minlength=len(column.values))
    enough = 0.04 * len(column.codes)
    return [
        value
        for value, n in zip(column.values, counts, strict=True)
        if n >= enough and len(str(value)) <= _MAX_WORD
    ]


def learnable_fields(table: CaseTable) -> list[str]:
    """The fields that a rule may use: no identifiers."""
    return [name for name in table.field_names if not is_identifier(name, table)]


def is_identifier(name: str, table: CaseTable) -> bool:
    """Whether a field names an individual rather than describing a case: by name or by values."""
    column = table.column(name)
    if column is None:
        return True
    words = re.findall(r"[a-z]+", re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "_", name).lower())
    last = words[-1] if words else ""
    if not column.is_numeric:
        if all(isinstance(value, bool) for value in column.values):
            return False
        n, distinct = int((column.codes >= 0).sum()), len(column.values)
        is_named = bool(_NAMES_AN_ENTITY & set(words)) or last in _NAMES_A_NUMBER
        return is_named or distinct > _MAX_CATEGORIES or (distinct > 10 and distinct > 0.3 * n)
    known = column.numbers[~np.isnan(column.numbers)][-_SAMPLE:]
    is_whole = bool(np.all(known == np.floor(known)))
    if not is_whole or _NAMES_A_QUANTITY & set(words):
        return False
    is_sparse = len(np.unique(known)) > 0.5 * len(known) and len(known) >= 20
    is_named = bool(_NAMES_AN_ENTITY & set(words)) or last in _NAMES_A_NUMBER
    return (is_named and (is_sparse or last == "id")) or (is_sparse and bool(known.max() > 1e7))


def cut_points(known: NDArray[np.float64]) -> list[float | int]:
    """Where a number may be cut: between values, at quantiles, at the roundest number in the gap.

    >>> cut_points(np.array([1.0, 2.0, 3.0, 4.0]))
    [2, 3, 4]
    """
    values = np.unique(known)
    if len(values) > _CUTS + 1:
        quantiles = np.quantile(known, np.linspace(0, 1, _CUTS + 2)[1:-1], method="nearest")
        upper = np.unique(np.searchsorted(values, quantiles))
        upper = upper[upper > 0]
    else:
        upper = np.arange(1, len(values))
    return list(dict.fromkeys(_roundest(values[i - 1], values[i]) for i in upper))


def _roundest(low: float, high: float) -> float | int:
    """The number in (low, high] with the fewest digits."""
    step = 10.0 ** np.floor(np.log10(max(abs(high), abs(low), 1e-12)))
    for _ in range(20):
        for fraction in (1.0, 0.5):
            cut = round(float(np.floor(high / (step * fraction)) * step * fraction), 12)
            if low < cut <= high:
                return int(cut) if cut.is_integer() else cut
        step /= 10
    return float(high)


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
