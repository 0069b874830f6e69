"""Try rules on a table of past payments."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from acegraph.graph.data.rows import Progress, read_label
from acegraph.graph.metrics.records import Record
from acegraph.graph.tables.files import TableFile
from acegraph.graph.tables.reading import TableReader, codes_of
from acegraph.graph.tables.ruleset import TableRules
from acegraph.graph.tables.score import check_tested, lacking
from acegraph.nodes.rules.columns import DECISIONS, BatchDecider
from acegraph.state import BulletPlaybook, InvalidDataset, InvalidSettings
from acegraph.state.errors import some
from acegraph.state.playbook.decision_index import FRAUD, HONEST, UNLABELLED
from acegraph.state.task.form import label_cell
from acegraph.state.values import APPROVE, DECLINE, Condition, is_meant_as_condition

Conditions = Mapping[str, Condition]
"""By name what is tried: rules that would be added to a ruleset."""


def subjects_of(playbook: BulletPlaybook, what: str) -> tuple[TableRules, Conditions]:
    """What a word of the command line means: a rule, a bullet, or a file of rules; and the ruleset
    to which it would be added.
    """
    today, lines = TableRules.of(playbook), [what]
    is_file = not is_meant_as_condition(what) and Path(what).is_file()
    if is_file:
        lines = [line.strip() for line in Path(what).read_text().splitlines()]
    if is_file or is_meant_as_condition(what):
        conditions = (Condition.parse(line) for line in lines if line and line[0] != "#")
        return today, {one.render(): one for one in conditions}
    if not (what.startswith("b") and what[1:].isdigit()):
        raise InvalidSettings(
            f"a rule ('DECLINE when ...'), a bullet (b7) or a file of rules wanted; found "
            f"{what[:60]!r}; compare --against VERSION measures the playbook as a whole"
        )
    bullet = playbook.get_bullet(what)
    if bullet.condition is None:
        raise InvalidSettings(f"{what} is prose: only a bullet with a condition can be tried")
    others = tuple(b for b in today.ruleset.rules if b.id != what)
    without = replace(today, ruleset=replace(today.ruleset, rules=others))
    return without, {f"{what}: {bullet.condition.render()}": bullet.condition}


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


def backtest_file(
    rules: TableRules,
    conditions: Conditions,
    source: str | Path,
    labels: Labels,
    *,
    progress: Progress | None = None,
) -> list[Record]:
    """What rules do on the rows of a file, beside those of a ruleset."""
    table = TableFile.open(source)
    names = table.flat_schema.names
    if labels.column not in (None, *names):
        raise InvalidDataset(f"no column {labels.column!r}; found {some(names, 12)}")
    check_tested(rules, names, conditions)
    amount = rules.task.of_role("amount")
    reader = TableReader(
        rules, table.flat_schema, is_cells=table.is_cells, conditions=list(conditions.values())
    )
    decider = None if lacking(rules, names) else BatchDecider(rules.ruleset)
    records = {name: Record(name, one.verdict) for name, one in conditions.items()}
    done, total, columns = 0, table.rows, {*reader.columns, labels.column}
    for batch in table.batches([name for name in names if name in columns]):
        fraud = labels.read(batch, is_cells=table.is_cells)
        rows = reader.read(batch)
        column = rows.column(amount.name) if amount else None
        amounts = np.full(len(rows), np.nan) if column is None else column.numbers
        said = decider.decide(rows).decisions if decider else None
        for name, condition in conditions.items():
            says_so = None if said is None else said == DECISIONS.index(condition.verdict)
            fired = condition.holds_over(rows)
            records[name].add(fired, fraud == FRAUD, fraud == HONEST, amounts, says_so)
        done += batch.num_rows
        if progress:
            progress("rows", done, total or done)
    if not done:
        raise InvalidDataset(f"{source}: no rows")
    return list(records.values())
