"""`acegraph entity` and `list`: what is known of those whom payments name, and said of them."""

from collections.abc import Callable
from dataclasses import asdict
from pathlib import Path
from typing import Annotated, Final

import typer

from acegraph.graph.cli.console import Why, alone, lasting, signed
from acegraph.graph.cli.printing import tell
from acegraph.state import AceContext, InvalidSettings

USUAL_DAYS: Final = 28.0


def show(kind: str, name: str) -> None:
    """Show one shop, customer or terminal: its payments, and what labels said of them.

    Example: acegraph entity show terminal T-81

    Options:
        kind: What it is, as the task names it: customer, card, device, merchant, terminal.
        name: Its id, as payments write it.
    """
    from acegraph.graph.cli.tables import cases_table
    from acegraph.graph.operations.monitoring.entities import entity_shown

    with lasting(must_exist=True) as book:
        found = entity_shown(book, AceContext().node, kind, name)
        decided = [book.decision(case) for case in found.cases]
    tell(asdict(found) | {"told": found.told}, found.told, cases_table(decided))


def top(kind: str, *, days: int = 30) -> None:
    """List those of a kind whom labels call fraud, those with the most voices first.

    One customer has one voice about a shop. Example: acegraph entity top terminal --days 7

    Options:
        kind: What they are, as the task names them.
        days: How far back, from the newest payment.
    """
    from acegraph.graph.cli.tables import entity_table
    from acegraph.graph.operations.monitoring.entities import entities_called_fraud

    with lasting(must_exist=True) as book:
        found = list(entities_called_fraud(book, AceContext().node, kind, days))
    nobody = f"no {kind} was called fraud in the last {days} days"
    tell([asdict(one) for one in found], entity_table(found) if found else nobody)


def add(
    list_name: Annotated[str, typer.Argument(metavar="LIST")],
    kind: str,
    name: str,
    *,
    days: float = USUAL_DAYS,
    forever: Annotated[bool, typer.Option("--forever")] = False,
    why: Why = "",
) -> None:
    """Block, allow or watch a shop, a customer, a terminal until a day.

    A block and a watch act at once; an allow waits for a second person. Example: acegraph list add
    block terminal T-81 --days 28 --why "skimmer, ticket 4711" --who ann

    Options:
        list_name: block declines, allow approves what would be declined, watch asks a person.
        kind: What it is, as the task names it.
        name: Its id, as payments write it.
        days: How long the entry counts.
        forever: It counts until somebody ends it.
    """
    _add(list_name, kind, [name], None if forever else days, why)


def import_file(
    file: Path,
    list_name: Annotated[str, typer.Argument(metavar="LIST")],
    kind: str,
    *,
    days: float = USUAL_DAYS,
    forever: Annotated[bool, typer.Option("--forever")] = False,
    why: Why = "",
) -> None:
    """Put all names of a file on a list: one a line, or the first column of a CSV without heading.

    If a line names nobody, nothing is added. Example: acegraph list import cards.csv block card
    --why "stolen, case 12"

    Options:
        file: The names.
        list_name: block, allow or watch.
        kind: What they are, as the task names it.
        days: How long the entries count.
        forever: They count until somebody ends them.
    """
    from acegraph.graph.operations.monitoring.lists import names_in

    _add(list_name, kind, names_in(file), None if forever else days, why)


def _add(list_name: str, kind: str, names: list[str], days: float | None, why: str) -> None:
    from acegraph.graph.operations.monitoring.lists import add

    with lasting(must_exist=True) as book:
        node, by = AceContext().node, signed()
        added = add(book, node, list_name, kind, names, by, why, days, alone=alone.get())
    waits = sum(one.waits for one in added)
    how = f"; {waits} wait for a second person (acegraph review)" if waits else ""
    shown = [f"{one.id}: {one.kind} {one.name} {one.told}" for one in added[:10]]
    tell({"added": [one.id for one in added]}, *shown, f"{len(added)} added{how}")


def show_lists(*, everything: Annotated[bool, typer.Option("--all")] = False) -> None:
    """List who is blocked, allowed or watched now, why, by whom and until when.

    Example: acegraph list show --all

    Options:
        everything: Entries that have ended or expired, too.
    """
    from acegraph.graph.cli.tables import list_table
    from acegraph.graph.operations.monitoring.lists import shown
    from acegraph.state.database.encoding import now

    with lasting(must_exist=True) as book:
        found = [one for one in shown(book) if everything or one.waits or one.counts(now())]
    tell([asdict(one) for one in found], list_table(found) if found else "nobody is on a list")


def end_entry(number: int, *, why: Why = "") -> None:
    """End an entry of a list now.

    Example: acegraph list end 12 --why "the terminal was replaced" --who ann

    Options:
        number: The entry, as list show tells it.
    """
    from acegraph.graph.operations.monitoring.lists import end

    if not why:
        raise InvalidSettings("--why is wanted: the reason is kept")
    with lasting(must_exist=True) as book:
        end(book, number, signed(), why)
    tell({"ended": number})


COMMANDS: Final[dict[str, Callable[..., None]]] = {"show": show, "top": top}
LIST_COMMANDS: Final[dict[str, Callable[..., None]]] = {
    "add": add,
    "import": import_file,
    "show": show_lists,
    "end": end_entry,
}
