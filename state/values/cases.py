"""Labelled past cases as columns, so that a condition can be tested on all of them at once.

A table grows in place, one case at a time; a snapshot never changes. See also condition.py.
"""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from itertools import islice
from typing import Final, TypeVar

import numpy as np
from numpy.typing import NDArray

from acegraph.state.values.transaction import Scalar
from acegraph.state.values.verdict import DECLINE, Verdict

EVIDENCE_WINDOW: Final = 5_000
"""How many of the newest labelled cases count as evidence; older ones are forgotten."""
_MISSING = -1
_START = 16
_Element = TypeVar("_Element", bound=np.generic)


@dataclass(frozen=True)
class Case:
    """One past transaction whose right answer is known."""

    id: str
    fields: Mapping[str, Scalar]
    label: Verdict
    text: str = ""
    digest: str = ""
    """The transaction's digest: with it a later decision on the same case is recognised."""
    known_at: str = field(default="", compare=False)
    """When the label became known; empty unless the case comes from the ledger."""


@dataclass(frozen=True)
class Column:
    """One field over all cases: numbers (or NaN), and words and flags as codes (or -1)."""

    numbers: NDArray[np.float64]
    codes: NDArray[np.int32]
    values: tuple[str | bool, ...]
    """The word or flag of each code; `counts` says which of them occur in this column."""

    @property
    def is_numeric(self) -> bool:
        """Whether most values of the field are numbers."""
        return int((~np.isnan(self.numbers)).sum()) > int((self.codes != _MISSING).sum())

    def known(self) -> NDArray[np.bool_]:
        """For each case, whether the field has a value."""
        return np.asarray(~np.isnan(self.numbers) | (self.codes != _MISSING))

    def counts(self) -> dict[str | bool, int]:
        """How often each word or flag occurs, in order of first appearance."""
        codes, first, counts = np.unique(
            self.codes[self.codes != _MISSING], return_index=True, return_counts=True
        )
        order = np.argsort(first)
        pairs = zip(codes[order].tolist(), counts[order].tolist(), strict=True)
        return {self.values[code]: count for code, count in pairs}

    def equals(self, value: Scalar) -> NDArray[np.bool_]:
        """For each case, whether the field has this value."""
        if isinstance(value, bool | str):
            for code, coded in enumerate(self.values):
                if coded == value and isinstance(coded, bool) == isinstance(value, bool):
                    return np.asarray(self.codes == code)
            return np.zeros(len(self.codes), dtype=bool)
        return np.asarray(self.numbers == float("nan" if value is None else value))


class _GrowingColumn:
    """A column that grows. A written value never changes, so that views stay true."""

    def __init__(self, rows: int) -> None:
        self.numbers = np.full(max(rows, _START), np.nan)
        self.codes = np.full(max(rows, _START), _MISSING, dtype=np.int32)
        self.code_by_value: dict[tuple[bool, str | bool], int] = {}

    def reserve(self, rows: int) -> None:
        if rows > len(self.numbers):
            self.numbers = _grown(self.numbers, 2 * rows, np.nan)
            self.codes = _grown(self.codes, 2 * rows, _MISSING)

    def put(self, row: int, value: str | bool | int | float) -> None:
        if isinstance(value, bool | str):
            key = (isinstance(value, bool), value)
            self.codes[row] = self.code_by_value.setdefault(key, len(self.code_by_value))
        else:
            self.numbers[row] = float(value)

    def occurs(self, rows: slice) -> bool:
        return bool((self.codes[rows] != _MISSING).any() or (~np.isnan(self.numbers[rows])).any())

    def view(self, start: int, end: int) -> Column:
        values = tuple(value for _, value in list(self.code_by_value))
        return Column(self.numbers[start:end], self.codes[start:end], values)


def _grown(array: NDArray[_Element], size: int, fill: float) -> NDArray[_Element]:
    grown = np.full(size, fill, dtype=array.dtype)
    grown[: len(array)] = array
    return grown


class CaseTable:
    """Labelled cases, in the order in which their labels became known."""

    def __init__(self, cases: Iterable[Case] = ()) -> None:
        self._cases: list[Case] = []
        self._columns: dict[str, _GrowingColumn] = {}
        self._fraud = np.zeros(_START, dtype=bool)
        self._start = self._size = 0
        for case in cases:
            self.add(case)

    def __len__(self) -> int:
        return self._size - self._start

    def __iter__(self) -> Iterator[Case]:
        return islice(self._cases, self._start, self._size)

    def add(self, case: Case) -> None:
        """Append one case, in constant time on average."""
        row, size = self._size, self._size + 1
        if size > len(self._fraud):
            self._fraud = _grown(self._fraud, 2 * size, False)
        for column in self._columns.values():
            column.reserve(size)
        for name, value in case.fields.items():
            if value is not None:
                if name not in self._columns:
                    self._columns[name] = _GrowingColumn(size)
                self._columns[name].put(row, value)
        self._fraud[row] = case.label == DECLINE
        self._cases.append(case)
        self._size = size

    @property
    def known_at(self) -> str:
        """When the label of the newest case became known."""
        return self._cases[self._size - 1].known_at if self._size else ""

    def row_of(self, case_id: str) -> int | None:
        """The row of a case, or None; the newest rows are searched first."""
        for row in range(self._size - 1, self._start - 1, -1):
            if self._cases[row].id == case_id:
                return row - self._start
        return None

    def snapshot(self) -> "CaseTable":
        """The table as it is now: a copy that shares the data and does not grow."""
        copy = CaseTable()
        copy._cases, copy._fraud, copy._size = self._cases, self._fraud, self._size
        copy._start, copy._columns = self._start, dict(self._columns)
        return copy

    def since(self, row: int) -> "CaseTable":
        """A snapshot without the cases before this row."""
        copy = self.snapshot()
        copy._start += row
        return copy

    @property
    def fraud(self) -> NDArray[np.bool_]:
        """True where the right answer is DECLINE."""
        return self._fraud[self._start : self._size]

    @property
    def field_names(self) -> tuple[str, ...]:
        """The fields that at least one case has."""
        rows = slice(self._start, self._size)
        return tuple(name for name, column in self._columns.items() if column.occurs(rows))

    def column(self, name: str) -> Column | None:
        """One field over all cases, or None if no case has it."""
        column = self._columns.get(name)
        return column.view(self._start, self._size) if column is not None else None
