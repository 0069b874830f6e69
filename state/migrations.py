"""Bringing a database to today's schema when it is opened.

A new database is made as tables.py says; an older one goes through the steps it lacks. Steps are
only ever appended. A newer database, or another program's, is left alone.
"""

import json
from collections.abc import Callable
from typing import Any, Final

import sqlalchemy as sa

from acegraph.state import tables
from acegraph.state.errors import PlaybookError
from acegraph.state.formats import to_text
from acegraph.state.page import Page

_SCHEMA_ROW: Final = tables.meta.c.key == "schema"


def is_current(connection: sa.Connection, url: str) -> bool:
    """Whether there is nothing to do; refuses what is not ours or newer than we are."""
    names = set(sa.inspect(connection).get_table_names())
    if not names:
        return False
    if tables.meta.name not in names:
        raise PlaybookError(f"{url} is another program's database; nothing was changed")
    found = connection.scalar(sa.select(tables.meta.c.value).where(_SCHEMA_ROW))
    if found is None or not found.isdigit() or not 1 <= int(found) <= tables.SCHEMA_VERSION:
        raise PlaybookError(
            f"{url} has schema {found}; this acegraph reads up to {tables.SCHEMA_VERSION}: "
            "a newer acegraph wrote it, or it is damaged"
        )
    return int(found) == tables.SCHEMA_VERSION


def migrate(connection: sa.Connection, url: str) -> None:
    """Make the tables, or bring them up to date."""
    if sa.inspect(connection).get_table_names():
        if is_current(connection, url):
            return  # another process was faster
        found = int(connection.scalar(sa.select(tables.meta.c.value).where(_SCHEMA_ROW)) or 1)
        for step in _STEPS[found - 1 :]:
            step(connection)
        connection.execute(
            tables.meta.update().where(_SCHEMA_ROW).values(value=str(tables.SCHEMA_VERSION))
        )
        return
    tables.metadata.create_all(connection)
    connection.execute(tables.meta.insert().values(key="schema", value=str(tables.SCHEMA_VERSION)))
    connection.execute(tables.clock.insert().values(id=1, position=0, version=0, seal=0))


def _to_2(connection: sa.Connection) -> None:
    """One order over all rows and a hash for each; schema 1 was SQLite's alone."""
    inspector = sa.inspect(connection)
    names = [name for name in inspector.get_table_names() if name != tables.meta.name]
    old: dict[str, list[dict[str, Any]]] = {}
    for name in names:
        found = connection.exec_driver_sql(f"SELECT * FROM {name} ORDER BY rowid").mappings()
        old[name] = [dict(row) for row in found]
        connection.exec_driver_sql(f"DROP TABLE {name}")
    tables.metadata.create_all(connection)
    connection.execute(tables.clock.insert().values(id=1, position=0, version=0, seal=0))
    page = Page(connection, 0, len(old["history"]), 0)
    for row in old["bullets"]:
        for name in ("condition", "problem_types", "evidence", "origin", "related"):
            row[name] = _canonical(row[name])
        page.add_bullet(row)
    for row in old["history"]:
        row["condition"] = _canonical(row["condition"])
    for row in old["cases"]:
        row["fields"] = _canonical(row["fields"])
    for row in old["decisions"]:
        row |= {"reasons": _canonical(row["reasons"]), "settings": _canonical(row["settings"])}
        row["seen"] = -1  # schema 1 did not keep it: such a decision cannot be replayed
    rights = [
        {"case": row["case"], "node": row["node"], "number": number}
        for row in old["decisions"]
        if (number := row.pop("right_number")) is not None
    ]
    learned = [(row["case"], row.pop("lesson"), row["decided_at"]) for row in old["decisions"]]
    for row in old["adjustments"]:
        row |= {"reason": "by hand", "covers": 0}
    page.add(tables.history, old["history"])
    page.add(tables.cases, old["cases"])
    page.add(tables.decisions, old["decisions"])
    page.add(tables.selections, old["selections"])
    page.add(tables.outcomes, old["outcomes"])
    page.add(tables.rights, rights)
    page.add(
        tables.lessons,
        [
            {"case": case, "lesson": _canonical(text), "at": at}
            for case, text, at in learned
            if text
        ],
    )
    page.add(tables.adjustments, old["adjustments"])
    connection.execute(
        tables.clock.update().values(position=page.position, version=page.version, seal=page.seal)
    )


def _canonical(text: str | None) -> str | None:
    return None if text is None else to_text(json.loads(text))


_STEPS: Final[tuple[Callable[[sa.Connection], None], ...]] = (_to_2,)
"""The step at index i leads from schema i + 1 to schema i + 2."""
