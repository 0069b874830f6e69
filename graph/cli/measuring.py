"""`acegraph compare`, `score`, `backtest`: measure ways to decide, versions, rules on tables."""

import re
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from acegraph.graph.cli.console import Model, ReportFile, announce_models, lasting, need
from acegraph.graph.cli.files import Columns
from acegraph.graph.cli.printing import (
    facts_in_lines,
    gathered_warnings,
    print_experiment,
    progress_bar,
    tell,
    usage_in_words,
    warn,
)
from acegraph.state import AceContext, InvalidSettings
from acegraph.state.task.policy import USUAL, Policy

if TYPE_CHECKING:
    from acegraph.graph.data.splits import Split


@dataclass(frozen=True)
class Splitting:
    """Options of `compare`: how the rows are split.

    Options:
        train: Training rows per seed. Not given: 40 % of the file.
        test: Test rows per seed. Not given: what is left.
        seeds: How many splits.
        split: random, or temporal: learn from before.
    """

    train: Annotated[int | None, typer.Option(min=2)] = None
    test: Annotated[int | None, typer.Option(min=2)] = None
    seeds: Annotated[int, typer.Option(min=1)] = 1
    split: str = "random"

    def of(self, files: list[Path], columns: Columns) -> "list[Split]":
        """The split of each seed; two files are one split."""
        from acegraph.graph.data.splits import Split, random_splits, temporal_splits

        split_by = {"random": random_splits, "temporal": temporal_splits}.get(self.split)
        if not files:
            raise InvalidSettings("compare wants FILE, or --against VERSION")
        if split_by is None:
            raise InvalidSettings(f"a split is random or temporal, not {self.split!r}")
        if len(files) == 2 and self != Splitting():
            raise InvalidSettings(
                "two files are the split: leave out --train, --test, --seeds and --split"
            )
        dataset, *test = columns.load_to_learn(*files)
        if test:
            return [Split(dataset.items, test[0].items, task=dataset.task)]
        splits = split_by(dataset.items, self.train, self.test, self.seeds)
        return [replace(one, task=dataset.task) for one in splits]

    def in_words(self, files: list[Path]) -> str:
        """How training and test rows are told apart."""
        in_time = "in time" if self.split == "temporal" else "at random"
        return "two files" if len(files) == 2 else f"one file, split {in_time}"


def compare(
    command: typer.Context,
    file: Annotated[Path | None, typer.Argument(show_default=False)] = None,
    test_file: Path | None = None,
    *,
    columns: Columns,
    splitting: Splitting,
    against: int | None = None,
    model: Model = None,
    baselines: str = "plain",
    report: ReportFile = None,
) -> None:
    """Compare all modes, and other learners, on your own labelled data; or two versions.

    With --playbook mistakes cost what its policy says. False declines are shown by the groups of
    each protected field (--as NAME=protected). Example: acegraph compare cards.csv --label is_fraud
    --train 500 --test 1000 --seeds 5

    Options:
        file: One labelled file, which is split.
        test_file: Labelled cases to decide; then all of FILE is learned from.
        against: Compare this version of the playbook with today's instead: on FILE, or without it
            on what the version said in shadow.
        baselines: Other learners on the same rows: plain (of scikit-learn), or none.
    """
    if against is not None:
        _refuse_beside_against(command)
        from acegraph.graph.experiments.experiment import duel, live_duel

        with lasting(must_exist=True) as book, progress_bar() as progress:
            if file is None:
                result = live_duel(book, against)
            else:
                result = duel(book, against, columns.load(file), progress=progress(None))
        print_experiment(result)
        return
    context = AceContext(agent_model=model, policy=_policy_of(command).to_json())
    files = [path for path in (file, test_file) if path]
    _compare_modes(files, columns, splitting, context, baselines, report)


def _compare_modes(
    files: list[Path],
    columns: Columns,
    splitting: Splitting,
    context: AceContext,
    baselines: str,
    report: Path | None,
) -> None:
    from acegraph.graph.experiments.baselines import check_baselines
    from acegraph.graph.experiments.experiment import run_experiment
    from acegraph.graph.experiments.report.page import check_report

    with gathered_warnings() as notes:
        announce_models(context.agent_model)
        check_report(report)
        plain = check_baselines(baselines)
        splits = splitting.of(files, columns)
        with progress_bar() as progress:
            experiment = run_experiment(splits, context=context, progress=progress, baselines=plain)
    experiment.data = " and ".join(path.name for path in files)
    experiment.split = splitting.in_words(files)
    for path in files:  # a colleague need not know where the files are
        notes = [note.replace(str(path), path.name) for note in notes]
    experiment.notes = notes
    print_experiment(experiment, report)


def _refuse_beside_against(command: typer.Context) -> None:
    """Refuse what would be ignored where two versions are compared."""
    applies = {"file", "against", *Columns.__dataclass_fields__}
    for name in command.params.keys() - applies:
        source = command.get_parameter_source(name)
        if source is not None and source.name == "COMMANDLINE":
            raise InvalidSettings(f"--against does not go with --{name.replace('_', '-')}")


def _policy_of(command: typer.Context) -> Policy:
    """The policy of the playbook that was named, if one was."""
    if command.find_root().params["playbook"] is None:
        return USUAL
    with lasting(must_exist=True) as book:
        return replace(book.policy(), version=0)


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
            book, table, out, ids=ids, allow_missing=allow_missing, progress=progress(None)
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
        tried, labels = subjects_of(book, what), Labels(label, positive)
        found = backtest_file(*tried, table, labels, progress=progress(None))
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
    tell(trial.to_json(), *facts_in_lines(trial.to_json()), *usage_in_words())
