"""The columns of a table as the fields of a task: values, and what is in doubt.

A value is read by `Field.fit`, as in a single payment. Each different value of a batch is read
once; plain numbers and plain times go over whole columns.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from acegraph.graph.tables.files import is_text
from acegraph.graph.tables.ruleset import TableRules
from acegraph.state import InvalidDataset
from acegraph.state.task.field import Field
from acegraph.state.task.form import PLAIN, Form, has_clock
from acegraph.state.task.task import Derived, Task
from acegraph.state.values import Column, Condition, Scalar
from acegraph.state.values.plain import WEEKDAYS, Misfit

Codes = NDArray[np.int32]
Mask = NDArray[np.bool_]
_EXACT: Final = 2**53
_MISSING: Final = -1
_NO_HOUR: Final = "is missing; a time of day wanted"
_A_TIME: Final = r"^\d{4}-\d{2}-\d{2}[ T]\d{2}:\d{2}(?::\d{2}(?:\.\d{1,6})?)?$"
_A_NUMBER: Final = r"^-?[0-9]{1,15}(?:\.[0-9]{1,15})?$"
_A_MOMENT: Final = "a time"
"""Stands for the text of each time: no rule compares it."""


@dataclass(frozen=True)
class FieldRows:
    """One field over the rows of a batch."""

    column: Column
    whys: Codes | None = None
    """By row, the number of the reason why the value is in doubt; 0: it is not."""


Parts = dict[str, FieldRows]
"""A field and, of a time, its parts."""


Reasons = dict[str, int]
"""The reasons of doubts, numbered; 0 stands for none."""


def _number(reasons: Reasons, why: str | Misfit) -> int:
    """The number of a reason, such as that a value does not fit."""
    text = why.doubt if isinstance(why, Misfit) else why
    return reasons.setdefault(text, len(reasons))


class FieldReader:
    """Reads a column of a table as a field of a task."""

    def __init__(self, field: Field, form: Form, reasons: Reasons, *, is_cells: bool) -> None:
        """`is_cells` says that the values are the texts of a CSV, written in a `form`."""
        self.field, self._form, self._is_cells = field, form, is_cells
        self._reasons = reasons

    def read(self, array: pa.Array, *, keeps_times: bool = False) -> Parts:
        """The field over the rows of a batch; of times that are kept, each is a word."""
        is_time = self.field.kind == "time" and not (self.field.epoch or keeps_times)
        if not (is_time or self.field.kind == "number"):
            return self._read_encoded(array)
        plain = array.dictionary_decode() if pa.types.is_dictionary(array.type) else array
        parts = self._read_times(plain) if is_time else self._read_numbers(plain)
        return self._read_encoded(array) if parts is None else parts

    def _read_encoded(self, array: pa.Array) -> Parts:
        """The field, with each different value read once."""
        encoded = array if pa.types.is_dictionary(array.type) else array.dictionary_encode()
        read = [self._read_one(value) for value in [*encoded.dictionary.to_pylist(), None]]
        codes = codes_of(encoded)
        parts: dict[str, FieldRows] = {}
        for name in (self.field.name, *self.field.part_names):
            whys = np.array([whys.get(name, 0) for _, whys in read], dtype=np.int32)
            column = _column([fields.get(name) for fields, _ in read], codes)
            parts[name] = FieldRows(column, whys[codes] if whys.any() else None)
        return parts

    def _read_one(self, value: object) -> tuple[Mapping[str, Scalar], Mapping[str, int]]:
        """What one value means, and by name the number of the reason why it is in doubt."""
        if self._is_cells and isinstance(value, str):
            value = self._form.read(value)
        fitted = self.field.fit(value)
        if isinstance(fitted, Misfit):
            names = (self.field.name, *self.field.part_names)
            return {}, dict.fromkeys(names, _number(self._reasons, fitted))
        parts = self.field.parts_of(str(fitted)) if self.field.parts and fitted else {}
        lacking = set(self.field.part_names) - parts.keys() if self.field.usual else ()
        return {self.field.name: fitted, **parts}, dict.fromkeys(
            lacking, _number(self._reasons, _NO_HOUR)
        )

    def _read_numbers(self, array: pa.Array) -> Parts | None:
        """A column of plain numbers; None for any other one."""
        if is_text(array.type):
            array = pc.if_else(pc.equal(pc.utf8_trim_whitespace(array), ""), None, array)
            is_plain = self._form == Form() or not self._is_cells
            if not is_plain or not pc.all(pc.match_substring_regex(array, _A_NUMBER)).as_py():
                return None
        elif pa.types.is_integer(array.type):
            least, most = pc.min_max(array).as_py().values()
            if least is not None and max(abs(least), abs(most)) > _EXACT:
                return None
        elif not (pa.types.is_floating(array.type) or pa.types.is_decimal(array.type)):
            return None
        given = array.cast(pa.float64()).to_numpy(zero_copy_only=False)
        numbers = np.where(np.isfinite(given), given, np.nan)
        out = np.zeros(len(numbers), dtype=bool)
        for limit, is_out in ((self.field.least, np.less), (self.field.most, np.greater)):
            out |= is_out(numbers, limit) if limit is not None else False
        whys = self._whys(out, np.isnan(numbers))
        return {self.field.name: FieldRows(_of_numbers(np.where(out, np.nan, numbers)), whys)}

    def _whys(self, wrong: Mask, absent: Mask) -> Codes | None:
        """The numbers of reasons: for wrong values, and for missing ones that are usual."""
        whys = np.zeros(len(wrong), dtype=np.int32)
        if wrong.any():
            whys[wrong] = _number(self._reasons, self.field.misfit("range"))
        if self.field.usual and absent.any():
            whys[absent] = _number(self._reasons, self.field.misfit("missing"))
        return whys if whys.any() else None

    def _read_times(self, array: pa.Array) -> Parts | None:
        """A column of plain times; None for any other one."""
        if not (is_text(array.type) or pa.types.is_temporal(array.type)):
            return None
        has_hour, form = not pa.types.is_date(array.type), self._form.date if self._is_cells else ""
        try:
            if is_text(array.type) and form and has_clock(form):
                array = pc.strptime(array, form, "us")
            elif is_text(array.type) and (
                form or not pc.all(pc.match_substring_regex(array, _A_TIME)).as_py()
            ):
                return None  # days are few: each is read once
            zone = getattr(array.type, "tz", None) and self.field.zone
            times = array.cast(pa.timestamp("us", zone))
        except (pa.ArrowInvalid, pa.ArrowNotImplementedError):  # such as the thirtieth of February
            return None
        return self._parts_of(times, has_hour)

    def _parts_of(self, times: pa.Array, has_hour: bool) -> Parts:
        """A time and its parts, by the clock of its zone."""
        absent = times.is_null().to_numpy(zero_copy_only=False)
        nothing = np.full(len(absent), np.nan)
        whys = self._whys(np.zeros(len(absent), dtype=bool), absent)
        word = np.where(absent, np.int32(_MISSING), np.int32(0))
        parts = {self.field.name: FieldRows(Column(nothing, word, (_A_MOMENT,)), whys)}
        for part, name in zip(self.field.parts, self.field.part_names, strict=True):
            if part == "weekday":
                days = pc.day_of_week(times).fill_null(_MISSING).to_numpy(zero_copy_only=False)
                parts[name] = FieldRows(Column(nothing, days.astype(np.int32), WEEKDAYS), whys)
            elif part == "month" or has_hour:
                values = (pc.month if part == "month" else pc.hour)(times).cast(pa.float64())
                column = _of_numbers(values.to_numpy(zero_copy_only=False))
                parts[name] = FieldRows(column, whys)
            elif self.field.usual:
                lacking = np.full(len(absent), _number(self._reasons, _NO_HOUR), dtype=np.int32)
                parts[name] = FieldRows(_of_numbers(nothing), lacking)
        return parts


def _of_numbers(numbers: NDArray[np.float64]) -> Column:
    """A column without words."""
    return Column(numbers, np.full(len(numbers), np.int32(_MISSING)), ())


def _column(values: Sequence[Scalar], codes: NDArray[np.integer]) -> Column:
    """The column in which each row has the value of its code."""
    numbers, words = np.full(len(values), np.nan), np.full(len(values), _MISSING, dtype=np.int32)
    by_word: dict[tuple[bool, str | bool], int] = {}
    for row, value in enumerate(values):
        if isinstance(value, bool | str):
            words[row] = by_word.setdefault((isinstance(value, bool), value), len(by_word))
        elif value is not None:
            numbers[row] = float(value)
    return Column(numbers[codes], words[codes], tuple(word for _, word in by_word))


def codes_of(encoded: pa.DictionaryArray) -> Codes:
    """The codes of the rows; rows without a value have the one behind the last."""
    codes = encoded.indices.fill_null(len(encoded.dictionary))
    return np.asarray(codes.to_numpy(zero_copy_only=False))


@dataclass(frozen=True)
class Rows:
    """The rows of a batch as the fields of a task."""

    size: int
    reasons: Reasons
    fields: Parts = field(default_factory=dict)

    def __len__(self) -> int:
        return self.size

    def column(self, name: str) -> Column | None:
        """One field over all rows, or None if no row has it."""
        rows = self.fields.get(name)
        return None if rows is None else rows.column

    @property
    def doubts(self) -> dict[str, Codes]:
        """By field in doubt somewhere, the number of the reason by row; 0: no doubt."""
        return {name: one.whys for name, one in self.fields.items() if one.whys is not None}

    def why(self, number: int) -> str:
        """The reason of a number."""
        return list(self.reasons)[number]


class TableReader:
    """Reads the batches of one table: which column is which field, and what its values mean."""

    def __init__(
        self,
        rules: TableRules,
        schema: pa.Schema,
        *,
        is_cells: bool = False,
        conditions: Sequence[Condition] = (),
    ) -> None:
        """With `is_cells` all values are the text of a CSV; `conditions` are tested besides those
        of the ruleset.
        """
        self._task, self._reasons = rules.task, {"": 0}
        forms = rules.task.forms
        wanted = rules.ruleset.that_matter.union(*(one.fields for one in conditions))
        self._differences = [one for one in self._task.differences if one.name in wanted]
        self._kept = {name for one in self._differences for name in one.of}
        wanted |= self._kept
        self._readers = {
            column: FieldReader(one, forms.get(one.name, PLAIN), self._reasons, is_cells=is_cells)
            for column, one in fields_of_columns(self._task, schema.names, rules.derived).items()
            if not wanted.isdisjoint((one.name, *one.part_names))
            or one.role in ("amount", "currency")
        }
        if odd := [n for n in self._readers if pa.types.is_nested(schema.field(n).type)]:
            raise InvalidDataset(f"column {odd[0]!r} holds lists; a value of its field wanted")
        # What was derived from no earlier payment is a doubt, also where first payments lack it.
        derived = (replace(one, usual=True) for one in rules.derived)
        found = {reader.field.name for reader in self._readers.values()}
        self._absent = [
            one
            for one in (*self._task.fields, *derived)
            if (one.usual or one.name in self._kept)
            and one.name in wanted
            and one.name not in found
        ]
        self.columns = list(self._readers)
        """The columns that a decision may depend on."""

    def read(self, batch: pa.RecordBatch) -> Rows:
        """The rows of a batch."""
        rows = Rows(batch.num_rows, self._reasons)
        for column, reader in self._readers.items():
            is_kept = reader.field.name in self._kept
            rows.fields.update(reader.read(batch.column(column), keeps_times=is_kept))
        for one in self._absent:
            for name in (one.name, *one.part_names):
                rows.fields[name] = _all_missing(one, len(rows), self._reasons)
        for derived in self._differences:
            rows.fields[derived.name] = _between(derived, rows)
        self._doubt_the_amount(rows)
        return rows

    def _doubt_the_amount(self, rows: Rows) -> None:
        """Another currency is a doubt of the amount."""
        currency, amount = self._task.of_role("currency"), self._task.of_role("amount")
        if not (currency and amount) or currency.name not in rows.doubts:
            return
        wrong = rows.doubts[currency.name] > 0
        del rows.fields[currency.name]
        known = rows.fields.get(amount.name) or _all_missing(amount, len(rows), self._reasons)
        whys = np.zeros(len(rows), np.int32) if known.whys is None else known.whys.copy()
        why = f"does not fit; {currency.wanted} wanted"
        whys[wrong & (whys == 0)] = _number(self._reasons, why)
        rows.fields[amount.name] = FieldRows(known.column, whys)


def _between(derived: Derived, rows: Rows) -> FieldRows:
    """The time between two times; it is in doubt where one of them is."""
    texts, whys = list[list[Scalar]](), np.zeros(len(rows), np.int32)
    for time in map(rows.fields.__getitem__, derived.of):
        words = [*time.column.values, None]
        texts.append([words[code] for code in time.column.codes])
        whys = whys if time.whys is None else np.where(time.whys > 0, time.whys, whys)
    numbers = np.array([*map(derived.between, zip(*texts, strict=True))], dtype=np.float64)
    return FieldRows(_of_numbers(numbers), whys if whys.any() else None)


def _all_missing(one: Field, size: int, reasons: Reasons) -> FieldRows:
    why = _number(reasons, one.misfit("missing"))
    whys = np.full(size, why, dtype=np.int32) if one.usual else None
    return FieldRows(_of_numbers(np.full(size, np.nan)), whys)


def fields_of_columns(
    task: Task, names: Sequence[str], derived: Iterable[Field] = ()
) -> dict[str, Field]:
    """By column the field that it is; two columns of one field are refused."""
    fields, by_name = dict[str, Field](), {one.name: one for one in derived}
    for column in names:
        if one := task.field_of(column.strip()) or by_name.get(column):
            if twice := [other for other, taken in fields.items() if taken.name == one.name]:
                raise InvalidDataset(
                    f"columns {twice[0]!r} and {column!r} are one field, {one.name}; leave one out"
                )
            fields[column] = one
    return fields
