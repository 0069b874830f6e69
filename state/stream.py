"""What happened to a playbook, in the ledger's order: for whoever wants to live it once more."""

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from heapq import merge
from typing import Any

import sqlalchemy as sa

from acegraph.state.database import Database
from acegraph.state.ledger import ERASED
from acegraph.state.records import Label
from acegraph.state.rows import read_condition
from acegraph.state.tables import bullets, cases, decisions, history, outcomes, pruned, selections
from acegraph.state.transaction import Transaction
from acegraph.state.verdict import Verdict


@dataclass(frozen=True)
class Decided:
    """A decision, and its label where that came with it."""

    position: int
    id: str
    transaction: Transaction
    decision: Verdict
    settings: Mapping[str, Any]
    label: Label | None = None


@dataclass(frozen=True)
class Labelled:
    """A label that became known by itself; without a label the one before was withdrawn."""

    position: int
    id: str
    transaction: Transaction
    label: Label | None
    by: str
    node: str
    is_history: bool = False
    """Whether nobody had decided it yet."""


@dataclass(frozen=True)
class Changed:
    """A change to a bullet, with the row that was written."""

    position: int
    bullet: str
    row: Mapping[str, Any]
    """Its columns in the history, and `origin` of the bullet."""


Event = Decided | Labelled | Changed


def stream(database: Database) -> Iterator[Event]:
    """Everything that was decided, labelled and changed, oldest first."""
    with database.snapshot() as connection:
        ends = _ends(connection)
        at_once = _labels_at_once(connection, ends)
        parts: list[Iterator[Event]] = [
            _decided(connection, at_once),
            _labelled(connection, at_once, ends),
            _changed(connection),
        ]
        yield from merge(*parts, key=lambda event: event.position)


def is_whole(database: Database) -> bool:
    """Whether nothing of it was pruned or erased."""
    with database.snapshot() as connection:
        lost = connection.scalar(sa.select(sa.func.count()).select_from(pruned))
        erased = connection.scalar(
            sa.select(sa.func.count()).select_from(cases).where(cases.c.digest == ERASED)
        )
    return not lost and not erased


def _ends(connection: sa.Connection) -> dict[str, int]:
    """The last position that was written with each decision."""
    ends = {row.case: row.position for row in connection.execute(sa.select(decisions))}
    newest = sa.select(selections.c.case, sa.func.max(selections.c.position).label("position"))
    for row in connection.execute(newest.group_by(selections.c.case)):
        ends[row.case] = max(ends.get(row.case, 0), row.position)
    return ends


def _labels_at_once(connection: sa.Connection, ends: Mapping[str, int]) -> dict[str, Any]:
    """The labels that came with their decisions."""
    first = sa.select(outcomes).where(outcomes.c.revision == 1, outcomes.c.source == "label")
    return {
        row.case: row
        for row in connection.execute(first)
        if row.label and row.position == ends.get(row.case, -1) + 1
    }


def _decided(connection: sa.Connection, at_once: Mapping[str, Any]) -> Iterator[Decided]:
    query = sa.select(decisions, cases.c.text, cases.c.fields)
    query = query.join(cases, cases.c.id == decisions.c.case).order_by(decisions.c.position)
    for row in connection.execute(query).all():
        given = Transaction(row.text, json.loads(row.fields))
        label = _label(at_once[row.case]) if row.case in at_once else None
        settings = json.loads(row.settings)
        yield Decided(row.position, row.case, given, row.decision, settings, label)


def _labelled(
    connection: sa.Connection, at_once: Mapping[str, Any], ends: Mapping[str, int]
) -> Iterator[Labelled]:
    query = sa.select(outcomes, cases.c.text, cases.c.fields, cases.c.node)
    query = query.join(cases, cases.c.id == outcomes.c.case).order_by(outcomes.c.position)
    for row in connection.execute(query).all():
        if row.case in at_once and row.revision == 1:
            continue
        given = Transaction(row.text, json.loads(row.fields))
        is_history = ends.get(row.case, row.position) >= row.position
        label = _label(row) if row.label else None
        yield Labelled(row.position, row.case, given, label, row.source, row.node, is_history)


def _label(row: Any) -> Label:
    return Label(row.label, row.source, row.known_at)


def _changed(connection: sa.Connection) -> Iterator[Changed]:
    query = sa.select(history, *(c for c in bullets.c if c.name not in history.c))
    query = query.join(bullets, bullets.c.number == history.c.bullet)
    for row in connection.execute(query.order_by(history.c.position)).mappings().all():
        told = {**row, "condition": read_condition(row["condition"])}
        told |= {n: json.loads(row[n]) for n in ("origin", "evidence", "problem_types", "related")}
        yield Changed(row["position"], f"b{row['bullet']}", told)
