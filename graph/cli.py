"""The command line: demo, decide, feedback, train, compare, prove, read, playbook, graph.

Errors are one line without a traceback; bad input exits with 2. `--json` prints one object for
machines.
"""

import sys
from importlib import metadata
from pathlib import Path
from typing import Annotated

import typer

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
    Label,
    PlaybookUrl,
    Positive,
    Text,
    err,
    lasting,
    print_json,
    print_table,
    progress_bar,
    say,
)
from acegraph.state import (
    AceContext,
    AceError,
    InvalidInput,
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


for command in (demo, compare, prove, read):
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
    decision_id: Annotated[str, typer.Argument(help="The id of a stored decision.")],
    label: Annotated[str, typer.Argument(help="The right answer: APPROVE or DECLINE.")],
    source: Annotated[str, typer.Option(help="Who says so.")] = "feedback",
    playbook: PlaybookUrl = DEFAULT_URL,
    as_json: AsJson = False,
) -> None:
    """Say, or correct, the right answer of a past decision; a mistake is learned from."""
    from acegraph.graph.feedback import feedback as give_feedback

    with lasting(playbook, must_exist=True) as book:
        found = give_feedback(book, decision_id, label, source=source)
    learned = found.curation.to_json() if found.curation else None
    if as_json:
        print_json({"is_correct": found.is_correct, "changed": found.changed, "curation": learned})
        return
    word = {True: "right", False: "wrong", None: "never decided"}[found.is_correct]
    say(f"{decision_id} was {word}" + ("" if found.changed else " (already known)"))
    if found.curation:
        say(f"{found.curation.action}: {found.curation.reason}")


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

    items = load_items(file, label, text, positive)
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


if __name__ == "__main__":
    main()
