"""Try rules, bullets or whole versions of a playbook on a table of past payments."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import compress
from pathlib import Path
from typing import TYPE_CHECKING, Final

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from acegraph.graph.data.labels import read_label
from acegraph.graph.metrics.records import Record
from acegraph.graph.tables.files import TableFiles, writing
from acegraph.graph.tables.reading import Mask, TableReader, codes_of
from acegraph.graph.tables.ruleset import TableRules
from acegraph.graph.tables.scorer import check_columns, check_tested
from acegraph.nodes.rules.columns import DECISIONS, BatchDecider
from acegraph.state import APPROVE, DECLINE, AceContext, Condition, InvalidDataset, InvalidSettings
from acegraph.state.database.places import whole_file
from acegraph.state.playbook.decision_index import FRAUD, HONEST, UNLABELLED
from acegraph.state.task.form import label_cell
from acegraph.state.values.condition import Comparison, is_meant_as_condition
from acegraph.state.values.verdict import UNDECIDED

if TYPE_CHECKING:
    from acegraph.graph.data.rows import Progress
    from acegraph.state import BulletPlaybook


@dataclass(frozen=True)
class Subjects:
    """What is tried: rules that would be added to a ruleset, or the ruleset itself."""

    rules: TableRules
    conditions: dict[str, Condition]
    """By name; none: the ruleset as a whole is tried."""
    name: str = "playbook"

    @property
    def records(self) -> list[Record]:
        """A record of each, without any rows."""
        tried = [Record(name, condition.verdict) for name, condition in self.conditions.items()]
        return tried or [Record(self.name, DECLINE)]

    def is_known(self, names: Sequence[str]) -> bool:
        """Whether a table has what the ruleset tests; what is tried itself must be there."""
        for condition in self.conditions.values():
            check_tested(self.rules, names, {"the rule": condition})
        try:
            check_columns(self.rules, names)
        except InvalidDataset:
            if not self.conditions:
                raise
            return False
        return True


@dataclass(frozen=True)
class BacktestReport:
    """The records of all subjects on one table."""

    backtests: list[Record]

    def to_json(self) -> dict[str, object]:
        """The report for machines."""
        return {"backtests": [one.to_json() for one in self.backtests]}


def subjects_of(playbook: BulletPlaybook, what: str, context: AceContext | None = None) -> Subjects:
    """What a word of the command line means: a rule, a bullet, a file of rules, the playbook, or a
    version as v12.
    """
    today = TableRules.of(playbook, context)
    if what == "playbook":
        return Subjects(today, {})
    if is_meant_as_condition(what):
        return _rules(today, [what])
    if what.startswith("v") and what[1:].isdigit():
        return Subjects(TableRules.of_version(playbook, int(what[1:]), context), {}, what)
    if Path(what).is_file():
        lines = [line.strip() for line in Path(what).read_text().splitlines()]
        return _rules(today, [line for line in lines if line and line[0] != "#"])
    if not (what.startswith("b") and what[1:].isdigit()):
        raise InvalidSettings(
            f"a rule ('DECLINE when ...'), a bullet (b7), a file of rules, playbook, or a version "
            f"(v12) wanted; found {what[:60]!r}; compare --against compares two versions"
        )
    bullet = playbook.get_bullet(what)
    if bullet.condition is None:
        raise InvalidSettings(f"{what} is prose: only a bullet with a condition can be tried")
    others = tuple(b for b in today.ruleset.rules if b.id != what)
    without = replace(today, ruleset=replace(today.ruleset, rules=others))
    return Subjects(without, {f"{what}: {bullet.condition.render()}": bullet.condition})


def _rules(rules: TableRules, texts: Sequence[str]) -> Subjects:
    conditions = map(Condition.parse, texts)
    return Subjects(rules, {condition.render(): condition for condition in conditions})


@dataclass(frozen=True)
class Labels:
    """The column of the right answers, and the word in it that means fraud."""

    column: str | None = None
    positive: str | None = None

    def read(self, batch: pa.RecordBatch, *, is_cells: bool) -> NDArray[np.int8]:
        """For each row whether it is fraud, honest, or without a label."""
        if self.column is None:
            return np.full(batch.num_rows, UNLABELLED, dtype=np.int8)
        array = batch.column(self.column)
        encoded = array if pa.types.is_dictionary(array.type) else array.dictionary_encode()
        words = [*encoded.dictionary.to_pylist(), None]
        if is_cells:
            words = [None if word is None else label_cell(word) for word in words]
        where = f"column {self.column!r}"
        verdicts = [read_label(word, self.positive, self.column, where) for word in words]
        meaning = {DECLINE: FRAUD, APPROVE: HONEST, None: UNLABELLED}
        numbers = np.array([meaning[verdict] for verdict in verdicts], dtype=np.int8)
        return np.asarray(numbers[codes_of(encoded)])


NO_LABELS: Final = Labels()
Keep = Callable[[pa.RecordBatch, Sequence[Mask]], None]
"""Called with a batch and, by subject, where it fires."""


def backtest_files(
    subjects: Subjects,
    source: str | Path,
    labels: Labels = NO_LABELS,
    *,
    rows: str | Path | None = None,
    progress: Progress | None = None,
) -> BacktestReport:
    """Try subjects on the rows of a file, or of the files of a pattern.

    `rows` names a file for the rows on which any of them fires.
    """
    table = TableFiles.open(source)
    if labels.column not in (None, *table.flat_schema.names):
        some = ", ".join(table.flat_schema.names[:12])
        raise InvalidDataset(f"no column {labels.column!r}; found {some}")
    backtest = _Backtest(subjects, table, labels)
    if rows is None:
        return backtest.run(progress)
    file = Path(rows)
    all_names = [record.name for record in backtest.records]
    schema = table.flat_schema.append(pa.field("fired", pa.string()))
    with whole_file(file) as part, writing(part, file, schema) as write:

        def keep(batch: pa.RecordBatch, fired: Sequence[Mask]) -> None:
            which = np.logical_or.reduce(fired)
            by_row = np.array(fired).T[which]
            names = ["; ".join(compress(all_names, one)) for one in by_row]
            kept = batch.filter(pa.array(which))
            kept = kept.append_column("fired", pa.array(names, pa.string()))
            write(kept.cast(schema))

        return backtest.run(progress, keep)


class _Backtest:
    """One pass over a table."""

    def __init__(self, subjects: Subjects, table: TableFiles, labels: Labels) -> None:
        self._subjects, self._table, self._labels = subjects, table, labels
        rules, names = subjects.rules, table.flat_schema.names
        self._is_known = subjects.is_known(names)
        found = rules.task.of_role("amount")
        self._amount = found.name if found else ""
        conditions = list(subjects.conditions.values())
        if self._amount:  # so that it is read
            conditions.append(Condition((Comparison(self._amount, "is known"),), DECLINE))
        self._reader = TableReader(
            rules, table.flat_schema, is_cells=table.is_cells, conditions=conditions
        )
        self._decider = BatchDecider(rules.ruleset)
        self.records = subjects.records

    def run(self, progress: Progress | None, keep: Keep | None = None) -> BacktestReport:
        """Count all rows."""
        total, done = self._table.rows, 0
        columns = {*self._reader.columns, self._labels.column}
        wanted = [name for name in self._table.flat_schema.names if keep or name in columns]
        for batch in self._table.batches(wanted):
            fired = list(self._fired(batch))
            if keep:
                keep(batch, fired)
            done += batch.num_rows
            if progress:
                progress("rows", done, total or done)
        if not done:
            raise InvalidDataset(f"{self._table.place}: no rows")
        return BacktestReport(self.records)

    def _fired(self, batch: pa.RecordBatch) -> Iterator[Mask]:
        """By subject where it fires; everything is counted on the way."""
        labels = self._labels.read(batch, is_cells=self._table.is_cells)
        rows = self._reader.read(batch)
        column = rows.column(self._amount)
        amounts = np.full(len(rows), np.nan) if column is None else column.numbers
        said = self._decider.decide(rows).decisions if self._is_known else None
        conditions = list(self._subjects.conditions.values())
        for place, record in enumerate(self.records):
            says_so = None if said is None else said == DECISIONS.index(record.verdict)
            if conditions:
                fired = conditions[place].holds_over(rows)
            else:
                assert said is not None  # `is_known` refuses a table without what is tried
                fired, says_so = np.asarray(says_so), None
                record.undecided += int((said == DECISIONS.index(UNDECIDED)).sum())
            record.add(fired, labels == FRAUD, labels == HONEST, amounts, says_so)
            yield fired
