"""Score a whole table: for every row a decision, its risk, and the bullets that fired.

The graph decides the same (docs/tables.md). Nothing is recorded.
"""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from itertools import compress
from pathlib import Path
from typing import Final

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from acegraph.graph.data.rows import Progress
from acegraph.graph.tables.files import BATCH, TableFile, Write, flat, writing
from acegraph.graph.tables.reading import TableReader, fields_of_columns
from acegraph.graph.tables.ruleset import TableRules
from acegraph.nodes.rules.columns import DECISIONS, BatchDecider, Rulings
from acegraph.nodes.rules.points import UNIT
from acegraph.state import AceContext, BulletPlaybook, InvalidDataset
from acegraph.state.database.places import whole_file
from acegraph.state.errors import some
from acegraph.state.values import Condition, is_derived, is_observed

_TEXT: Final = pa.dictionary(pa.int32(), pa.string())


@dataclass(frozen=True)
class ScoreReport:
    """What was decided on a table."""

    rows: int
    decisions: dict[str, int]
    """How many rows have each decision."""
    version: int
    """The version of the playbook."""
    bullets: int
    """How many bullets act."""


def score(
    playbook: BulletPlaybook | TableRules,
    table: object,
    *,
    context: AceContext | None = None,
    ids: str | None = None,
    allow_missing: bool = False,
) -> pa.Table:
    """The decision on every row of a table of Arrow, pandas or polars, or of anything that gives
    its columns as Arrow does.

    The result has a row for each row: the column `ids`, or `row`, from 1 on; `decision`, `risk`;
    what was added up, `bullets` and `scorecard`; and `undecided` (why there is no decision).
    """
    try:
        given = flat(pa.table(table))
    except (pa.ArrowInvalid, pa.ArrowTypeError, TypeError) as error:
        raise InvalidDataset(
            "a table of Arrow, pandas or polars wanted, with one type for each column: "
            f"{str(error).splitlines()[-1][:160]}"
        ) from None
    scorer = Scorer(as_rules(playbook, context), given.schema, ids=ids, allow_missing=allow_missing)
    batches = [scorer.score(batch) for batch in given.combine_chunks().to_batches(BATCH)]
    return pa.Table.from_batches(batches, scorer.schema).unify_dictionaries()


def as_rules(playbook: BulletPlaybook | TableRules, context: AceContext | None) -> TableRules:
    """A playbook as data; table rules are that already, and have its settings."""
    return playbook if isinstance(playbook, TableRules) else TableRules.of(playbook, context)


def score_files(
    playbook: BulletPlaybook | TableRules,
    source: str | Path,
    out: str | Path | None = None,
    *,
    context: AceContext | None = None,
    ids: str | None = None,
    allow_missing: bool = False,
    progress: Progress | None = None,
) -> ScoreReport:
    """Decide the rows of a file, and write the decisions to `out`.

    The rows go through memory in batches. The output appears when it is whole.
    """
    rules, table = as_rules(playbook, context), TableFile.open(source)
    scorer = Scorer(
        rules, table.flat_schema, is_cells=table.is_cells, ids=ids, allow_missing=allow_missing
    )
    counts: Counter[str] = Counter()
    with ExitStack() as stack:
        take: Write | None = None
        if out is not None:
            part = stack.enter_context(whole_file(Path(out)))
            take = stack.enter_context(writing(part, Path(out), scorer.schema))
        for batch in table.batches(scorer.read_columns):
            scored = scorer.score(batch)
            found = scored.column("decision").value_counts()
            counts.update({one["values"].as_py(): one["counts"].as_py() for one in found})
            if take:
                take(scored)
            if progress:
                progress("rows", counts.total(), table.rows or counts.total())
        if not counts:
            raise InvalidDataset(f"{source}: no rows")
    act = len(rules.ruleset.rules)
    return ScoreReport(counts.total(), dict(counts), rules.ruleset.version, act)


def decide_batches(
    rules: TableRules, batches: Iterable[pa.RecordBatch], ids: str | None = None
) -> Iterator[pa.RecordBatch]:
    """The decisions on batches of one table, batch by batch."""
    scorer: Scorer | None = None
    for batch in batches:
        given = flat(pa.Table.from_batches([batch])).combine_chunks()
        scorer = scorer or Scorer(rules, given.schema, ids=ids)
        yield from map(scorer.decide, given.to_batches())


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
        # What a graded rule adds goes by the value; its sentence tells it.
        self._bullets = [
            b.id if b.is_graded else f"{b.id} {points / UNIT:+.2f}"
            for b, points in ruleset.points_by_bullet
        ]
        self._prior = [
            f"{o.tests[0].render()} {o.points / UNIT:+.1f}" for o in ruleset.prior_scored
        ]

    def score(self, batch: pa.RecordBatch) -> pa.RecordBatch:
        """The decisions on a batch, as a batch of the output."""
        return self._told(batch, self._decider.decide(self.reader.read(batch)))

    def decide(self, batch: pa.RecordBatch) -> pa.RecordBatch:
        """The same in plain types with the points; rows that have no id have no number either."""
        found = self._decider.decide(self.reader.read(batch))
        told = self._told(batch, found).append_column("points", pa.array(found.points))
        kept = told.schema.names[self._ids is None :]
        plain = {
            n: c.dictionary_decode() if pa.types.is_dictionary((c := told.column(n)).type) else c
            for n in kept
        }
        return pa.RecordBatch.from_pydict(plain)

    def _told(self, batch: pa.RecordBatch, found: Rulings) -> pa.RecordBatch:
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
    fields |= {one.name for one in rules.task.differences if fields.issuperset(one.of)}
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
