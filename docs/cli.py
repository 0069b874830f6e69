"""Write docs/cli.md from the commands themselves: `python docs/cli.py`; `make docs` does it."""

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

import typer

from acegraph.graph.cli.main import app

PAGE: Final = Path(__file__).with_name("cli.md")
_INTRODUCTION: Final = """\
# Command line

`acegraph --help` lists the commands, and `acegraph COMMAND --help` explains one.
`python -m acegraph.graph.cli` is the same program. `docs/cli.py` writes this page from the program.
[What --json prints](json.md) lists the keys of every object, and [Comparisons](compare.md) explains
what `compare` shows.
"""
_CODES: Final = """\
A variable that begins with `ACE_` and is no setting is named on standard error. The command line reads the variables
`ACE_...` and `OPENAI_...` of a file `.env` in the folder where it is started; a variable of the environment counts
more. A command, an option or a variable of an earlier version stops with one line that says where it went.

## Exit codes

| code | when |
|---|---|
| 0 | the command did what was asked |
| 1 | the playbook cannot do it: an unknown decision or bullet, no label from that source, a database that does not open, a database that is not empty |
| 1 | `verify`, `copy`, `doctor` or `monitor` found something wrong, or the models of `train` failed |
| 2 | the input cannot be used: a wrong option, a bad row, a file, playbook or version that does not exist, a copy that would overwrite a file |
| 3 | `decide` came to no decision: nothing was approved, and the reason says why |
| 130 | you interrupted the command; what was stored is kept |

An error is one line on standard error.
"""  # noqa: E501


def page() -> str:
    """The page as it should be."""
    whole: Any = typer.main.get_command(app)
    commands = dict(_commands(whole))
    by_panel: dict[str, list[str]] = {}
    for name in commands:
        panel = (whole.commands[name.split()[0]].rich_help_panel or "").lower()
        by_panel.setdefault(panel, []).append(_link(name))
    panels = [("group", "commands"), *((panel, ", ".join(ls)) for panel, ls in by_panel.items())]
    own = "Options of `acegraph` itself, which may stand before a command or behind it:"
    parts = [_INTRODUCTION, _table(panels), own, _table(_options(whole)), _CODES]
    for name, command in commands.items():
        parts += [f"## acegraph {name}", *_section(command)]
    return "\n\n".join(part.strip() for part in parts if part) + "\n"


def _commands(group: Any, before: str = "") -> Iterator[tuple[str, Any]]:
    for name, command in group.commands.items():
        if hasattr(command, "commands"):
            yield from _commands(command, f"{before}{name} ")
        else:
            yield before + name, command


def _link(name: str) -> str:
    return f"[{name}](#acegraph-{name.replace(' ', '-')})"


def _section(command: Any) -> Iterator[str]:
    words, _, examples = command.help.partition("Example")
    examples = re.sub(r"\s+", " ", examples)
    for paragraph in re.split(r"\n\s*\n", words.strip()):
        yield re.sub(r"\s+", " ", paragraph)
    for example in re.findall(r"acegraph .+?(?=; acegraph|\.?$)", examples):
        yield f"Example: `{example}`"
    arguments = [p for p in command.params if p.param_type_name == "argument"]
    rows = [(f"`{p.metavar or p.name.upper()}`", _cell(p.help)) for p in arguments]
    if rows:
        yield _table([("argument", "meaning"), *rows])
    if len(options := _options(command)) > 1:
        yield _table(options)


def _options(command: Any) -> list[tuple[str, ...]]:
    rows: list[tuple[str, ...]] = [("option", "meaning", "default")]
    for option in command.params:
        if option.param_type_name == "option" and option.name not in ("help", *_OF_THE_SHELL):
            names = " / ".join([*option.opts[:1], *option.secondary_opts])
            value = "" if option.is_flag else f" {option.name.split('_')[-1].upper()}"
            variable = f" (`{option.envvar}`)" if option.envvar else ""
            rows.append((f"`{names}{value}`", _cell(option.help) + variable, _default(option)))
    return rows


_OF_THE_SHELL: Final = ("install_completion", "show_completion")


def _default(option: Any) -> str:
    if isinstance(option.default, bool):
        return "on" if option.default else "off"
    return f"`{option.default}`" if option.default not in (None, "") else ""


def _cell(text: str | None) -> str:
    return re.sub(r"\s+", " ", text or "").replace("|", r"\|")


def _table(rows: list[tuple[str, ...]]) -> str:
    heading, *others = rows
    lines = [heading, tuple("---" for _ in heading), *others]
    return "\n".join(f"| {' | '.join(cells)} |".replace("| --- ", "|---") for cells in lines)


if __name__ == "__main__":
    PAGE.write_text(page(), encoding="utf-8")
