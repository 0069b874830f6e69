"""What the commands share: the options of `acegraph` itself, the playbook, groups of options."""

import inspect
import json
import os
import re
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from copy import copy
from dataclasses import fields, is_dataclass
from functools import wraps
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Final, get_args, get_origin

import typer
from typer.models import ParameterInfo

from acegraph.graph.cli.printing import visible, warn
from acegraph.state import InvalidInput, InvalidSettings
from acegraph.state.database.encoding import file_of
from acegraph.state.database.places import shown_url
from acegraph.state.run.review_answers import signature
from acegraph.state.values import each_name_once

if TYPE_CHECKING:
    from acegraph.state import BulletPlaybook

DEFAULT_URL: Final = "sqlite:///ace.db"
playbook_url: ContextVar[str] = ContextVar("playbook_url", default=DEFAULT_URL)
"""Where the playbook of this command is (--playbook)."""
who: ContextVar[str] = ContextVar("who", default="")
"""Whose command this is (--who)."""
alone: ContextVar[bool] = ContextVar("alone", default=False)
"""Whether there is no second person (--alone)."""


def url_of(place: str) -> str:
    """A database URL; the plain name of a SQLite file becomes one."""
    return f"sqlite:///{place}" if re.fullmatch(r"[\w./ +-]+\.(db|sqlite3?)", place) else place


def shown() -> str:
    """Where the playbook is, without a password."""
    return shown_url(playbook_url.get())


def signed() -> str:
    """Whose command this is, as the ledger keeps it."""
    return signature(who.get())


DryRun = Annotated[
    bool, typer.Option("--dry-run", help="Say what it would do, on a copy; change nothing.")
]
Model = Annotated[
    str | None,
    typer.Option(
        "--model",
        help="The chat model that decides; else ACE_AGENT_MODEL, else the embedded analyst.",
    ),
]
ReportFile = Annotated[
    Path | None,
    typer.Option(help="Write a report here: one HTML file with all tables and pictures."),
]
Why = Annotated[str, typer.Option("--why", help="The reason; it is kept.")]


def declared(command: Callable[..., None]) -> Callable[..., None]:
    """A command as typer reads it: with the help that its docstring has of each parameter.

    What stands before the star is an argument, what stands behind it an option. A parameter may be
    a group of options, a dataclass, whose fields then stand in its place; the command gets the
    group.
    """
    groups: dict[str, type] = {}
    parameters: list[inspect.Parameter] = []
    doc, helps = _doc_of(command)
    for one in inspect.signature(command, eval_str=True).parameters.values():
        if isinstance(one.annotation, type) and is_dataclass(one.annotation):
            groups[one.name] = group = one.annotation
            options = inspect.signature(group, eval_str=True).parameters.values()
            parameters += [
                _described(option, _doc_of(group)[1], typer.Option) for option in options
            ]
        else:
            is_option = one.kind is inspect.Parameter.KEYWORD_ONLY
            kind = typer.Option if is_option else typer.Argument
            parameters.append(_described(one, helps, kind))

    @wraps(command)
    def run(**values: object) -> None:
        for name, group in groups.items():
            values[name] = group(**{field.name: values.pop(field.name) for field in fields(group)})
        command(**values)

    run.__doc__ = doc
    run.__dict__["__signature__"] = inspect.Signature(parameters)
    return run


def _doc_of(declared: object) -> tuple[str, dict[str, str]]:
    """What a docstring says of the whole, and of each parameter."""
    doc, _, listed = (inspect.getdoc(declared) or "").partition("\n\nOptions:\n")
    entries = re.findall(r"^    (\w+): (.*(?:\n        .*)*)", listed, re.MULTILINE)
    return doc, {name: " ".join(text.split()) for name, text in entries}


def _described(
    one: inspect.Parameter, helps: Mapping[str, str], kind: Callable[[], ParameterInfo]
) -> inspect.Parameter:
    """A parameter with its help, as typer wants it."""
    if one.name in helps:
        plain, told = one.annotation, list[ParameterInfo]()
        if get_origin(plain) is Annotated:
            plain, *told = get_args(plain)
        info = copy(told[0]) if told else kind()
        info.help = helps[one.name]
        one = one.replace(annotation=Annotated[plain, info])
    return one.replace(kind=inspect.Parameter.KEYWORD_ONLY)


def announce_models(agent: str | None = None) -> None:
    """Say first, on standard error, which models are asked and where; a missing key is refused."""
    from acegraph.nodes.models import providers
    from acegraph.nodes.models.named import model_name

    given = {"agent": agent, "judge": None, "reflector": None, "embedding": None}
    names = {role: model_name(role, name) for role, name in given.items()}
    servers = [providers.server_for(name) for name in names.values() if name]
    named = ", ".join(f"{role} {name}" for role, name in names.items() if name)
    decides = "" if names["agent"] else "the embedded analyst decides; "
    if servers:
        asked = f"asked at {servers[0].address}: {named}; transactions are sent there"
        typer.echo(visible(f"{decides}{asked}"), err=True)
    elif os.environ.get("OPENAI_API_KEY"):
        how = "a key is set, but no model is named (--model, ACE_AGENT_MODEL)"
        typer.echo(f"{decides}{how}", err=True)


def need(extra: str, *packages: str) -> None:
    """Refuse a command whose packages are not installed."""
    if not all(map(find_spec, packages)):
        raise InvalidSettings(f"some packages are missing: pip install 'acegraph[{extra}]'")


def parse_transaction(text: str) -> "str | dict[str, object]":
    """A transaction from the command line: text, or fields as JSON."""
    if not text.lstrip().startswith("{"):
        return text
    try:
        fields_given: dict[str, object] = json.loads(text, object_pairs_hook=each_name_once)
    except InvalidInput:
        raise
    except (ValueError, RecursionError) as error:
        raise InvalidInput(f"the transaction begins with {{ and is not JSON: {error}") from None
    return fields_given


def field_and_value(text: str) -> tuple[str, str]:
    """`customer_id=C-1` as a pair."""
    name, sign, value = text.partition("=")
    if not (name.strip() and sign and value.strip()):
        raise InvalidInput(f"FIELD=VALUE wanted, as customer_id=C-1; found {text!r}")
    return name.strip(), value.strip()


@contextmanager
def lasting(*, must_exist: bool = False, dry_run: bool = False) -> "Iterator[BulletPlaybook]":
    """The playbook of a command, in a database: a playbook in memory would end with the command.

    For a dry run it is a copy in memory.
    """
    from acegraph.state import BulletPlaybook

    url = place_of(playbook_url.get())
    with BulletPlaybook(existing(url) if must_exist else url) as book:
        if not dry_run:
            yield book
            return
        with book.fork() as copy:
            yield copy
    warn(f"dry run: nothing was changed in {shown()}")


def existing(url: str) -> str:
    """The URL, if there is a playbook; else it is refused."""
    if not may_exist(url):
        raise InvalidSettings(f"no playbook at {url}; 'acegraph train FILE' makes one")
    return url


def may_exist(url: str) -> bool:
    """Whether there is a file with the playbook, or a server that may have it."""
    file = file_of(place_of(url))
    return file is None or file.exists()


def place_of(url: str) -> str:
    """The URL, if a playbook can be there; else it is refused."""
    file = file_of(url)
    if file is not None and shown_url(url) != url:
        raise InvalidSettings(f"a playbook in a file has no password or option, as {DEFAULT_URL}")
    if file is None and (url.startswith("sqlite:") or "://" not in url):
        is_path = re.fullmatch(r"[\w./-]+", url)  # anything else may hold a password
        hint = f"; did you mean sqlite:///{url}?" if is_path else ""
        raise InvalidSettings(f"a command needs a playbook in a file, as {DEFAULT_URL}{hint}")
    if file is not None and not file.parent.is_dir():
        raise InvalidSettings(f"no folder {file.parent} for the playbook {url}")
    return url
