"""`acegraph compare`: modes, other learners and versions of a playbook side by side.

The options come in groups; a group turns its options into what an experiment takes.
"""

from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Final

import typer

from acegraph.graph.cli.console import (
    MODEL_HELP,
    Concurrency,
    ReportFile,
    announce_models,
    lasting,
    takes_groups,
)
from acegraph.graph.cli.files import Columns
from acegraph.graph.cli.printing import (
    gathered_warnings,
    print_experiment,
    print_json,
    progress_bar,
    say,
    told_as_json,
    wants_json,
    warn,
)
from acegraph.state import InvalidSettings

if TYPE_CHECKING:
    from acegraph.graph.data.splits import Split
    from acegraph.graph.experiments.duel import Duel
    from acegraph.graph.experiments.experiment import Experiment

_SAID_ELSEWHERE: Final = ("file", "test_file", "report", "split")
"""What a report need not list among the options that were given."""


@dataclass(frozen=True)
class ComparedFiles:
    """Options of `compare`: the labelled files."""

    file: Annotated[
        Path | None, typer.Argument(help="One labelled file, which is split.", show_default=False)
    ] = None
    test_file: Annotated[
        Path | None,
        typer.Argument(help="Labelled cases to decide; then all of FILE is learned from."),
    ] = None

    @property
    def given(self) -> list[Path]:
        """The files that were given."""
        return [path for path in vars(self).values() if path]

    def by_name(self, text: str) -> str:
        """A text that tells the names of the files, and not where they are."""
        for path in self.given:
            text = text.replace(str(path), path.name)
        return text


@dataclass(frozen=True)
class SplitOptions:
    """Options of `compare`: how one file is split into training and test rows."""

    train: Annotated[
        int | None, typer.Option(min=2, help="Training rows per seed. Not given: 40 % of the file.")
    ] = None
    test: Annotated[
        int | None, typer.Option(min=2, help="Test rows per seed. Not given: what is left.")
    ] = None
    seeds: Annotated[int, typer.Option(min=1, help="How many splits.")] = 1
    split: Annotated[str, typer.Option(help="random, or temporal: learn from before.")] = "random"

    def in_words(self, files: ComparedFiles) -> str:
        """How training and test rows are told apart."""
        if files.test_file is not None:
            return "two files"
        in_time = "in time: the training rows come before the test rows"
        at_random = "at random, with the same share of fraud in both"
        return f"one file, split {in_time if self.split == 'temporal' else at_random}"

    def splits(self, files: ComparedFiles, columns: Columns) -> "list[Split]":
        """The split of each seed; two files are one split."""
        from acegraph.graph.data.splits import Split, random_splits, temporal_splits

        sizes = (self.train, self.test, self.seeds)
        match files.file, files.test_file, self.split:
            case None, _, _:
                raise InvalidSettings("compare wants FILE, or --against VERSION")
            case Path() as past, Path() as stream, _:
                if self.split != "random" or sizes != (None, None, 1):
                    raise InvalidSettings(
                        "two files are the split: leave out --train, --test, --seeds and --split"
                    )
                train, test = columns.load_to_learn(past, stream)
                return [Split(train.items, test.items, task=train.task)]
            case Path() as file, None, "random" | "temporal":
                dataset = columns.load_to_learn(file)[0]
                split_by = temporal_splits if self.split == "temporal" else random_splits
                return [replace(s, task=dataset.task) for s in split_by(dataset.items, *sizes)]
            case _:
                raise InvalidSettings(f"a split is random or temporal, not {self.split!r}")


@dataclass(frozen=True)
class ExperimentOptions:
    """Options of `compare`: who decides, what is measured, what mistakes cost."""

    costs: Annotated[
        str,
        typer.Option(
            help="What mistakes cost, in shares of the amount: missed_fraud=1, false_decline=0.1 "
            "unless given."
        ),
    ] = ""
    by: Annotated[
        list[str] | None,
        typer.Option(
            help="Show false declines by the groups of this field, as gender; numbers are cut into "
            "four bands. May be given several times."
        ),
    ] = None
    model: Annotated[str | None, typer.Option(help=MODEL_HELP)] = None
    baselines: Annotated[
        str,
        typer.Option(help="Other learners on the same rows: plain (of scikit-learn), or none."),
    ] = "plain"
    concurrency: Concurrency = 1
    report: ReportFile = None


@takes_groups
def compare(
    *,
    command: typer.Context,
    files: ComparedFiles,
    columns: Columns,
    splitting: SplitOptions,
    against: Annotated[
        int | None,
        typer.Option(
            help="Compare this version of the playbook with today's instead: on FILE, or without "
            "it on what the version said in shadow."
        ),
    ] = None,
    options: ExperimentOptions,
) -> None:
    """Compare all modes, and other learners, on your own labelled data; or two versions.

    Example: acegraph compare cards.csv --label is_fraud --train 500 --test 1000 --seeds 5
    """
    asked = _options_given(command)
    if against is not None:
        applies = {"--file", "--against", *(_option(name) for name in vars(columns))}
        if refused := [name for name in asked if name not in applies]:
            raise InvalidSettings(f"--against does not go with {', '.join(refused)}")
        _compare_versions(against, files.file, columns)
        return
    if command.find_root().params["playbook"] is not None:
        raise InvalidSettings("compare without --against does not go with --playbook")
    with gathered_warnings() as notes:
        experiment = _compare_modes(files, columns, splitting, options)
    experiment.notes = [files.by_name(note) for note in notes]
    for name in map(_option, _SAID_ELSEWHERE):
        asked.pop(name, None)
    experiment.asked = asked
    if wants_json.get():
        print_json(experiment.to_json())
    else:
        print_experiment(experiment)
    if options.report:
        from acegraph.graph.experiments.report.page import write_report

        write_report(experiment, options.report)
        warn(f"Report: {options.report}")


def _option(name: str) -> str:
    return f"--{name.replace('_', '-')}"


def _options_given(context: typer.Context) -> dict[str, str]:
    """The options on the command line, with their values as words.

    Of a file only the name is told: a report should not tell where it was.
    """
    options = {}
    for name, value in context.params.items():
        source = context.get_parameter_source(name)
        if source is not None and source.name == "COMMANDLINE":
            values = value if isinstance(value, list | tuple) else [value]
            words = (one.name if isinstance(one, Path) else str(one) for one in values)
            is_flag = isinstance(value, bool)
            options[_option(name)] = ("yes" if value else "no") if is_flag else ", ".join(words)
    return options


def _compare_modes(
    files: ComparedFiles, columns: Columns, splitting: SplitOptions, options: ExperimentOptions
) -> "Experiment":
    from acegraph.graph.experiments.baselines import check_baselines
    from acegraph.graph.experiments.experiment import Plan, run_experiment
    from acegraph.graph.experiments.report.page import check_report
    from acegraph.nodes.models.named import EMBEDDED_NAME, resolve_model
    from acegraph.state import AceContext
    from acegraph.state.values.costs import CostMatrix

    announce_models(options.model)
    agent = resolve_model("agent", None, options.model)
    if options.report:
        check_report(options.report)
    baselines = check_baselines(options.baselines)
    plan = Plan(costs=CostMatrix.parse(options.costs), by=tuple(options.by or ()))
    policy = {"costs": CostMatrix.named(options.costs)} if options.costs else None
    context = AceContext(agent_model=options.model, policy=policy)
    splits = list(splitting.splits(files, columns))
    with progress_bar() as progress:
        run = partial(
            run_experiment,
            splits,
            progress=progress,
            plan=plan,
            concurrency=options.concurrency,
        )
        experiment = run(context=context, baselines=baselines)
        if agent and baselines:
            embedded = context.with_changes(agent_model=EMBEDDED_NAME)
            beside = run(context=embedded, baselines=False)
            experiment.baselines["embedded"] = beside.modes["offline_online"]
    experiment.data = " and ".join(path.name for path in files.given)
    experiment.split = splitting.in_words(files)
    return experiment


def _compare_versions(version: int, file: Path | None, columns: Columns) -> None:
    """Compare a version of the playbook with today's on the same labelled cases.

    Without a file: with what it decided in shadow on the live stream.
    """
    from acegraph.graph.experiments.duel import duel, live_duel
    from acegraph.state import AceContext
    from acegraph.state.values.costs import CostMatrix

    with lasting(must_exist=True) as book, progress_bar() as progress:
        found = book.task(AceContext().node).of_role("amount")
        amount = found.name if found else None
        matrix = CostMatrix(**(book.policy().costs or {}))
        if file is None:
            result = live_duel(book, version, costs=matrix, amount=amount)
        else:
            items, report = columns.load(file), progress(None)
            result = duel(book, version, items, costs=matrix, amount=amount, progress=report)
    if not told_as_json(result.to_json()):
        _say_duel(result)


def _say_duel(result: "Duel") -> None:
    from acegraph.graph.metrics.paired import p_words
    from acegraph.graph.metrics.rates import accuracy

    sides = {"champion": result.champion, "challenger": result.challenger}
    versions = (result.champion_version, result.challenger_version)
    for (role, run), version in zip(sides.items(), versions, strict=True):
        name = "in force" if version is None else f"version {version}"
        figures = f"{accuracy(run):.3f} right, {run.undecided_rate:.3f} undecided"
        say(f"{role:<11} {name:<12} {figures}")
    paired, cost, costs = result.paired, result.cost_difference(), result.costs
    say(
        f"{len(result.champion.truths)} cases: the challenger alone was right on {paired.gained}, "
        f"the champion alone on {paired.lost} (McNemar's exact test, {p_words(paired.p_value)})"
    )
    unit = f"times {result.amount}" if result.amount else "each"
    say(
        f"cost of 1,000 cases, challenger minus champion: {cost.mean:+.2f}, 95 % interval "
        f"{cost.low:+.2f} to {cost.high:+.2f}, {p_words(cost.p_value)} (a false decline "
        f"{costs.false_decline:g}, a missed fraud {costs.missed_fraud:g}, {unit})"
    )
