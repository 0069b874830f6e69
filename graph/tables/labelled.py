"""A labelled table that is too large to keep all of its rows: draw some of them, count all.

Rules are sought on rows that are drawn equally by label. Then one pass counts all rows by what is
true of them: the rules that fire, the points of the scorecard, the label. For all that is computed
of rules, the rows of such a group are one case that counts as often.
"""

from __future__ import annotations

import shlex
import zlib
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Final

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from acegraph.graph.data.files import (
    Dataset,
    FileLayout,
    check_names,
    time_of,
    understand_rows,
)
from acegraph.graph.data.forms import Forms
from acegraph.graph.data.rows import ReadRows, forms_of, read_cells
from acegraph.graph.data.splits import days_of
from acegraph.graph.tables.backtest import Labels
from acegraph.graph.tables.files import TableFiles
from acegraph.graph.tables.reading import (
    FieldReader,
    Mask,
    Reasons,
    Rows,
    fields_of_columns,
)
from acegraph.graph.tables.scorer import distinct, packed
from acegraph.nodes.evidence.columns.entities import (
    case_shares,
    set_case_shares,
    shares_of_names,
)
from acegraph.nodes.evidence.columns.learnable_fields import names_somebody
from acegraph.nodes.rules.columns import BatchTests, value_of
from acegraph.nodes.rules.points import prior_of, prior_points
from acegraph.state import APPROVE, DECLINE, Case, Condition, InvalidDataset
from acegraph.state.playbook.decision_index import FRAUD, HONEST, UNLABELLED
from acegraph.state.task.card_payments import CARD_PAYMENTS
from acegraph.state.task.form import Form
from acegraph.state.values.cases import CaseTable
from acegraph.state.values.draw import Draw, is_drawn
from acegraph.state.values.transaction import plain_value
from acegraph.state.values.verdict import Verdict

if TYPE_CHECKING:
    from acegraph.graph.data.rows import Progress

Numbers = NDArray[np.float64]
LARGE: Final = 50_000
"""From this many rows on, not all rows of a table are kept."""
_LABELS: Final[dict[int, Verdict]] = {FRAUD: DECLINE, HONEST: APPROVE}
_NO_LABELS: Final = np.zeros(0, dtype=np.int8)
_NO_VALUES: Final = (
    *(pa.types.is_list, pa.types.is_large_list, pa.types.is_map),
    *(pa.types.is_binary, pa.types.is_large_binary),
)


@dataclass(frozen=True)
class DrawnRows:
    """Rows that were drawn from a table, and what they were drawn from."""

    dataset: Dataset
    """The rows, as the reader of files understands them."""
    numbers: list[int]
    """By row the number that drew it."""
    places: NDArray[np.int64]
    """By row its place in the table, from 0 on."""
    counts: Mapping[Verdict, int]
    """How many rows of the table have each label."""
    unlabelled: int


@dataclass(frozen=True)
class Which:
    """Which rows of a table count."""

    since: int = 0
    """Rows before this place do not."""
    time: str | None = None
    last_day: float = np.inf
    """Honest rows do not that are younger, by the column `time`."""
    drawn: Collection[str] = ()
    """The ids under which rows of the table are stored: they are counted with the table."""


_ALL_ROWS: Final = Which()


@dataclass(frozen=True)
class CountedRows:
    """All rows of a table, in groups of which the same is true."""

    cases: CaseTable
    """One case for each group; it counts as much as all of its rows."""
    rows: NDArray[np.int64]
    """By case how many rows it stands for; 0 for a case that is not of the table."""
    young: int
    """How many honest rows were too young to count."""


@dataclass(frozen=True)
class LabelledTable:
    """A table in files, with the layout of its columns."""

    files: TableFiles
    layout: FileLayout

    @classmethod
    def open(cls, file: Path, layout: FileLayout) -> LabelledTable:
        """The table of a file, which must have the columns of the layout."""
        files = TableFiles.open(file)
        check_names(file, files.flat_schema.names, layout)
        read = [one for one in files.flat_schema if one.name not in layout.left_out]
        if odd := [one.name for one in read if any(is_odd(one.type) for is_odd in _NO_VALUES)]:
            raise InvalidDataset(
                f"{file}: lists or bytes are in {', '.join(odd)}: "
                f"--as {shlex.quote(odd[0])}=ignored leaves it out"
            )
        return cls(files, layout)

    def draw(
        self, progress: Progress | None = None, known: Mapping[int, Verdict] | None = None
    ) -> DrawnRows:
        """Count the rows by their labels, draw as many of each as are kept as evidence, and read
        them.

        `known` are the labels of stored rows (`BulletPlaybook.labels_of_tables`): a row that has
        another label now is drawn too.
        """
        answers = self.files.batches([self.layout.answer])
        labels = np.concatenate([_NO_LABELS, *map(self._read_labels, answers)])
        counts = {verdict: int((labels == label).sum()) for label, verdict in _LABELS.items()}
        halvings = Draw(counts).halvings
        kept, numbers, places, done = [], list[int](), list[int](), 0
        for batch in self.files.batches(self.files.flat_schema.names):
            here = np.arange(done, done + batch.num_rows)
            done += batch.num_rows
            found, drawn = self._numbers(batch, here), np.zeros(len(here), dtype=bool)
            for label, verdict in _LABELS.items():
                otherwise = [n for n, before in (known or {}).items() if before != verdict]
                is_kept = is_drawn(found, halvings[verdict]) | np.isin(found, otherwise)
                drawn |= (labels[here] == label) & is_kept
            kept.append(batch.filter(pa.array(drawn)))
            numbers += found[drawn].tolist()
            places += here[drawn].tolist()
            if progress:
                progress("drawing", done, len(labels))
        dataset = self._understood(pa.Table.from_batches(kept).to_pylist(), places)
        unlabelled = int((labels == UNLABELLED).sum())
        return DrawnRows(dataset, numbers, np.array(places), counts, unlabelled)

    def _read_labels(self, batch: pa.RecordBatch) -> NDArray[np.int8]:
        positive = self.layout.positive
        labels = Labels(self.layout.answer, None if positive is None else str(positive))
        return labels.read(batch, is_cells=self.files.is_cells)

    def _numbers(self, batch: pa.RecordBatch, places: NDArray[np.int64]) -> NDArray[np.uint64]:
        """The numbers by which rows are drawn: of their ids or, without ids, of their places."""
        ids = self.layout.ids
        if ids is None or ids not in batch.schema.names:
            return (places % (1 << 32)).astype(np.uint64)
        texts = batch.column(ids).cast(pa.string()).fill_null("").cast(pa.binary()).to_pylist()
        return np.fromiter(map(zlib.crc32, texts), np.uint64, len(texts))

    def _understood(self, rows: list[dict[str, object]], places: Sequence[int]) -> Dataset:
        """The rows of a table as the careful reader takes those of a file."""
        layout = self.layout
        if self.files.is_cells:
            cells = [{name: str(cell or "") for name, cell in row.items()} for row in rows]
            forms = layout.forms or forms_of(
                cells, layout.answer, is_continental=self.files.is_continental
            )
            read = ReadRows(read_cells(cells, layout.answer, forms), list(forms.notes), forms)
        else:
            out = layout.left_out
            read = ReadRows(
                [{n: plain_value(n, v) for n, v in row.items() if n not in out} for row in rows]
            )
        dataset = understand_rows(self.files.files[0], read, layout)
        for item, place in zip(dataset.items, places, strict=True):
            if item.pop("copy", None):  # without an id a row is known by its place
                item["id"] = f"row-{place + 1}"
        return dataset

    def count(
        self,
        cases: CaseTable,
        rules: Sequence[Condition],
        which: Which = _ALL_ROWS,
        *,
        costs: bool = False,
        progress: Progress | None = None,
    ) -> CountedRows:
        """All rows as groups in which the same is true of these rules: one case for each group.

        `cases` are the labelled cases that count; they tell what the columns mean, and those that
        do not come from this table count besides. With `costs` the amounts of a group are alike.
        """
        counting = _Counting(cases, rules, self, costs=costs)
        total, done, young = self.files.rows, 0, 0
        names = {*counting.columns, self.layout.answer, which.time}
        for batch in self.files.batches([n for n in self.files.flat_schema.names if n in names]):
            labels = self._read_labels(batch)
            counts = (labels != UNLABELLED) & (np.arange(batch.num_rows) >= which.since - done)
            if which.time:
                form = (self.layout.forms or Forms({})).of(which.time)
                days = _days(batch.column(which.time), form)
                is_young = counts & (labels == HONEST) & (days > which.last_day)
                counts &= ~is_young
                young += int(is_young.sum())
            counting.add(batch, labels == FRAUD, counts)
            done += batch.num_rows
            if progress:
                progress("counting", done, total or done)
        shares = zip(cases, case_shares(cases), strict=True)
        return counting.groups([pair for pair in shares if pair[0].id not in which.drawn], young)


class _Counting:
    """One pass over all rows."""

    def __init__(
        self, cases: CaseTable, rules: Sequence[Condition], table: LabelledTable, *, costs: bool
    ) -> None:
        self._cases, self._rules = cases, rules
        task = cases.task or CARD_PAYMENTS
        fields = fields_of_columns(task, table.files.flat_schema.names)
        self._amount = cases.amount_name if costs else None
        self._prior = prior_of(cases)
        wanted = {name for rule in rules for name in rule.fields} | {self._amount}
        wanted |= {rule.test.field for rule in self._prior if rule.test}
        reasons, is_cells = Reasons(), table.files.is_cells
        self._readers = {
            column: FieldReader(one, task.form_of(one.name), reasons, is_cells=is_cells)
            for column, one in fields.items()
            if not wanted.isdisjoint((one.name, *one.part_names))
        }
        self._entities: dict[str, list[pa.DictionaryArray]] = {
            column: []
            for column, one in fields.items()
            if one.name in cases.field_names and names_somebody(one.name, cases)
        }
        """By column that says who rows belong to, what it says, batch by batch."""
        self.columns = self._readers.keys() | self._entities.keys()
        self._groups: dict[bytes, int] = {}
        self._representatives: list[Case] = []
        self._group_of: list[NDArray[np.int32]] = []
        """By batch the groups of its rows."""

    def add(self, batch: pa.RecordBatch, fraud: Mask, counts: Mask) -> None:
        """Count the rows of a batch."""
        if not counts.any():
            return
        batch, fraud = batch.filter(pa.array(counts)), fraud[counts]
        rows = Rows(batch.num_rows, Reasons())
        for column, reader in self._readers.items():
            rows.fields |= reader.read(batch.column(column))
        for column, who in self._entities.items():
            who.append(batch.column(column).cast(pa.string()).dictionary_encode())
        points, tests = prior_points(rows, self._prior), BatchTests(rows)
        fired = [tests.all_hold(rule.comparisons) for rule in self._rules]
        bits, bins = packed(np.array([fraud, *fired])), self._amount_bins(rows)
        numbers = np.stack([points.astype(np.int64), bins], axis=1)
        keys, codes = distinct(np.hstack([bits, numbers.view(np.uint8)]))
        first = np.unique(codes, return_index=True)[1].tolist()
        groups = [self._group(k, rows, row, fraud) for k, row in zip(keys, first, strict=True)]
        self._group_of.append(np.array(groups, dtype=np.int32)[codes])

    def _amount_bins(self, rows: Rows) -> NDArray[np.int64]:
        """By row how large the amount is, in steps of a fifth."""
        column = rows.column(self._amount or "")
        amounts = np.full(len(rows), np.nan) if column is None else column.numbers
        steps = np.nan_to_num(np.log2(np.maximum(amounts, 1e-3)) * 4, nan=-100)
        return np.asarray(steps.astype(np.int64))

    def _group(self, key: bytes, rows: Rows, row: int, fraud: Mask) -> int:
        """The number of a group; its first row stands for it."""
        number = self._groups.setdefault(key, len(self._groups))
        if number == len(self._representatives):
            values = {name: value_of(one.column, row) for name, one in rows.fields.items()}
            label: Verdict = DECLINE if fraud[row] else APPROVE
            self._representatives.append(Case(f"group-{number}", values, label))
        return number

    def groups(self, others: Sequence[tuple[Case, float]], young: int) -> CountedRows:
        """The groups as cases, and other cases, each with how much it counts.

        As among the drawn cases, a case of a frequent label counts less: its weight says how much.
        """
        cases, fraud = self._cases, self._cases.fraud
        stands_for = {
            label: float(cases.weights[fraud == (label == DECLINE)].max(initial=1.0))
            for label in _LABELS.values()
        }
        least = min(stands_for.values())
        groups = np.concatenate([np.zeros(0, dtype=np.int32), *self._group_of])
        shares = np.ones(len(groups))
        for who in self._entities.values() if len(groups) else ():
            np.minimum(shares, _shares_of(who), out=shares)
        counts = np.bincount(groups, weights=shares, minlength=len(self._groups)).tolist()
        counted = [
            (case, count * least / stands_for[case.label])
            for case, count in zip(self._representatives, counts, strict=True)
        ]
        counted += [(case, share * least) for case, share in others]
        table = CaseTable(
            replace(case, weight=stands_for[case.label] / least) for case, _ in counted
        )
        table.task = cases.task
        set_case_shares(table, np.array([share for _, share in counted]))
        rows = np.bincount(groups, minlength=len(counted))
        return CountedRows(table, rows, young)


def _shares_of(who: Sequence[pa.DictionaryArray]) -> Numbers:
    """How much of a case each row counts, by who it belongs to."""
    chunks = pa.chunked_array(who).unify_dictionaries().chunks
    names = chunks[0].dictionary.to_pylist()
    codes = [chunk.indices.fill_null(-1).to_numpy() for chunk in chunks]
    return shares_of_names(np.concatenate(codes), names)


def _days(array: pa.Array, form: Form) -> Numbers:
    """The moments of a column of times, in days; NaN where there is none."""
    try:
        moments = array.cast(pa.timestamp("us"))
    except pa.ArrowInvalid:  # written otherwise: each different text is read for itself
        encoded = array.dictionary_encode()
        texts = [None if t is None else form.read(str(t)) for t in encoded.dictionary.to_pylist()]
        days = [np.nan if (day := days_of(time_of(text))) is None else day for text in texts]
        codes = encoded.indices.fill_null(len(days)).to_numpy()
        return np.asarray(np.array([*days, np.nan])[codes])
    return np.asarray(moments.cast(pa.int64()).to_numpy(zero_copy_only=False) / 86_400e6)
