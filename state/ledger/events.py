"""What happened to a playbook, in the ledger's order, so that it can be replayed.

What a purge itself wrote is left out: a replay leaves out what was purged in the first place.
"""

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from heapq import merge
from itertools import groupby
from typing import Any, Final

import sqlalchemy as sa

from acegraph.state.database.base import Database
from acegraph.state.database.tables import (
    adjustments,
    bullets,
    cases,
    decisions,
    history,
    outcomes,
    pruned,
    selections,
)
from acegraph.state.ledger.ledger import ERASED
from acegraph.state.ledger.row_mapping import as_in_history, from_row
from acegraph.state.values.bullet import Bullet
from acegraph.state.values.decision import PURGE_OF, PURGED, Label
from acegraph.state.values.label_sources import GIVEN_LABEL
from acegraph.state.values.transaction import Transaction
from acegraph.state.values.verdict import Verdict

PRUNED_PART: Final = "a part of its decisions was pruned"


@dataclass(frozen=True)
class Decided:
    """A decision, with its label if that came at the same time."""

    position: int
    id: str
    transaction: Transaction
    decision: Verdict
    settings: Mapping[str, Any]
    reasons: Sequence[str]
    label: Label | None = None
    is_purged: bool = False
    """Whether a purge has taken the label back."""


@dataclass(frozen=True)
class Labelled:
    """A label that came without a decision, or the withdrawal of the label before."""

    position: int
    id: str
    transaction: Transaction
    label: Label | None
    by: str
    node: str
    is_history: bool = False
    """Whether the case was not decided yet."""
    is_purged: bool = False
    """Whether a purge has taken the label back."""


@dataclass(frozen=True)
class Changed:
    """A change to a bullet."""

    position: int
    bullet: Bullet
    """The bullet after the change; its counters and weight are those of today."""
    change: str
    reason: str
    by: str
    """Who signed the change: a person, the curator, or offline/online for a bullet added."""
    at: str


Event = Decided | Labelled | Changed


def stream(database: Database, after: int = -1) -> Iterator[Event]:
    """Every decision, label and change of a bullet after a position, oldest first."""
    with database.snapshot() as connection:
        ends = _last_positions(connection)
        at_once, purged = _labels_at_once(connection, ends, after), _purged_rows(connection)
        parts: list[Iterator[Event]] = [
            _decided(connection, after, at_once, purged.labels),
            _labelled(connection, after, at_once, ends, purged),
            _changed(connection, after),
        ]
        yield from merge(*parts, key=lambda event: event.position)


def broken_by(database: Database) -> str:
    """Why the stream is not all that happened; empty if it is."""
    is_rolled_back = history.c.change == "rolled back"
    is_by_hand = sa.not_(adjustments.c.reason.startswith(PURGED))
    is_erased = cases.c.digest == ERASED
    gaps = (
        (PRUNED_PART, sa.select(pruned.c.case)),
        ("a part of its decisions was erased", sa.select(cases.c.id).where(is_erased)),
        ("it was rolled back before", sa.select(history.c.version).where(is_rolled_back)),
        ("its counters were moved by hand", sa.select(adjustments.c.number).where(is_by_hand)),
    )
    with database.snapshot() as connection:
        return next((why for why, query in gaps if connection.scalar(query.limit(1))), "")


@dataclass
class _Purged:
    """The rows of labels that belong to purges, as pairs of case and revision."""

    labels: set[tuple[str, int]] = field(default_factory=set)
    """Labels that were taken back."""
    written: set[tuple[str, int]] = field(default_factory=set)
    """Withdrawals, and labels that were written again because they stay."""


def _purged_rows(connection: sa.Connection) -> _Purged:
    """The rows of labels that purges took back, and those that purges wrote."""
    is_withdrawal = outcomes.c.source.startswith(PURGE_OF)
    touched = sa.select(outcomes.c.case).where(is_withdrawal)
    query = sa.select(outcomes).where(outcomes.c.case.in_(touched))
    query = query.order_by(outcomes.c.case, outcomes.c.revision)
    purged = _Purged()
    for case, group in groupby(connection.execute(query), key=lambda row: row.case):
        rows, earlier = list(group), []
        for row, following in zip(rows, [*rows[1:], None], strict=True):
            if row.label is not None or not row.source.startswith(PURGE_OF):
                earlier.append(row)
                continue
            stays = _label_of(following)
            if following is None or stays not in map(_label_of, earlier):
                stays = None
            elif stays:
                purged.written.add((case, following.revision))
            # A purge by source names it; what others said of the case was not purged.
            named = row.source.startswith(f"{PURGE_OF}source ")
            purged.labels |= {
                (case, one.revision)
                for one in earlier
                if _label_of(one) != stays
                and (not named or row.source.startswith(f"{PURGE_OF}source {one.source!r}"))
            }
            purged.written.add((case, row.revision))
    return purged


def _label_of(row: Any) -> Label | None:
    return Label(row.label, row.source, row.known_at) if row is not None and row.label else None


def _last_positions(connection: sa.Connection) -> dict[str, int]:
    """The last position that was written with each decision, by its id."""
    decided = sa.select(decisions.c.case, decisions.c.position)
    ends = {row.case: row.position for row in connection.execute(decided)}
    newest = sa.select(selections.c.case, sa.func.max(selections.c.position).label("position"))
    for row in connection.execute(newest.group_by(selections.c.case)):
        ends[row.case] = max(ends.get(row.case, 0), row.position)
    return ends


def _labels_at_once(
    connection: sa.Connection, ends: Mapping[str, int], after: int
) -> dict[str, Label]:
    """The labels that came together with decisions after a position, by decision id."""
    first = sa.select(outcomes).join(decisions, decisions.c.case == outcomes.c.case)
    first = first.where(outcomes.c.revision == 1, outcomes.c.source == GIVEN_LABEL)
    first = first.where(decisions.c.position > after)
    return {
        row.case: Label(row.label, row.source, row.known_at)
        for row in connection.execute(first)
        if row.label and row.position == ends.get(row.case, -1) + 1
    }


def _decided(
    connection: sa.Connection,
    after: int,
    at_once: Mapping[str, Label],
    purged: set[tuple[str, int]],
) -> Iterator[Decided]:
    query = sa.select(decisions, cases.c.text, cases.c.fields)
    query = query.join(cases, cases.c.id == decisions.c.case).order_by(decisions.c.position)
    query = query.where(decisions.c.position > after)
    for row in connection.execute(query).all():
        content = Transaction(row.text, json.loads(row.fields))
        settings, reasons = json.loads(row.settings), json.loads(row.reasons)
        said = at_once.get(row.case), (row.case, 1) in purged
        yield Decided(row.position, row.case, content, row.decision, settings, reasons, *said)


def _labelled(
    connection: sa.Connection,
    after: int,
    at_once: Mapping[str, Label],
    ends: Mapping[str, int],
    purged: _Purged,
) -> Iterator[Labelled]:
    query = sa.select(outcomes, cases.c.text, cases.c.fields, cases.c.node)
    query = query.join(cases, cases.c.id == outcomes.c.case).order_by(outcomes.c.position)
    query = query.where(outcomes.c.position > after)
    for row in connection.execute(query).all():
        key = (row.case, row.revision)
        if (row.case in at_once and row.revision == 1) or key in purged.written:
            continue
        content, label = Transaction(row.text, json.loads(row.fields)), _label_of(row)
        is_history = row.revision == 1 and ends.get(row.case, row.position) >= row.position
        said = label, row.source, row.node, is_history, key in purged.labels
        yield Labelled(row.position, row.case, content, *said)


def _changed(connection: sa.Connection, after: int) -> Iterator[Changed]:
    today = {row.number: from_row(row._asdict()) for row in connection.execute(sa.select(bullets))}
    is_purge = history.c.reason.startswith(PURGED)
    query = sa.select(history).where(history.c.position > after, sa.not_(is_purge))
    for row in connection.execute(query.order_by(history.c.position)).all():
        bullet = as_in_history(today[row.bullet], row)
        yield Changed(row.position, bullet, row.change, row.reason, row.source, row.at)
