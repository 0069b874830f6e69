"""The columns of a table as the fields that a playbook knows: values, and what is in doubt.

Every value is read by the functions that read a single payment. They see each different value once;
plain numbers and plain dates go over whole columns.
"""

from __future__ import annotations

from collections.abc import Callable, Container, Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from acegraph.graph.data.file_rows import read_cell
from acegraph.graph.tables.amounts import amount_columns
from acegraph.graph.tables.ruleset import TableRules
from acegraph.nodes.rules.prior import PRIOR_FIELDS
from acegraph.nodes.rules.ruleset import NOTHING_KNOWN, WHOLE
from acegraph.nodes.text.currencies import (
    CURRENCY_DOUBTS,
    PERHAPS_ANOTHER,
    amount_fields,
    currencies_of_amounts,
)
from acegraph.nodes.text.field_contract import FieldContract, KnownField, date_of_part
from acegraph.nodes.text.lexicon import FLAGS
from acegraph.nodes.text.money import read_money
from acegraph.nodes.text.reader import WEEKDAYS, is_code, read_value
from acegraph.state import Condition, InvalidDataset
from acegraph.state.values.cases import Column
from acegraph.state.values.condition import Comparison
from acegraph.state.values.memos import is_free_text
from acegraph.state.values.notation import NOTHING, may_be_thousands, with_point
from acegraph.state.values.transaction import Scalar, clean_text, plain_value

Codes = NDArray[np.int32]
Mask = NDArray[np.bool_]
_KEPT_VALUES: Final = 100_000
"""So many different values of a column are remembered."""
_EXACT: Final = 2**53
_MISSING: Final = -1
_LONG_DIGITS: Final = r"^\s*[+-]?[0-9]{16,}\s*$"
_A_DATE: Final = r"^\d{4}-\d{2}-\d{2}(?:[ T]\d{2}:\d{2}(?::\d{2}(?:\.\d{1,6})?)?)?$"
_A_POINT: Final = r"^[^0-9]*[1-9][0-9]{0,2}[.][0-9]{3}[^0-9]*$"
"""A number that `may_be_thousands`."""
_A_DATE_WORD: Final = "a date"
"""Stands for the text of each date in a column whose text no rule compares."""


@dataclass(frozen=True)
class FieldRows:
    """One field over the rows of a batch."""

    column: Column
    whys: Codes | None = None
    """By row, the number of the reason why the value is in doubt; 0: it is not."""

    def taken(self, rows: Codes) -> FieldRows:
        """The field over these of the rows."""
        column = self.column
        taken = Column(column.numbers[rows], column.codes[rows], column.values)
        return FieldRows(taken, None if self.whys is None else self.whys[rows])


@dataclass
class Reasons:
    """The reasons of doubts, numbered."""

    texts: list[str] = field(default_factory=lambda: [""])

    def number(self, text: str) -> int:
        """The number of a reason; 0 for none."""
        if text not in self.texts:
            self.texts.append(text)
        return self.texts.index(text)

    def are_of(self, texts: Container[str], codes: Codes) -> Mask:
        """Which of these numbers stand for one of the reasons."""
        return np.array([text in texts for text in self.texts])[codes]


class _KnownValues:
    """What each value of a column that was seen means: it is read once, and looked up after."""

    def __init__(self, read: Callable[[object], tuple[Mapping[str, Scalar], int]]) -> None:
        self._read = read
        self._clear()

    def _clear(self) -> None:
        self._numbers: dict[Hashable, int] = {}
        self._read_values: list[tuple[Mapping[str, Scalar], int]] = []

    def look_up(self, values: Sequence[object], codes: Codes, part_names: Sequence[str]) -> Parts:
        """The fields of some values, each of them over the rows that have these codes."""
        if len(self._numbers) > _KEPT_VALUES:
            self._clear()
        rows = [self._number(value) for value in values]
        read = [self._read_values[row] for row in rows]
        whys = np.array([why for _, why in read], dtype=np.int32)
        return {
            name: FieldRows(
                _column([fields.get(name) for fields, _ in read], codes),
                whys[codes] if not i and whys.any() else None,
            )
            for i, name in enumerate(part_names)
            if not i or any(name in fields for fields, _ in read)
        }

    def _number(self, value: object) -> int:
        key: Hashable = (type(value), value)  # 1, 1.0 and true are equal, and are not the same
        if (number := self._numbers.get(key)) is None:
            number = self._numbers[key] = len(self._read_values)
            self._read_values.append(self._read(value))
        return number


Parts = dict[str, FieldRows]
"""The field of a column and, of a date, its weekday, month and hour."""


def _column(values: Sequence[Scalar], codes: Codes) -> Column:
    """The column in which each row has the value of its code."""
    numbers, words = np.full(len(values), np.nan), np.full(len(values), _MISSING, dtype=np.int32)
    by_word: dict[tuple[bool, str | bool], int] = {}
    for row, value in enumerate(values):
        if isinstance(value, bool | str):
            words[row] = by_word.setdefault((isinstance(value, bool), value), len(by_word))
        elif value is not None:
            numbers[row] = float(value)
    return Column(numbers[codes], words[codes], tuple(word for _, word in by_word))


class FieldReader:
    """Reads a column of a table as a field of the playbook."""

    def __init__(
        self,
        name: str,
        contract: FieldContract,
        compared_with: Sequence[Comparison],
        reasons: Reasons,
        *,
        is_cells: bool,
    ) -> None:
        """`compared_with` are the tests of all rules; cells are the text of a CSV."""
        self.name, self._contract, self._is_cells = name, contract, is_cells
        self._reasons = reasons
        self._part_names = (name, *(f"{name}.{part}" for part in ("weekday", "month", "hour")))
        known = self._contract.fields.get(name)
        is_plain = known is None or known.kind in ("number", "mixed")
        has_form = name in self._contract.form.dates
        self._has_commas = is_cells and contract.form.decimal_marks.get(name) == ","
        wanted = contract.known_field(name)
        self._doubts_points = (
            is_cells and not self._has_commas and bool(wanted and wanted.has_cents)
        )
        is_other = name in FLAGS or is_code(name) or has_form or self._has_commas
        self._takes_numbers = is_plain and not is_other
        self._is_number = wanted is not None and wanted.kind == "number"
        self._is_amount = bool(amount_fields((name,), contract.form.amount))
        # As in a file that is learned from; among words NA may mean Namibia.
        self._na_is_nothing = known is not None and known.kind in ("number", "flag")
        self._least, self._most = (wanted.least, wanted.most) if wanted else (-np.inf, np.inf)
        compared = {test.field for test in compared_with if test.value is not None}
        is_word = known is None or (known.kind in ("word", "mixed") and not known.is_closed)
        has_zones = known is not None and bool(known.zones) and "" not in known.zones
        self._takes_dates = is_word and not (has_form or has_zones or name in compared)
        self._known = _KnownValues(self.read_one)

    def read(self, array: pa.Array) -> Parts:
        """The field over the rows of a batch, with the parts of a date."""
        if pa.types.is_dictionary(array.type):
            values = pa.concat_arrays([array.dictionary, pa.nulls(1, array.dictionary.type)])
            codes = _codes_of(array, len(array.dictionary))
            return {name: rows.taken(codes) for name, rows in self.read(values).items()}
        for read in (self._read_numbers, self._read_dates):
            if (parts := read(array)) is not None:
                return parts
        return self._read_encoded(array)

    def read_one(self, value: object) -> tuple[Mapping[str, Scalar], int]:
        """What one value means, and the number of the reason why it is in doubt."""
        if self._is_cells and isinstance(value, str):
            value = self.read_cell(value)
        plain = plain_value(self.name, value)
        understood, why = self._contract.understand_value(self.name, plain)
        return read_value(self.name, understood), self._reasons.number(why)

    def read_cell(self, cell: str) -> Scalar:
        """The value of a cell; where its form is in question, or it names a currency, the text,
        which the contract reads.
        """
        text = cell.strip()
        if text == "NA" and self._na_is_nothing:
            return None
        has_doubt = self._doubts_points and may_be_thousands(text, ".")
        if self._is_number and (self._has_commas or has_doubt):
            return text
        if (self._is_number or self._is_amount) and read_money(text)[1]:
            return text
        value = read_cell(with_point(text)) if self._has_commas else None
        return read_cell(text) if value is None or isinstance(value, str) else value

    def _read_encoded(self, array: pa.Array) -> Parts:
        if pa.types.is_boolean(array.type):
            flags = array.cast(pa.int8()).fill_null(2).to_numpy(zero_copy_only=False)
            return self._known.look_up([False, True, None], flags, self._part_names)
        encoded = array.dictionary_encode()
        values = [*encoded.dictionary.to_pylist(), None]
        codes = _codes_of(encoded, len(values) - 1)
        return self._known.look_up(values, codes, self._part_names)

    def _read_numbers(self, array: pa.Array) -> Parts | None:
        """The parts of a column of plain numbers; None for any other column."""
        if not self._takes_numbers:
            return None
        if self._is_cells and pa.types.is_string(array.type):
            if self._doubts_points and pc.any(pc.match_substring_regex(array, _A_POINT)).as_py():
                return None
            try:
                array = array.cast(pa.float64()) if _has_no_names(array) else array
            except pa.ArrowInvalid:
                return self._read_numbers(blank) if (blank := self._blanked(array)) else None
        kind = array.type
        if pa.types.is_integer(kind):
            least, most = pc.min_max(array).as_py().values()
            if least is not None and max(abs(least), abs(most)) > _EXACT:
                return None
        elif not (pa.types.is_floating(kind) or pa.types.is_decimal(kind)):
            return None
        numbers = array.cast(pa.float64()).to_numpy(zero_copy_only=False)
        finite = np.isfinite(numbers)
        if not finite.all():
            numbers = np.where(finite, numbers, np.nan)
        whys = None
        for is_odd in (numbers < self._least, numbers > self._most):
            if is_odd.any():
                _, why = self._contract.understand_value(self.name, float(numbers[is_odd][0]))
                whys = np.zeros(len(numbers), np.int32) if whys is None else whys
                whys[is_odd & (whys == 0)] = self._reasons.number(why)
        no_words = np.full(len(numbers), _MISSING, dtype=np.int32)
        return {self.name: FieldRows(Column(numbers, no_words, ()), whys)}

    def _blanked(self, cells: pa.Array) -> pa.Array | None:
        """The cells without words for nothing; None if there are no such words."""
        words = pc.utf8_trim_whitespace(cells)
        is_nothing = pc.is_in(pc.utf8_lower(words), pa.array(sorted(NOTHING)))
        if self._na_is_nothing:
            is_nothing = pc.or_(is_nothing, pc.equal(words, "NA"))
        return pc.if_else(is_nothing, None, cells) if pc.any(is_nothing).as_py() else None

    def _read_dates(self, array: pa.Array) -> Parts | None:
        """The parts of a column of plain dates; None for any other column."""
        if not self._takes_dates or not len(array):
            return None
        has_hour = True
        if pa.types.is_date(array.type):
            has_hour = False
            array = array.cast(pa.timestamp("s"))
        elif pa.types.is_string(array.type) or pa.types.is_large_string(array.type):
            lengths = pc.min_max(pc.binary_length(array)).as_py().values()
            is_one_form = not {10, *lengths} - {10} or (min(filter(None, lengths), default=0) > 10)
            if not is_one_form or not pc.all(pc.match_substring_regex(array, _A_DATE)).as_py():
                return None
            has_hour = max(filter(None, lengths)) > 10
            try:
                array = array.cast(pa.timestamp("us"))
            except pa.ArrowInvalid:  # such as the thirtieth of February
                return None
        if not pa.types.is_timestamp(array.type) or array.type.tz is not None:
            return None
        return self._parts_of(array, has_hour)

    def _parts_of(self, dates: pa.Array, has_hour: bool) -> Parts:
        absent = dates.is_null().to_numpy(zero_copy_only=False)
        word = np.where(absent, np.int32(_MISSING), np.int32(0))
        days = pc.day_of_week(dates).fill_null(_MISSING).to_numpy(zero_copy_only=False)
        nothing, no_word = np.full(len(absent), np.nan), np.full(len(absent), np.int32(_MISSING))
        parts = {
            self.name: FieldRows(Column(nothing, word, (_A_DATE_WORD,))),
            f"{self.name}.weekday": FieldRows(Column(nothing, days.astype(np.int32), WEEKDAYS)),
        }
        for part, values in (("month", pc.month), ("hour", pc.hour)):
            if part == "month" or has_hour:
                numbers = values(dates).cast(pa.float64()).to_numpy(zero_copy_only=False)
                parts[f"{self.name}.{part}"] = FieldRows(Column(numbers, no_word, ()))
        return parts


def _codes_of(encoded: pa.DictionaryArray, missing: int) -> Codes:
    """The codes of the rows; rows without a value have the code `missing`."""
    codes = encoded.indices.fill_null(missing) if encoded.null_count else encoded.indices
    return np.asarray(codes.to_numpy(zero_copy_only=False))


def _has_no_names(cells: pa.Array) -> bool:
    """Whether no cell is a row of so many digits that it is a name, not a number."""
    longest = pc.max(pc.binary_length(cells)).as_py() or 0
    return longest <= 15 or not pc.any(pc.match_substring_regex(cells, _LONG_DIGITS)).as_py()


class Rows:
    """The rows of a batch as the fields of the playbook."""

    def __init__(self, size: int, given: frozenset[str], reasons: Reasons) -> None:
        self.size, self.given, self.reasons = size, given, reasons
        self.fields: dict[str, FieldRows] = {}
        self.doubts: dict[str, Codes] = {}
        """By field that is in doubt somewhere, the number of the reason by row; 0: no doubt."""

    def __len__(self) -> int:
        return self.size

    def column(self, name: str) -> Column | None:
        """One field over all rows, or None if no row has it."""
        rows = self.fields.get(name)
        return None if rows is None else rows.column

    def known(self, name: str) -> Mask:
        """Where a field has a value."""
        column = self.column(name)
        return np.zeros(self.size, dtype=bool) if column is None else column.known()

    def doubt(self, name: str, why: str, where: Mask) -> None:
        """Put a field in doubt on some rows."""
        if where.any():
            codes = self.doubts.setdefault(name, np.zeros(self.size, dtype=np.int32))
            codes[where] = self.reasons.number(why)

    def in_doubt(self, name: str) -> Mask:
        """Where a field is in doubt."""
        codes = self.doubts.get(name)
        return np.zeros(self.size, dtype=bool) if codes is None else codes > 0

    @property
    def names(self) -> Iterable[str]:
        """The fields that a row may have."""
        return self.fields

    def why(self, number: int) -> str:
        """The reason of a number."""
        return self.reasons.texts[number]


class TableReader:
    """Reads the batches of one table: which column is which field, and what its values mean."""

    def __init__(
        self,
        rules: TableRules,
        names: Sequence[str],
        *,
        is_cells: bool = False,
        conditions: Sequence[Condition] = (),
    ) -> None:
        """`names` are those of the columns; with `is_cells` all values are the text of a CSV.

        `conditions` are tested besides those of the ruleset.
        """
        self._rules, self._contract, self._reasons = rules, rules.contract, Reasons()
        self.fields = dict(fields_of_columns(rules, names, conditions))
        """By column that is read, the field that it is."""
        tested = [*conditions, *rules.conditions]
        compared = [test for condition in tested for test in condition.comparisons]
        self._readers = {
            column: FieldReader(name, self._contract, compared, self._reasons, is_cells=is_cells)
            for column, name in self.fields.items()
        }
        self._is_cells = is_cells
        amounts = amount_columns(self._contract, names)
        self._amounts = [amount for amount in amounts if amount.column in self.fields]
        beside = [amount.beside for amount in self._amounts if amount.beside]
        self.columns = list(dict.fromkeys([*self.fields, *beside]))
        """The columns that a decision may depend on: the fields, and currencies of amounts."""
        self._is_checked = False

    def read(self, batch: pa.RecordBatch) -> Rows:
        """The rows of a batch."""
        rows = Rows(batch.num_rows, frozenset(self.fields.values()), self._reasons)
        for column, reader in self._readers.items():
            rows.fields |= reader.read(batch.column(column))
        rows.doubts = {n: one.whys for n, one in rows.fields.items() if one.whys is not None}
        if not self._is_checked and len(rows):
            self._check_kinds(rows)
        has = sum((rows.known(n) for n in self._contract.counted), np.zeros(len(rows), int))
        lacks_most = has < self._contract.enough
        for known in self._contract.fields.values():
            self._doubt_absent(rows, known, lacks_most)
        for one in self._amounts:
            name = self.fields[one.column]
            for why, where in one.doubts(batch, self._plain_value, self._contract):
                rows.doubt(name, why, where)
        for amount, currency in currencies_of_amounts(self._contract).items():
            only_this = rows.in_doubt(currency) & ~rows.in_doubt(amount)
            rows.doubt(amount, PERHAPS_ANOTHER, only_this)
        self._doubt_whole(rows)
        return rows

    def read_cell(self, column: str, text: str) -> Scalar:
        """The value of one cell of a CSV."""
        reader = self._readers.get(column)
        return read_cell(text) if reader is None else reader.read_cell(text)

    def _plain_value(self, column: str, value: object) -> Scalar:
        """A value of a column as a single payment would bring it."""
        if self._is_cells and isinstance(value, str):
            value = self.read_cell(column, value)
        return plain_value(column, value)

    def _doubt_absent(self, rows: Rows, known: KnownField, lacks_most: Mask) -> None:
        """Put a field in doubt where a row should have it, and lacks it."""
        if not known.is_usual and not lacks_most.any():
            return
        absent = ~(rows.known(known.name) | rows.in_doubt(known.name))
        absent &= known.is_usual | lacks_most
        if absent.any():
            date = date_of_part(known.name)
            has_date = rows.known(date) if date else np.zeros(len(rows), dtype=bool)
            rows.doubt(known.name, known.why_absent(None), absent & ~has_date)
            rows.doubt(known.name, known.why_absent(date), absent & has_date)

    def _doubt_whole(self, rows: Rows) -> None:
        """Put rows in doubt as a whole that have neither an amount nor a field that is known."""
        unknown, form = np.ones(len(rows), dtype=bool), self._contract.form
        tested = {name for rule in self._rules.conditions for name in rule.fields}
        for name in rows.fields:
            is_told = name in self._contract.fields or (name in tested and not is_free_text(name))
            if unknown.any() and (is_told or amount_fields((name,), form.amount)):
                unknown &= ~rows.known(name)
        if self._contract.fields:  # that they are absent says no more than that none is known
            for codes in rows.doubts.values():
                codes[unknown & ~self._reasons.are_of(CURRENCY_DOUBTS, codes)] = 0
        rows.doubt(WHOLE, NOTHING_KNOWN, unknown)

    def _check_kinds(self, rows: Rows) -> None:
        """Refuse a column in which no value of the first batch is of the kind that is known."""
        self._is_checked = True
        for column, name in self.fields.items():
            known, read = self._contract.fields.get(name), rows.fields[name].column
            if known is None or known.kind not in ("number", "flag"):
                continue
            is_kind = ~np.isnan(read.numbers)
            if known.kind == "flag":
                is_kind |= read.equals(True) | read.equals(False)
            if read.known().any() and not is_kind.any():
                wanted = {"number": "numbers", "flag": "yes or no"}[known.kind]
                raise InvalidDataset(
                    f"column {column!r}: {wanted} wanted, as the playbook knows it; no value of "
                    "the first rows is one; correct the column, or leave it out"
                )


def fields_of_columns(
    rules: TableRules, names: Sequence[str], conditions: Sequence[Condition]
) -> Iterator[tuple[str, str]]:
    """The columns that a decision may depend on, and the field that each one is."""
    contract = rules.contract
    conditions = [*conditions, *rules.conditions]
    tested = {name for condition in conditions for name in condition.fields}
    wanted = {*tested, *filter(None, map(date_of_part, tested)), *contract.fields}
    wanted |= {*PRIOR_FIELDS, *filter(None, map(date_of_part, PRIOR_FIELDS))}
    named = [(column, field_of_column(rules, column)) for column in names]
    # A date is read after a column that says its hour: nobody says another hour than the date does.
    for column, name in sorted(named, key=lambda pair: not date_of_part(pair[1])):
        if name in wanted or amount_fields((name,), rules.ruleset.scale.amount_name):
            yield column, name


def field_of_column(rules: TableRules, column: str) -> str:
    """The field that a column is: the known one that its name means, else one of its name."""
    name = clean_text(column) or "unnamed"
    return rules.contract.known_name(name) or name
