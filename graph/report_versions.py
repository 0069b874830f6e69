"""Tables for people: the history of a playbook, and what differs between two versions."""

from collections.abc import Mapping, Sequence
from typing import Any

from rich import box
from rich.markup import escape
from rich.table import Table

from acegraph.state import Difference


def history_table(entries: Sequence[Mapping[str, Any]], title: str) -> Table:
    """Every change with its version, oldest first."""
    table = Table(
        title=escape(title), box=box.SIMPLE_HEAD, title_justify="left", padding=(0, 1, 0, 0)
    )
    for name in ("version", "when", "bullet", "change", "by"):
        table.add_column(name, no_wrap=True)
    for name in ("heuristic", "reason"):
        table.add_column(name, overflow="fold", ratio=1)
    for entry in entries:
        when = str(entry["at"])[:16].replace("T", " ")
        cells = [str(entry["version"]), when, entry["bullet"], entry["change"]]
        table.add_row(*cells, *(escape(entry[name]) for name in ("source", "content", "reason")))
    return table


def difference_table(found: Sequence[Difference], title: str) -> Table:
    """The bullets that two versions do not have in common."""
    table = Table(
        title=escape(title), box=box.SIMPLE_HEAD, title_justify="left", padding=(0, 1, 0, 0)
    )
    for name in ("bullet", "change"):
        table.add_column(name, no_wrap=True)
    table.add_column("heuristic", overflow="fold")
    for one in found:
        bullet = one.after or one.before
        table.add_row(one.bullet_id, one.change, escape(bullet.content if bullet else ""))
    return table
