"""`acegraph read`, `doctor` and `graph`: what is read, what is set up, how the graph looks."""

from dataclasses import asdict
from pathlib import Path
from typing import Annotated

import typer

from acegraph.graph.cli.console import (
    DEFAULT_URL,
    AsJson,
    Label,
    PlaybookUrl,
    Positive,
    Text,
    given_transaction,
    lasting,
    load_items,
    place_of,
    print_json,
    print_table,
    say,
)
from acegraph.state import Transaction
from acegraph.state.database.encoding import file_of


def graph() -> None:
    """Print the graph as a Mermaid drawing."""
    from acegraph.graph.build import create_ace_graph

    typer.echo(create_ace_graph().compile().get_graph().draw_mermaid())


def doctor(
    calls: Annotated[
        bool, typer.Option(help="Ask each model for one word; costs a few tokens.")
    ] = True,
    playbook: PlaybookUrl = DEFAULT_URL,
    as_json: AsJson = False,
) -> None:
    """Say which models and which database would be used, and what is wrong with them.

    Exits with 1 where there is a problem.
    """
    from acegraph.graph.operations.doctor import database_findings, model_findings

    file = file_of(place_of(playbook))
    found = database_findings(playbook)
    if (file is not None and not file.exists()) or found[0].level == "problem":
        found += model_findings(ask=calls)
    else:
        with lasting(playbook) as book:
            found += model_findings(playbook=book, ask=calls)
    if as_json:
        print_json([finding.to_json() for finding in found])
    else:
        for finding in found:
            say(f"{finding.level:8} {finding.name:18} {finding.text}")
    if any(finding.level == "problem" for finding in found):
        raise typer.Exit(1)


def read(
    given: Annotated[str, typer.Argument(help="A text, a JSON object, or a labelled file.")],
    label: Label = None,
    text: Text = None,
    positive: Positive = None,
    as_json: AsJson = False,
) -> None:
    """Show what the reader makes of a transaction or a file, and what it ignores."""
    from acegraph.graph.cli.tables import reading_table
    from acegraph.graph.data.explain import explain, explain_file

    if _names_a_file(given):
        found = explain_file(load_items(Path(given), label, text, positive))
    else:
        found = explain(Transaction.of(given_transaction(given)))
    if as_json:
        print_json(asdict(found))
        return
    print_table(reading_table(found))
    say(f"ignored: {', '.join(found.ignored) or 'nothing'}")


def _names_a_file(given: str) -> bool:
    try:
        return Path(given).suffix.lower() in (".csv", ".json", ".jsonl") or Path(given).exists()
    except (OSError, ValueError):  # too long for a name, or not one at all
        return False
