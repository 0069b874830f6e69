"""Decide the batches of one table, and write the decisions as batches of the output."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import compress
from typing import Final

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from acegraph.graph.tables.reading import TableReader, fields_of_columns
from acegraph.graph.tables.ruleset import TableRules
from acegraph.nodes.rules.columns import DECISIONS, BatchDecider
from acegraph.nodes.rules.points import UNIT
from acegraph.state import InvalidDataset
from acegraph.state.errors import some
from acegraph.state.values import Condition, is_derived, is_observed

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
    ) -> None:
        """`ids` is the column that names the rows; else they are numbered."""
        if ids is not None and ids not in schema.names:
            raise InvalidDataset(f"no column {ids!r} for the ids; found {some(schema.names, 6)}")
        if not allow_missing:
            check_tested(rules, schema.names)
        self.rules, self._ids, self._rows_done = rules, ids, 0
        self.reader = TableReader(rules, schema, is_cells=is_cells)
        self.read_columns = list(dict.fromkeys([*self.reader.columns, *([ids] if ids else [])]))
        id_field = pa.field(ids, schema.field(ids).type) if ids else pa.field("row", pa.int64())
        kinds = {"decision": _TEXT, "risk": pa.float64()}
        kinds |= dict.fromkeys(("bullets", "scorecard", "undecided"), _TEXT)
        self.schema = pa.schema([id_field, *(pa.field(*column) for column in kinds.items())])
        ruleset, self._decider = rules.ruleset, BatchDecider(rules.ruleset)
        self._bullets = [f"{b.id} {p / UNIT:+.2f}" for b, p in ruleset.points_by_bullet]
        self._prior = [
            f"{o.tests[0].render()} {o.points / UNIT:+.1f}" for o in ruleset.prior_scored
        ]

    def score(self, batch: pa.RecordBatch) -> pa.RecordBatch:
        """The decisions on a batch, as a batch of the output."""
        found = self._decider.decide(self.reader.read(batch))
        first = self._rows_done + 1
        self._rows_done += batch.num_rows
        names = pa.array(np.arange(first, first + batch.num_rows))
        why = {text: number for number, text in enumerate(dict.fromkeys(found.undecided.values()))}
        undecided = np.full(batch.num_rows, -1)
        undecided[list(found.undecided)] = [why[text] for text in found.undecided.values()]
        return pa.RecordBatch.from_arrays(
            [
                names if self._ids is None else batch.column(self._ids),
                _encoded(found.decisions, pa.array(DECISIONS)),
                pa.array(found.risks, mask=np.isnan(found.risks)),
                _that_hold(self._bullets, found.fired),
                _that_hold(self._prior, found.prior),
                _encoded(undecided, pa.array(list(why), pa.string())),
            ],
            schema=self.schema,
        )


def lacking(
    rules: TableRules, names: Sequence[str], conditions: Mapping[str, Condition] | None = None
) -> dict[str, list[str]]:
    """By field that a table with these columns lacks, who tests it: rules of the playbook, or of
    the `conditions`.
    """
    if conditions is None:
        conditions = {b.id: b.condition for b in rules.ruleset.rules if b.condition}
    found = fields_of_columns(rules.task, names).values()
    fields = {name for one in found for name in (one.name, *one.part_names)} | {*names}
    testing: dict[str, list[str]] = {}
    for who, condition in conditions.items():
        for name in condition.fields:
            if name not in fields and not is_observed(name):  # in a table nobody reads
                testing.setdefault(name, []).append(who)
    return testing


def check_tested(
    rules: TableRules, names: Sequence[str], conditions: Mapping[str, Condition] | None = None
) -> None:
    """Refuse a table without a column that a rule tests: each of its rows would be in doubt."""
    if testing := lacking(rules, names, conditions):
        missing = "; ".join(f"{name} ({', '.join(ids[:3])})" for name, ids in testing.items())
        hint = "'acegraph score --allow-missing' does without them"
        if any(map(is_derived, testing)):
            hint = "a table must bring the fields that are derived from earlier payments"
        raise InvalidDataset(
            f"columns that bullets test are missing: {missing}; found {some(names, 6)}; {hint}"
        )


def _encoded(codes: NDArray[np.integer], texts: pa.Array) -> pa.DictionaryArray:
    """A column of texts; -1 stands for none."""
    return pa.DictionaryArray.from_arrays(pa.array(codes.astype(np.int32), mask=codes < 0), texts)


def _that_hold(names: Sequence[str], holds: NDArray[np.bool_]) -> pa.DictionaryArray:
    """The names of what holds on each row, as a text; `holds` has a row for each name."""
    bits = holds if len(holds) else np.zeros((1, holds.shape[1]), dtype=bool)
    rows = np.ascontiguousarray(np.packbits(bits, axis=0).T)  # as bytes, eight in one
    kind, buffers = pa.binary(rows.shape[1]), [None, pa.py_buffer(rows)]
    encoded = pa.Array.from_buffers(kind, len(rows), buffers).dictionary_encode()
    unpacked = (
        np.unpackbits(np.frombuffer(one.as_buffer(), np.uint8)) for one in encoded.dictionary
    )
    texts = [", ".join(compress(names, some)) for some in unpacked]
    return pa.DictionaryArray.from_arrays(encoded.indices, pa.array(texts, pa.string()))
