"""Labelled past cases as columns, so that a condition is tested on all of them at once.

Grows in place, one case at a time. It knows nothing of conditions, bullets or databases.
"""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from acegraph.state.transaction import Scalar
from acegraph.state.verdict import DECLINE, Verdict

_MISSING = -1


@dataclass(frozen=True)
class Case:
    """One past transaction whose right answer is known."""

    id: str
    fields: Mapping[str, Scalar]
    label: Verdict
    text: str = ""
    digest: str = ""
    """Of the transaction, so that the same case is recognised when it is decided later."""


class Column:
    """One field over all cases: numbers, or codes of categories. The first value fixes the kind."""

    def __init__(self, kind: Literal["number", "category"], capacity: int) -> None:
        self.kind = kind
        self.values: list[Scalar] = []
        """The distinct categories, by code; empty for numbers."""
        self._codes: dict[tuple[bool, Scalar], int] = {}
        self._size = 0
        fill = np.nan if kind == "number" else _MISSING
        dtype = np.float64 if kind == "number" else np.int32
        self._data = np.full(max(capacity, 16), fill, dtype=dtype)

    def put(self, row: int, value: Scalar) -> None:
        """Store a value at a row; one of another kind counts as missing."""
        if row >= len(self._data):
            fill = np.nan if self.kind == "number" else _MISSING
            grown = np.full(2 * row, fill, dtype=self._data.dtype)
            grown[: len(self._data)] = self._data
            self._data = grown
        is_category = isinstance(value, bool | str)
        if value is not None and is_category == (self.kind == "category"):
            self._data[row] = self._code(value) if is_category else float(value)

    def resize(self, size: int) -> None:
        """Say how many rows the table has."""
        if size > len(self._data):
            self.put(size - 1, None)
        self._size = size

    def _code(self, value: Scalar) -> int:
        key = (isinstance(value, bool), value)
        if key not in self._codes:
            self._codes[key] = len(self.values)
            self.values.append(value)
        return self._codes[key]

    @property
    def data(self) -> NDArray[np.float64] | NDArray[np.int32]:
        """Numbers (NaN is missing) or codes (-1 is missing)."""
        data: NDArray[Any] = self._data[: self._size]
        return data

    def known(self) -> NDArray[np.bool_]:
        """Where the field has a value."""
        return ~np.isnan(self.data) if self.kind == "number" else self.data != _MISSING

    def numbers(self) -> NDArray[np.float64] | None:
        """The numbers, or None for a column of categories."""
        return self.data.astype(np.float64, copy=False) if self.kind == "number" else None

    def equals(self, value: Scalar) -> NDArray[np.bool_]:
        """Where the field has this value."""
        if self.kind == "category":
            code = self._codes.get((isinstance(value, bool), value))
            return self.data == code if code is not None else np.zeros(self._size, dtype=bool)
        if isinstance(value, bool | str) or value is None:
            return np.zeros(self._size, dtype=bool)
        return np.asarray(self.data == float(value))


class CaseTable:
    """Labelled cases, in the order in which their labels became known."""

    def __init__(self, cases: Iterable[Case] = ()) -> None:
        self._cases: list[Case] = []
        self._columns: dict[str, Column] = {}
        self._fraud = np.zeros(16, dtype=bool)
        for case in cases:
            self.add(case)

    def __len__(self) -> int:
        return len(self._cases)

    def __iter__(self) -> Iterator[Case]:
        return iter(self._cases)

    def add(self, case: Case) -> None:
        """Append one case; constant time on average."""
        row = len(self._cases)
        if row >= len(self._fraud):
            self._fraud = np.concatenate([self._fraud, np.zeros(row, dtype=bool)])
        self._fraud[row] = case.label == DECLINE
        self._cases.append(case)
        for name, value in case.fields.items():
            if value is None:
                continue
            if name not in self._columns:
                kind: Literal["number", "category"] = (
                    "category" if isinstance(value, bool | str) else "number"
                )
                self._columns[name] = Column(kind, row + 1)
            self._columns[name].put(row, value)

    @property
    def fraud(self) -> NDArray[np.bool_]:
        """True where the right answer is DECLINE."""
        return self._fraud[: len(self._cases)]

    @property
    def field_names(self) -> tuple[str, ...]:
        """Every field that at least one case has."""
        return tuple(self._columns)

    def column(self, name: str) -> Column | None:
        """One field over all cases, or None where no case has it."""
        column = self._columns.get(name)
        if column is not None:
            column.resize(len(self._cases))
        return column

    def last(self, n: int) -> "CaseTable":
        """The newest n cases as a table of their own (itself when it has no more)."""
        return self if len(self) <= n else CaseTable(self._cases[-n:])
