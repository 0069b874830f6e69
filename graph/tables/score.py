"""Score a whole table: for every row a decision, its risk, and the bullets that fired.

The graph decides the same (docs/tables.md). Nothing is recorded.
"""

from __future__ import annotations

from collections import Counter
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar, cast

import pyarrow as pa

from acegraph.graph.tables.files import BATCH, TableFiles, Write, flat, writing
from acegraph.graph.tables.ruleset import TableRules
from acegraph.graph.tables.scorer import Scorer
from acegraph.state import AceContext, BulletPlaybook, InvalidDataset
from acegraph.state.database.places import whole_file

if TYPE_CHECKING:
    from acegraph.graph.data.rows import Progress


Table = TypeVar("Table")
"""A table of Arrow, pandas or polars."""


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

    def to_json(self) -> dict[str, object]:
        """The report for machines."""
        return vars(self)


def score(
    playbook: BulletPlaybook | TableRules,
    table: Table,
    *,
    context: AceContext | None = None,
    ids: str | None = None,
    allow_missing: bool = False,
) -> Table:
    """The decision on every row of a table, as a table of the same kind.

    A table is one of Arrow, pandas or polars, or anything that gives its columns as Arrow does. The
    result has a row for each row: the column `ids`, or `row`, from 1 on; `decision`, `risk`; what
    was added up, `bullets` and `scorecard`; and `undecided` (why there is no decision).
    """
    given = as_arrow(table)
    scorer = Scorer(as_rules(playbook, context), given.schema, ids=ids, allow_missing=allow_missing)
    batches = [scorer.score(batch) for batch in given.combine_chunks().to_batches(BATCH)]
    scored = pa.Table.from_batches(batches, scorer.schema).unify_dictionaries()
    kind = type(table).__module__.split(".")[0]
    if kind == "pandas":
        index = table.index  # type: ignore[attr-defined]
        return cast("Table", scored.to_pandas().set_index(index))
    if kind == "polars":
        import polars as pl

        return cast("Table", pl.from_arrow(scored))
    return cast("Table", scored)


def as_rules(playbook: BulletPlaybook | TableRules, context: AceContext | None) -> TableRules:
    """A playbook as data; table rules are that already, and have its settings."""
    return playbook if isinstance(playbook, TableRules) else TableRules.of(playbook, context)


def as_arrow(table: object) -> pa.Table:
    """A table of pandas, polars or Arrow as one of Arrow, in plain types."""
    try:
        if type(table).__module__.split(".")[0] == "pandas":
            return flat(pa.Table.from_pandas(table, preserve_index=False))
        return flat(pa.table(table))
    except (pa.ArrowInvalid, pa.ArrowTypeError) as error:
        raise InvalidDataset(
            f"one type for each column wanted: {str(error).splitlines()[-1][:160]}"
        ) from None
    except TypeError:
        raise InvalidDataset(
            f"a table of Arrow, pandas or polars wanted; found {type(table).__name__}"
        ) from None


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
    """Decide the rows of a file, or of the files of a pattern, and write the decisions to `out`.

    The rows go through memory in batches. The output appears when it is whole.
    """
    rules, table = as_rules(playbook, context), TableFiles.open(source)
    scorer = Scorer(
        rules, table.flat_schema, is_cells=table.is_cells, ids=ids, allow_missing=allow_missing
    )
    counts: Counter[str] = Counter()
    with ExitStack() as stack:
        takers: list[Write] = []
        if out is not None:
            part = stack.enter_context(whole_file(Path(out)))
            takers.append(stack.enter_context(writing(part, Path(out), scorer.schema)))
        for batch in table.batches(scorer.read_columns):
            scored = scorer.score(batch)
            found = scored.column("decision").value_counts()
            counts.update({one["values"].as_py(): one["counts"].as_py() for one in found})
            for take in takers:
                take(scored)
            if progress:
                progress("rows", counts.total(), table.rows or counts.total())
        if not counts:
            raise InvalidDataset(f"{source}: no rows")
    act = len(rules.ruleset.rules)
    return ScoreReport(counts.total(), dict(counts), rules.ruleset.version, act)
