"""A labelled table that is too large to keep all of its rows: some are drawn, of each label as many
as count as evidence, and all are counted.

Which rows are drawn depends on nothing that a rule could test. So the rules of drawn rows are those
of all; only the rate of fraud is that of the counts.
"""

import zlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Final

import numpy as np
import pyarrow as pa

from acegraph.graph.data.files import Dataset, FileLayout, check_names, understand_rows
from acegraph.graph.data.rows import Progress, ReadRows, is_empty, read_cells
from acegraph.graph.tables.backtest import Labels
from acegraph.graph.tables.files import TableFile
from acegraph.state.playbook.decision_index import FRAUD, HONEST, UNLABELLED
from acegraph.state.values import APPROVE, DECLINE, Draw, Verdict, is_drawn, plain_value

LARGE: Final = 50_000
"""From this many rows on, not all rows of a table are kept."""
_LABELS: Final[dict[int, Verdict]] = {FRAUD: DECLINE, HONEST: APPROVE}


@dataclass(frozen=True)
class DrawnRows:
    """Rows that were drawn from a table, and what they were drawn from."""

    dataset: Dataset
    """The rows, as the reader of files understands them."""
    numbers: list[int]
    """By row the number that drew it."""
    counts: Mapping[Verdict, int]
    """How many rows of the table have each label."""


@dataclass(frozen=True)
class LabelledTable:
    """A table in a file, with the layout of its columns."""

    table: TableFile
    layout: FileLayout

    @classmethod
    def open(cls, file: Path, layout: FileLayout) -> "LabelledTable":
        """The table of a file, which must have the columns of the layout."""
        table = TableFile.open(file)
        check_names(file, table.flat_schema.names, layout)
        return cls(table, layout)

    def draw(
        self, progress: Progress | None = None, known: Mapping[int, Verdict] | None = None
    ) -> DrawnRows:
        """Count the rows by their labels, draw as many of each as are kept as evidence, and read
        them.

        `known` are the labels of stored rows (`BulletPlaybook.labels_of_tables`): a row that has
        another label now is drawn too.
        """
        positive, ids, is_cells = self.layout.positive, self.layout.ids, self.table.is_cells
        column = Labels(self.layout.answer, None if positive is None else str(positive))
        answers = self.table.batches([self.layout.answer])
        read = [column.read(batch, is_cells=is_cells) for batch in answers]
        labels = np.concatenate([np.zeros(0, dtype=np.int8), *read])
        counts = {verdict: int((labels == label).sum()) for label, verdict in _LABELS.items()}
        halvings = Draw(counts).halvings
        kept, numbers, places, done = [], list[int](), list[int](), 0
        for batch in self.table.batches(self.table.flat_schema.names):
            here = np.arange(done, done + batch.num_rows)
            done += batch.num_rows
            # The numbers by which rows are drawn: of their ids or, without ids, of their places.
            found, drawn = (here % (1 << 32)).astype(np.uint64), np.zeros(len(here), dtype=bool)
            if ids in batch.schema.names:
                texts = batch.column(ids).cast(pa.string()).fill_null("").cast(pa.binary())
                found = np.fromiter(map(zlib.crc32, texts.to_pylist()), np.uint64, len(texts))
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
        dataset = replace(dataset, unlabelled=int((labels == UNLABELLED).sum()))
        return DrawnRows(dataset, numbers, counts)

    def _understood(self, rows: list[dict[str, object]], places: Sequence[int]) -> Dataset:
        """The rows of a table as the careful reader takes those of a file."""
        layout = replace(self.layout, ids=self.layout.ids or " ")  # no column is called so
        for row, place in zip(rows, places, strict=True):  # without an id it is known by its place
            if is_empty(row.get(str(layout.ids))):
                row[str(layout.ids)] = f"row-{place + 1}"
        if self.table.is_cells:
            cells = [{name: str(cell or "") for name, cell in row.items()} for row in rows]
            is_continental = self.table.is_continental
            read = read_cells(cells, layout.answer, layout.forms, is_continental=is_continental)
        else:
            out = layout.left_out
            read = ReadRows(
                [{n: None if n in out else plain_value(n, v) for n, v in r.items()} for r in rows]
            )
        return understand_rows(self.table.file, read, layout)
