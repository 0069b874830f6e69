"""The conditions of many bullets as arrays: all of them are tested on one transaction at once.

`values/cases.py` does the opposite: there one condition is tested on many cases. Each comparison
becomes an interval of numbers; words and flags are numbered per field, so that a test for equality
is an interval with one number. The answers are those of `Condition.holds`.
"""

import math
from collections.abc import Mapping
from typing import Final

import numpy as np
from numpy.typing import NDArray

from acegraph.state.playbook.vector_matrix import grown
from acegraph.state.values.condition import MAX_COMPARISONS, MENTIONS, Comparison, Condition
from acegraph.state.values.texts import mentions
from acegraph.state.values.transaction import Scalar, is_derived

HOLDS: Final = 1
FAILS: Final = 0
CANNOT_SAY: Final = -1
Answers = NDArray[np.int8]
"""Per row HOLDS, FAILS or CANNOT_SAY; a row without a condition cannot say."""

# The slots of a field: its number, the code of its word or flag, whether it is known.
_NUMBER, _WORD, _KNOWN, _SLOTS = 0, 1, 2, 3
_ALWAYS: Final = 0  # the slot that every unused comparison of a row looks at
_UNSEEN: Final = -1.0  # the code of a word that no condition names
_GIVEN, _EMPTY, _ABSENT = 0, 1, 2  # a field has a value, is None, or is not among the fields


class RuleTable:
    """The conditions, one row for each bullet; a row is written once."""

    def __init__(self) -> None:
        self._first_slot: dict[str | tuple[str, str], int] = {}
        """By field, or by field and the phrase that it may mention."""
        self._codes: dict[tuple[str, bool, str | bool], float] = {}
        shape = (MAX_COMPARISONS, 0)
        self._slot = np.zeros(shape, np.int32)
        self._low, self._high = np.zeros(shape), np.zeros(shape)
        self._negated = np.zeros(shape, bool)
        self.is_rule = np.zeros(0, bool)
        self.has_any = False
        self.tested_derived: set[str] = set()
        """The fields derived from earlier payments that conditions test."""

    def put(self, row: int, condition: Condition | None) -> None:
        """Write the condition of one row."""
        self._reserve(row + 1)
        self.is_rule[row] = condition is not None
        self.has_any |= condition is not None
        for i, comparison in enumerate(condition.comparisons if condition else ()):
            if is_derived(comparison.field):
                self.tested_derived.add(comparison.field)
            slot, low, high = self._interval(comparison)
            self._slot[i, row], self._low[i, row], self._high[i, row] = slot, low, high
            self._negated[i, row] = comparison.op == "is not"

    def holds(self, fields: Mapping[str, Scalar], rows: int) -> Answers:
        """What the conditions of the first `rows` rows say of a transaction."""
        if not self.has_any:
            return np.full(rows, CANNOT_SAY, np.int8)
        answers = np.full(rows, HOLDS, np.int8)
        slots, lows, highs, negated = self._slot, self._low, self._high, self._negated
        values, states = self._values_of(fields)
        fails = np.zeros(rows, bool)
        for i in range(MAX_COMPARISONS):
            slot = slots[i, :rows]
            if not slot.any():  # no condition has so many comparisons
                break
            value, state = values[slot], states[slot]
            inside = (value >= lows[i, :rows]) & (value <= highs[i, :rows])
            # A field without a value is neither this nor "not this".
            passes = (inside != negated[i, :rows]) & (state == _GIVEN)
            unknown = state == _ABSENT
            fails |= ~(passes | unknown)
            answers[unknown] = CANNOT_SAY
        answers[fails] = FAILS
        answers[~self.is_rule[:rows]] = CANNOT_SAY
        return answers

    def same_tests(self, condition: Condition, rows: int) -> NDArray[np.intp]:
        """The rows whose conditions test the same, in any order."""
        tests = [(*self._interval(c), c.op == "is not") for c in condition.comparisons]
        is_among_tests = np.ones(rows, bool)  # every comparison of the row is one of the tests
        is_present = [np.zeros(rows, bool) for _ in tests]
        for i in range(MAX_COMPARISONS):
            is_one = self._slot[i, :rows] == _ALWAYS
            for (slot, low, high, negated), present in zip(tests, is_present, strict=True):
                equal = (self._slot[i, :rows] == slot) & (self._negated[i, :rows] == negated)
                equal &= (self._low[i, :rows] == low) & (self._high[i, :rows] == high)
                present |= equal
                is_one |= equal
            is_among_tests &= is_one
        return np.flatnonzero(np.logical_and.reduce(is_present) & is_among_tests)

    def _interval(self, comparison: Comparison) -> tuple[int, float, float]:
        """The slot that a comparison looks at, and the values between which it holds."""
        op, value = comparison.op, comparison.value
        is_mention = op == MENTIONS
        key = (comparison.field, str(value)) if is_mention else comparison.field
        first = self._first_slot.setdefault(key, 1 + _SLOTS * len(self._first_slot))
        if is_mention:
            return first + _NUMBER, 1.0, 1.0
        if op in ("is missing", "is known"):
            is_known = float(op == "is known")
            return first + _KNOWN, is_known, is_known
        if isinstance(value, bool | str):
            coded = (comparison.field, isinstance(value, bool), value)
            code = self._codes.setdefault(coded, float(len(self._codes)))
            return first + _WORD, code, code
        number = float(value or 0)
        bounds = {
            ">=": (number, math.inf),
            ">": (math.nextafter(number, math.inf), math.inf),
            "<=": (-math.inf, number),
            "<": (-math.inf, math.nextafter(number, -math.inf)),
        }
        return first + _NUMBER, *bounds.get(op, (number, number))

    def _values_of(
        self, fields: Mapping[str, Scalar]
    ) -> tuple[NDArray[np.float64], NDArray[np.int8]]:
        """Per slot the value (NaN for none), and whether the field is given."""
        values, states = [0.0], [_GIVEN]
        for key in list(self._first_slot):  # another thread may add to it
            name, phrase = key if isinstance(key, tuple) else (key, None)
            value = fields.get(name)
            number = word = math.nan
            state = _GIVEN
            if value is None:
                state = _EMPTY if name in fields else _ABSENT
            elif phrase is not None:
                number = float(isinstance(value, str) and mentions(value, phrase))
            elif isinstance(value, bool | str):
                word = self._codes.get((name, isinstance(value, bool), value), _UNSEEN)
            else:
                number = float(value)
            values += (number, word, float(value is not None))
            states += (state, state, _GIVEN)
        return np.array(values), np.array(states, np.int8)

    def _reserve(self, rows: int) -> None:
        self.is_rule = grown(self.is_rule, rows)
        self._slot = grown(self._slot, rows, axis=1)
        self._low = grown(self._low, rows, axis=1)
        self._high = grown(self._high, rows, axis=1)
        self._negated = grown(self._negated, rows, axis=1)
