"""`acegraph score` and `backtest`: decide whole tables, and try rules on them."""

import re
from typing import Annotated

import typer

from acegraph.graph.cli.console import Model, announce_models, lasting, need
from acegraph.graph.cli.printing import facts_in_lines, progress_bar, tell, usage_in_words, warn
from acegraph.state import AceContext, InvalidSettings


def score(
    table: str,
    *,
    out: str | None = None,
    ids: Annotated[str | None, typer.Option("--id")] = None,
    allow_missing: bool = False,
) -> None:
    """Decide every row of a table, with all bullets that hold.

    Example: acegraph score payments.parquet --out decisions.parquet

    Options:
        table: A table: .csv, .tsv, .jsonl or .parquet, also .gz.
        out: Where to write the decisions: .parquet, .csv or .jsonl, also .gz.
        ids: The column of row ids; else rows are numbered.
        allow_missing: Decide without columns that bullets test; rows that depend on them stay
            undecided.
    """
    need("tables", "pyarrow")
    from acegraph.graph.tables.score import score_files

    with lasting(must_exist=True) as book, progress_bar() as progress:
        report = score_files(
            book,
            table,
            out,
            ids=ids,
            allow_missing=allow_missing,
            progress=progress(None),
        )
    tell(vars(report))
    if not report.bullets:
        warn("no bullet acts in this playbook: the scorecard decides alone")


def backtest(
    what: str,
    table: str | None = None,
    *,
    label: str | None = None,
    positive: str | None = None,
    max_calls: Annotated[int, typer.Option(min=1)] = 200,
    model: Model = None,
) -> None:
    """Try a rule or a bullet on past payments.

    A bullet in prose is tried without a table: a model decides the playbook's labelled cases with
    it and without it. Example: acegraph backtest "DECLINE when amount >= 900 and hour < 6" p.csv
    --label is_fraud

    Options:
        what: A rule in quotes ('DECLINE when amount >= 900'), a bullet (b7), or a file with a rule
            on each line.
        table: Past payments, as for score; none for a bullet in prose.
        label: The column of the right answer; else only fires count.
        positive: The label that means fraud, if it is no usual word.
        max_calls: For prose: stop before more calls to language models.
    """
    if table is None:
        _try_prose(what, max_calls, model)
        return
    need("tables", "pyarrow")
    from acegraph.graph.cli.tables import backtest_table
    from acegraph.graph.tables.backtest import Labels, backtest_file, subjects_of

    with lasting(must_exist=True) as book, progress_bar() as progress:
        subjects = subjects_of(book, what)
        labels = Labels(label, positive)
        found = backtest_file(subjects, table, labels, progress=progress(None))
    first = found[0]
    tell(
        {"backtests": [one.to_json() for one in found]},
        backtest_table(found),
        f"{first.rows:,} rows: {first.all_frauds:,} frauds, {first.all_honest:,} good payments",
    )


def _try_prose(bullet_id: str, max_calls: int, model: str | None) -> None:
    from acegraph.graph.operations.learning.trial import try_bullet

    if not re.fullmatch(r"b\d+", bullet_id):
        raise InvalidSettings("a table of past payments is missing; only prose (b7) wants none")
    announce_models(model)
    with lasting(must_exist=True) as book, progress_bar() as progress:
        trial = try_bullet(
            book,
            bullet_id,
            max_calls=max_calls,
            context=AceContext(agent_model=model),
            progress=progress(None),
        )
    tell(
        trial.to_json(),
        *facts_in_lines(trial.to_json()),
        *usage_in_words(),
    )
