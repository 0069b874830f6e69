"""Literals: what rules are made of, and the labelled cases on which each holds.

A literal is one comparison, or a standing rule as a whole. Numbers are cut where the frauds or the
honest cases are, each label as a whole with half the weight: cuts by all cases would stand where
honest cases are. Which fields a rule may use is decided in evidence/columns/learnable_fields.py.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Final

import numpy as np
from numpy.typing import NDArray

from acegraph.nodes.evidence.columns.learnable_fields import (
    A_GROUP,
    MAX_CATEGORIES,
    is_protected,
    learnable_fields,
)
from acegraph.nodes.evidence.columns.phrases import phrases_of, text_fields
from acegraph.nodes.evidence.residuals import Mask, Numbers
from acegraph.nodes.text.category_words import is_category
from acegraph.state.values import (
    MENTIONS,
    CaseTable,
    Column,
    Comparison,
    Condition,
    Scalar,
    is_observed,
)

Singles = NDArray[np.float32]
MIN_HOLDS: Final = 4
"""On so many cases a literal or a rule must hold."""
_LEVELS: Final = (0.01, *(i / 21 for i in range(1, 21)), 0.99, 0.997)
"""The quantiles at which a number is cut."""
_EVEN: Final = 10
"""At so many even steps it is cut, too."""
_ENDS: Final = (0.001, 0.98, 1 - 1e-9)
"""And where so much of either label lies below: where the one ends, the other may go on."""
_ROUND: Final = 0.01
"""The share of the cases that a cut may pass over to become a round number."""
_COMMON: Final = 0.04


@dataclass(frozen=True)
class Literals:
    """Literals, and the cases on which each holds."""

    tests: tuple[tuple[Comparison, ...], ...]
    masks: Mask
    fields: tuple[str, ...]
    """The field of each; none for a standing rule."""

    @classmethod
    def of(cls, table: CaseTable, shares: Numbers, chosen: Mask | None = None) -> "Literals":
        """Every comparison worth trying on a table, over the chosen ones of its cases."""
        names = [
            name
            for name in learnable_fields(table)
            if not (table.is_text(name) or is_observed(name) or is_protected(name, table))
        ]
        found = [
            *(test for name in names for test in _comparisons(name, table, shares)),
            *(
                Comparison(name, MENTIONS, phrase)
                for name in text_fields(table)
                for phrase in phrases_of(name, table)
            ),
        ]
        masks = np.array([test.holds_over(table) for test in found], bool)
        masks = masks.reshape(len(found), len(table))
        holds = masks @ shares
        useful = np.flatnonzero((holds >= MIN_HOLDS - 0.5) & ~masks.all(axis=1))
        kept = [found[i] for i in useful]
        over = masks[useful] if chosen is None else masks[np.ix_(useful, chosen)]
        return cls(tuple((test,) for test in kept), over, tuple(test.field for test in kept))

    def with_rules(self, rules: Sequence[Condition], fired: Mask) -> "Literals":
        """With standing rules as the last literals."""
        tests = tuple(rule.comparisons for rule in rules)
        masks = np.vstack([self.masks, fired]) if rules else self.masks
        return Literals((*self.tests, *tests), masks, (*self.fields, *("" for _ in rules)))

    def some(self, wanted: Sequence[int]) -> "Literals":
        """Some of the literals."""
        return Literals(
            tuple(self.tests[i] for i in wanted),
            self.masks[list(wanted)],
            tuple(self.fields[i] for i in wanted),
        )

    def part(self, cases: Mask) -> "Literals":
        """The same literals over some of the cases."""
        return Literals(self.tests, self.masks[:, cases], self.fields)

    @cached_property
    def numbers(self) -> Singles:
        """The cases on which each holds, as numbers to multiply."""
        return self.masks.astype(np.float32)

    @cached_property
    def only_raise(self) -> Mask:
        """Which of them may only raise a risk: anybody can write what a text mentions."""
        return np.array([any(t.op == MENTIONS for t in tests) for tests in self.tests], bool)

    @cached_property
    def narrow(self) -> Mask:
        """Which of them are to be taken alone: of a literal and its opposite the one that holds on
        fewer cases.
        """
        packed = np.packbits(self.masks, axis=1)
        opposite = np.packbits(~self.masks, axis=1)
        number = {row.tobytes(): i for i, row in enumerate(packed)}
        holds = self.masks.sum(axis=1)
        others = [number.get(row.tobytes(), i) for i, row in enumerate(opposite)]
        return np.array([(holds[i], i) <= (holds[j], j) for i, j in enumerate(others)], bool)

    def cuts(self, field: str) -> Numbers:
        """Where a field is cut, in order."""
        tests = (tests[0] for tests, name in zip(self.tests, self.fields, strict=True) if name)
        return np.unique([float(t.value or 0) for t in tests if t.field == field and is_cut(t)])


def is_cut(test: Comparison) -> bool:
    """Whether a comparison cuts a number."""
    return test.op in ("<", ">=")


def _comparisons(name: str, table: CaseTable, shares: Numbers) -> Iterator[Comparison]:
    column = table.column(name)
    assert column is not None
    if column.is_numeric:
        for cut in cuts_of(column.numbers, table.fraud, shares):
            yield Comparison(name, "<", cut)
            yield Comparison(name, ">=", cut)
        yield from (Comparison(name, "is", code) for code in _codes(column.known_numbers()))
    else:
        yield from (Comparison(name, "is", value) for value in common_groups(column))
        yield from (Comparison(name, "is not", value) for value in common_values(column))
    if not column.known().all():
        yield Comparison(name, "is missing")


def _codes(numbers: Numbers) -> list[int]:
    """The numbers that may be codes: whole ones of which there are few, each of a group of cases.

    >>> _codes(np.array([5411.0, 7011.0, 7995.0] * 5)), _codes(np.array([1.0, 2.5, 3.0] * 5))
    ([5411, 7011, 7995], [])
    """
    values, counts = np.unique(numbers, return_counts=True)
    if not 2 < len(values) <= MAX_CATEGORIES or (values % 1).any():
        return []
    return [int(value) for value in values[counts >= A_GROUP]]


def cuts_of(numbers: Numbers, fraud: Mask, shares: Numbers) -> list[float | int]:
    """Where a number may be cut: at quantiles and even steps, each at the roundest number near.

    >>> cuts_of(np.array([1.0, 2.0, 3.0, 4.0]), np.array([True, False] * 2), np.ones(4))
    [2, 3, 4]
    """
    known = ~np.isnan(numbers)
    values, at = np.unique(numbers[known], return_inverse=True)
    weight, ends = np.zeros(len(values)), list[NDArray[np.intp]]()
    for label in (fraud[known], ~fraud[known]):
        of_label = np.bincount(at, shares[known] * label, minlength=len(values))
        part = of_label / max(float(of_label.sum()), 1e-12)
        weight += part
        ends.append(np.searchsorted(np.cumsum(part), _ENDS) + 1)
    if len(values) < 2:
        return []
    below = np.cumsum(weight) - weight
    below /= below[-1] + weight[-1]
    places = np.arange(len(values))
    if len(values) > len(_LEVELS):
        first, *_, last = np.searchsorted(below, _LEVELS)
        even = np.linspace(
            values[max(first - 1, 0)], values[min(last, len(values) - 1)], _EVEN + 2
        )[1:-1]
        places = np.concatenate(
            [np.searchsorted(below, _LEVELS), np.searchsorted(values, even), *ends]
        )
    inside = np.unique(places[(places > 0) & (places < len(values))])
    lowest = np.maximum(np.searchsorted(below, below[inside] - _ROUND), 1)
    highest = np.searchsorted(below, below[inside] + _ROUND, side="right") - 1
    found = (roundest(values[i - 1], values[j]) for i, j in zip(lowest, highest, strict=True))
    return sorted(dict.fromkeys(found))


def roundest(low: float, high: float) -> float | int:
    """The number in (low, high] with the fewest digits."""
    step = 10.0 ** np.floor(np.log10(max(abs(high), abs(low), 1e-12)))
    for _ in range(20):
        for fraction in (1.0, 0.5):
            cut = round(float(np.floor(high / (step * fraction)) * step * fraction), 12)
            if low < cut <= high:
                return int(cut) if cut.is_integer() else cut
        step /= 10
    return float(high)


def common_groups(column: Column) -> list[str | bool]:
    """The values of a category; of very many, such as countries, the most frequent ones."""
    counts = column.counts()
    often = sorted(counts, key=lambda value: -counts[value])[:MAX_CATEGORIES]
    are_few = len(counts) <= MAX_CATEGORIES
    return [v for v in often if (are_few or counts[v] >= A_GROUP) and _is_mark(v)]


def common_values(column: Column) -> list[str | bool]:
    """The categories that are frequent enough for an exception ("is not"); none for a flag."""
    counts = column.counts()
    if len(counts) <= 2:
        return []
    return [v for v, n in counts.items() if n >= _COMMON * len(column.codes) and _is_mark(v)]


def _is_mark(value: Scalar) -> bool:
    """Whether a condition may compare with a value: a flag, or a word that is no sentence."""
    return isinstance(value, bool) or is_category(str(value))


def closest_cuts(tests: Sequence[Comparison]) -> tuple[Comparison, ...]:
    """The comparisons without those that follow from another one.

    >>> low, high = Comparison("amount", ">=", 97), Comparison("amount", ">=", 130)
    >>> closest_cuts([low, high]) == (high,)
    True
    """
    return tuple(test for test in tests if not any(_follows(test, other) for other in tests))


def _follows(test: Comparison, other: Comparison) -> bool:
    """Whether a cut holds wherever another one of its field holds."""
    if (test.field, test.op) != (other.field, other.op) or not is_cut(test):
        return False
    cut, other_cut = float(test.value or 0), float(other.value or 0)
    return cut > other_cut if test.op == "<" else cut < other_cut
