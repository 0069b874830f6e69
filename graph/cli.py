"""The command line: demo, decide, feedback, train, compare, prove, read, playbook, graph.

Errors are one line without a traceback; bad input exits with 2. `--json` prints one object for
machines.
"""

import sys
from importlib import metadata
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from acegraph.graph import cli_champion, cli_labels, cli_ledger, cli_privacy, cli_review
from acegraph.graph.cli_doctor import doctor, reembed
from acegraph.graph.cli_learning import (
    compare,
    demo,
    given_transaction,
    load_items,
    prove,
    read,
)
from acegraph.graph.cli_playbook import playbook_app
from acegraph.graph.console import (
    DEFAULT_URL,
    AsJson,
    Concurrency,
    Label,
    PlaybookUrl,
    Positive,
    Text,
    err,
    lasting,
    print_json,
    print_table,
    print_usage,
    progress_bar,
    say,
    visible,
)
from acegraph.state import (
    AceError,
    InvalidInput,
    InvalidSettings,
    Transaction,
    parse_verdict,
)

if TYPE_CHECKING:
    from collections.abc import Sequence

    from acegraph.graph.training import TrainingReport
    from acegraph.state import Bullet, Mode

_UsageError: Any = typer.BadParameter.__base__
"""Of the click that typer brings with it."""
app = typer.Typer(
    name="acegraph",
    no_args_is_help=True,
    invoke_without_command=True,
    add_completion=False,
    pretty_exceptions_enable=False,
)
app.add_typer(playbook_app, name="playbook")
for command in (
    demo,
    compare,
    prove,
    read,
    doctor,
    cli_ledger.verify,
    cli_ledger.replay,
    cli_ledger.prune,
    cli_ledger.backup,
    cli_ledger.restore,
    cli_privacy.erase,
    reembed,
    cli_review.review,
    cli_labels.labels,
    cli_champion.challenge,
):
    app.command()(command)


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
    from acegraph.state import AceContext

    context = AceContext(mode=_mode(mode), learn=learn and None)
    given = given_transaction(sys.stdin.read() if transaction == "-" else transaction)
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
            give_file(file, source, at, playbook, learn=learn, as_json=as_json)
        case _:
            raise InvalidSettings("feedback wants DECISION_ID and LABEL, or --file CSV")


@app.command()
def train(
    file: Annotated[Path, typer.Argument(help="JSON list, JSON lines or CSV of labelled cases.")],
    label: Label = None,
    text: Text = None,
    positive: Positive = None,
    online: Annotated[bool, typer.Option(help="Learn as a stream instead of as history.")] = False,
    concurrency: Concurrency = 1,
    max_calls: Annotated[
        int | None, typer.Option(min=1, help="Stop before more calls to language models.")
    ] = None,
    max_tokens: Annotated[
        int | None, typer.Option(min=1, help="Stop when so many tokens are spent.")
    ] = None,
    playbook: PlaybookUrl = DEFAULT_URL,
    as_json: AsJson = False,
) -> None:
    """Learn bullets from a labelled file into a playbook."""
    from acegraph.graph.training import TrainingPipeline

    items = load_items(file, label, text, positive)
    with lasting(playbook) as book, progress_bar() as told:
        pipeline = TrainingPipeline(
            book,
            progress=told(None),
            concurrency=concurrency,
            max_calls=max_calls,
            max_tokens=max_tokens,
        )
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
    _tell_training(report, bullets, playbook)


def _tell_training(report: "TrainingReport", bullets: "Sequence[Bullet]", playbook: str) -> None:
    from acegraph.graph.report import bullet_table

    say(
        f"{report.cases} case(s), {report.mistakes} mistake(s), {report.bullets_added} bullet(s) "
        f"added, {report.bullets_active} active in {playbook}"
    )
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
    else:
        say("Nothing was learned: no rule did better than chance explains.")


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
        sys.exit(app(standalone_mode=False) or 0)
    except (AceError, OSError, UnicodeEncodeError, _UsageError) as error:
        if told := _in_words(error):  # help that was asked for by saying nothing is said already
            told = visible(f"acegraph: {told}")
            err.print(told, markup=False, highlight=False, soft_wrap=True)
        sys.exit(2 if isinstance(error, (InvalidInput, OSError, ValueError, _UsageError)) else 1)
    except typer.Abort:
        sys.exit(130)


def _in_words(error: Any) -> str:
    if isinstance(error, OSError) and error.filename and error.strerror:
        return f"{error.filename}: {error.strerror}"
    if isinstance(error, UnicodeEncodeError):
        return "what was given is not UTF-8 text"
    if isinstance(error, _UsageError):
        command = error.ctx.command_path if error.ctx else "acegraph"
        said = error.format_message().rstrip(".")
        return f"{said} (see {command} --help)" if said else ""
    return str(error)


def _mode(word: str) -> "Mode":
    from acegraph.state import AceContext

    return AceContext().with_changes(mode=word).mode


if __name__ == "__main__":
    main()
