"""What the commands share: options, consoles, progress, output for machines."""

import json
import re
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.console import Console, RenderableType
from rich.progress import (
    BarColumn,
    MofNCompleteColumn,
    Progress,
    ProgressColumn,
    Task,
    TextColumn,
    TimeElapsedColumn,
)
from rich.text import Text as RichText

from acegraph.nodes.text.reader import read_fields
from acegraph.state import InvalidInput, InvalidSettings, Transaction
from acegraph.state.database.encoding import file_of

if TYPE_CHECKING:
    from acegraph.nodes.curator.curator import Curation
    from acegraph.state import BulletPlaybook


_LOOKED_AT = 200
"""Rows of a file that tell whether anything can be read from it."""


def given_transaction(given: str) -> Any:
    """A transaction from a command line: text, or fields as JSON."""
    if not given.lstrip().startswith("{"):
        return given
    try:
        return json.loads(given)
    except (ValueError, RecursionError) as error:
        raise InvalidInput(f"the transaction begins with {{ and is not JSON: {error}") from None


def load_items(file: Path, label: str | None, text: str | None, positive: str | None) -> list[Any]:
    """The labelled cases of a file."""
    from acegraph.graph.data.files import load_dataset

    query = text or (None if label else "query")
    items = load_dataset(file, query=query, answer=label or "answer", positive=positive)
    given = [Transaction.of(item["query"]) for item in items[:_LOOKED_AT]]
    if not any(map(read_fields, given)):
        err.print(f"{file}: nothing could be read from its texts (see 'acegraph read {file}')")
    return items


def field_and_value(given: str) -> tuple[str, str]:
    """`customer_id=C-1` as a pair."""
    name, sign, value = given.partition("=")
    if not (name.strip() and sign and value.strip()):
        raise InvalidInput(f"FIELD=VALUE wanted, as customer_id=C-1; found {given!r}")
    return name.strip(), value.strip()


out = Console()
err = Console(stderr=True)


PlaybookUrl = Annotated[
    str,
    typer.Option(
        "--playbook", envvar="ACE_PLAYBOOK_URL", help="Where the playbook lives, as a database URL."
    ),
]
AsJson = Annotated[bool, typer.Option("--json", help="Print JSON for machines.")]
Label = Annotated[
    str | None,
    typer.Option("--label", help="Column or key of the right answer (else: answer)."),
]
Text = Annotated[
    str | None,
    typer.Option(
        "--text",
        help="Column or key of the transaction's text (query if neither is given); with --label "
        "alone, all other columns are its fields.",
    ),
]
Positive = Annotated[
    str | None, typer.Option(help="The label that means fraud, unless it is a usual word or 1.")
]
Concurrency = Annotated[
    int,
    typer.Option(min=1, help="Cases under way at once; worth it where language models answer."),
]
DEFAULT_URL = "sqlite:///ace.db"
_PAGE = 100
_UNSEEN = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff]")


class _Rate(ProgressColumn):
    """Cases a second, and the tokens that this process has spent."""

    def render(self, task: Task) -> RichText:
        from acegraph.nodes.runtime.usage import PROCESS

        speed = f"{task.speed:.1f}/s" if task.speed else ""
        tokens = PROCESS.total.tokens
        return RichText(f"{speed} {tokens:,} tokens" if tokens else speed)


@contextmanager
def progress_bar() -> Iterator[Any]:
    """Gives a reporter per seed; drawn on standard error, so that output can be piped."""
    columns = (
        TextColumn("{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        TimeElapsedColumn(),
        _Rate(),
    )
    quiet = not err.is_terminal
    with Progress(*columns, console=err, transient=True, disable=quiet) as bar:
        tasks: dict[str, Any] = {}

        def reporter(seed: int | None) -> Any:
            def told(what: str, done: int, total: int) -> None:
                name = what if seed is None else f"seed {seed + 1}: {what}"
                if name not in tasks:
                    tasks[name] = bar.add_task(name, total=total)
                bar.update(tasks[name], completed=done)

            return told

        yield reporter


def say(text: str) -> None:
    """One line for people, as it is: what a stranger wrote is no markup."""
    typer.echo(visible(text))


def say_curation(found: "Curation") -> None:
    """What became of a lesson."""
    from acegraph.nodes.curator.node import NOTHING_LEARNED

    is_empty = found.reason == NOTHING_LEARNED  # nothing was proposed that could be refused
    say(f"learned: nothing ({found.reason})" if is_empty else f"{found.action}: {found.reason}")


def visible(text: str) -> str:
    """A text that cannot steer a terminal: what is not seen is written out, as JSON would."""
    return _UNSEEN.sub(lambda found: f"\\u{ord(found[0]):04x}", text)


@contextmanager
def lasting(url: str, *, must_exist: bool = False) -> "Iterator[BulletPlaybook]":
    """The playbook of a command: one in memory would end with it."""
    from acegraph.state import BulletPlaybook

    with BulletPlaybook(existing(url) if must_exist else place_of(url)) as book:
        yield book


def existing(url: str) -> str:
    """The URL of a playbook that is there."""
    file = file_of(place_of(url))
    if file is not None and not file.exists():
        raise InvalidSettings(f"no playbook at {url}; 'acegraph train FILE' makes one")
    return url


def place_of(url: str) -> str:
    """A URL where a playbook can be; anything else is refused."""
    file = file_of(url)
    if file is None and (url.startswith("sqlite:") or "://" not in url):
        hint = f"; did you mean sqlite:///{url}?" if url and ":" not in url else ""
        raise InvalidSettings(f"a command needs a playbook in a file, as {DEFAULT_URL}{hint}")
    if file is not None and not file.parent.is_dir():
        raise InvalidSettings(f"no folder {file.parent} for the playbook {url}")
    return url


def refuse_others(options: typer.Context, beside: str, applies: Sequence[str]) -> None:
    """Say which options were given that mean nothing beside another one."""
    sources = {name: options.get_parameter_source(name) for name in options.params}
    given = [
        f"--{name.replace('_', '-')}"
        for name, source in sources.items()
        if source is not None and source.name == "COMMANDLINE" and name not in applies
    ]
    if given:
        raise InvalidSettings(f"{beside} does not go with {', '.join(given)}")


def print_table(table: RenderableType) -> None:
    """A table, on a page wide enough: narrower, rich would cut figures off."""
    Console(width=max(out.width if out.is_terminal else 0, _PAGE)).print(table)


def print_experiment(found: Any, model: str | None, *, expected: bool = False) -> None:
    """The tables of an experiment."""
    from acegraph.graph.cli.tables import bullet_table, experiment_table, money_table, record_table

    print_table(experiment_table(found, expected=expected))
    print_table(money_table(found))
    if found.bullets:
        print_table(bullet_table(found.bullets, "Bullets learned offline (last seed)"))
        print_table(record_table(found.records))
    by = model or "the embedded analyst: no language model was used"
    say(f"Decided by {by}.")
    print_usage()


def print_usage() -> None:
    """What language models cost so far, where some were asked."""
    from acegraph.nodes.models.providers import prices
    from acegraph.nodes.runtime.usage import PROCESS, in_words

    for line in in_words(PROCESS.by_model, prices()):
        say(line)


def print_json(data: Any) -> None:
    """One object for machines."""
    typer.echo(visible(json.dumps(data, indent=2, ensure_ascii=False, default=str)))
