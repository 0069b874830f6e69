"""`acegraph erase`: what transactions said leaves a playbook, what they counted for stays."""

from typing import Annotated

import typer

from acegraph.graph.console import DEFAULT_URL, AsJson, PlaybookUrl, lasting, print_json, say
from acegraph.state import InvalidInput


def erase(
    decision: Annotated[
        list[str] | None, typer.Option(help="The id of a decision; may be given several times.")
    ] = None,
    entity: Annotated[
        str | None, typer.Option(help="FIELD=VALUE: all transactions whose field has this value.")
    ] = None,
    playbook: PlaybookUrl = DEFAULT_URL,
    as_json: AsJson = False,
) -> None:
    """Erase text and fields of transactions; counters and labels stay, and verify is clean.

    What only they said is taken out of bullets, lessons and history as well. No byte is left in a
    SQLite file or its log; backups, exports and your checkpoints are yours to clean.
    """
    from acegraph.state import erase as remove

    with lasting(playbook, must_exist=True) as book:
        found = remove(book, decision or (), field_and_value(entity) if entity else None)
    if as_json:
        print_json({"cases": found.cases, "texts": found.texts})
        return
    say(f"{len(found.cases)} transaction(s) erased from {playbook}; counters and labels stay")
    if found.texts:
        say(f"{found.texts} bullet(s), lesson(s) or entries of the history repeated them: cleaned")


def field_and_value(given: str) -> tuple[str, str]:
    """`customer_id=C-1` as a pair."""
    name, sign, value = given.partition("=")
    if not (name.strip() and sign and value.strip()):
        raise InvalidInput(f"FIELD=VALUE wanted, as customer_id=C-1; found {given!r}")
    return name.strip(), value.strip()
