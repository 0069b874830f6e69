"""The command line: registers every command, and turns our errors into one line."""

import sys
from collections.abc import Callable
from importlib import metadata
from typing import Annotated, Any, Final

import typer

from acegraph.graph.cli import (
    comparison,
    decisions,
    inspection,
    learning,
    ledger,
    playbook,
    scoring,
)
from acegraph.graph.cli.console import (
    err,
    one_line,
    say,
)
from acegraph.graph.cli.running import consume, learn, monitor, review, service, setup
from acegraph.graph.operations.monitoring.logs import start_logging
from acegraph.state import AceError, InvalidInput

_UsageError: Any = typer.BadParameter.__base__
"""click's error of wrong usage; typer brings a click of its own and does not export this class."""
app = typer.Typer(
    name="acegraph",
    no_args_is_help=True,
    invoke_without_command=True,
    pretty_exceptions_enable=False,
)
COMMANDS: Final[dict[str, tuple[Callable[..., None], ...]]] = {
    "Decide": (
        decisions.decide,
        scoring.score,
        decisions.feedback,
        decisions.labels,
        review.review,
    ),
    "Learn and measure": (
        learning.demo,
        learning.generate,
        learning.train,
        comparison.compare,
        comparison.challenge,
        scoring.backtest,
    ),
    "Look": (
        inspection.read,
        inspection.schema,
        inspection.graph,
        inspection.doctor,
        monitor.monitor,
        ledger.verify,
        ledger.replay,
    ),
    "Run": (setup.init, service.desk, service.serve, consume.consume, learn.learn),
    "Keep": (ledger.backup, ledger.restore, ledger.prune, ledger.erase, playbook.reembed),
}
for panel, commands in COMMANDS.items():
    for command in commands:
        app.command(rich_help_panel=panel)(command)
app.add_typer(playbook.playbook_app, name="playbook", rich_help_panel="Look")
app.add_typer(service.users_app, name="users", rich_help_panel="Run")


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
    setup.read_env_file()
    setup.check_variables()
    start_logging()


def main() -> None:
    """Run the command line; an error of ours, of a file or of usage becomes one line."""
    try:
        sys.exit(app(standalone_mode=False) or 0)
    except (AceError, OSError, UnicodeEncodeError, _UsageError) as error:
        if message := _in_words(error):  # empty where the help was printed instead
            message = one_line(f"acegraph: {message}")
            err.print(message, markup=False, highlight=False, soft_wrap=True)
        sys.exit(2 if isinstance(error, (InvalidInput, OSError, ValueError, _UsageError)) else 1)
    except typer.Abort:
        sys.exit(130)


def _in_words(error: BaseException) -> str:
    if isinstance(error, OSError) and error.filename and error.strerror:
        return f"{error.filename}: {error.strerror}"
    if isinstance(error, UnicodeEncodeError):
        return "what was given is not UTF-8 text"
    if isinstance(error, _UsageError):
        command = error.ctx.command_path if error.ctx else "acegraph"
        message = error.format_message().rstrip(".")
        return f"{message} (see {command} --help)" if message else ""
    return str(error)
