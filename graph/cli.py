"""The command line: demo, decide, feedback, train, compare, playbook, graph.

Errors are one line without a traceback; bad input exits with 2. `--json` prints one object for
machines.
"""

import json
import sys
from functools import partial
from importlib import metadata
from pathlib import Path
from typing import Annotated, Any

import typer

from acegraph.graph import cli_champion, cli_labels, cli_ledger, cli_review
from acegraph.graph.cli_playbook import playbook_app
from acegraph.graph.console import (
    DEFAULT_URL,
    AsJson,
    Label,
    PlaybookUrl,
    Positive,
    Text,
    err,
    lasting,
    print_experiment,
    print_json,
    print_table,
    progress_bar,
    say,
)
from acegraph.state import (
    AceContext,
    AceError,
    InvalidInput,
    InvalidSettings,
    Mode,
    Transaction,
    parse_verdict,
)

app = typer.Typer(
    name="acegraph",
    no_args_is_help=True,
    invoke_without_command=True,
    add_completion=False,
    pretty_exceptions_enable=False,
)
app.add_typer(playbook_app, name="playbook")
for command in (
    cli_ledger.verify,
    cli_ledger.replay,
    cli_ledger.prune,
    cli_ledger.backup,
    cli_ledger.restore,
    cli_review.review,
    cli_labels.labels,
    cli_champion.challenge,
):
    app.command()(command)


@app.command()
def demo(
    seeds: Annotated[int, typer.Option(min=1, help="How many independent worlds to average.")] = 1,
    train: Annotated[int, typer.Option(min=20, help="Labelled cases to learn from.")] = 400,
    test: Annotated[int, typer.Option(min=20, help="Held-out cases in the stream.")] = 600,
    shuffle_labels: Annotated[
        bool, typer.Option(help="Deal the labels out at random: nothing can be learned then.")
    ] = False,
    model: Annotated[
        str | None, typer.Option(help="A chat model instead of the embedded analyst (needs a key).")
    ] = None,
    picture: Annotated[Path, typer.Option(help="Where to write the learning curves.")] = Path(
        "out/learning_curves.png"
    ),
    as_json: AsJson = False,
) -> None:
    """Learn on generated transactions, then decide a held-out stream in every mode.

    Prints one table (all modes, plain learners on the same rows, the best attainable), the bullets
    that were learned, and writes a picture. Needs no key and no network.
    """
    from acegraph.graph.challengers import check_challengers
    from acegraph.graph.experiment import run_demonstration
    from acegraph.graph.pictures import check_picture, draw_learning_curves
    from acegraph.nodes.providers import EMBEDDED_NAME, chat_model

    if model:
        chat_model("agent", model)  # says at once what is missing
        context = AceContext(agent_model=model)
    else:  # whatever key is set: a demonstration costs nothing
        embedded = dict.fromkeys(("agent_model", "judge_model", "reflector_model"), EMBEDDED_NAME)
        context = AceContext(**embedded, embedding_model=EMBEDDED_NAME)
    check_challengers()
    check_picture(picture)
    with progress_bar() as told:
        found, attainable = run_demonstration(
            seeds, train, test, shuffle_labels=shuffle_labels, context=context, progress=told
        )
    if as_json:
        print_json(found.to_json())
    else:
        print_experiment(found, model, expected=True)
        say(f"Learning curves: {picture}")
    draw_learning_curves(found.modes, picture, best=attainable)


@app.command()
def decide(
    transaction: Annotated[
        str,
        typer.Argument(help="Text, a JSON object of fields, or - to read it from standard input."),
    ],
    truth: Annotated[str | None, typer.Option(help="The right answer, where it is known.")] = None,
    decision_id: Annotated[
        str | None, typer.Option("--id", help="Your id for the decision.")
    ] = None,
    mode: Annotated[
        str, typer.Option(help="vanilla, offline_online or online.")
    ] = "offline_online",
    learn: Annotated[bool, typer.Option(help="Move counters and learn from a mistake.")] = True,
    playbook: PlaybookUrl = DEFAULT_URL,
    as_json: AsJson = False,
) -> None:
    """Decide on one transaction with the bullets of a playbook."""
    from acegraph.graph.ace import create_ace_graph

    context = AceContext(mode=_mode(mode), learn=learn and None)
    given = _transaction(sys.stdin.read() if transaction == "-" else transaction)
    Transaction.of(given)  # bad input must not even make a database
    if truth is not None:
        parse_verdict(truth)
    with lasting(playbook) as book:
        result = (
            create_ace_graph(playbook=book)
            .compile()
            .invoke(
                {"transaction": given, "ground_truth": truth, "decision_id": decision_id},
                context=context,
            )
        )
    if as_json:
        print_json(dict(result))
        return
    risk = result["risk_score"]
    say(result["decision"] + (f"  risk {risk:.2f}" if risk is not None else ""))
    for reason in result["reasons"]:
        say(f"  - {reason}")
    if result["undecided"]:
        say(f"  undecided: {result['undecided']}")
    say(f"verdict: {result['verdict']}   decision id: {result['decision_id']}")
    if result["verdict"] == "wrong" and context.mode != "vanilla" and learn:
        say(f"learned: {result['new_bullet'] or 'nothing that the labelled cases bear out'}")


@app.command()
def feedback(
    decision_id: Annotated[
        str | None, typer.Argument(help="The id of a stored decision.", show_default=False)
    ] = None,
    label: Annotated[
        str | None, typer.Argument(help="Its right answer: APPROVE or DECLINE.", show_default=False)
    ] = None,
    file: Annotated[
        Path | None,
        typer.Option(help="A CSV instead: decision_id, label and, if you like, source and at."),
    ] = None,
    source: Annotated[str, typer.Option(help="Who says so.")] = "feedback",
    at: Annotated[str, typer.Option(help="Since when it is known (ISO 8601); else now.")] = "",
    learn: Annotated[bool, typer.Option(help="Learn from mistakes of a file at once.")] = True,
    playbook: PlaybookUrl = DEFAULT_URL,
    as_json: AsJson = False,
) -> None:
    """Say, or correct, the right answer of past decisions; mistakes are learned from.

    Example: acegraph feedback --file chargebacks.csv --source chargeback
    """
    from acegraph.graph.cli_feedback import give_file, give_one

    match decision_id, label, file:
        case str(), str(), None:
            give_one(decision_id, label, source, at, playbook, as_json=as_json)
        case None, None, Path():
            give_file(file, source, playbook, learn=learn, as_json=as_json)
        case _:
            raise InvalidSettings("feedback wants DECISION_ID and LABEL, or --file CSV")


@app.command()
def train(
    file: Annotated[Path, typer.Argument(help="JSON list, JSON lines or CSV of labelled cases.")],
    label: Label = None,
    text: Text = None,
    positive: Positive = None,
    online: Annotated[bool, typer.Option(help="Learn as a stream instead of as history.")] = False,
    playbook: PlaybookUrl = DEFAULT_URL,
    as_json: AsJson = False,
) -> None:
    """Learn bullets from a labelled file into a playbook."""
    from acegraph.graph.report import bullet_table
    from acegraph.graph.training import TrainingPipeline

    items = _load(file, label, text, positive)
    with lasting(playbook) as book, progress_bar() as told:
        pipeline = TrainingPipeline(book, progress=told(None))
        try:
            report = pipeline.train_online(items) if online else pipeline.train_offline(items)
        except KeyboardInterrupt:
            say(
                f"interrupted; what was learned so far is kept in {playbook}; run it again to go on"
            )
            raise
        bullets = book.get_bullets_for_node(pipeline.context.node)
    if as_json:
        print_json(report.to_json())
        return
    say(
        f"{report.cases} case(s), {report.mistakes} mistake(s), {report.bullets_added} bullet(s) "
        f"added, {report.bullets_active} active in {playbook}"
    )
    if bullets:
        print_table(bullet_table(bullets, "Active bullets"))
    else:
        say("Nothing was learned: no rule did better than chance explains.")


@app.command()
def compare(
    file: Annotated[Path | None, typer.Argument(help="One labelled file, split at random.")] = None,
    train_file: Annotated[Path | None, typer.Option(help="Labelled cases to learn from.")] = None,
    test_file: Annotated[Path | None, typer.Option(help="Labelled cases to decide.")] = None,
    label: Label = None,
    text: Text = None,
    positive: Positive = None,
    train: Annotated[
        int | None, typer.Option(min=2, help="Training rows per seed. Not given: 40 % of the file.")
    ] = None,
    test: Annotated[
        int | None, typer.Option(min=2, help="Test rows per seed. Not given: what is left.")
    ] = None,
    challenger: Annotated[
        int | None,
        typer.Option(help="Compare this version of --playbook with today's instead."),
    ] = None,
    playbook: PlaybookUrl = DEFAULT_URL,
    seeds: Annotated[int, typer.Option(min=1, help="How many random splits.")] = 1,
    baselines: Annotated[bool, typer.Option(help="Fit plain learners on the same rows.")] = True,
    picture: Annotated[Path | None, typer.Option(help="Write learning curves here.")] = None,
    as_json: AsJson = False,
) -> None:
    """Compare all modes, and plain learners, on your own labelled data.

    Example: acegraph compare cards.csv --label is_fraud --train 500 --test 1000 --seeds 5
    """
    if challenger is not None:
        cli_champion.challenge(challenger, file, label, text, positive, None, playbook, as_json)
        return
    from acegraph.graph.challengers import check_challengers
    from acegraph.graph.experiment import random_splits, run_experiment
    from acegraph.graph.pictures import check_picture, draw_learning_curves
    from acegraph.nodes.providers import chat_model

    agent = chat_model("agent", None)
    if picture:
        check_picture(picture)
    if baselines:
        check_challengers()
    load = partial(_load, label=label, text=text, positive=positive)
    match file, train_file, test_file:
        case Path(), None, None:
            splits = list(random_splits(load(file), train, test, seeds))
        case None, Path(), Path():
            splits = [(load(train_file), load(test_file))]
        case _:
            raise InvalidSettings("compare wants FILE, or --train-file and --test-file")
    with progress_bar() as told:
        found = run_experiment(splits, progress=told, baselines=baselines)
    if as_json:
        print_json(found.to_json())
    else:
        print_experiment(found, agent.name if agent else None)
    if picture:
        draw_learning_curves(found.modes, picture)


@app.command("graph")
def draw() -> None:
    """Print the graph as a Mermaid drawing."""
    from acegraph.graph.ace import create_ace_graph

    typer.echo(create_ace_graph().compile().get_graph().draw_mermaid())


@app.callback()
def acegraph(
    version: Annotated[
        bool, typer.Option("--version", help="Print the version and exit.", is_eager=True)
    ] = False,
) -> None:
    """A fraud-detection workflow that learns from its mistakes and proves what it learned."""
    if version:
        say(f"acegraph {metadata.version('acegraph')}")
        raise typer.Exit


def main() -> None:
    """Run the command line; our own errors become one line."""
    try:
        app()
    except (AceError, OSError) as error:
        err.print(f"acegraph: {error}", markup=False, highlight=False, soft_wrap=True)
        sys.exit(2 if isinstance(error, InvalidInput | OSError) else 1)


def _mode(word: str) -> Mode:
    return AceContext().with_changes(mode=word).mode


def _transaction(given: str) -> Any:
    if not given.lstrip().startswith("{"):
        return given
    try:
        return json.loads(given)
    except (ValueError, RecursionError) as error:
        raise InvalidInput(f"the transaction begins with {{ and is not JSON: {error}") from None


def _load(file: Path, label: str | None, text: str | None, positive: str | None) -> list[Any]:
    from acegraph.graph.dataset import load_dataset

    query = text or (None if label else "query")
    return load_dataset(file, query=query, answer=label or "answer", positive=positive)


if __name__ == "__main__":
    main()
