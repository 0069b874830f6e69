"""Decide the batches of one table, and write the decisions as batches of the output."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from acegraph.graph.tables.reading import Mask, Rows, TableReader, fields_of_columns
from acegraph.graph.tables.ruleset import TableRules
from acegraph.nodes.rules.columns import DECISIONS, BatchDecider, Rulings
from acegraph.nodes.rules.points import UNIT
from acegraph.state import Condition, InvalidDataset
from acegraph.state.values.notation import is_number
from acegraph.state.values.transaction import is_derived, is_observed

_NAMED: Final = 6
_KEPT: Final = 200_000
"""So many different texts of a column are remembered."""
_BITS: Final = 40
"""So many rules and lines are packed into a number at a time."""
_TEXT: Final = pa.dictionary(pa.int32(), pa.string())


class Scorer:
    """Decides the batches of one table by a ruleset."""

    def __init__(
        self,
        rules: TableRules,
        schema: pa.Schema,
        *,
        is_cells: bool = False,
        ids: str | None = None,
        allow_missing: bool = False,
        conditions: Sequence[Condition] = (),
    ) -> None:
        """`conditions` are tested besides the rules, by `holds`."""
        names = list(schema.names)
        if ids is not None and ids not in schema.names:
            raise InvalidDataset(f"no column {ids!r} for the ids; found {_listed(schema.names)}")
        if not allow_missing:
            check_columns(rules, names)
        self.rules, self._is_cells, self._ids = rules, is_cells, ids
        self._by_row = _needs_rows(rules, schema, names)
        reader = TableReader(rules, names, is_cells=is_cells, conditions=conditions)
        self._reader, self._decider = reader, BatchDecider(rules.ruleset)
        self.columns = names if self._by_row else reader.columns
        """The columns that a decision may depend on."""
        self.read_columns = list(dict.fromkeys([*self.columns, *([ids] if ids else [])]))
        """Those to read: also that of the ids."""
        self._last: tuple[pa.RecordBatch, Rows] | None = None
        self._rows_done = 0
        id_field = pa.field(ids, schema.field(ids).type) if ids else pa.field("row", pa.int64())
        self.schema = pa.schema(
            [
                id_field,
                pa.field("decision", _TEXT),
                pa.field("risk", pa.float64()),
                pa.field("bullets", _TEXT),
                pa.field("scorecard", _TEXT),
                pa.field("undecided", _TEXT),
            ]
        )
        ruleset = rules.ruleset
        bullets = [f"{b.id} {p / UNIT:+.2f}" for b, p in ruleset.points_by_bullet]
        lines = [f"{o.tests[0].render()} {o.points / UNIT:+.1f}" for o in ruleset.prior_scored]
        self._bullets, self._scorecard = _Texts(bullets), _Texts(lines)

    def decide(self, batch: pa.RecordBatch) -> Rulings:
        """The decisions on a batch."""
        if not self._by_row:
            return self._decider.decide(self._read(batch))
        rows = (self.rules.decide(self.row(batch, row)) for row in range(batch.num_rows))
        return Rulings.of_rows(list(rows), self.rules.ruleset)

    def holds(self, batch: pa.RecordBatch, condition: Condition) -> Mask:
        """Where a condition holds."""
        if not self._by_row:
            return condition.holds_over(self._read(batch))
        rows = (self.row(batch, row) for row in range(batch.num_rows))
        return np.array([bool(condition.holds(self.rules.fields(row))) for row in rows])

    def numbers(self, batch: pa.RecordBatch, name: str | None) -> NDArray[np.float64]:
        """The numbers of a field; NaN where there is none."""
        if name is None:
            return np.full(batch.num_rows, np.nan)
        if not self._by_row:
            column = self._read(batch).column(name)
            return np.full(batch.num_rows, np.nan) if column is None else column.numbers
        rows = (self.row(batch, row) for row in range(batch.num_rows))
        values = (self.rules.fields(row).get(name) for row in rows)
        return np.array([value if is_number(value) else np.nan for value in values], np.float64)

    def _read(self, batch: pa.RecordBatch) -> Rows:
        if self._last is None or self._last[0] is not batch:
            self._last = batch, self._reader.read(batch)
        return self._last[1]

    def score(self, batch: pa.RecordBatch) -> pa.RecordBatch:
        """The decisions on a batch, as a batch of the output."""
        found = self.decide(batch)
        first = self._rows_done + 1
        self._rows_done += batch.num_rows
        names = pa.array(np.arange(first, first + batch.num_rows))
        why, codes = _numbered(found.undecided)
        undecided = np.full(batch.num_rows, -1)
        undecided[list(found.undecided)] = codes
        return pa.RecordBatch.from_arrays(
            [
                names if self._ids is None else batch.column(self._ids),
                _encoded(found.decisions, pa.array(DECISIONS)),
                pa.array(found.risks, mask=np.isnan(found.risks)),
                self._bullets.of(found.fired),
                self._scorecard.of(found.prior),
                _encoded(undecided, pa.array(why, pa.string())),
            ],
            schema=self.schema,
        )

    def row(self, batch: pa.RecordBatch, row: int) -> dict[str, object]:
        """One row as a transaction."""
        values = {name: batch.column(name)[row].as_py() for name in batch.schema.names}
        if self._is_cells:
            cells = {name: value for name, value in values.items() if value is not None}
            return values | {name: self._reader.read_cell(name, v) for name, v in cells.items()}
        return values


def check_columns(rules: TableRules, names: Sequence[str]) -> None:
    """Refuse a table without a column that a rule tests: each of its rows would be in doubt."""
    check_tested(rules, names, {b.id: b.condition for b in rules.ruleset.rules if b.condition})


def check_tested(
    rules: TableRules, names: Sequence[str], conditions: Mapping[str, Condition]
) -> None:
    """Refuse a table without a column that one of these conditions tests."""
    found = fields_of_columns(rules.task, names).values()
    fields = {name for one in found for name in (one.name, *one.part_names)} | {*names}
    lacking: dict[str, list[str]] = {}
    for who, condition in conditions.items():
        for name in condition.fields:
            if name not in fields and not is_observed(name):  # in a table nobody reads
                lacking.setdefault(name, []).append(who)
    if lacking:
        some = "; ".join(f"{name} ({', '.join(ids[:3])})" for name, ids in lacking.items())
        is_derived_field = any(map(is_derived, lacking))
        hint = "a table must bring the fields that are derived from earlier payments"
        raise InvalidDataset(
            f"columns that bullets test are missing: {some}; found {_listed(names)}; "
            + (hint if is_derived_field else "'acegraph score --allow-missing' does without them")
        )


def _listed(names: Sequence[str]) -> str:
    more = f" and {len(names) - _NAMED} more" if len(names) > _NAMED else ""
    return ", ".join(names[:_NAMED]) + more


def _needs_rows(rules: TableRules, schema: pa.Schema, names: Sequence[str]) -> bool:
    """Whether each row must be read for itself: what it means depends on several columns."""
    nested = (pa.types.is_nested(schema.field(name).type) for name in names)
    derived = any(map(is_derived, names)) or rules.lacking_derived
    return bool(derived or any(nested))


def _encoded(codes: NDArray[np.integer], texts: pa.Array) -> pa.DictionaryArray:
    """A column of texts; -1 stands for none."""
    return pa.DictionaryArray.from_arrays(pa.array(codes.astype(np.int32), mask=codes < 0), texts)


class _Texts:
    """Writes what holds on a row as a text; rows on which the same holds share it."""

    def __init__(self, names: Sequence[str]) -> None:
        self._names = names
        self._known: dict[int, str] = {}

    def of(self, holds: NDArray[np.bool_]) -> pa.DictionaryArray:
        """The texts of all rows; `holds` has a row for each name."""
        if len(self._known) > _KEPT:
            self._known.clear()
        keys, codes = patterns(holds)
        texts = [self._known.get(key) or self._text(key) for key in keys]
        return pa.DictionaryArray.from_arrays(codes, pa.array(texts, pa.string()))

    def _text(self, key: int) -> str:
        names = (name for place, name in enumerate(self._names) if key >> place & 1)
        text = self._known[key] = ", ".join(names)
        return text


def patterns(holds: NDArray[np.bool_]) -> tuple[list[int], pa.Array]:
    """The different columns of bits as numbers, and the place of each column among them."""
    keys, codes = [0] * min(holds.shape[1], 1), pa.array(np.zeros(holds.shape[1], dtype=np.int32))
    for first in range(0, len(holds), _BITS):
        some = holds[first : first + _BITS]
        number = np.zeros(holds.shape[1], dtype=np.int64)
        for place, byte in enumerate(np.packbits(some, axis=0, bitorder="little")):
            number |= byte.astype(np.int64) << (8 * place)
        joint = number if first == 0 else (codes.to_numpy().astype(np.int64) << _BITS) | number
        encoded = pa.array(joint).dictionary_encode()
        distinct, mask = encoded.dictionary.to_pylist(), (1 << _BITS) - 1
        keys = (
            distinct
            if first == 0
            else [keys[one >> _BITS] | (one & mask) << first for one in distinct]
        )
        codes = encoded.indices
    return keys, codes


def _numbered(texts: Mapping[int, str]) -> tuple[list[str], list[int]]:
    numbers: dict[str, int] = {}
    codes = [numbers.setdefault(text, len(numbers)) for text in texts.values()]
    return list(numbers), codes
