"""What the commands share: options, consoles, progress, output for machines."""

import json
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Annotated, Any

import typer
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

out = Console()
err = Console(stderr=True)

PlaybookUrl = Annotated[
    str,
    typer.Option(
        "--playbook", envvar="ACE_PLAYBOOK_URL", help="Where the playbook lives, as a database URL."
    ),
]
AsJson = Annotated[bool, typer.Option("--json", help="Print one JSON object for machines.")]
Label = Annotated[
    str | None, typer.Option("--label", help="Column or key of the right answer. [default: answer]")
]
Text = Annotated[
    str | None,
    typer.Option(
        "--text",
        help="Column or key of the transaction's text; without it, and with --label, all other "
        "columns are its fields.",
    ),
]
Positive = Annotated[
    str | None, typer.Option(help="The label that means fraud, unless it is a usual word or 1.")
]
DEFAULT_URL = "sqlite:///ace.db"


@contextmanager
def progress_bar() -> Iterator[Any]:
    """Gives a reporter per seed; drawn on standard error, so that output can be piped."""
    columns = (
        TextColumn("{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        TimeElapsedColumn(),
    )
    with Progress(*columns, console=err, transient=True) as bar:
        tasks: dict[str, Any] = {}

        def reporter(seed: int) -> Any:
            def told(what: str, done: int, total: int) -> None:
                name = f"seed {seed + 1}: {what}"
                if name not in tasks:
                    tasks[name] = bar.add_task(name, total=total)
                bar.update(tasks[name], completed=done)

            return told

        yield reporter


def print_experiment(found: Any, model: str | None, *, expected: bool = False) -> None:
    """The tables of an experiment."""
    from acegraph.graph.report import bullet_table, experiment_table

    wide = out if out.is_terminal else Console(width=140)
    wide.print(experiment_table(found, expected=expected))
    if found.bullets:
        wide.print(bullet_table(found.bullets, "Bullets learned offline (last seed)"))
    by = model or "the embedded analyst: no language model was used"
    wide.print(f"Decided by {by}.", highlight=False)


def print_json(data: Any) -> None:
    """One object for machines."""
    typer.echo(json.dumps(data, indent=2, ensure_ascii=False, default=str))
