"""`acegraph playbook ...`: look at a playbook, carry it elsewhere."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated

import typer

from acegraph.graph.console import DEFAULT_URL, AsJson, PlaybookUrl, out, print_json
from acegraph.state import BulletPlaybook, InvalidDataset

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

    with _existing(playbook) as book:
        bullets = [b for b in book if everything or b.status == "active"]
        version = book.version
    if as_json:
        print_json({"version": version, "bullets": [bullet_json(b) for b in bullets]})
    else:
        out.print(bullet_table(bullets, f"{playbook}, version {version}"))


@playbook_app.command("show")
def show_bullet(
    bullet_id: Annotated[str, typer.Argument(help="For example b7.")],
    playbook: PlaybookUrl = DEFAULT_URL,
) -> None:
    """Show one bullet: what it says, where it came from, its evidence, its history."""
    from acegraph.graph.transfer import bullet_to_json

    with _existing(playbook) as book:
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

    with _existing(playbook) as book:
        count = export_bullets(book, file)
    out.print(f"{count} bullets written to {file}")


@playbook_app.command("import")
def import_playbook(
    file: Annotated[Path, typer.Argument(help="A JSON file written by export.")],
    playbook: PlaybookUrl = DEFAULT_URL,
) -> None:
    """Merge exported bullets into a playbook; duplicates are refused, counters start at zero."""
    from acegraph.graph.transfer import import_bullets

    with BulletPlaybook(playbook) as book:
        added, refused = import_bullets(book, file)
    out.print(f"{added} bullets added, {refused} refused (duplicates, or refused by the evidence)")


@contextmanager
def _existing(url: str) -> Iterator[BulletPlaybook]:
    from acegraph.state.tables import file_of

    file = file_of(url)
    if file is not None and not file.exists():
        raise InvalidDataset(f"no playbook at {url}; 'acegraph train FILE' makes one")
    with BulletPlaybook(url) as book:
        yield book
