"""Labelled past cases as columns, so that a condition can be tested on all of them at once.

A table grows in place, one case at a time; a snapshot never changes. See also condition.py.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from copy import copy
from dataclasses import dataclass, field, replace
from functools import cached_property
from heapq import nlargest
from itertools import islice
from threading import Lock
from typing import TYPE_CHECKING, Final, Protocol, TypeVar

import numpy as np
from numpy.typing import NDArray

from acegraph.state.values.decision import Sighting
from acegraph.state.values.draw import Draw
from acegraph.state.values.plain import Scalar, padded_words
from acegraph.state.values.transaction import SENTENCE
from acegraph.state.values.verdict import DECLINE, Verdict

if TYPE_CHECKING:
    from acegraph.state.task.task import Task

_FRAUDS_FOR_A_RATE: Final = 100
_CASES_FOR_A_RATE: Final = 20_000
_BEFORE_THE_FIRST: Final = 5
_MISSING = -1
_START = 16
_USUAL: Final = 0.98
_MAX_NAMES: Final = 600
"""Twice as many as one transaction may have: more were made up."""
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
    weight: float = field(default=1.0, compare=False)
    """How many cases it stands for (`Draw`)."""
    sighting: Sighting | None = field(default=None, compare=False)
    """What later payments see of it, where fields are derived from earlier payments."""
    came: str | Mapping[str, Scalar] = field(default="", compare=False)
    """The transaction as it came, where it is written anew: redaction makes the digest of it."""
    departure: float = field(default=0.0, compare=False)
    """By how much a language model that decided it departed from the playbook, in log-odds."""


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

    def known_numbers(self) -> NDArray[np.float64]:
        """The numbers of the field, without the cases that have none."""
        return self.numbers[~np.isnan(self.numbers)]

    def known(self) -> NDArray[np.bool_]:
        """For each case, whether the field has a value."""
        return np.asarray(~np.isnan(self.numbers) | (self.codes != _MISSING))

    def counts(self) -> Mapping[str | bool, int]:
        """How often each word or flag occurs, in order of first appearance."""
        return self._counts

    @cached_property
    def _counts(self) -> dict[str | bool, int]:
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

    def mentions(self, phrase: str) -> NDArray[np.bool_]:
        """For each case, whether the text of the field mentions a phrase."""
        words = padded_words(phrase)
        has = [isinstance(value, str) and words in padded_words(value) for value in self.values]
        return np.array([*has, False])[self.codes]  # the last is code -1


class Columns(Protocol):
    """What a condition is tested on: rows whose fields are columns."""

    def __len__(self) -> int: ...

    def column(self, name: str) -> Column | None:
        """One field over all rows, or None if no row has it."""
        ...


class _GrowingColumn:
    """A column that is made as far as it is asked for; a written value never changes."""

    def __init__(self, name: str) -> None:
        self._name, self._size = name, 0
        self._numbers = np.full(_START, np.nan)
        self._codes = np.full(_START, _MISSING, dtype=np.int32)
        self._code_by_value: dict[tuple[bool, str | bool], int] = {}
        self._lock = Lock()
        self._newest_view: tuple[int, int, Column] | None = None

    def view(self, cases: Sequence[Case], start: int, end: int) -> Column:
        """The field over these rows of the cases."""
        with self._lock:
            if end > self._size:
                self._grow(cases, end)
            if self._newest_view is None or self._newest_view[:2] != (start, end):
                values = tuple(value for _, value in self._code_by_value)
                numbers, codes = self._numbers[start:end], self._codes[start:end]
                self._newest_view = start, end, Column(numbers, codes, values)
            return self._newest_view[2]

    def _grow(self, cases: Sequence[Case], end: int) -> None:
        self._numbers = grown(self._numbers, end, np.nan)
        self._codes = grown(self._codes, end, _MISSING)
        by_value = self._code_by_value
        for row in range(self._size, end):
            value = cases[row].fields.get(self._name)
            if isinstance(value, bool | str):
                key = (isinstance(value, bool), value)
                self._codes[row] = by_value.setdefault(key, len(by_value))
            elif value is not None:
                self._numbers[row] = float(value)
        self._size = end


def stepped(cases: int, digits: int = 4) -> int:
    """A number of cases, rounded down to a few binary digits: what is computed from so many of the
    first cases is not computed again with every new one. Four digits leave out up to an eighth.

    >>> [stepped(n) for n in (7, 13, 100, 1000)]
    [4, 12, 96, 960]
    >>> stepped(10_000), stepped(10_000, digits=7)
    (9216, 9984)
    """
    return cases - cases % (1 << max(cases.bit_length() - digits, 2))


def grown(array: NDArray[_Element], rows: int, fill: float = 0, axis: int = 0) -> NDArray[_Element]:
    """The array itself if it has that many rows, else a longer copy, filled up.

    It grows by a sixteenth at a time, so that a new row costs the same on average. The old array
    stays as it was: a computation that still uses it sees the rows that it had.

    >>> len(grown(np.ones(20), 21))
    38
    """
    if rows <= array.shape[axis]:
        return array
    shape = list(array.shape)
    shape[axis] = rows + rows // _START + _START
    longer = np.full(shape, fill, array.dtype)
    longer[tuple(slice(size) for size in array.shape)] = array
    return longer


class CaseTable:
    """Labelled cases, in the order in which their labels became known."""

    def __init__(self, cases: Iterable[Case] = (), draw: Draw | None = None) -> None:
        """`draw` tells which of the cases that `take` is given are added."""
        self.draw = draw
        self._cases: list[Case] = []
        self._columns: dict[str, _GrowingColumn] = {}
        """Those that were asked for; snapshots share them."""
        self._filled: dict[str, int] = {}
        """How many cases have each field."""
        self._fraud = np.zeros(_START, dtype=bool)
        self._weights = np.ones(_START)
        self._departures = np.zeros(_START)
        self._start = self._size = 0
        self._newest_copy: CaseTable | None = None
        self.task: Task | None = None
        """What the fields of the cases are; without it all that they have are taken as they are."""
        self.shared: dict[str, object] = {}
        """What was computed from the cases; snapshots of the table share it."""
        for case in cases:
            self.add(case)

    def __len__(self) -> int:
        return self._size - self._start

    def __iter__(self) -> Iterator[Case]:
        return islice(self._cases, self._start, self._size)

    def __getitem__(self, row: int) -> Case:
        return self._cases[self._start + row]

    def take(self, case: Case) -> None:
        """Append one case, if it is drawn."""
        if self.draw is None:
            self.add(case)
            return
        self.draw.count(case.label)
        if weight := self.draw.weight(case.id, case.label):
            self.add(replace(case, weight=weight))

    def add(self, case: Case) -> None:
        """Append one case, in constant time on average."""
        row, size = self._size, self._size + 1
        self._fraud = grown(self._fraud, size)
        self._weights = grown(self._weights, size, 1.0)
        self._departures = grown(self._departures, size)
        for name, value in case.fields.items():
            if value is not None:
                self._filled[name] = self._filled.get(name, 0) + 1
        self._fraud[row] = case.label == DECLINE
        self._weights[row] = case.weight
        self._departures[row] = case.departure
        self._cases.append(case)
        self._size = size

    @property
    def usual_names(self) -> list[str]:
        """The fields that nearly all cases have."""
        columns = ((name, self.column(name)) for name in self.field_names)
        return [name for name, one in columns if one is not None and one.known().mean() >= _USUAL]

    @property
    def amount_name(self) -> str | None:
        """The field of the amount, where the task has one."""
        field = self.task.of_role("amount") if self.task else None
        return field.name if field else None

    def is_text(self, name: str) -> bool:
        """Whether a field holds what somebody wrote, so that rules ask which words it has."""
        field = self.task.by_name.get(name) if self.task else None
        return field.kind == "text" and field.is_tested if field else name == SENTENCE

    @property
    def known_at(self) -> str:
        """When the label of the newest case became known."""
        return self._cases[self._size - 1].known_at if self._size else ""

    @property
    def times_grown(self) -> int:
        """How many times labels came: once for a whole file, else once for each case."""
        return len({case.known_at for case in self})

    def row_of(self, case_id: str) -> int | None:
        """The row of a case, or None; the newest rows are searched first."""
        for row in range(self._size - 1, self._start - 1, -1):
            if self._cases[row].id == case_id:
                return row - self._start
        return None

    def snapshot(self) -> "CaseTable":
        """The table as it is now: a copy that shares the data and does not grow."""
        newest = self._newest_copy
        if newest is None or newest._size != self._size:
            newest = self._newest_copy = self._copy()
        return newest

    def _copy(self) -> "CaseTable":
        table = copy(self)
        table._filled, table.draw = dict(self._filled), None
        return table

    def first(self, rows: int) -> "CaseTable":
        """A snapshot of the first so many cases."""
        table = self._copy()
        table._size = min(self._start + rows, self._size)
        table.shared = {}
        return table

    def since(self, row: int) -> "CaseTable":
        """A snapshot without the cases before this row."""
        table = self._copy()
        table._start += row
        table.shared = {}
        return table

    @property
    def fraud(self) -> NDArray[np.bool_]:
        """True where the right answer is DECLINE."""
        return self._fraud[self._start : self._size]

    def labelled(self, verdict: Verdict | None) -> NDArray[np.bool_]:
        """True where this verdict is the right answer."""
        return self.fraud if verdict == DECLINE else ~self.fraud

    @property
    def weights(self) -> NDArray[np.float64]:
        """How many cases each case stands for."""
        return self._weights[self._start : self._size]

    @property
    def departures(self) -> NDArray[np.float64]:
        """By how much the agent departed from the playbook on each case; 0 for the analyst."""
        return self._departures[self._start : self._size]

    def newest(self) -> "CaseTable":
        """The newest cases, enough of them to tell the rate of fraud: it may have changed."""
        stand_for = np.cumsum(self.weights[::-1])
        if not len(self) or stand_for[-1] <= _CASES_FOR_A_RATE:
            return self
        frauds = np.flatnonzero(self.fraud)
        since = frauds[-_FRAUDS_FOR_A_RATE] if len(frauds) >= _FRAUDS_FOR_A_RATE else 0
        enough = len(self) - 1 - int(np.searchsorted(stand_for, _CASES_FOR_A_RATE))
        return self.since(max(min(int(since), enough), 0))

    def fraud_odds(self) -> float:
        """How many frauds come to an honest payment among the newest cases; 1 where none is known.

        A few of each are counted before the first: some early cases say little about the rate.
        """
        cached = self.shared.get("fraud_odds")
        if isinstance(cached, tuple) and cached[0] == len(self):
            return float(cached[1])
        newest = self.newest()
        frauds, cases = float(newest.weights @ newest.fraud), float(newest.weights.sum())
        odds = (frauds + _BEFORE_THE_FIRST) / (cases - frauds + _BEFORE_THE_FIRST)
        self.shared["fraud_odds"] = (len(self), odds)
        return odds

    @property
    def field_names(self) -> tuple[str, ...]:
        """The fields that at least one case has; of very many names, those of the most cases."""
        names: Iterable[str] = self._filled
        if len(self._filled) > _MAX_NAMES:
            often = set(nlargest(_MAX_NAMES, self._filled, key=self._filled.__getitem__))
            names = filter(often.__contains__, self._filled)
        # From the first case on, every field that was counted has a value.
        if not self._start:
            return tuple(names)
        columns = ((name, self.column(name)) for name in names)
        return tuple(name for name, one in columns if one is not None and one.known().any())

    def column(self, name: str) -> Column | None:
        """One field over all cases, or None if no case has it."""
        if name not in self._filled:
            return None
        column = self._columns.get(name) or self._columns.setdefault(name, _GrowingColumn(name))
        return column.view(self._cases, self._start, self._size)
