"""`acegraph compare`: modes, other learners and versions of a playbook side by side."""

from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from acegraph.graph.cli.console import Model, ReportFile, announce_models, lasting
from acegraph.graph.cli.files import Columns
from acegraph.graph.cli.printing import (
    gathered_warnings,
    print_experiment,
    progress_bar,
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
        _compare_versions(against, file, columns)
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
    from acegraph.nodes.models.named import EMBEDDED_NAME, resolve_model

    with gathered_warnings() as notes:
        announce_models(context.agent_model)
        check_report(report)
        plain = check_baselines(baselines)
        splits = splitting.of(files, columns)
        with progress_bar() as progress:
            run = partial(run_experiment, splits, progress=progress)
            experiment = run(context=context, baselines=plain)
            if resolve_model("agent", None, context.agent_model) and plain:
                embedded = context.with_changes(agent_model=EMBEDDED_NAME)
                beside = run(context=embedded, baselines=False)
                experiment.baselines["embedded"] = beside.modes["offline_online"]
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


def _compare_versions(version: int, file: Path | None, columns: Columns) -> None:
    """Compare a version of the playbook with today's on the same labelled cases.

    Without a file: with what it decided in shadow on the live stream.
    """
    from acegraph.graph.experiments.experiment import duel, live_duel

    with lasting(must_exist=True) as book, progress_bar() as progress:
        if file is None:
            result = live_duel(book, version)
        else:
            result = duel(book, version, columns.load(file), progress=progress(None))
    print_experiment(result)
