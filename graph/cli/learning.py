"""`acegraph train` and `demo`: learn from labelled cases, of a file or generated."""

from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Final

import typer

from acegraph.graph.cli.console import (
    Model,
    ReportFile,
    announce_models,
    lasting,
    may_exist,
    playbook_url,
)
from acegraph.graph.cli.files import Columns
from acegraph.graph.cli.printing import (
    Shown,
    facts_in_lines,
    gathered_warnings,
    print_experiment,
    progress_bar,
    say,
    tell,
    usage_in_words,
    warn,
)
from acegraph.state import AceContext, InvalidSettings
from acegraph.state.task.policy import USUAL, Policy

if TYPE_CHECKING:
    from acegraph.graph.data.files import Dataset, Item
    from acegraph.graph.tables.labelled import DrawnRows, LabelledTable
    from acegraph.graph.training.pipeline import TrainingPipeline
    from acegraph.graph.training.report import TrainingReport
    from acegraph.state import BulletPlaybook
    from acegraph.state.values.verdict import Verdict

_FEWEST: Final = 50
"""Fewer payments than this teach nothing."""
_TOLD: Final = (
    *("rows", "unlabelled", "too_young", "cases", "frauds", "repeated", "corrected", "mistakes"),
    *("undecided", "failure", "stopped", "refined", "refinement"),
    *("held_out", "bullets_added", "bullets_active"),
)
"""What is printed of a training, as --json has it; the rest is said in words."""
_NO_AMOUNT: Final = (
    "no column is known as the amount, so costs count every row as 1 (--as NAME=amount)"
)
_HELD_OUT: Final = (
    "{caught:,} of {frauds:,} frauds are caught, of the newest sixth of the cases "
    "{newest_caught:,} of {newest_frauds:,}; {false_declines:.1%} of the honest payments are "
    "declined"
)
_BORNE_OUT: Final = "; no risk above {highest_risk:.2g} is borne out"
_SURE: Final = 0.995
"""A highest risk from here on is no limit to tell."""
_NOT_HELD_OUT: Final = "nothing was held out; acegraph compare says how it does on new payments"
_ONE_LABEL: Final = (
    "Nothing was learned: all cases have the same label. The scorecard decides alone: it was not "
    "made for this file."
)
_EMPTY_IS_NO_LABEL: Final = (
    " If rows without a label are honest payments, write that into them: an empty cell is no label."
)


def train(
    file: Path,
    *,
    columns: Columns,
    concurrency: Annotated[int, typer.Option(min=1)] = 1,
    max_calls: Annotated[int | None, typer.Option(min=1)] = None,
    online: bool = False,
    model: Model = None,
) -> None:
    """Learn bullets from a labelled file into a playbook.

    Ctrl-C ends it; what was learned until then is kept. Example: acegraph train cards.csv --label
    is_fraud

    Options:
        file: Labelled cases: JSON list, JSON lines, CSV, Parquet.
        concurrency: Cases under way at once; worth it where language models answer.
        max_calls: Stop before more calls to language models.
        online: Learn as a stream instead of as history.
    """
    context, limits = AceContext(agent_model=model), (concurrency, max_calls)
    announce_models(model)
    with gathered_warnings() as warnings:
        taken = _taken_in(file, columns, context, online=online)
        report, bullets = _learned(taken, context, limits, online=online)
    facts = {**report.to_json(), **taken.rows(report), "warnings": warnings}
    words = report.refinement.removeprefix("refined: ").rpartition(", by ")[0]
    told = facts | {"refinement": words}  # --json has the number
    if found := report.held_out:  # the mistakes on the very cases that it learned from flatter
        is_limited = found.get("highest_risk", 1) < _SURE
        words = _HELD_OUT + (_BORNE_OUT if is_limited else "")
        told |= {"held_out": words.format(**found), "mistakes": ""}
    tell(
        facts,
        *bullets,
        *facts_in_lines({name: told[name] for name in _TOLD}),
        "" if report.held_out else _NOT_HELD_OUT,
        *usage_in_words(),
        "" if report.bullets_active else _why_nothing(report, taken.dataset.unlabelled),
        *(f"warning: {warning}" for warning in warnings),
    )
    if report.failed:
        raise typer.Exit(1)


def _learned(
    taken: "_Taken", context: AceContext, limits: tuple[int, int | None], *, online: bool
) -> "tuple[TrainingReport, list[Shown]]":
    """What was learned, and the table of the bullets that act now, if any do."""
    from acegraph.graph.cli.tables import bullet_table
    from acegraph.graph.metrics.records import standings_of
    from acegraph.graph.training.pipeline import TrainingPipeline

    with lasting() as book, progress_bar() as progress:
        pipeline = TrainingPipeline(
            book,
            context=context,
            progress=progress(None),
            concurrency=limits[0],
            max_calls=limits[1],
        )
        had_sightings = bool(book.sighting_columns(context.node))
        report = taken.learned_by(pipeline, online=online)
        bullets = book.get_bullets_for_node(context.node)
        standings = standings_of(book, bullets)
        task = taken.dataset.task
        if had_sightings and task and task.derived and report.repeated < report.cases:
            unseen = "its derived fields do not see the files that were learned from before"
            warn(f"{taken.file}: {unseen}")
        for why in (report.columns, report.change, _why_none_is_declined(book, context)):
            if why:
                warn(why)
    return report, [bullet_table(bullets, "Active bullets", standings)] if bullets else []


@dataclass(frozen=True)
class _Taken:
    """What of a file is learned from."""

    file: Path
    dataset: "Dataset"
    items: "list[Item]"
    """Its rows that count, all or some that were drawn."""
    mature_days: float
    drawn: "DrawnRows | None" = None
    """What was drawn of a large table."""

    def rows(self, report: "TrainingReport") -> dict[str, int]:
        """How many rows the file has, and how many of them were left out."""
        labelled = sum(self.drawn.counts.values()) if self.drawn else len(self.dataset.items)
        counted = report.cases if self.drawn else len(self.items)
        rows = {"rows": labelled + self.dataset.unlabelled, "unlabelled": self.dataset.unlabelled}
        return {**rows, "too_young": labelled - counted}

    def learned_by(self, pipeline: "TrainingPipeline", *, online: bool) -> "TrainingReport":
        if self.drawn:
            return pipeline.train_table(self.drawn, self.mature_days)
        train = pipeline.train_online if online else pipeline.train_offline
        return train(self.items, self.dataset.task)


def _taken_in(file: Path, columns: Columns, context: AceContext, *, online: bool) -> _Taken:
    """The rows of a file, or some that are drawn from a large table."""
    from acegraph.graph.data.splits import mature_rows

    known, policy = _known(context.node)
    days = policy.mature_days.get("history", 0.0)
    table = _large_table(file, columns, context, online=online)
    drawn = columns.draw_to_learn(file, table, known) if table else None
    dataset = drawn.dataset if drawn else columns.load_to_learn(file)[0]
    if policy.costs and not dataset.has_amounts:
        warn(f"{file}: {_NO_AMOUNT}")
    items = dataset.items
    if days and not drawn:
        items = mature_rows(items, days)
        warn(f"{len(dataset.items) - len(items)} honest rows of the last {days:g} days left out")
    return _Taken(file, dataset, items, days, drawn)


def _known(node: str) -> "tuple[dict[int, Verdict], Policy]":
    """The labels of rows of whole tables that a playbook has, and its policy, if there is one."""
    if not may_exist(playbook_url.get()):
        return {}, USUAL
    with lasting() as book:
        return book.labels_of_tables(node), book.policy(node)


def _large_table(
    file: Path, columns: Columns, context: AceContext, *, online: bool
) -> "LabelledTable | None":
    """The table to draw rows from; None where all rows of a file are taken in."""
    from acegraph.graph.training.pipeline import TrainingPipeline

    why = TrainingPipeline(context=context).why_row_by_row(context)
    if online or columns.layout.query is not None:
        why = "--online and texts want it"
    table = columns.large_table(file)
    if table is None:
        return None
    if why and table.table.form == "parquet":
        raise InvalidSettings(f"of Parquet only some rows are taken in, and {why}")
    how = f"all taken in, slowly: {why}" if why else "drawn from, equally by label"
    typer.echo(f"about {table.table.about_rows:,} rows are {how}", err=True)
    return None if why else table


def _why_none_is_declined(playbook: "BulletPlaybook", context: AceContext) -> str:
    """Why the playbook would decline none of its labelled cases; empty if it would."""
    from acegraph.nodes.rules.ruleset import Ruleset
    from acegraph.state.run.context import settle

    scale = Ruleset.of(playbook, settle(playbook, context)).scale
    if scale.can_decline or scale.riskiest is None:
        return ""
    risk, needed = scale.risk(scale.riskiest), scale.decline_from({})
    return (
        "this playbook approves every payment that it understands: it declines above a risk of "
        f"{needed:.2g}, and no labelled case has one above {risk:.2g}"
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


def demo(
    *,
    write: Path | None = None,
    rows: Annotated[int, typer.Option(min=2)] = 1000,
    fraud_rate: Annotated[float, typer.Option(min=0, max=1)] = 0.5,
    seed: Annotated[int, typer.Option(min=0)] = 0,
    seeds: Annotated[int, typer.Option(min=1)] = 1,
    report: ReportFile = None,
) -> None:
    """Learn on generated transactions, then decide a held-out stream in every mode.

    Prints all modes beside plain learners on the same rows and the best attainable, ranking and
    money, and the bullets that were learned. Needs no key and no network. Example: acegraph demo
    --write payments.csv

    Options:
        write: Write the payments to this CSV instead; it must not exist.
        rows: How many payments; 40 % of them are learned from.
        fraud_rate: With --write: the share of fraud.
        seed: With --write: another one gives other payments.
        seeds: How many independent worlds to average.
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
    from acegraph.graph.experiments.report.page import check_report
    from acegraph.nodes.models.named import EMBEDDED_NAME

    # Whatever the environment names: a demonstration costs nothing.
    models = dict.fromkeys(("agent", "judge", "reflector", "embedding"), EMBEDDED_NAME)
    context = AceContext(**{f"{role}_model": name for role, name in models.items()})
    check_report(report)
    if not (has_learners := find_spec("sklearn") is not None):
        warn("plain learners are left out: pip install 'acegraph[report]' has them")
    learned = rows * 2 // 5
    with progress_bar() as progress:
        experiment = run_demonstration(
            seeds=seeds,
            train=learned,
            test=rows - learned,
            context=context,
            progress=progress,
            baselines=has_learners,
        )
    print_experiment(experiment, report)
