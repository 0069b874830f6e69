"""Options of several commands: which columns of a labelled file hold what; the rows that it has."""

import shlex
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, replace
from math import inf
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Final

import typer

from acegraph.graph.cli.console import need
from acegraph.graph.cli.printing import progress_bar, warn
from acegraph.nodes.text.understand import read_fields
from acegraph.state import InvalidDataset, InvalidSettings
from acegraph.state.values import Transaction

if TYPE_CHECKING:
    from acegraph.graph.data.files import Dataset, FileLayout, Item
    from acegraph.graph.tables.labelled import DrawnRows, LabelledTable
    from acegraph.state.task.task import Task
    from acegraph.state.values.verdict import Verdict

_COLUMNAR: Final = (".parquet", ".pq")
_ROWS_TRIED: Final = 200
"""Rows of a file that are tried before it is reported that nothing can be read from it."""


@dataclass(frozen=True)
class Columns:
    """Options of several commands: which columns of a labelled file hold what.

    Options:
        label: Column or key of the right answer (else: answer).
        text: Column or key of the transaction's text (query if neither is given); with --label
            alone, all other columns are its fields.
        positive: The label that means fraud, unless it is a usual word or 1.
        declared: What a column is, where the guess is wrong: a kind (number, flag, category, time,
            text), a role (id of the row, amount, protected, ignored, ...), hidden (not stored) or
            whom it names (customer, card, device, merchant, entity:NAME: their earlier rows are
            counted). Of the label, late:DAYS says when labels are known: then it is learned whom
            they called fraud before. Again for each column.
        task: A task.json that says what the columns are; nothing is guessed then.
    """

    label: str | None = None
    text: str | None = None
    positive: str | None = None
    declared: Annotated[list[str] | None, typer.Option("--as", metavar="NAME=WHAT")] = None
    task: Path | None = None

    @property
    def layout(self) -> "FileLayout":
        """The options as the reader takes them."""
        from acegraph.graph.data.files import FileLayout

        declared = dict(map(_declaration, self.declared or ()))
        late = _days(declared.pop(self.label or "answer", ""))
        ids = next((name for name, what in declared.items() if what == "id"), "id")
        return FileLayout(
            query=self.text or (None if self.label else "query"),
            answer=self.label or "answer",
            positive=self.positive,
            ids=ids,
            declared={n: what for n, what in declared.items() if (n, what) != (ids, "id")},
            late_days=late,
            task=_task_in(self.task) if self.task else None,
        )

    def read(self, *files: Path) -> "list[Dataset]":
        """The labelled rows of files, with how they were read."""
        from acegraph.graph.data.files import read_dataset

        return [read_dataset(file, self.layout) for file in files]

    def load(self, file: Path) -> "list[Item]":
        """The labelled rows of a file as it is; what a person should know is reported."""
        return _reported(file, *self.read(file)).items

    def load_to_learn(self, *files: Path) -> "list[Dataset]":
        """The rows of files to learn from or test on, all without what looks like a leak in the
        first.
        """
        return _without_leaks(list(map(_reported, files, self.read(*files))))

    def large_table(self, file: Path) -> "LabelledTable | None":
        """The table of a file that has too many rows to take all of them in, or is Parquet; None
        where rows name somebody: what comes before a row is derived from all of them.
        """
        if self.layout.names_somebody and file.suffix.lower() not in _COLUMNAR:
            return None
        try:
            need("tables", "pyarrow")
            from acegraph.graph.tables.labelled import LARGE, LabelledTable

            found = LabelledTable.open(file, self.layout)
        except (InvalidDataset, InvalidSettings):
            if file.suffix.lower() in _COLUMNAR:
                raise
            return None
        table = found.table
        return found if table.form == "parquet" or table.about_rows >= LARGE else None

    def draw_to_learn(
        self, file: Path, table: "LabelledTable", known: "Mapping[int, Verdict]"
    ) -> "DrawnRows":
        """Rows that are drawn from a whole table to learn from, and those that are known with other
        labels; shows its progress.
        """
        with progress_bar() as progress:
            drawn = table.draw(progress(None), known)
        (dataset,) = _without_leaks([_reported(file, drawn.dataset)])
        return replace(drawn, dataset=dataset)


def _without_leaks(datasets: "list[Dataset]") -> "list[Dataset]":
    """Data sets without the fields that look like a leak in the first."""
    from acegraph.graph.data.leakage import ENOUGH, find_leaks

    leaks = find_leaks(datasets[0])
    if leaks is None:
        leaks = {}
        warn(f"fewer than {ENOUGH} rows of a label: no column was checked for leaks")
    for name, why in leaks.items():
        warn(f"{name} left out: {why}; --as {shlex.quote(name)}=KIND uses it")
    return [dataset.without(leaks) for dataset in datasets] if leaks else datasets


def _reported(file: Path, dataset: "Dataset") -> "Dataset":
    for note in dataset.notes:
        warn(note)
    if dataset.unlabelled:
        warn(f"{file}: {dataset.unlabelled} rows have no label: left out")
    first = [Transaction.of(item["query"]) for item in dataset.items[:_ROWS_TRIED]]
    if not any(map(read_fields, first)):
        warn(f"{file}: nothing could be read from its texts (see 'acegraph read {file}')")
    return dataset


def _task_in(file: Path) -> "Task":
    """The task that a file declares."""
    from acegraph.state.task.task import Task

    try:
        return Task.from_text(file.read_text(encoding="utf-8"), str(file))
    except (OSError, UnicodeDecodeError):
        raise InvalidSettings(f"{file}: no file that can be read as text") from None


def _days(late: str) -> float | None:
    """After how many days labels are known, if that is said of their column."""
    if not late:
        return None
    with suppress(ValueError):
        if late.startswith("late:") and 0 <= (days := float(late[5:])) < inf:
            return days
    raise InvalidSettings(f"of the label --as says when it is known, as late:7, not {late!r}")


def _declaration(word: str) -> tuple[str, str]:
    name, is_given, what = word.rpartition("=")
    if not is_given or not name:
        raise InvalidSettings(f"--as wants NAME=WHAT, as card1=category, not {word!r}")
    return name, what
