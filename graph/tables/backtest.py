"""Try rules, bullets or whole versions of a playbook on a table of past payments."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Final

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from acegraph.graph.data.file_rows import label_cell
from acegraph.graph.data.files import read_label
from acegraph.graph.tables.databases import DatabaseTable, open_table
from acegraph.graph.tables.files import TableFiles, check_output, writing
from acegraph.graph.tables.reading import Mask, field_of_column
from acegraph.graph.tables.ruleset import TableRules
from acegraph.graph.tables.scorer import Scorer, check_columns, check_tested
from acegraph.nodes.evidence.backtest import wilson_interval
from acegraph.nodes.rules.columns import DECISIONS
from acegraph.nodes.text.currencies import amount_fields
from acegraph.state import APPROVE, DECLINE, AceContext, Condition, InvalidDataset, InvalidSettings
from acegraph.state.database.places import whole_file
from acegraph.state.playbook.decision_index import FRAUD, HONEST, UNLABELLED
from acegraph.state.values.condition import Comparison, is_meant_as_condition
from acegraph.state.values.verdict import UNDECIDED

if TYPE_CHECKING:
    from acegraph.graph.data.file_rows import Progress
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


@dataclass
class Counts:
    """Fired rows, and what their labels and amounts say."""

    fires: int = 0
    frauds: int = 0
    honest: int = 0
    fraud_amount: float = 0.0
    """The amounts of these frauds together."""
    honest_amount: float = 0.0

    def add(self, fired: Mask, labels: NDArray[np.int8], amounts: NDArray[np.float64]) -> None:
        """Count the rows of a batch."""
        frauds, honest = fired & (labels == FRAUD), fired & (labels == HONEST)
        self.fires += int(fired.sum())
        self.frauds += int(frauds.sum())
        self.honest += int(honest.sum())
        self.fraud_amount += float(np.nansum(amounts[frauds]))
        self.honest_amount += float(np.nansum(amounts[honest]))


@dataclass
class TableBacktest:
    """How a rule or a playbook does on a table."""

    name: str
    verdict: Verdict
    rows: int = 0
    all_frauds: int = 0
    all_honest: int = 0
    undecided: int = 0
    """Rows that a playbook leaves undecided."""
    fired: Counts = field(default_factory=Counts)
    """Of a playbook: the rows that it declines."""
    added: Counts | None = None
    """Of a rule: the fired rows on which the playbook without it does not say the same."""

    @property
    def right(self) -> int:
        """On how many labelled rows its verdict is the label."""
        return self.fired.frauds if self.verdict == DECLINE else self.fired.honest

    @property
    def precision(self) -> tuple[float, float, float]:
        """The share of the labelled rows that it is right on, with its 95 % interval."""
        fires = self.fired.frauds + self.fired.honest
        low, high = wilson_interval(self.right, fires)
        return self.right / fires if fires else 0.0, low, high

    @property
    def recall(self) -> float:
        """The share of the rows labelled with its verdict on which it fires."""
        agreeing = self.all_frauds if self.verdict == DECLINE else self.all_honest
        return self.right / agreeing if agreeing else 0.0

    def to_json(self) -> dict[str, object]:
        """All figures by name."""
        precision, low, high = self.precision
        others = self.all_honest if self.verdict == DECLINE else self.all_frauds
        wrong = self.fired.frauds + self.fired.honest - self.right
        return {
            **asdict(self),
            "precision": round(precision, 6),
            "precision_low": round(low, 6),
            "precision_high": round(high, 6),
            "recall": round(self.recall, 6),
            "false_positive_rate": round(wrong / others, 6) if others else 0.0,
        }


@dataclass(frozen=True)
class BacktestReport:
    """The backtests of all subjects on one table."""

    backtests: list[TableBacktest]
    changed: Counts | None = None
    """With two versions: the rows that only the second one declines."""
    changed_back: Counts | None = None
    """And those that only the first one declines."""

    def to_json(self) -> dict[str, object]:
        """The report for machines."""
        return {
            "backtests": [one.to_json() for one in self.backtests],
            "changed": self.changed and asdict(self.changed),
            "changed_back": self.changed_back and asdict(self.changed_back),
        }


def subjects_of(
    playbook: BulletPlaybook, what: str, context: AceContext | None = None
) -> list[Subject]:
    """What a word of the command line means: a rule, a bullet, a file of rules, the playbook, a
    version as v12, or two versions as v12..v15.
    """
    today = TableRules.of(playbook, context)
    if what == "playbook":
        return [Subject("playbook", today)]
    if is_meant_as_condition(what):
        return [_rule(Condition.parse(what), today)]
    versions = [part.removeprefix("v") for part in what.split("..")]
    if what.startswith("v") and len(versions) <= 2 and all(map(str.isdigit, versions)):
        numbers = map(int, versions)
        return [Subject(f"v{n}", TableRules.of_version(playbook, n, context)) for n in numbers]
    if Path(what).is_file():
        lines = [line.strip() for line in Path(what).read_text().splitlines()]
        return [_rule(Condition.parse(line), today) for line in lines if line and line[0] != "#"]
    if not (what.startswith("b") and what[1:].isdigit()):
        raise InvalidSettings(
            f"a rule ('DECLINE when ...'), a bullet (b7), a file of rules, playbook, or versions "
            f"(v12, v12..v15) wanted; found {what[:60]!r}"
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
        if labels.amount is None:
            fields = tuple(field_of_column(subjects[0].rules, name) for name in names)
            self._amount = next(iter(amount_fields(fields)), None)
        if self._amount is not None:  # so that it is read
            conditions.append(Condition((Comparison(self._amount, "is known"),), DECLINE))
        self._scorers: dict[int, Scorer] = {}
        """By identity of the ruleset: several rules may be added to one."""
        self.backtests: list[TableBacktest] = []
        for subject in subjects:
            is_known = has_columns(subject, names)
            added = Counts() if subject.condition and is_known else None
            self.backtests.append(TableBacktest(subject.name, subject.verdict, added=added))
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
        is_pair = len(self._subjects) == 2 and not any(s.condition for s in self._subjects)
        changed, changed_back = Counts(), Counts()
        columns = {name for scorer in self._scorers.values() for name in scorer.columns}
        columns |= {*filter(None, (self._labels.column, self._labels.amount))}
        wanted = [name for name in self._table.flat_schema.names if keep or name in columns]
        for batch in self._table.batches(wanted):
            labels = self._labels.read(batch, is_cells=self._table.is_cells)
            first = next(iter(self._scorers.values()))
            amounts = first.numbers(batch, self._amount)
            fired = list(self._fired(batch, labels, amounts))
            if is_pair:
                changed.add(fired[1] & ~fired[0], labels, amounts)
                changed_back.add(fired[0] & ~fired[1], labels, amounts)
            if keep:
                keep(batch, fired)
            done += batch.num_rows
            if progress:
                progress("rows", done, total or done)
        if not done:
            raise InvalidDataset(f"{self._table.place}: no rows")
        return BacktestReport(self.backtests, *((changed, changed_back) if is_pair else ()))

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
            one.rows += batch.num_rows
            one.all_frauds += int((labels == FRAUD).sum())
            one.all_honest += int((labels == HONEST).sum())
            one.fired.add(fired, labels, amounts)
            if one.added is not None and decisions is not None:
                says_so = DECISIONS.index(subject.verdict)
                one.added.add(fired & (decisions != says_so), labels, amounts)
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
