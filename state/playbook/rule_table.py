"""What rules say of a transaction: each different comparison is asked once.

Values between the same cuts of a field get the same answers, and are asked once for all.
"""

from bisect import bisect_left
from collections.abc import Callable, Mapping, Sequence
from itertools import compress, starmap
from typing import Final, Generic, TypeVar

import numpy as np
from numpy.typing import NDArray

from acegraph.state.values import (
    MAX_COMPARISONS,
    Comparison,
    Condition,
    Scalar,
    grown,
    is_derived,
    is_number,
)

FAILS: Final = -1
CANNOT_SAY: Final = 0
HOLDS: Final = 1
"""A condition says the least of what its comparisons say."""
Answers = NDArray[np.int8]
"""Per row HOLDS, FAILS or CANNOT_SAY; a row without a condition cannot say."""
_SAID: Final = {True: HOLDS, False: FAILS, None: CANNOT_SAY}
_NO_TEST: Final = 0  # the number of what every unused comparison of a row asks
_KEPT: Final = 100_000
"""So many answers of a field are kept."""
_KEPT_TEXT: Final = 100
"""Answers to a longer text are not kept."""
_ABSENT: Final = object()
T = TypeVar("T")


class FieldTests(Generic[T]):
    """The comparisons of one field, and what is made of their answers to a value."""

    def __init__(
        self, name: str, tests: Sequence[Comparison], make: Callable[[list[bool | None]], T]
    ) -> None:
        self._name, self.tests, self._make = name, tests, make
        values = {value for t in tests for value in (t.steps.places if t.steps else (t.value,))}
        self._cuts = sorted(float(value) for value in values if is_number(value))
        self._is_cut_only = all(value is None or is_number(value) for value in values)
        self._kept: dict[object, T] = {}

    def say(self, fields: Mapping[str, Scalar]) -> T:
        """What is made of the answers to the value of the field, or to its lack."""
        value = fields.get(self._name, _ABSENT)
        kind = type(value)
        key: object = (kind, value)
        if self._is_cut_only and (kind is float or kind is int) and value == value:
            place = bisect_left(self._cuts, value)  # type: ignore[call-overload]
            key = 2 * place + (self._cuts[place : place + 1] == [value])
        if key in self._kept:
            return self._kept[key]
        said = self._make([test.holds(fields) for test in self.tests])
        is_long = kind is str and len(value) > _KEPT_TEXT  # type: ignore[arg-type]
        if not is_long and len(self._kept) * len(self.tests) < _KEPT:
            self._kept[key] = said
        return said


class Conjunctions:
    """Some conjunctions of comparisons: which of them hold."""

    def __init__(self, conjunctions: Sequence[Sequence[Comparison]]) -> None:
        tests = {test.key: test for one in conjunctions for test in one}
        self._bits = {key: 1 << number for number, key in enumerate(tests)}
        by_field: dict[str, list[Comparison]] = {}
        for test in tests.values():
            by_field.setdefault(test.field, []).append(test)
        self._fields = [*starmap(self._tests_of, by_field.items())]
        self._wanted = [sum({self._bits[test.key] for test in one}) for one in conjunctions]

    def _tests_of(self, name: str, tests: Sequence[Comparison]) -> FieldTests[int]:
        bits = [self._bits[test.key] for test in tests]
        return FieldTests(name, tests, lambda said: sum(compress(bits, said)))

    def that_hold(self, fields: Mapping[str, Scalar]) -> list[int]:
        """The places of those whose comparisons all hold."""
        held = 0
        for tests in self._fields:
            held |= tests.say(fields)
        return [place for place, bits in enumerate(self._wanted) if held & bits == bits]


class RuleTable:
    """The conditions, one row for each bullet: all of them are tested on one transaction at once.

    A row is written once, and each different comparison is tested once. The answers are those of
    `Condition.holds`.
    """

    def __init__(self) -> None:
        self._numbers: dict[object, int] = {}
        self._tests: dict[str, list[Comparison]] = {}
        """By field."""
        self._asked_of: dict[str, FieldTests[list[tuple[int, int]]]] = {}
        self._asked = np.zeros((MAX_COMPARISONS, 0), np.int32)
        """The numbers of the comparisons of each row, the least one first."""
        self.is_rule = np.zeros(0, bool)
        self.tested_derived: set[str] = set()
        """The fields derived from earlier payments that conditions test."""

    def put(self, row: int, condition: Condition | None) -> None:
        """Write the condition of one row."""
        self.is_rule = grown(self.is_rule, row + 1)
        self._asked = grown(self._asked, row + 1, axis=1)
        if condition is not None:
            for test in condition.comparisons:
                if test.key not in self._numbers:
                    self._numbers[test.key] = len(self._numbers) + 1
                    self._tests.setdefault(test.field, []).append(test)
                    if is_derived(test.field):
                        self.tested_derived.add(test.field)
            self.is_rule[row], self._asked[:, row] = True, self._numbers_of(condition)

    def _numbers_of(self, condition: Condition) -> list[int]:
        """The numbers of what a condition asks; -1 for what no row asks."""
        numbers = sorted(self._numbers.get(key, -1) for key in condition.tests())
        return [*numbers, *[_NO_TEST] * (MAX_COMPARISONS - len(numbers))]

    def holds(self, fields: Mapping[str, Scalar], rows: int) -> Answers:
        """What the conditions of the first `rows` rows say of a transaction."""
        found: list[tuple[int, int]] = []
        for name in [*self._tests]:
            found += self._tests_of(name).say(fields)
        said = np.full(len(self._numbers) + 1, HOLDS, np.int8)
        for number, answer in found:
            said[number] = answer
        answers = np.where(self.is_rule[:rows], said[self._asked[0, :rows]], CANNOT_SAY)
        for asked in self._asked[1:, :rows]:
            if not asked.any():  # no condition has so many comparisons
                break
            np.minimum(answers, said[asked], out=answers)
        return answers.astype(np.int8, copy=False)

    def _tests_of(self, name: str) -> FieldTests[list[tuple[int, int]]]:
        """The comparisons of a field, whose answers come with their numbers."""
        kept, tests = self._asked_of.get(name), self._tests[name].copy()
        if kept is None or len(kept.tests) < len(tests):  # another thread may be writing
            numbers = [self._numbers[test.key] for test in tests]
            self._asked_of[name] = kept = FieldTests(
                name, tests, lambda said: [*zip(numbers, map(_SAID.__getitem__, said), strict=True)]
            )
        return kept

    def same_tests(self, condition: Condition, rows: int) -> NDArray[np.intp]:
        """The rows whose conditions test the same, in any order."""
        wanted = np.array(self._numbers_of(condition))[:, None]
        return np.flatnonzero((self._asked[:, :rows] == wanted).all(axis=0))
