"""Try rules, bullets or whole versions of a playbook on a table of past payments."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Final

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from acegraph.graph.data.labels import read_label
from acegraph.graph.metrics.records import Counts, Record
from acegraph.graph.tables.databases import DatabaseTable, open_table
from acegraph.graph.tables.files import TableFiles, check_output, writing
from acegraph.graph.tables.reading import Mask
from acegraph.graph.tables.ruleset import TableRules
from acegraph.graph.tables.scorer import Scorer, check_columns, check_tested
from acegraph.nodes.rules.columns import DECISIONS
from acegraph.state import APPROVE, DECLINE, AceContext, Condition, InvalidDataset, InvalidSettings
from acegraph.state.database.places import whole_file
from acegraph.state.playbook.decision_index import FRAUD, HONEST, UNLABELLED
from acegraph.state.task.form import label_cell
from acegraph.state.values.condition import Comparison, is_meant_as_condition
from acegraph.state.values.verdict import UNDECIDED

if TYPE_CHECKING:
    from acegraph.graph.data.rows import Progress
    from acegraph.state import BulletPlaybook
    from acegraph.state.values.verdict import Verdict

_DECLINED: Final = DECISIONS.index(DECLINE)
_UNDECIDED: Final = DECISIONS.index(UNDECIDED)


@dataclass(frozen=True)
class Subject:
    """What is tried: a rule, or a playbook that declines."""

    name: str
    rules: TableRules
    """For a rule: the playbook without it, to which it would be added."""
    condition: Condition | None = None
    """None: the ruleset as a whole is tried."""

    @property
    def verdict(self) -> Verdict:
        """What follows where it fires."""
        return self.condition.verdict if self.condition else DECLINE


@dataclass(frozen=True)
class BacktestReport:
    """The records of all subjects on one table."""

    backtests: list[Record]

    def to_json(self) -> dict[str, object]:
        """The report for machines."""
        return {"backtests": [one.to_json() for one in self.backtests]}


def subjects_of(
    playbook: BulletPlaybook, what: str, context: AceContext | None = None
) -> list[Subject]:
    """What a word of the command line means: a rule, a bullet, a file of rules, the playbook, or a
    version as v12.
    """
    today = TableRules.of(playbook, context)
    if what == "playbook":
        return [Subject("playbook", today)]
    if is_meant_as_condition(what):
        return [_rule(Condition.parse(what), today)]
    if what.startswith("v") and what[1:].isdigit():
        return [Subject(what, TableRules.of_version(playbook, int(what[1:]), context))]
    if Path(what).is_file():
        lines = [line.strip() for line in Path(what).read_text().splitlines()]
        return [_rule(Condition.parse(line), today) for line in lines if line and line[0] != "#"]
    if not (what.startswith("b") and what[1:].isdigit()):
        raise InvalidSettings(
            f"a rule ('DECLINE when ...'), a bullet (b7), a file of rules, playbook, or a version "
            f"(v12) wanted; found {what[:60]!r}; compare --against compares two versions"
        )
    bullet = playbook.get_bullet(what)
    if bullet.condition is None:
        raise InvalidSettings(f"{what} is prose: only a bullet with a condition can be tried")
    return [_rule(bullet.condition, _without(today, what), f"{what}: ")]


def _rule(condition: Condition, rules: TableRules, prefix: str = "") -> Subject:
    return Subject(prefix + condition.render(), rules, condition)


def _without(rules: TableRules, bullet_id: str) -> TableRules:
    ruleset = rules.ruleset
    others = tuple(b for b in ruleset.rules if b.id != bullet_id)
    return replace(rules, ruleset=replace(ruleset, rules=others))


@dataclass(frozen=True)
class Labels:
    """The column of the right answers, and the word in it that means fraud."""

    column: str | None = None
    positive: str | None = None
    amount: str | None = None
    """The column of the amount, where it has no usual name."""

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
        return np.asarray(numbers[encoded.indices.fill_null(len(words) - 1).to_numpy()])


NO_LABELS: Final = Labels()


def backtest_files(
    subjects: Sequence[Subject],
    source: str | Path,
    labels: Labels = NO_LABELS,
    *,
    rows: str | Path | None = None,
    progress: Progress | None = None,
) -> BacktestReport:
    """Try subjects on the rows of a file, or of the files of a pattern.

    `rows` names a file for the rows on which any of them fires.
    """
    table = open_table(source)
    _check_names(table.flat_schema, labels)
    if rows is None:
        return _Backtesting(subjects, table, labels).run(progress)
    file = Path(rows)
    check_output(file)
    schema = table.flat_schema.append(pa.field("fired", pa.string()))
    with whole_file(file) as part, writing(part, file, schema) as writer:

        def keep(batch: pa.RecordBatch, fired: Sequence[Mask]) -> None:
            which = np.logical_or.reduce(fired)
            names = [
                "; ".join(s.name for s, f in zip(subjects, fired, strict=True) if f[row])
                for row in np.flatnonzero(which)
            ]
            kept = batch.filter(pa.array(which)).append_column(
                "fired", pa.array(names, pa.string())
            )
            writer.write_batch(kept.cast(schema))

        return _Backtesting(subjects, table, labels).run(progress, keep)


def _check_names(schema: pa.Schema, labels: Labels) -> None:
    for name in filter(None, (labels.column, labels.amount)):
        if name not in schema.names:
            raise InvalidDataset(f"no column {name!r}; found {', '.join(schema.names[:12])}")


Keep = Callable[[pa.RecordBatch, Sequence[Mask]], None]
"""Called with a batch and, by subject, where it fires."""


class _Backtesting:
    """One pass over a table."""

    def __init__(
        self, subjects: Sequence[Subject], table: TableFiles | DatabaseTable, labels: Labels
    ) -> None:
        self._subjects, self._table, self._labels = subjects, table, labels
        names = table.flat_schema.names
        conditions = [s.condition for s in subjects if s.condition]
        self._amount = labels.amount
        if labels.amount is None and (found := subjects[0].rules.task.of_role("amount")):
            self._amount = found.name
        if self._amount is not None:  # so that it is read
            conditions.append(Condition((Comparison(self._amount, "is known"),), DECLINE))
        self._scorers: dict[int, Scorer] = {}
        """By identity of the ruleset: several rules may be added to one."""
        self.backtests: list[Record] = []
        for subject in subjects:
            is_known = has_columns(subject, names)
            added = Counts() if subject.condition and is_known else None
            self.backtests.append(Record(subject.name, subject.verdict, added=added))
            if id(subject.rules) not in self._scorers:
                self._scorers[id(subject.rules)] = Scorer(
                    subject.rules,
                    table.flat_schema,
                    is_cells=table.is_cells,
                    allow_missing=True,
                    conditions=conditions,
                )

    def run(self, progress: Progress | None, keep: Keep | None = None) -> BacktestReport:
        total, done = self._table.rows, 0
        columns = {name for scorer in self._scorers.values() for name in scorer.columns}
        columns |= {*filter(None, (self._labels.column, self._labels.amount))}
        wanted = [name for name in self._table.flat_schema.names if keep or name in columns]
        for batch in self._table.batches(wanted):
            labels = self._labels.read(batch, is_cells=self._table.is_cells)
            first = next(iter(self._scorers.values()))
            amounts = first.numbers(batch, self._amount)
            fired = list(self._fired(batch, labels, amounts))
            if keep:
                keep(batch, fired)
            done += batch.num_rows
            if progress:
                progress("rows", done, total or done)
        if not done:
            raise InvalidDataset(f"{self._table.place}: no rows")
        return BacktestReport(self.backtests)

    def _fired(
        self, batch: pa.RecordBatch, labels: NDArray[np.int8], amounts: NDArray[np.float64]
    ) -> Iterator[Mask]:
        """By subject where it fires; everything is counted on the way."""
        needed = {
            id(s.rules)
            for s, one in zip(self._subjects, self.backtests, strict=True)
            if s.condition is None or one.added is not None
        }
        decided = {key: self._scorers[key].decide(batch).decisions for key in needed}
        for subject, one in zip(self._subjects, self.backtests, strict=True):
            decisions = decided.get(id(subject.rules))
            if subject.condition:
                fired = self._scorers[id(subject.rules)].holds(batch, subject.condition)
            else:
                assert decisions is not None
                fired = decisions == _DECLINED
                one.undecided += int((decisions == _UNDECIDED).sum())
            says_so = None
            if one.added is not None and decisions is not None:
                says_so = decisions == DECISIONS.index(subject.verdict)
            one.add(fired, labels == FRAUD, labels == HONEST, amounts, says_so)
            yield fired


def has_columns(subject: Subject, names: Sequence[str]) -> bool:
    """Whether the table has what the playbook tests; what a rule itself tests must be there."""
    rules = subject.rules
    if subject.condition is None:
        check_columns(rules, names)
        return True
    check_tested(rules, names, {"the rule": subject.condition})
    try:
        check_columns(rules, names)
    except InvalidDataset:
        return False
    return True
