"""`acegraph compare` and `challenge`: modes, baselines and versions side by side.

The options of `compare` come in groups; a group turns its options into what an experiment takes.
"""

from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from acegraph.graph.cli.console import (
    DEFAULT_URL,
    MODEL_HELP,
    AsJson,
    Columns,
    Concurrency,
    Drift,
    Jobs,
    PlaybookUrl,
    ReportFile,
    ShuffleLabels,
    announce_models,
    gathered_warnings,
    lasting,
    options_given,
    print_experiment,
    print_json,
    progress_bar,
    refuse_others,
    say,
    takes_groups,
    warn,
)
from acegraph.state import InvalidSettings

if TYPE_CHECKING:
    from acegraph.graph.data.splits import Split
    from acegraph.graph.experiments.duel import DuelFigures
    from acegraph.graph.experiments.experiment import Experiment, Plan


@dataclass(frozen=True)
class ComparedFiles:
    """Options of `compare`: the labelled files."""

    file: Annotated[Path | None, typer.Argument(help="One labelled file, split.")] = None
    train_file: Annotated[Path | None, typer.Option(help="Labelled cases to learn from.")] = None
    test_file: Annotated[Path | None, typer.Option(help="Labelled cases to decide.")] = None

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
        if files.file is None:
            return "two files"
        in_time = "in time: the training rows come before the test rows"
        at_random = "at random, with the same share of fraud in both"
        return f"one file, split {in_time if self.split == 'temporal' else at_random}"

    def splits(self, files: ComparedFiles, columns: Columns) -> "list[Split]":
        """The split of each seed; two files are one split."""
        from acegraph.graph.data.splits import Split, random_splits, temporal_splits

        sizes = (self.train, self.test, self.seeds)
        match files.file, files.train_file, files.test_file:
            case Path() as file, None, None:
                items = columns.load_to_learn(file)[0].items
                if self.split == "random":
                    return list(random_splits(items, *sizes))
                if self.split == "temporal":
                    return list(temporal_splits(items, *sizes, columns.time))
                raise InvalidSettings(f"a split is random or temporal, not {self.split!r}")
            case None, Path() as past, Path() as stream:
                if self.split != "random" or sizes != (None, None, 1):
                    raise InvalidSettings(
                        "--train-file and --test-file are the split: leave out --train, --test, "
                        "--seeds and --split"
                    )
                train, test = columns.load_to_learn(past, stream)
                return [Split(train.items, test.items)]
            case _:
                raise InvalidSettings("compare wants FILE, or --train-file and --test-file")


@dataclass(frozen=True)
class ExperimentOptions:
    """Options of `compare`: what is changed, what is measured, what mistakes cost."""

    delay_days: Annotated[
        float | None, typer.Option(min=0, help="Also decide with labels that come so much later.")
    ] = None
    label_noise: Annotated[
        float, typer.Option(min=0, max=0.5, help="Share of training labels to turn round.")
    ] = 0.0
    shuffle_labels: ShuffleLabels = False
    gate: Annotated[str, typer.Option(help="off, lenient, standard or strict.")] = "standard"
    credit: Annotated[
        str,
        typer.Option(help="part: bullets that fired; selected: all shown."),
    ] = "part"
    costs: Annotated[
        str,
        typer.Option(
            help="What mistakes cost, in shares of the amount: missed_fraud=1, false_decline=0.1 "
            "unless given; with --challenger in prices per case: missed_fraud=5, false_decline=1."
        ),
    ] = ""
    by: Annotated[
        list[str] | None,
        typer.Option(
            help="Show false declines by the groups of this field, as gender; numbers are cut into "
            "four bands. May be given several times."
        ),
    ] = None
    drift: Drift = True
    model: Annotated[str | None, typer.Option(help=MODEL_HELP)] = None
    baselines: Annotated[
        str,
        typer.Option(
            help="Other learners on the same rows: none, plain (of scikit-learn), or all (also an "
            "EBM, FIGS, RuleFit and boosted rules; the extra `rivals`)."
        ),
    ] = "plain"
    no_baselines: Annotated[
        bool, typer.Option("--no-baselines", help="The same as --baselines none.")
    ] = False
    concurrency: Concurrency = 1
    jobs: Jobs = 1

    def plan(self, time: str | None) -> "Plan":
        """The plan of the experiment; an unknown gate or cost is refused."""
        from acegraph.graph.experiments.experiment import Plan
        from acegraph.nodes.evidence.proof_levels import gate_of
        from acegraph.state.run.costs import CostMatrix

        gate_of(self.gate)  # refuses what is not a GateLevel
        costs = CostMatrix.parse(self.costs)
        changes = (self.label_noise, self.shuffle_labels, self.delay_days)
        return Plan(self.gate, *changes, time, costs, tuple(self.by or ()))  # type: ignore[arg-type]


@dataclass(frozen=True)
class OutputOptions:
    """Options of `compare`: where pictures and the report are written."""

    picture: Annotated[Path | None, typer.Option(help="Write learning curves here.")] = None
    pictures: Annotated[
        Path | None,
        typer.Option(help="Write all pictures into this folder."),
    ] = None
    report: ReportFile = None

    def check(self) -> None:
        """Refuse, before any work is done, what cannot be drawn or written."""
        from acegraph.graph.experiments.pictures import check_picture
        from acegraph.graph.experiments.report.page import check_report

        for path in filter(None, (self.picture, self.pictures and self.pictures / "all.png")):
            check_picture(path)
        if self.report:
            check_report(self.report)

    def write(self, experiment: "Experiment") -> None:
        """Write the pictures and the report that were asked for."""
        from acegraph.graph.experiments.pictures import caption_of, draw_all, draw_learning_curves
        from acegraph.graph.experiments.report.page import write_report

        if self.picture:
            caption = caption_of(experiment)
            draw_learning_curves(experiment.modes, self.picture, caption=caption)
        if self.pictures:
            draw_all(experiment, self.pictures)
        for path in filter(None, (self.picture, self.pictures)):
            warn(f"Pictures: {path}")
        if self.report:
            write_report(experiment, self.report)
            warn(f"Report: {self.report}")


@takes_groups
def compare(
    *,
    command: typer.Context,
    files: ComparedFiles,
    columns: Columns,
    splitting: SplitOptions,
    challenger: Annotated[
        int | None, typer.Option(help="Compare this version of --playbook with today's instead.")
    ] = None,
    playbook: PlaybookUrl = DEFAULT_URL,
    options: ExperimentOptions,
    output: OutputOptions,
    as_json: AsJson = False,
) -> None:
    """Compare all modes, and other learners, on your own labelled data.

    Example: acegraph compare cards.csv --label is_fraud --train 500 --test 1000 --seeds 5
    """
    if challenger is not None:
        applies = ("file", *vars(columns), "challenger", "costs", "playbook", "as_json")
        refuse_others(command, "--challenger", applies)
        shared = {"costs": options.costs, "playbook": playbook, "as_json": as_json}
        challenge(version=challenger, file=files.file, **vars(columns), **shared)
    else:
        others = [name for name in command.params if name != "playbook"]
        refuse_others(command, "compare without --challenger", others)
        with gathered_warnings() as notes:
            experiment = _compare_modes(files, columns, splitting, options, output)
        experiment.notes = [files.by_name(note) for note in notes]
        said_elsewhere = {*vars(files), *vars(output), "as_json", "split"}
        experiment.asked = {
            f"--{name.replace('_', '-')}": value
            for name, value in options_given(command).items()
            if name not in said_elsewhere
        }
        if as_json:
            print_json(experiment.to_json())
        else:
            print_experiment(experiment)
        output.write(experiment)


def _compare_modes(
    files: ComparedFiles,
    columns: Columns,
    splitting: SplitOptions,
    options: ExperimentOptions,
    output: OutputOptions,
) -> "Experiment":
    from acegraph.graph.experiments.baselines import check_baselines
    from acegraph.graph.experiments.experiment import run_experiment
    from acegraph.graph.experiments.jobs import job_count
    from acegraph.nodes.models.named import EMBEDDED_NAME, resolve_model
    from acegraph.state import AceContext

    uses_time = splitting.split == "temporal" or options.delay_days is not None or columns.derive
    if columns.time and not uses_time:
        raise InvalidSettings("--time goes with --split temporal, --delay-days or --derive")
    announce_models(options.model)
    agent = resolve_model("agent", None, options.model)
    output.check()
    job_count(options.jobs)  # refuses what needs joblib
    baselines = check_baselines("none" if options.no_baselines else options.baselines)
    plan = options.plan(columns.time)
    context = AceContext(agent_model=options.model).with_changes(
        credit=options.credit, costs=options.costs or None, drift=options.drift
    )
    splits = list(splitting.splits(files, columns))
    with progress_bar() as progress:
        run = partial(
            run_experiment,
            splits,
            progress=progress,
            plan=plan,
            concurrency=options.concurrency,
            jobs=options.jobs,
        )
        experiment = run(context=context, baselines=baselines)
        if agent and baselines != "none":
            embedded = context.with_changes(agent_model=EMBEDDED_NAME)
            beside = run(context=embedded, baselines=False)
            experiment.baselines["embedded"] = beside.modes["offline_online"]
    experiment.data = " and ".join(path.name for path in files.given)
    experiment.split = splitting.in_words(files)
    return experiment


@takes_groups
def challenge(
    version: Annotated[int, typer.Argument(help="The version that challenges today's.")],
    file: Annotated[
        Path | None,
        typer.Argument(help="Labelled cases; without, what it said in shadow.", show_default=False),
    ] = None,
    *,
    columns: Columns,
    costs: Annotated[
        str, typer.Option(help="Price of a mistake, as missed_fraud=5, false_decline=1")
    ] = "",
    playbook: PlaybookUrl = DEFAULT_URL,
    as_json: AsJson = False,
) -> None:
    """Compare a version of the playbook with today's on the same labelled cases.

    Without a file: with what it decided in shadow on the live stream (AceContext(challenger=...)).
    """
    from acegraph.graph.experiments.duel import duel, duel_costs, live_duel
    from acegraph.state import AceContext

    amount = columns.amount
    matrix = duel_costs(costs, amount)
    with lasting(playbook, must_exist=True) as book, progress_bar() as progress:
        if file is None:
            result = live_duel(book, version, costs=matrix, amount=amount)
        else:
            items, report = columns.load(file), progress(None)
            # What the options convert is not converted again.
            context = AceContext(rates={} if columns.rates else None)
            result = duel(
                book, version, items, costs=matrix, amount=amount, context=context, progress=report
            )
    if as_json:
        print_json(result.to_json())
    else:
        _say_duel(result.to_json())


def _say_duel(figures: "DuelFigures") -> None:
    from acegraph.graph.metrics.paired import p_words

    for role, side in (("champion", figures["champion"]), ("challenger", figures["challenger"])):
        name = "in force" if side["version"] is None else f"version {side['version']}"
        share = "none decided" if side["accuracy"] is None else f"{side['accuracy']:.3f} right"
        say(f"{role:<11} {name:<12} {share}, {side['undecided_rate']:.3f} undecided")
    paired, cost, costs = figures["paired"], figures["cost_difference"], figures["costs"]
    say(
        f"{figures['cases']} cases: the challenger alone was right on {paired['gained']}, the "
        f"champion alone on {paired['lost']} (McNemar's exact test, {p_words(paired['p_value'])})"
    )
    unit = f"times {costs['amount']}" if costs["amount"] else "each"
    say(
        f"cost, challenger minus champion: {cost['mean']:+.2f}, 95 % interval {cost['low']:+.2f} "
        f"to {cost['high']:+.2f} (a false decline {costs['false_decline']:g}, a missed fraud "
        f"{costs['missed_fraud']:g}, {unit})"
    )
