"""`acegraph verify`, `replay`, `prune`, `erase`, `backup`, `restore`: check and keep a ledger."""

import re
from contextlib import closing
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Annotated

import typer

from acegraph.graph.cli.console import (
    DEFAULT_URL,
    AsJson,
    DryRun,
    PlaybookUrl,
    Who,
    existing,
    field_and_value,
    lasting,
    place_of,
    print_json,
    say,
)
from acegraph.state.database.places import shown_url
from acegraph.state.run.review_answers import signature


def verify(playbook: PlaybookUrl = DEFAULT_URL, as_json: AsJson = False) -> None:
    """Check every row against its hash and every counter against the ledger.

    Exits with 1 and says what is wrong when the database was damaged or changed from outside.
    """
    findings = _damage(existing(playbook))
    if as_json:
        print_json({"clean": not findings, "findings": findings})
    elif findings:
        for finding in findings:
            say(finding)
        say(f"{len(findings)} finding(s) in {shown_url(playbook)}")
    else:
        say(f"clean: every row and every counter of {shown_url(playbook)} is as the ledger says")
    if findings:
        raise typer.Exit(1)


def replay(
    decision_id: Annotated[str, typer.Argument(help="The id of a stored decision.")],
    playbook: PlaybookUrl = DEFAULT_URL,
    as_json: AsJson = False,
) -> None:
    """Select again as a past decision did, and say what would be decided today."""
    from acegraph.graph.operations.replay import replay as run_replay

    with lasting(playbook, must_exist=True) as book:
        result = run_replay(book, decision_id)
    if as_json:
        print_json(result.to_json())
        return
    same = "the same bullets came out" if result.is_reproduced else "OTHER bullets came out"
    say(f"{decision_id}: {result.decision} under version {result.playbook_version}")
    say(f"  shown then: {', '.join(result.shown) or 'none'}")
    say(f"  replayed:   {', '.join(result.replayed) or 'none'}  ({same})")
    say(f"  today:      {result.decision_today}, shown {', '.join(result.shown_today) or 'none'}")
    say(f"  label:      {result.label or 'not known yet'}")


def prune(
    decisions_before: Annotated[
        str,
        typer.Option(
            "--decisions-before",
            "--older-than",
            help="Remove decisions made before this time: ISO 8601, or as 90d.",
        ),
    ],
    who: Who = "",
    dry_run: DryRun = False,
    playbook: PlaybookUrl = DEFAULT_URL,
) -> None:
    """Remove old decisions with their cases and labels; what they counted for stays.

    A removed decision can be neither judged nor replayed any more.
    """
    from acegraph.state import prune as remove
    from acegraph.state.values.times import as_past

    days = re.fullmatch(r"(\d{1,5})d", decisions_before)
    ago = datetime.now(UTC) - timedelta(days=int(days[1])) if days else None
    before = as_past(ago or decisions_before)
    with lasting(playbook, must_exist=True, dry_run=dry_run) as book:
        count = remove(book, before, signature(who))
    say(f"{count} decision(s) removed from {shown_url(playbook)}; the bullets keep their counters")


def backup(
    file: Annotated[Path, typer.Argument(help="The SQLite file to write; it must not exist.")],
    playbook: PlaybookUrl = DEFAULT_URL,
) -> None:
    """Write everything to a new SQLite file while others go on working, and verify the copy.

    The file is a playbook itself: --playbook sqlite:///FILE opens it.
    """
    from acegraph.state import back_up

    with lasting(playbook, must_exist=True) as book:
        back_up(book, file)
    findings = _damage(f"sqlite:///{file}")
    more = f", and {len(findings) - 1} more: see 'acegraph verify'" if len(findings) > 1 else ""
    say(f"{shown_url(playbook)} written to {file}: {findings[0] + more if findings else 'clean'}")
    if findings:
        raise typer.Exit(1)


def restore(
    file: Annotated[Path, typer.Argument(help="A SQLite file written by backup.")],
    playbook: PlaybookUrl = DEFAULT_URL,
) -> None:
    """Bring a backup into a new, empty database: SQLite or PostgreSQL."""
    from acegraph.state.maintenance.backup import restore as bring_back

    bring_back(file, place_of(playbook))
    say(f"{file} restored into {shown_url(playbook)}")


def _damage(url: str) -> list[str]:
    from acegraph.state import verify as find_damage
    from acegraph.state.database.open import open_database

    with closing(open_database(url)) as database:
        return find_damage(database)


def erase(
    decision: Annotated[
        list[str] | None, typer.Option(help="The id of a decision; may be given several times.")
    ] = None,
    entity: Annotated[
        str | None, typer.Option(help="FIELD=VALUE: all transactions whose field has this value.")
    ] = None,
    who: Who = "",
    dry_run: DryRun = False,
    playbook: PlaybookUrl = DEFAULT_URL,
    as_json: AsJson = False,
) -> None:
    """Erase text and fields of transactions; counters and labels stay, and verify is clean.

    What only they said is taken out of bullets, lessons and history as well. No byte is left in a
    SQLite file or its log; backups, exports and your checkpoints are yours to clean.
    """
    from acegraph.state import erase as remove

    with lasting(playbook, must_exist=True, dry_run=dry_run) as book:
        of = field_and_value(entity) if entity else None
        erased = remove(book, decision or (), of, signature(who))
    if as_json:
        print_json({"cases": erased.cases, "texts": erased.texts, "left": erased.left})
        return
    count, place = len(erased.cases), shown_url(playbook)
    say(f"{count} transaction(s) erased from {place}; counters and labels stay")
    if erased.texts:
        say(f"{erased.texts} other row(s) repeated something of them: cleaned")
    if erased.left:
        say(f"{erased.left} id(s) of decisions or source(s) of labels hold the value, and stay")
