"""`acegraph read`, `doctor`, `monitor`: what is read and expected, set up, and changed lately."""

import json
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from acegraph.graph.cli.console import (
    DEFAULT_URL,
    lasting,
    parse_transaction,
    place_of,
    playbook_url,
    takes_groups,
)
from acegraph.graph.cli.files import Columns
from acegraph.graph.cli.printing import print_json, print_table, say, told_as_json
from acegraph.state import InvalidSettings, Transaction
from acegraph.state.database.encoding import file_of

if TYPE_CHECKING:
    from acegraph.graph.data.explain import FileReport
    from acegraph.graph.data.files import Dataset
    from acegraph.state.maintenance.label_coverage import Coverage


@takes_groups
def read(
    given: Annotated[
        str | None,
        typer.Argument(help="A text, a JSON object, or a labelled file; else the playbook itself."),
    ] = None,
    *,
    columns: Columns,
    to: Annotated[
        str | None,
        typer.Option(help="Write what the playbook expects as a JSON Schema (json-schema)."),
    ] = None,
    out: Annotated[
        Path | None, typer.Option("--out", "-o", help="Write what the columns are to a task.json.")
    ] = None,
) -> None:
    """Show what the reader makes of a transaction or a file; of neither: what a playbook expects.

    A payment without a required field may stay undecided. Example: acegraph read cards.csv --label
    is_fraud
    """
    if given is None:
        _say_expected(to)
    elif to is not None:
        raise InvalidSettings("--to writes what a playbook expects: leave out the file")
    else:
        _say_read(given, columns, out)


def _say_expected(to: str | None) -> None:
    from acegraph.graph.cli.tables import schema_table
    from acegraph.graph.operations.schema import expected_fields
    from acegraph.state import AceContext
    from acegraph.state.task.schema import json_schema

    node = AceContext().node
    with lasting(must_exist=True) as book:
        match to:
            case "json-schema":
                print_json(json_schema(book.task(node)))
            case None:
                fields = expected_fields(book, node)
                if told_as_json([asdict(field) for field in fields]):
                    return
                if fields:
                    print_table(schema_table(fields))
                else:
                    say("too few labelled cases yet: nobody knows which fields are usual")
            case _:
                raise InvalidSettings(f"--to is json-schema, not {to!r}")


def _write_task(dataset: "Dataset", out: Path) -> None:
    """Write what the columns were taken for, to be corrected by hand and given to `train`."""
    if dataset.task is None:
        raise InvalidSettings("a file of texts has no columns to declare")
    text = json.dumps(dataset.task.to_json(), indent=1, ensure_ascii=False)
    out.write_text(text + "\n", encoding="utf-8")
    say(f"written to {out}: correct it, then acegraph train FILE --task {out}")


def _say_read(given: str, columns: Columns, out: Path | None) -> None:
    from acegraph.graph.cli.tables import reading_table
    from acegraph.graph.data.explain import FileReport, Readings, explain, explain_dataset
    from acegraph.graph.data.leakage import find_leaks

    if _names_a_file(given):
        (dataset,) = columns.read(Path(given))
        readings: Readings = explain_dataset(dataset, find_leaks(dataset))
        if out is not None:
            _write_task(dataset, out)
    else:
        readings = explain(Transaction.of(parse_transaction(given)))
    if told_as_json(asdict(readings)):
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


def doctor(
    calls: Annotated[
        bool, typer.Option(help="Ask each model for one word; costs a few tokens.")
    ] = True,
) -> None:
    """Say which models and which database would be used, and what is wrong with them.

    Exits with 1 where there is a problem. At another place than the default a playbook must exist.
    Example: acegraph doctor --no-calls
    """
    from acegraph.graph.operations.monitoring.doctor import (
        database_findings,
        model_findings,
        version_finding,
    )

    playbook = playbook_url.get()
    file = file_of(place_of(playbook))
    findings = database_findings(playbook, must_exist=playbook != DEFAULT_URL)
    if (file is not None and not file.exists()) or findings[0].level == "problem":
        findings += model_findings(ask=calls)
    else:
        with lasting() as book:
            findings += model_findings(playbook=book, ask=calls)
    findings.insert(0, version_finding())
    if not told_as_json([finding.to_json() for finding in findings]):
        for finding in findings:
            say(f"{finding.level:8} {finding.name:18} {finding.text}")
    if any(finding.level == "problem" for finding in findings):
        raise typer.Exit(1)


def monitor(
    days: Annotated[float, typer.Option(min=0.01, help="How many days to look back.")] = 7.0,
) -> None:
    """Say what changed in the last days: drift, bullets that turned bad, queues, labels.

    Exits with 1 where somebody should look. Run it every hour or day, for instance by cron.
    Example: acegraph monitor --days 1 --json
    """
    from acegraph.graph.operations.monitoring.watch import watch
    from acegraph.state.maintenance.label_coverage import label_coverage
    from acegraph.state.playbook.decision_index import DecisionIndex

    with lasting(must_exist=True) as book:
        found = watch(book, days=days)
        coverage = label_coverage(DecisionIndex(book.database).columns())
    if not told_as_json({**found.to_json(), "label_coverage": coverage.to_json()}):
        say(f"{found.decisions} decisions in {days:g} days, {found.labels} labels")
        if not found.stability:
            say(f"too few payments, or too few of the {found.trained} training rows, to see drift")
        for name, index in sorted(found.stability.items(), key=lambda pair: -pair[1]):
            say(f"  {index:6.2f}  {name}")
        _say_labels(coverage)
        for alert in found.alerts:
            say(f"{alert.kind}: {alert.text}")
    if found.alerts:
        raise typer.Exit(1)


def _say_labels(coverage: "Coverage") -> None:
    """Say how many labels are missing because of blocks, and what those let through tell."""
    say(f"{coverage.decided} decision(s): {coverage.labelled} labelled, {coverage.pending} pending")
    say(f"{coverage.blocked} label(s) missing because the payment was declined")
    if coverage.let_through:
        labelled = coverage.let_through_labelled
        honest = f"{labelled} labelled, {coverage.let_through_honest} of them honest"
        if labelled:
            honest += f": about {coverage.expected_honest:.0f} honest among all would-be declines"
        say(f"{coverage.let_through} would-be decline(s) let through, {honest}")
