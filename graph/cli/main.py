"""The command line: registers every command, and turns our errors into one line."""

import sys
from importlib import metadata
from typing import Annotated, Any, Final

import typer

from acegraph.graph.cli import decisions, inspection, learning, ledger, playbook, review
from acegraph.graph.cli.console import err, say, visible
from acegraph.state import AceError, InvalidInput

_UsageError: Any = typer.BadParameter.__base__
"""Of the click that typer brings with it."""
app = typer.Typer(
    name="acegraph",
    no_args_is_help=True,
    invoke_without_command=True,
    add_completion=False,
    pretty_exceptions_enable=False,
)
COMMANDS: Final = {
    "Decide": (decisions.decide, decisions.feedback, decisions.labels, review.review),
    "Learn and measure": (
        learning.demo,
        learning.train,
        learning.compare,
        learning.challenge,
        learning.prove,
    ),
    "Look": (inspection.read, inspection.graph, inspection.doctor, ledger.verify, ledger.replay),
    "Keep": (ledger.backup, ledger.restore, ledger.prune, ledger.erase, playbook.reembed),
}
for panel, commands in COMMANDS.items():
    for command in commands:
        app.command(rich_help_panel=panel)(command)
app.add_typer(playbook.playbook_app, name="playbook", rich_help_panel="Look")


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
