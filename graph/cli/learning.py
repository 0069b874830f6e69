"""`acegraph train`, `demo` and `generate`: learn from labelled cases, of a file or generated."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from acegraph.graph.cli.console import (
    DEFAULT_URL,
    AsJson,
    Columns,
    Concurrency,
    PlaybookUrl,
    Redact,
    RiskOptions,
    ShuffleLabels,
    lasting,
    print_experiment,
    print_json,
    print_table,
    print_usage,
    progress_bar,
    say,
    takes_groups,
    warn,
    warn_of_misspelt,
)
from acegraph.state.database.places import shown_url

if TYPE_CHECKING:
    from acegraph.graph.training.pipeline import TrainingReport
    from acegraph.state import Bullet


@dataclass(frozen=True)
class CallOptions:
    """Options of `train`: how much language models are asked."""

    concurrency: Concurrency = 1
    max_calls: Annotated[
        int | None, typer.Option(min=1, help="Stop before more calls to language models.")
    ] = None
    max_tokens: Annotated[
        int | None, typer.Option(min=1, help="Stop when so many tokens are spent.")
    ] = None


@takes_groups
def train(
    file: Annotated[Path, typer.Argument(help="JSON list, JSON lines or CSV of labelled cases.")],
    columns: Columns,
    risk: RiskOptions,
    calls: CallOptions,
    online: Annotated[bool, typer.Option(help="Learn as a stream instead of as history.")] = False,
    mature_days: Annotated[
        float | None,
        typer.Option(
            min=0,
            help="Leave out honest rows of the last so many days: chargebacks may still come.",
        ),
    ] = None,
    redact: Redact = None,
    playbook: PlaybookUrl = DEFAULT_URL,
    as_json: AsJson = False,
) -> None:
    """Learn bullets from a labelled file into a playbook."""
    from acegraph.graph.data.splits import mature_rows
    from acegraph.graph.training.pipeline import TrainingPipeline
    from acegraph.state import AceContext

    (items,) = columns.load_to_learn(file)
    warn_of_misspelt(redact or (), items)
    if mature_days:
        mature = mature_rows(items, mature_days, columns.time)
        warn(f"{len(items) - len(mature)} honest rows of the last {mature_days:g} days left out")
        items = mature
    with lasting(playbook) as book, progress_bar() as progress:
        pipeline = TrainingPipeline(
            book,
            context=AceContext(redact=redact or [], **vars(risk)),
            progress=progress(None),
            **vars(calls),
        )
        try:
            report = pipeline.train_online(items) if online else pipeline.train_offline(items)
        except KeyboardInterrupt:
            kept = f"what was learned so far is kept in {shown_url(playbook)}"
            say(f"interrupted; {kept}; run it again to go on")
            raise
        bullets = book.get_bullets_for_node(pipeline.context.node)
    if as_json:
        print_json(report.to_json())
    else:
        _say_training(report, bullets, playbook)
    if report.failed:
        raise typer.Exit(1)


def _say_training(report: "TrainingReport", bullets: "Sequence[Bullet]", playbook: str) -> None:
    from acegraph.graph.cli.tables import bullet_table

    say(
        f"{report.cases} case(s), {report.frauds} of them fraud, {report.mistakes} mistake(s), "
        f"{report.bullets_added} bullet(s) added, {report.bullets_active} active in "
        f"{shown_url(playbook)}"
    )
    if report.since_change < report.evidence:
        say(
            f"a change was seen: {report.since_change} of {report.evidence} labelled cases still "
            "count as evidence, those since then"
        )
    if held_out := report.held_out:
        say(
            f"held out in turn, {held_out['caught']:g} of {held_out['frauds']:g} frauds are caught "
            f"and {held_out['false_declines']:.1%} of honest payments declined"
        )
    if report.failure:
        say(f"{report.undecided} of {report.cases} case(s) undecided; {report.failure}")
    if report.stopped:
        say(f"stopped: {report.stopped}; what was learned is kept, run it again to go on")
    print_usage()
    if bullets:
        if report.repeated:
            say(
                f"{report.repeated} of the cases were known: this playbook learned from them before"
            )
        print_table(bullet_table(bullets, "Active bullets"))
    elif report.repeated == report.cases:
        say(
            "Nothing was learned: this playbook learned from all of these cases before, and does "
            "so once. Another --playbook starts anew."
        )
    elif report.failed:
        say("Nothing was learned: the models failed.")
    else:
        say("Nothing was learned: no rule did better than chance explains.")


def demo(
    seeds: Annotated[int, typer.Option(min=1, help="How many independent worlds to average.")] = 1,
    train: Annotated[int, typer.Option(min=20, help="Labelled cases to learn from.")] = 400,
    test: Annotated[int, typer.Option(min=20, help="Held-out cases in the stream.")] = 600,
    shuffle_labels: ShuffleLabels = False,
    model: Annotated[
        str | None, typer.Option(help="A chat model instead of the embedded analyst (needs a key).")
    ] = None,
    concurrency: Concurrency = 1,
    picture: Annotated[Path, typer.Option(help="Where to write the learning curves.")] = Path(
        "out/learning_curves.png"
    ),
    as_json: AsJson = False,
) -> None:
    """Learn on generated transactions, then decide a held-out stream in every mode.

    Prints all modes beside plain learners on the same rows and the best attainable, ranking and
    money, and the bullets that were learned; writes a picture. Needs no key and no network.
    """
    from acegraph.graph.experiments.baselines import check_baselines
    from acegraph.graph.experiments.experiment import run_demonstration
    from acegraph.graph.experiments.pictures import caption_of, check_picture, draw_learning_curves
    from acegraph.nodes.models.providers import EMBEDDED_NAME, chat_model
    from acegraph.state import AceContext

    if model:
        chat_model("agent", model)  # reports a missing key before any work is done
        context = AceContext(agent_model=model)
    else:  # even if a key is set: a demonstration costs nothing
        embedded = dict.fromkeys(("agent_model", "judge_model", "reflector_model"), EMBEDDED_NAME)
        context = AceContext(**embedded, embedding_model=EMBEDDED_NAME)
    check_baselines()
    check_picture(picture)
    with progress_bar() as progress:
        experiment, attainable = run_demonstration(
            seeds,
            train,
            test,
            shuffle_labels=shuffle_labels,
            context=context,
            progress=progress,
            concurrency=concurrency,
        )
    if as_json:
        print_json(experiment.to_json())
    else:
        print_experiment(experiment, model, expected=True)
        say(f"Learning curves: {picture}")
    caption = caption_of(experiment)
    draw_learning_curves(experiment.modes, picture, best=attainable, caption=caption)


def generate(
    file: Annotated[Path, typer.Argument(help="The CSV to write; it must not exist.")],
    rows: Annotated[int, typer.Option(min=2, help="How many transactions.")] = 1000,
    fraud_rate: Annotated[float, typer.Option(min=0, max=1, help="The share of fraud.")] = 0.5,
    natural: Annotated[
        bool, typer.Option("--natural", help="A natural share of fraud instead: 2 %.")
    ] = False,
    seed: Annotated[int, typer.Option(min=0, help="Another seed gives other transactions.")] = 0,
) -> None:
    """Write a sample file of generated card payments, to try everything with."""
    from acegraph.graph.data.synthetic import NATURAL_FRAUD_RATE, write_sample

    write_sample(file, rows, seed=seed, fraud_rate=NATURAL_FRAUD_RATE if natural else fraud_rate)
    say(f"{rows} rows in {file}; next: acegraph read {file} --label is_fraud")
