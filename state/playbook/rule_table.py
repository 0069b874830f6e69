"""The conditions of many bullets as arrays: all of them are tested on one transaction at once.

`values/cases.py` does the opposite: there one condition is tested on many cases. Each different
comparison is tested once. The answers are those of `Condition.holds`.
"""

from collections.abc import Mapping
from typing import Final

import numpy as np
from numpy.typing import NDArray

from acegraph.state.values.cases import grown
from acegraph.state.values.condition import MAX_COMPARISONS, Comparison, Condition
from acegraph.state.values.transaction import Scalar, is_derived

FAILS: Final = -1
CANNOT_SAY: Final = 0
HOLDS: Final = 1
"""A condition says the least of what its comparisons say."""
Answers = NDArray[np.int8]
"""Per row HOLDS, FAILS or CANNOT_SAY; a row without a condition cannot say."""
_SAID: Final = {True: HOLDS, False: FAILS, None: CANNOT_SAY}
_NO_TEST: Final = 0  # the number of what every unused comparison of a row asks


class RuleTable:
    """The conditions, one row for each bullet; a row is written once."""

    def __init__(self) -> None:
        self._numbers: dict[object, int] = {}
        self._tests: list[Comparison] = []
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
                    self._tests.append(test)
                    self._numbers[test.key] = len(self._tests)
                    if is_derived(test.field):
                        self.tested_derived.add(test.field)
            self.is_rule[row], self._asked[:, row] = True, self._numbers_of(condition)

    def _numbers_of(self, condition: Condition) -> list[int]:
        """The numbers of what a condition asks; -1 for what no row asks."""
        numbers = sorted(self._numbers.get(key, -1) for key in condition.tests())
        return [*numbers, *[_NO_TEST] * (MAX_COMPARISONS - len(numbers))]

    def holds(self, fields: Mapping[str, Scalar], rows: int) -> Answers:
        """What the conditions of the first `rows` rows say of a transaction."""
        said = np.array([HOLDS, *(_SAID[test.holds(fields)] for test in self._tests[:])], np.int8)
        answers = np.where(self.is_rule[:rows], said[self._asked[0, :rows]], CANNOT_SAY)
        for asked in self._asked[1:, :rows]:
            if not asked.any():  # no condition has so many comparisons
                break
            np.minimum(answers, said[asked], out=answers)
        return answers.astype(np.int8, copy=False)

    def same_tests(self, condition: Condition, rows: int) -> NDArray[np.intp]:
        """The rows whose conditions test the same, in any order."""
        wanted = np.array(self._numbers_of(condition))[:, None]
        return np.flatnonzero((self._asked[:, :rows] == wanted).all(axis=0))
