"""The command line: registers every command, and turns our errors into one line."""

import os
import sys
from collections.abc import Callable
from contextvars import ContextVar
from functools import partial
from importlib import metadata
from typing import Annotated, Any, Final, cast

import typer
from typer.core import TyperGroup

from acegraph.graph.cli import console, learning, measuring, playbook, printing
from acegraph.graph.cli.printing import say, say_error
from acegraph.graph.cli.running import (
    decisions,
    entities,
    inspection,
    ledger,
    people,
    service,
    setup,
)
from acegraph.graph.operations.monitoring.logs import start_logging
from acegraph.state import AceError, InvalidInput, InvalidSettings, gone
from acegraph.state.run.review_answers import signature

_UsageError: Final = cast("type[typer.BadParameter]", typer.BadParameter.__base__)
"""click's error of wrong usage; typer brings a click of its own and does not export this class."""
_INTERRUPTED: Final = 130
"""What a shell says of a program that was ended by Ctrl-C, and what typer gives for it."""
_NO_PLAYBOOK: Final = ("demo", "init", "copy")


class Acegraph(TyperGroup):
    """The whole; its own options may also stand behind a command, as people type them.

    Of a command that is gone it says where it went.
    """

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Take the options of the whole first, wherever they stand."""
        ours, others, words = list[str](), list[str](), iter(args)
        for word in words:
            if word == "--":
                others += [word, *words]
            elif word in ("--playbook", "--who"):
                ours += [word, *(value for value in [next(words, None)] if value is not None)]
            else:
                is_ours = word.partition("=")[0] in ("--json", "--alone", "--playbook", "--who")
                (ours if is_ours else others).append(word)
        for name in (" ".join(others[:2]), *others[:1]):
            if name in gone.COMMANDS:
                raise InvalidSettings(f"acegraph {name} is gone: {gone.COMMANDS[name]}")
        return super().parse_args(ctx, ours + others)


app = typer.Typer(
    name="acegraph",
    cls=Acegraph,
    no_args_is_help=True,
    invoke_without_command=True,
    pretty_exceptions_enable=False,
)
COMMANDS: Final[dict[str, tuple[Callable[..., None], ...]]] = {
    "Decide": (decisions.decide, measuring.score, decisions.feedback, people.review),
    "Learn and measure": (
        learning.demo,
        learning.train,
        decisions.learn,
        measuring.compare,
        measuring.backtest,
    ),
    "Look": (inspection.read, inspection.doctor, inspection.monitor, ledger.verify, ledger.replay),
    "Run": (setup.init, service.desk, service.serve, people.users),
    "Keep": (ledger.copy, ledger.erase, people.policy),
}
for panel, commands in COMMANDS.items():
    for command in commands:
        app.command(rich_help_panel=panel)(console.declared(command))
playbook_app = typer.Typer(
    help="Look at a playbook and its versions, and change it.", no_args_is_help=True
)
for name, command in playbook.COMMANDS.items():
    playbook_app.command(name)(console.declared(command))
app.add_typer(playbook_app, name="playbook", rich_help_panel="Keep")
entity_app = typer.Typer(help="Look at shops, customers, terminals.", no_args_is_help=True)
for name, command in entities.COMMANDS.items():
    entity_app.command(name)(console.declared(command))
app.add_typer(entity_app, name="entity", rich_help_panel="Look")
list_app = typer.Typer(help="Block, allow or watch them.", no_args_is_help=True)
for name, command in entities.LIST_COMMANDS.items():
    list_app.command(name)(console.declared(command))
app.add_typer(list_app, name="list", rich_help_panel="Keep")


@app.callback()
def acegraph(
    context: typer.Context,
    playbook: Annotated[
        str | None,
        typer.Option(
            help="Where the playbook lives: a database URL, or the name of a file, as ace.db; else "
            f"ACE_PLAYBOOK_URL, else {console.DEFAULT_URL}."
        ),
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON for machines.")] = False,
    who: Annotated[str, typer.Option(help="Who you are: what you change is signed with it.")] = "",
    alone: Annotated[
        bool,
        typer.Option("--alone", help="There is no second person, and no user; it is recorded."),
    ] = False,
    version: Annotated[
        bool, typer.Option("--version", help="Print the version and exit.", is_eager=True)
    ] = False,
) -> None:
    """A fraud-detection workflow that learns from its mistakes and proves what it learned.

    The options of acegraph itself may stand before a command or behind it.
    """
    if version:
        say(f"acegraph {metadata.version('acegraph')}")
        raise typer.Exit
    if context.invoked_subcommand in _NO_PLAYBOOK and playbook is not None:
        raise InvalidSettings(f"acegraph {context.invoked_subcommand} takes no --playbook")
    setup.read_env_file()
    setup.check_variables()
    if playbook is None:
        playbook = os.environ.get("ACE_PLAYBOOK_URL") or console.DEFAULT_URL
    signature(who)  # refuses what is no name
    given: dict[ContextVar[Any], object] = {
        console.playbook_url: console.url_of(playbook),
        console.who: who,
        console.alone: alone,
        printing.wants_json: as_json,
    }
    for variable, value in given.items():  # which ends with the command
        context.call_on_close(partial(variable.reset, variable.set(value)))
    start_logging()


def main() -> None:
    """Run the command line; an error of ours, of a file or of usage becomes one line."""
    try:
        if (code := app(standalone_mode=False) or 0) == _INTERRUPTED:
            raise typer.Abort
        sys.exit(code)
    except (AceError, OSError, UnicodeEncodeError, _UsageError) as error:
        if message := _in_words(error):  # empty where the help was printed instead
            say_error(message)
        sys.exit(2 if isinstance(error, (InvalidInput, OSError, ValueError, _UsageError)) else 1)
    except typer.Abort:
        say_error("interrupted; what was done until now is kept, run it again to go on")
        sys.exit(_INTERRUPTED)


def _in_words(error: BaseException) -> str:
    if isinstance(error, OSError) and error.filename and error.strerror:
        return f"{error.filename}: {error.strerror}"
    if isinstance(error, UnicodeEncodeError):
        return "what was given is not UTF-8 text"
    if isinstance(error, _UsageError):
        command = error.ctx.command_path if error.ctx else "acegraph"
        option = getattr(error, "option_name", "")
        with_command = f"{command.partition(' ')[2]} {option}"
        if why := gone.OPTIONS.get(with_command) or gone.OPTIONS.get(option):
            return f"{option} is gone: {why}"
        message = error.format_message().rstrip(".")
        return f"{message} (see {command} --help)" if message else ""
    return str(error)
