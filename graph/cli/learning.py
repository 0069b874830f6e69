"""`acegraph train` and `demo`: learn from labelled cases, of a file or generated."""

from collections.abc import Sequence
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
    ShuffleLabels,
    lasting,
    print_experiment,
    print_json,
    print_table,
    print_usage,
    progress_bar,
    say,
    takes_groups,
    warn_of_misspelt,
)
from acegraph.state.database.places import shown_url

if TYPE_CHECKING:
    from acegraph.graph.training.pipeline import TrainingReport
    from acegraph.state import Bullet


@takes_groups
def train(
    file: Annotated[Path, typer.Argument(help="JSON list, JSON lines or CSV of labelled cases.")],
    columns: Columns,
    online: Annotated[bool, typer.Option(help="Learn as a stream instead of as history.")] = False,
    concurrency: Concurrency = 1,
    max_calls: Annotated[
        int | None, typer.Option(min=1, help="Stop before more calls to language models.")
    ] = None,
    max_tokens: Annotated[
        int | None, typer.Option(min=1, help="Stop when so many tokens are spent.")
    ] = None,
    redact: Redact = None,
    playbook: PlaybookUrl = DEFAULT_URL,
    as_json: AsJson = False,
) -> None:
    """Learn bullets from a labelled file into a playbook."""
    from acegraph.graph.training.pipeline import TrainingPipeline
    from acegraph.state import AceContext

    items = columns.load(file)
    warn_of_misspelt(redact or (), items)
    with lasting(playbook) as book, progress_bar() as progress:
        pipeline = TrainingPipeline(
            book,
            context=AceContext(redact=redact or []),
            progress=progress(None),
            concurrency=concurrency,
            max_calls=max_calls,
            max_tokens=max_tokens,
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
        f"{report.cases} case(s), {report.mistakes} mistake(s), {report.bullets_added} bullet(s) "
        f"added, {report.bullets_active} active in {shown_url(playbook)}"
    )
    if report.failure:
        say(f"{report.undecided} of {report.cases} case(s) undecided; {report.failure}")
    if report.stopped:
        say(f"stopped: {report.stopped}; what was learned is kept, run it again to go on")
    print_usage()
    if bullets:
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
    from acegraph.graph.experiments.pictures import check_picture, draw_learning_curves
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
    draw_learning_curves(experiment.modes, picture, best=attainable)
