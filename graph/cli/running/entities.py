"""`acegraph entity`: what is known of those whom payments name."""

from collections.abc import Callable
from dataclasses import asdict
from typing import Final

from acegraph.graph.cli.console import lasting
from acegraph.graph.cli.printing import tell
from acegraph.state import AceContext


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


COMMANDS: Final[dict[str, Callable[..., None]]] = {"show": show, "top": top}
