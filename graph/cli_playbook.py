"""`acegraph playbook ...`: look at a playbook, carry it elsewhere."""

from pathlib import Path
from typing import Annotated

import typer

from acegraph.graph.console import (
    DEFAULT_URL,
    AsJson,
    PlaybookUrl,
    lasting,
    print_json,
    print_table,
    say,
)
from acegraph.state import Status

playbook_app = typer.Typer(help="Look at a playbook, carry it elsewhere.", no_args_is_help=True)


@playbook_app.command("list")
def list_bullets(
    playbook: PlaybookUrl = DEFAULT_URL,
    everything: Annotated[bool, typer.Option("--all", help="Retired bullets too.")] = False,
    as_json: AsJson = False,
) -> None:
    """List the bullets with their records."""
    from acegraph.graph.experiment import bullet_json
    from acegraph.graph.report import bullet_table

    with lasting(playbook, must_exist=True) as book:
        bullets = [b for b in book if everything or b.status == "active"]
        version = book.version
    if as_json:
        print_json({"version": version, "bullets": [bullet_json(b) for b in bullets]})
    elif bullets:
        print_table(bullet_table(bullets, f"{playbook}, version {version}"))
    else:
        say(f"no bullets in {playbook} yet; 'acegraph train FILE' learns some")


@playbook_app.command("show")
def show_bullet(
    bullet_id: Annotated[str, typer.Argument(help="For example b7.")],
    playbook: PlaybookUrl = DEFAULT_URL,
) -> None:
    """Show one bullet: what it says, where it came from, its evidence, its history."""
    from acegraph.graph.transfer import bullet_to_json

    with lasting(playbook, must_exist=True) as book:
        bullet = book.get_bullet(bullet_id)
        history = [h for h in book.history() if h["bullet"] == bullet_id]
    print_json({"id": bullet.id, **bullet_to_json(bullet), "history": history})


@playbook_app.command("export")
def export_playbook(
    file: Annotated[Path, typer.Argument(help="The JSON file to write.")],
    playbook: PlaybookUrl = DEFAULT_URL,
) -> None:
    """Write all bullets to a JSON file."""
    from acegraph.graph.transfer import export_bullets

    with lasting(playbook, must_exist=True) as book:
        count = export_bullets(book, file)
    say(f"{count} bullet(s) written to {file}")


@playbook_app.command("import")
def import_playbook(
    file: Annotated[Path, typer.Argument(help="A JSON file written by export.")],
    playbook: PlaybookUrl = DEFAULT_URL,
) -> None:
    """Merge exported bullets into a playbook; duplicates are refused, counters start at zero."""
    from acegraph.graph.transfer import merge_bullets, read_bullets

    entries = read_bullets(file)
    with lasting(playbook) as book:
        added, refused = merge_bullets(book, entries)
    say(f"{added} bullet(s) added, {refused} refused (duplicates, or refused by the evidence)")


Reason = Annotated[str, typer.Option("--reason", help="Why; it is kept in the history.")]


@playbook_app.command("retire")
def retire_bullet(
    bullet_id: Annotated[str, typer.Argument(help="For example b7.")],
    reason: Reason = "retired by hand",
    playbook: PlaybookUrl = DEFAULT_URL,
) -> None:
    """Switch a bullet off; it stays in the playbook and can be restored."""
    _switch(bullet_id, "retired", reason, playbook)


@playbook_app.command("restore")
def restore_bullet(
    bullet_id: Annotated[str, typer.Argument(help="For example b7.")],
    reason: Reason = "restored by hand",
    playbook: PlaybookUrl = DEFAULT_URL,
) -> None:
    """Switch a retired bullet on again."""
    _switch(bullet_id, "active", reason, playbook)


def _switch(bullet_id: str, status: Status, reason: str, playbook: str) -> None:
    with lasting(playbook, must_exist=True) as book:
        book.set_status(bullet_id, status, reason)
    say(f"{bullet_id} is {status}")
