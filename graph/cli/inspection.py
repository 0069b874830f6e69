"""`acegraph read`, `schema`, `doctor`, `graph`: what is read, expected, set up and drawn."""

from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from acegraph.graph.cli.console import (
    DEFAULT_URL,
    AsJson,
    Columns,
    PlaybookUrl,
    lasting,
    parse_transaction,
    place_of,
    print_json,
    print_table,
    say,
    takes_groups,
)
from acegraph.state import Transaction
from acegraph.state.database.encoding import file_of

if TYPE_CHECKING:
    from acegraph.graph.data.explain import FileReport


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

    Exits with 1 where there is a problem. At another place than the default a playbook must exist.
    """
    from acegraph.graph.operations.monitoring.doctor import (
        database_findings,
        model_findings,
        version_finding,
    )

    file = file_of(place_of(playbook))
    findings = database_findings(playbook, must_exist=playbook != DEFAULT_URL)
    if (file is not None and not file.exists()) or findings[0].level == "problem":
        findings += model_findings(ask=calls)
    else:
        with lasting(playbook) as book:
            findings += model_findings(playbook=book, ask=calls)
    findings.insert(0, version_finding())
    if as_json:
        print_json([finding.to_json() for finding in findings])
    else:
        for finding in findings:
            say(f"{finding.level:8} {finding.name:18} {finding.text}")
    if any(finding.level == "problem" for finding in findings):
        raise typer.Exit(1)


def schema(
    as_schema: Annotated[
        bool, typer.Option("--json-schema", help="Print a JSON Schema to check payments with.")
    ] = False,
    as_pydantic: Annotated[
        bool, typer.Option("--pydantic", help="Print the source of a pydantic model.")
    ] = False,
    playbook: PlaybookUrl = DEFAULT_URL,
    as_json: AsJson = False,
) -> None:
    """Show the fields that a playbook expects: kind, usual values, and the bullets that use them.

    A payment without a required field may stay undecided. Check payments with the exported schema.
    """
    from acegraph.graph.cli.tables import schema_table
    from acegraph.graph.operations.schema import expected_fields, json_schema, pydantic_source
    from acegraph.state import AceContext

    node = AceContext().node
    with lasting(playbook, must_exist=True) as book:
        if as_schema:
            print_json(json_schema(book, node))
        elif as_pydantic:
            typer.echo(pydantic_source(book, node), nl=False)
        elif fields := expected_fields(book, node):
            if as_json:
                print_json([asdict(field) for field in fields])
            else:
                print_table(schema_table(fields))
        elif as_json:
            print_json([])
        else:
            say("too few labelled cases yet: the playbook does not know which fields are usual")


@takes_groups
def read(
    given: Annotated[str, typer.Argument(help="A text, a JSON object, or a labelled file.")],
    columns: Columns,
    as_json: AsJson = False,
) -> None:
    """Show what the reader makes of a transaction or a file, and what it ignores."""
    from acegraph.graph.cli.tables import reading_table
    from acegraph.graph.data.explain import FileReport, Readings, explain, explain_dataset
    from acegraph.graph.data.leakage import find_leaks

    if _names_a_file(given):
        dataset = columns.read(Path(given))
        readings: Readings = explain_dataset(dataset, find_leaks(dataset))
    else:
        readings = explain(Transaction.of(parse_transaction(given)))
    if as_json:
        print_json(asdict(readings))
        return
    if isinstance(readings, FileReport):
        _say_rows(readings)
    print_table(reading_table(readings))
    if not isinstance(readings, FileReport):
        say(f"ignored: {', '.join(readings.ignored) or 'nothing'}")
        return
    for column in readings.ignored or ["nothing"]:
        say(f"ignored: {column}")
    for warning in readings.warnings:
        say(f"warning: {warning}")


def _say_rows(report: "FileReport") -> None:
    labelled = report.rows - report.unlabelled
    share = f"{100 * report.fraud / labelled:.1f} % of {labelled} labelled rows"
    say(f"{report.rows} rows, {report.fraud} fraud ({share})")
    if report.unlabelled:
        say(f"{report.unlabelled} rows have no label: left out of learning")
    for label, taken in report.labels.items():
        say(f"label {label}: taken for {taken['taken_for']}, {taken['rows']} rows")
    if report.time:
        say(f"time: {report.time}")
    if report.looked_at < labelled:
        say(f"what the columns hold is that of the newest {report.looked_at} labelled rows")


def _names_a_file(text: str) -> bool:
    try:
        endings = (".csv", ".tsv", ".json", ".jsonl", ".gz")
        return Path(text).suffix.lower() in endings or Path(text).exists()
    except (OSError, ValueError):  # too long for a name, or not one at all
        return False
