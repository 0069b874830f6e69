"""Score a whole table: for every row a decision, its risk, and the bullets that fired.

The graph decides the same (docs/tables.md). Nothing is recorded.
"""

from __future__ import annotations

from collections import Counter
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import pyarrow as pa

from acegraph.graph.tables.files import BATCH, TableFile, Write, flat, writing
from acegraph.graph.tables.ruleset import TableRules
from acegraph.graph.tables.scorer import Scorer
from acegraph.state import AceContext, BulletPlaybook, InvalidDataset
from acegraph.state.database.places import whole_file

if TYPE_CHECKING:
    from acegraph.graph.data.rows import Progress


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
