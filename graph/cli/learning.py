"""`acegraph train` and `demo`: learn from labelled cases, of a file or generated."""

import shlex
from collections.abc import Sequence
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Final

import typer

from acegraph.graph.cli.console import (
    DEFAULT_URL,
    Concurrency,
    Model,
    ReportFile,
    announce_models,
    lasting,
    may_exist,
    playbook_url,
    shown,
    takes_groups,
)
from acegraph.graph.cli.files import Columns
from acegraph.graph.cli.printing import (
    gathered_warnings,
    print_experiment,
    print_json,
    print_table,
    print_usage,
    progress_bar,
    say,
    told_as_json,
    wants_json,
    warn,
)
from acegraph.graph.cli.scoring import need_tables
from acegraph.state import InvalidSettings

if TYPE_CHECKING:
    from acegraph.graph.data.files import Dataset, Item
    from acegraph.graph.tables.labelled import LabelledTable
    from acegraph.graph.training.pipeline import TrainingReport
    from acegraph.state import AceContext, Bullet, BulletPlaybook
    from acegraph.state.task.policy import Policy
    from acegraph.state.values.verdict import Verdict


_NO_AMOUNT: Final = (
    "no column is known as the amount, so costs count every row as 1 (--as NAME=amount)"
)
_PICTURE: Final = Path("out/learning_curves.png")
"""Where `demo` draws the learning curves."""
_FEWEST: Final = 50
"""Fewer payments than this teach nothing."""
_SHOWN: Final = 10
"""So many of the bullets that refinement changed are printed."""


@dataclass(frozen=True)
class CallOptions:
    """Options of `train`: how much language models are asked."""

    concurrency: Concurrency = 1
    max_calls: Annotated[
        int | None, typer.Option(min=1, help="Stop before more calls to language models.")
    ] = None


@dataclass(frozen=True)
class LearningOptions:
    """Options of `train`: what of the file is learned from, and how."""

    online: Annotated[bool, typer.Option(help="Learn as a stream instead of as history.")] = False

    def large_table(
        self, file: Path, columns: Columns, context: "AceContext"
    ) -> "LabelledTable | None":
        """The table to draw rows from; None where all rows of a file are taken in."""
        from acegraph.graph.training.pipeline import TrainingPipeline
        from acegraph.state import InvalidDataset, InvalidSettings

        is_parquet = file.suffix.lower() in (".parquet", ".pq")
        why = TrainingPipeline(context=context).why_row_by_row(context)
        if self.online or columns.layout.query is not None:
            why = "--online and texts want it"
        try:
            need_tables()
            from acegraph.graph.tables.labelled import LARGE, LabelledTable

            table = LabelledTable.open(file, columns.layout)
        except (InvalidDataset, InvalidSettings):
            if is_parquet:
                raise
            return None
        rows = table.files.about_rows
        is_parquet = table.files.form == "parquet"
        if rows < LARGE and not is_parquet:
            return None
        if why and is_parquet:
            raise InvalidSettings(f"of Parquet only some rows are taken in, and {why}")
        if why:
            typer.echo(f"about {rows:,} rows are all taken in, slowly: {why}", err=True)
            return None
        typer.echo(f"about {rows:,} rows: rules are sought on some, and proved on all", err=True)
        return table


def _old_enough(items: "list[Item]", days: float) -> "list[Item]":
    """The rows without the honest ones that are too young."""
    from acegraph.graph.data.splits import mature_rows

    if not days:
        return items
    mature = mature_rows(items, days, None)
    warn(f"{len(items) - len(mature)} honest rows of the last {days:g} days left out")
    return mature


def _known(node: str) -> "tuple[dict[int, Verdict], Policy]":
    """The labels of rows of whole tables that a playbook has, and its policy, if there is one."""
    from acegraph.state.task.policy import Policy

    if not may_exist(playbook_url.get()):
        return {}, Policy()
    with lasting() as book:
        return book.labels_of_tables(node), book.policy(node)


@takes_groups
def train(
    file: Annotated[
        Path, typer.Argument(help="Labelled cases: JSON list, JSON lines, CSV, Parquet.")
    ],
    columns: Columns,
    calls: CallOptions,
    learning: LearningOptions,
    model: Model = None,
) -> None:
    """Learn bullets from a labelled file into a playbook.

    Ctrl-C ends it; what was learned until then is kept. Example: acegraph train cards.csv --label
    is_fraud
    """
    from acegraph.graph.training.pipeline import TrainingPipeline
    from acegraph.state import AceContext
    from acegraph.state.run.modes import settle

    announce_models(model)
    context = AceContext(agent_model=model)
    known, policy = _known(context.node)
    mature_days = policy.mature_days.get("history", 0.0)
    with gathered_warnings() as warnings:
        table = learning.large_table(file, columns, context)
        drawn = table and columns.draw_to_learn(file, table, known)
        dataset = drawn.dataset if drawn else columns.load_to_learn(file)[0]
        if policy.costs and not dataset.has_amounts:
            warn(f"{file}: {_NO_AMOUNT}")
        items = dataset.items if drawn else _old_enough(dataset.items, mature_days)
        with lasting() as book, progress_bar() as progress:
            if settle(book, context).get("costs") and not dataset.has_amounts:
                warn(f"{file}: {_NO_AMOUNT}")
            pipeline = TrainingPipeline(
                book, context=context, progress=progress(None), **vars(calls)
            )
            derives = bool(dataset.task and dataset.task.derived)
            had_sightings = derives and bool(book.sighting_columns(context.node))
            if table and drawn:
                report = pipeline.train_table(table, drawn, mature_days)
            elif learning.online:
                report = pipeline.train_online(items, dataset.task)
            else:
                report = pipeline.train_offline(items, dataset.task)
            bullets = book.get_bullets_for_node(context.node)
            why_not = _why_none_is_declined(book, context)
        _warn_of(file, report, had_sightings=had_sightings, why_none_is_declined=why_not)
    labelled = sum(drawn.counts.values()) if drawn else len(dataset.items)
    ending = Ending(
        rows=labelled + dataset.unlabelled,
        unlabelled=dataset.unlabelled,
        too_young=labelled - (report.cases if drawn else len(items)),
        warnings=warnings,
        next=_next_commands(file, columns, dataset, has_held_out=bool(report.held_out)),
    )
    if not told_as_json({**report.to_json(), **vars(ending)}):
        _say_training(report, bullets, ending, is_stream=learning.online)
    if report.failed:
        raise typer.Exit(1)


def _warn_of(
    file: Path, report: "TrainingReport", *, had_sightings: bool, why_none_is_declined: str
) -> None:
    """Warn of what a person should know of what was learned, and of what it was learned from."""
    if report.columns:
        warn(f"{file}: {report.columns}")
    if had_sightings and report.repeated < report.cases:
        warn(f"{file}: its derived fields do not see the files that were learned from before")
    if report.change:
        warn(report.change)
    if why_none_is_declined:
        warn(why_none_is_declined)


def _why_none_is_declined(playbook: "BulletPlaybook", context: "AceContext") -> str:
    """Why the playbook would decline none of its labelled cases; empty if it would."""
    from acegraph.nodes.rules.scale import scale_of
    from acegraph.state.run.modes import settle

    scale = scale_of(playbook, settle(playbook, context))
    if scale.can_decline or scale.riskiest is None:
        return ""
    risk, needed = scale.risk(scale.riskiest), scale.decline_from({})
    return (
        "this playbook approves every payment that it understands: it declines above a risk of "
        f"{needed:.2g}, and no labelled case has one above {risk:.2g}"
    )


@dataclass(frozen=True)
class Ending:
    """What a person wants to know after the training, besides what was learned."""

    rows: int
    """The rows of the file."""
    unlabelled: int
    too_young: int
    """Rows that were left out: without a label, and honest ones that are too young."""
    warnings: list[str]
    next: list[str]
    """The commands that come next."""


def _next_commands(
    file: Path, columns: Columns, dataset: "Dataset", *, has_held_out: bool
) -> list[str]:
    """Measure on rows that are held out, if none were; then decide."""
    place = [] if playbook_url.get() == DEFAULT_URL else ["--playbook", shown()]
    in_time = ["--split", "temporal"] if dataset.time else []
    words = columns.words
    compare = ["acegraph", "compare", str(file), *words, *in_time]
    commands = [["acegraph", "read", *place], ["acegraph", "decide", "-", *place]]
    return [shlex.join(c) for c in ([] if has_held_out else [compare]) + commands]


def _say_training(
    report: "TrainingReport",
    bullets: "Sequence[Bullet]",
    ending: Ending,
    *,
    is_stream: bool,
) -> None:
    from acegraph.graph.cli.tables import bullet_table

    if bullets:
        print_table(bullet_table(bullets, "Active bullets"))
    left_out = {"without a label": ending.unlabelled, "too young": ending.too_young}
    said = [f"{n} {why}" for why, n in left_out.items() if n]
    share = f" ({report.frauds / report.cases:.1%})" if report.cases else ""
    say(f"{ending.rows} rows" + (f", left out: {', '.join(said)}" if said else ""))
    say(
        f"{report.cases} case(s), {report.frauds} of them fraud{share}, {report.mistakes} "
        f"mistake(s), {report.bullets_added} bullet(s) added, "
        f"{report.bullets_active} active in {shown()}"
    )
    say(_measured(report, is_stream=is_stream))
    _say_refinement(report)
    if report.failure:
        say(f"{report.undecided} of {report.cases} case(s) undecided; {report.failure}")
    if report.stopped:
        say(f"stopped: {report.stopped}; what was learned is kept, run it again to go on")
    print_usage()
    if report.corrected:
        say(f"{report.corrected} of the rows were known with another label; this one counts now")
    if bullets and report.repeated:
        say(f"{report.repeated} of the cases were known: this playbook learned from them before")
    elif not bullets:
        say(_why_nothing(report, ending.unlabelled))
    for warning in ending.warnings:
        say(f"warning: {warning}")
    for command in ending.next:
        say(f"next: {command}")


def _say_refinement(report: "TrainingReport") -> None:
    """What a look at the playbook as a whole changed; not which bullets it only weighed anew."""
    if not report.refinement:
        return
    stood = sum(bullet.weight_before is not None for bullet in report.refinement)
    act = sum(bullet.weight_after is not None for bullet in report.refinement)
    changed = [b for b in report.refinement if b.change not in ("kept", "reweighed")]
    why = next((b.why.rpartition("refined: ")[2] for b in changed if b.why), "")
    became = f"{stood} bullet(s) became {act}" if stood else f"{act} bullet(s) were found"
    say(f"refined as a whole, {became}" + (f" ({why})" if why else ""))
    for bullet in changed[:_SHOWN]:
        say(f"  {bullet}")
    if len(changed) > _SHOWN:
        say(f"  and {len(changed) - _SHOWN} more: --json has them")


def _measured(report: "TrainingReport", *, is_stream: bool) -> str:
    """How it did on rows that had no part in what decided them, if there were any."""
    held_out = report.held_out
    if not held_out:
        return "nothing was held out: how it does on new payments is not known yet"
    how = "decided before it was learned from" if is_stream else "held out in turn"
    highest = held_out.get("highest_risk", 1.0)
    borne_out = f"; no risk above {highest:g} is borne out" if highest < 1 else ""
    return (
        f"{how}, {held_out['caught']:g} of {held_out['frauds']:g} frauds are caught "
        f"and {held_out['false_declines']:.1%} of honest payments declined{borne_out}"
    )


def _why_nothing(report: "TrainingReport", unlabelled: int) -> str:
    if report.repeated == report.cases:
        return (
            "Nothing was learned: this playbook learned from all of these cases before, and does "
            "so once. Another --playbook starts anew."
        )
    if report.failed:
        return "Nothing was learned: the models failed."
    if report.frauds in (0, report.cases):
        return _ONE_LABEL + (_EMPTY_IS_NO_LABEL if report.frauds and unlabelled else "")
    return "Nothing was learned: no rule did better than chance explains."


_ONE_LABEL: Final = (
    "Nothing was learned: all cases have the same label. The scorecard decides alone: it was not "
    "made for this file."
)
_EMPTY_IS_NO_LABEL: Final = (
    " If rows without a label are honest payments, write that into them: an empty cell is no label."
)


@takes_groups
def demo(
    write: Annotated[
        Path | None,
        typer.Option(help="Write the payments to this CSV instead; it must not exist."),
    ] = None,
    rows: Annotated[
        int,
        typer.Option(min=2, help="How many payments; 40 % of them are learned from."),
    ] = 1000,
    fraud_rate: Annotated[
        float, typer.Option(min=0, max=1, help="With --write: the share of fraud.")
    ] = 0.5,
    seed: Annotated[
        int, typer.Option(min=0, help="With --write: another one gives other payments.")
    ] = 0,
    seeds: Annotated[int, typer.Option(min=1, help="How many independent worlds to average.")] = 1,
    report: ReportFile = None,
) -> None:
    """Learn on generated transactions, then decide a held-out stream in every mode.

    Prints all modes beside plain learners on the same rows and the best attainable, ranking and
    money, and the bullets that were learned; writes a picture. Needs no key and no network.
    Example: acegraph demo --write payments.csv
    """
    if write is not None:
        from acegraph.graph.data.synthetic import write_sample

        write_sample(write, rows, seed=seed, fraud_rate=fraud_rate)
        say(f"{rows} rows in {write}; next: acegraph read {write} --label is_fraud")
        return
    if rows < _FEWEST:
        raise InvalidSettings(f"a demonstration wants {_FEWEST} payments or more")
    _demonstrate(rows, seeds, report)


def _demonstrate(rows: int, seeds: int, report: Path | None) -> None:
    from acegraph.graph.experiments.experiment import run_demonstration
    from acegraph.graph.experiments.pictures import (
        check_picture,
        draw_learning_curves,
        save_picture,
    )
    from acegraph.graph.experiments.report.page import check_report, write_report
    from acegraph.nodes.models.named import EMBEDDED_NAME
    from acegraph.state import AceContext

    # Whatever the environment names: a demonstration costs nothing.
    embedded = dict.fromkeys(("agent_model", "judge_model", "reflector_model"), EMBEDDED_NAME)
    context = AceContext(**embedded, embedding_model=EMBEDDED_NAME)
    has_extra = all(map(find_spec, ("sklearn", "matplotlib")))
    if has_extra:
        check_picture(_PICTURE)
    else:
        warn("plain learners and the picture are left out: pip install 'acegraph[report]' has them")
    if report:
        check_report(report)
    learned = rows * 2 // 5
    with progress_bar() as progress:
        experiment, attainable = run_demonstration(
            seeds=seeds,
            train=learned,
            test=rows - learned,
            context=context,
            progress=progress,
            baselines=has_extra,
        )
    if wants_json.get():
        print_json(experiment.to_json())
    else:
        print_experiment(experiment, expected=True)
    if has_extra:
        figure = draw_learning_curves(experiment.modes, best=attainable)
        save_picture(figure, _PICTURE, experiment)
        warn(f"Learning curves: {_PICTURE}")
    if report:
        write_report(experiment, report)
        warn(f"Report: {report}")
