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
)
from acegraph.graph.cli.files import Columns
from acegraph.graph.cli.printing import facts_in_lines, print_json, progress_bar, say, tell
from acegraph.state import AceContext, InvalidSettings
from acegraph.state.database.encoding import file_of
from acegraph.state.database.places import whole_file
from acegraph.state.values import Transaction

if TYPE_CHECKING:
    pass


def read(
    given: str | None = None,
    *,
    columns: Columns,
    to: str | None = None,
    out: Annotated[Path | None, typer.Option("--out", "-o")] = None,
) -> None:
    """Show what the reader makes of a transaction or a file; of neither: what a playbook expects.

    A payment without a required field may stay undecided. Example: acegraph read cards.csv --label
    is_fraud

    Options:
        given: A text, a JSON object, or a labelled file; else the playbook itself.
        to: Write what the playbook expects as a JSON Schema (json-schema).
        out: Write what the columns are to a task.json.
    """
    if given is None:
        _say_expected(to)
    elif to is not None:
        raise InvalidSettings("--to writes what a playbook expects: leave out the file")
    else:
        _say_read(given, columns, out)


def _say_expected(to: str | None) -> None:
    from acegraph.graph.cli.tables import task_table
    from acegraph.state.task.schema import json_schema

    if to not in (None, "json-schema"):
        raise InvalidSettings(f"--to is json-schema, not {to!r}")
    node, used = AceContext().node, dict[str, list[str]]()
    with lasting(must_exist=True) as book:
        task = book.task(node)
        for bullet in book.get_bullets_for_node(node):
            for name in bullet.condition.fields if bullet.condition else ():
                used.setdefault(name, []).append(bullet.id)
    if to:
        print_json(json_schema(task))
    else:
        nothing = "too few labelled cases yet: nobody knows which fields are usual"
        facts = {**task.to_json(), "bullets": used}
        tell(facts, task_table(task, used) if task.fields else nothing)


def _say_read(given: str, columns: Columns, out: Path | None) -> None:
    from acegraph.graph.cli.tables import reading_table
    from acegraph.graph.data.explain import FileReport, Readings, explain, explain_dataset
    from acegraph.graph.data.leakage import find_leaks

    if _names_a_file(given):
        file = Path(given)
        large = columns.large_table(file) if columns.layout.query is None else None
        with progress_bar() as progress:
            drawn = large.draw(progress(None)) if large else None
        dataset = drawn.dataset if drawn else columns.read(file)[0]
        counts = drawn.counts if drawn else {}
        readings: Readings = explain_dataset(dataset, find_leaks(dataset) or {}, counts)
        if out is not None:
            if dataset.task is None:
                raise InvalidSettings("a file of texts has no columns to declare")
            text = json.dumps(dataset.task.to_json(), indent=1, ensure_ascii=False)
            with whole_file(out) as part:
                part.write_text(text + "\n", encoding="utf-8")
            say(f"written to {out}: correct it, then acegraph train FILE --task {out}")
    else:
        readings = explain(Transaction.of(parse_transaction(given)))
    table, ignored = reading_table(readings), readings.ignored or ["nothing"]
    if not isinstance(readings, FileReport):
        tell(asdict(readings), table, f"ignored: {', '.join(ignored)}")
        return
    facts = asdict(readings)
    shown = ("rows", "fraud", "unlabelled", "labels", "time", "looked_at")
    tell(
        facts,
        *facts_in_lines({name: facts[name] for name in shown}),
        table,
        *(f"guessed: {line}" for line in readings.guessed),
        *(f"ignored: {column}" for column in ignored),
        *(f"warning: {warning}" for warning in readings.warnings),
    )


def _names_a_file(text: str) -> bool:
    try:
        endings = (".csv", ".tsv", ".json", ".jsonl", ".gz")
        return Path(text).suffix.lower() in endings or Path(text).exists()
    except (OSError, ValueError):  # too long for a name, or not one at all
        return False


def doctor(*, calls: bool = True) -> None:
    """Say which models and which database would be used, and what is wrong with them.

    Exits with 1 where there is a problem. At another place than the default a playbook must exist.
    Example: acegraph doctor --no-calls

    Options:
        calls: Ask each model for one word; costs a few tokens.
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
    lines = (f"{one.level:8} {one.name:18} {one.text}" for one in findings)
    tell([asdict(finding) for finding in findings], *lines)
    if any(finding.level == "problem" for finding in findings):
        raise typer.Exit(1)


def monitor(*, days: Annotated[float, typer.Option(min=0.01)] = 7.0) -> None:
    """Say what changed in the last days: drift, bullets that turned bad, queues, labels.

    Exits with 1 where somebody should look. Run it every hour or day, for instance by cron.
    Example: acegraph monitor --days 1 --json

    Options:
        days: How many days to look back.
    """
    from acegraph.graph.operations.monitoring.watch import watch

    with lasting(must_exist=True) as book:
        found = watch(book, days=days)
    facts = asdict(found)
    tell(
        facts,
        *facts_in_lines({**facts, "alerts": None}),
        *(f"{alert.kind}: {alert.text}" for alert in found.alerts),
    )
    if found.alerts:
        raise typer.Exit(1)
