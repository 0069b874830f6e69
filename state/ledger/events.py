"""What happened to a playbook, in the ledger's order, so that it can be replayed."""

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from heapq import merge
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
from acegraph.state.values.decision import PURGED, Label
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
        at_once = _labels_at_once(connection, ends, after)
        parts: list[Iterator[Event]] = [
            _decided(connection, after, at_once),
            _labelled(connection, after, at_once, ends),
            _changed(connection, after),
        ]
        yield from merge(*parts, key=lambda event: event.position)


def broken_by(database: Database) -> str:
    """Why the stream is not all that happened; empty if it is."""
    is_purged = sa.or_(history.c.reason.startswith(PURGED), history.c.change == "rolled back")
    is_withdrawn = outcomes.c.source.startswith("purge of ")
    is_erased = cases.c.digest == ERASED
    gaps = (
        (PRUNED_PART, sa.select(pruned.c.case)),
        ("a part of its decisions was erased", sa.select(cases.c.id).where(is_erased)),
        ("it was purged or rolled back before", sa.select(history.c.version).where(is_purged)),
        ("it was purged before", sa.select(outcomes.c.case).where(is_withdrawn)),
        ("its counters were moved by hand", sa.select(adjustments.c.number)),
    )
    with database.snapshot() as connection:
        return next((why for why, query in gaps if connection.scalar(query.limit(1))), "")


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
    connection: sa.Connection, after: int, at_once: Mapping[str, Label]
) -> Iterator[Decided]:
    query = sa.select(decisions, cases.c.text, cases.c.fields)
    query = query.join(cases, cases.c.id == decisions.c.case).order_by(decisions.c.position)
    query = query.where(decisions.c.position > after)
    for row in connection.execute(query).all():
        content = Transaction(row.text, json.loads(row.fields))
        settings, reasons = json.loads(row.settings), json.loads(row.reasons)
        label = at_once.get(row.case)
        yield Decided(row.position, row.case, content, row.decision, settings, reasons, label)


def _labelled(
    connection: sa.Connection, after: int, at_once: Mapping[str, Label], ends: Mapping[str, int]
) -> Iterator[Labelled]:
    query = sa.select(outcomes, cases.c.text, cases.c.fields, cases.c.node)
    query = query.join(cases, cases.c.id == outcomes.c.case).order_by(outcomes.c.position)
    query = query.where(outcomes.c.position > after)
    for row in connection.execute(query).all():
        if row.case in at_once and row.revision == 1:
            continue
        content = Transaction(row.text, json.loads(row.fields))
        label = Label(row.label, row.source, row.known_at) if row.label else None
        is_history = row.revision == 1 and ends.get(row.case, row.position) >= row.position
        yield Labelled(row.position, row.case, content, label, row.source, row.node, is_history)


def _changed(connection: sa.Connection, after: int) -> Iterator[Changed]:
    today = {row.number: from_row(row._asdict()) for row in connection.execute(sa.select(bullets))}
    query = sa.select(history).where(history.c.position > after).order_by(history.c.position)
    for row in connection.execute(query).all():
        bullet = as_in_history(today[row.bullet], row)
        yield Changed(row.position, bullet, row.change, row.reason, row.source, row.at)
