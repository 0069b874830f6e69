"""`acegraph verify`, `replay`, `copy`, `erase`: check and keep a ledger."""

import re
from contextlib import closing
from dataclasses import asdict
from datetime import UTC, datetime, timedelta
from typing import Annotated

import typer

from acegraph.graph.cli.console import (
    DryRun,
    existing,
    field_and_value,
    lasting,
    place_of,
    playbook_url,
    shown,
    signed,
    url_of,
)
from acegraph.graph.cli.printing import facts_in_lines, say, tell
from acegraph.state import InvalidSettings
from acegraph.state.database.places import shown_url


def verify() -> None:
    """Check every row against its hash and every counter against the ledger.

    Exits with 1 and says what is wrong when the database was damaged or changed from outside.
    Example: acegraph verify --playbook ace.db
    """
    from acegraph.state import verify as find_damage
    from acegraph.state.database.open import open_database

    with closing(open_database(existing(playbook_url.get()))) as database:
        findings = find_damage(database)
    clean = f"clean: every row and every counter of {shown()} is as the ledger says"
    tell(
        {"clean": not findings, "findings": findings},
        *findings,
        f"{len(findings)} finding(s) in {shown()}" if findings else clean,
    )
    if findings:
        raise typer.Exit(1)


def replay(decision_id: str) -> None:
    """Select again as a past decision did, and say whether the same bullets come out.

    Example: acegraph replay order-1

    Options:
        decision_id: The id of a stored decision.
    """
    from acegraph.graph.operations.replay import replay as run_replay

    with lasting(must_exist=True) as book:
        result = run_replay(book, decision_id)
    facts = result.to_json()
    long = ("funnel", "scores")
    tell(facts, *facts_in_lines({name: facts[name] for name in facts if name not in long}))


def copy(
    source: Annotated[str, typer.Argument(metavar="FROM")],
    target: Annotated[str, typer.Argument(metavar="TO")],
) -> None:
    """Copy a playbook with its ledger while others go on working, and verify the copy.

    It backs up and brings back. Example: acegraph copy ace.db backup.db

    Options:
        source: A playbook: a file, or a URL.
        target: A file that does not exist, or an empty database.
    """
    from acegraph.state.maintenance.backup import copy as write

    place = existing(place_of(url_of(source)))
    made = place_of(url_of(target))
    write(place, made)
    say(f"{shown_url(place)} copied to {shown_url(made)}: clean")


def erase(
    *,
    decision: list[str] | None = None,
    entity: str | None = None,
    before: str | None = None,
    dry_run: DryRun = False,
) -> None:
    """Erase text and fields of transactions, or decisions that are too old; counters stay.

    What only they said is taken out of bullets, lessons and history as well, and verify is clean.
    A decision from before a time goes with its case and its label: it can be neither judged nor
    replayed any more. Copies, exports and your checkpoints are yours to clean. Example: acegraph
    erase --entity customer_id=C-1

    Options:
        decision: The id of a decision; may be given several times.
        entity: FIELD=VALUE: all transactions whose field has this value.
        before: All decisions made before this time: ISO 8601, or as 90d.
    """
    from acegraph.state import erase as remove
    from acegraph.state import prune
    from acegraph.state.database.encoding import as_past

    if before is not None and (decision or entity):
        raise InvalidSettings("--before erases by time alone: leave --decision and --entity")
    with lasting(must_exist=True, dry_run=dry_run) as book:
        if before is not None:
            days = re.fullmatch(r"(\d{1,5})d", before)
            past = as_past(datetime.now(UTC) - timedelta(days=int(days[1])) if days else before)
            facts: dict[str, object] = {"decisions": prune(book, past, signed())}
        else:
            pair = field_and_value(entity) if entity else None
            facts = asdict(remove(book, decision or (), pair, signed()))
    tell(facts)
