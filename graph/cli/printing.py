"""What the commands print: lines and tables for people, JSON for machines, progress, warnings."""

import json
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from functools import partial
from pathlib import Path
from time import monotonic
from typing import TYPE_CHECKING, Final
from unicodedata import category

import typer
from rich import progress
from rich.console import Console, RenderableType

if TYPE_CHECKING:
    from acegraph.graph.data.rows import Progress
    from acegraph.graph.experiments.experiment import Experiment

_PAGE: Final = 100
"""The least width of a table in characters; in a narrower one rich would cut figures off."""

_LISTED: Final = 10
"""So many of a list are printed."""

Shown = RenderableType
"""A line or a table; an empty line is not printed."""
wants_json: ContextVar[bool] = ContextVar("wants_json", default=False)
_gathered: ContextVar[list[str] | None] = ContextVar("gathered_warnings", default=None)
out = Console()
err = Console(stderr=True)


def visible(text: str, keep: str = "\t") -> str:
    """A text on one line that cannot steer a terminal: what is invisible is written as in JSON."""
    if text.isprintable():
        return text
    is_seen = {c: c.isprintable() or c in keep or category(c) == "Zs" for c in set(text)}
    return "".join(c if is_seen[c] else json.dumps(c)[1:-1] for c in text)


def say(text: str) -> None:
    """Print one line for people, without any markup: transactions may hold brackets."""
    typer.echo(visible(text))


def say_error(text: str) -> None:
    """Print why the command ends, on one line of standard error."""
    err.print(visible(f"acegraph: {text}"), markup=False, highlight=False, soft_wrap=True)


def warn(text: str) -> None:
    """Print one line on standard error; whoever gathers warnings gets it too."""
    typer.echo(visible(text), err=True)
    if (gathered := _gathered.get()) is not None:
        gathered.append(text)


@contextmanager
def gathered_warnings() -> Iterator[list[str]]:
    """The warnings that are printed meanwhile, so that they can be said again at the end."""
    warnings: list[str] = []
    token = _gathered.set(warnings)
    try:
        yield warnings
    finally:
        _gathered.reset(token)


def print_experiment(experiment: "Experiment", report: Path | None = None) -> None:
    """Print the tables of an experiment, and what decided; write the report, if one is wanted."""
    from acegraph.graph.cli import tables
    from acegraph.graph.experiments.report.page import write_report

    if report:
        write_report(experiment, report)
        warn(f"Report: {report}")
    if wants_json.get():  # the tables would be counted in vain
        tell(experiment.to_json())
        return
    bullets, by = experiment.bullets, experiment.model
    changes = enumerate((report.change for report in experiment.training), start=1)
    tell(
        None,
        tables.experiment_table(experiment),
        tables.money_table(experiment),
        tables.group_tables(experiment),
        tables.bullet_table(bullets, "Bullets learned offline (last seed)") if bullets else "",
        *(f"Seed {seed}, training: {change}." for seed, change in changes if change),
        f"Decided by {by or 'rules: no language model was used'}.",
        *usage_in_words(),
    )


def usage_in_words() -> list[str]:
    """What language models have cost so far, if any were asked."""
    from acegraph.nodes.models.named import prices
    from acegraph.nodes.runtime.usage import PROCESS, in_words

    return list(in_words(PROCESS.by_model, prices()))


def tell(facts: object, *shown: Shown) -> None:
    """Print lines and tables for people, or if --json asks for it one object for machines.

    Where nothing is given to show, people get the facts.
    """
    if wants_json.get():
        print_json(facts)
        return
    for one in shown or (facts_in_lines(facts) if isinstance(facts, Mapping) else ()):
        if not isinstance(one, str):  # on a page that is wide enough
            Console(width=max(out.width if out.is_terminal else 0, _PAGE)).print(one)
        elif one:
            say(one)


def facts_in_lines(facts: Mapping[str, object]) -> Iterator[str]:
    """What a command tells, for people: a line for each fact that is there."""
    for name, value in facts.items():
        if value not in (None, "", (), [], {}):
            yield f"  {name.replace('_', ' ')}: {written(value)}"


def written(value: object) -> str:
    """A fact on one line; of a long list its beginning.

    >>> written({"shown": ["b1", "b2"], "risk": 0.25})
    'shown b1, b2, risk 0.25'
    """
    if isinstance(value, Mapping):
        return ", ".join(f"{name} {written(one)}" for name, one in value.items())
    if isinstance(value, list | tuple):
        more = f", and {len(value) - _LISTED:,} more" if len(value) > _LISTED else ""
        return ", ".join(map(written, value[:_LISTED])) + more
    return f"{value:g}" if isinstance(value, float) else str(value)


def print_json(data: object) -> None:
    """Print one object for machines."""
    typer.echo(visible(json.dumps(data, indent=2, ensure_ascii=False, default=str), keep="\n\t"))


@contextmanager
def progress_bar(silent: float = 30.0) -> "Iterator[Callable[[int | None], Progress]]":
    """Progress on standard error, so that output can be piped; gives the callback of a seed.

    Where that is no terminal, a line after so many `silent` seconds says how far the work is.
    """
    began = said = monotonic()
    with progress.Progress(console=err, transient=True, disable=not err.is_terminal) as bar:
        tasks: dict[str, progress.TaskID] = {}

        def report(seed: int | None, what: str, done: int, total: int) -> None:
            nonlocal said
            name = what if seed is None else f"seed {seed + 1}: {what}"
            if name not in tasks:
                tasks[name] = bar.add_task(name, total=total)
            bar.update(tasks[name], completed=done)
            if bar.disable and monotonic() - said >= silent:
                said = monotonic()
                typer.echo(f"{name}: {done:,} of {total:,}, after {said - began:.0f} s", err=True)

        yield lambda seed: partial(report, seed)
