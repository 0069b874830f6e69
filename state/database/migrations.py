"""Bringing a database to today's schema when it is opened.

A new database is made as tables.py says; an older one goes through the steps it lacks. Steps are
only ever appended. A newer database, or another program's, is left alone.
"""

import json
from collections.abc import Callable
from typing import Any, Final

import sqlalchemy as sa

from acegraph.state.database import tables
from acegraph.state.database.encoding import text_hash, to_text
from acegraph.state.database.writer import LedgerWriter
from acegraph.state.errors import PlaybookError

_Rows = list[dict[str, Any]]
_SCHEMA_ROW: Final = tables.meta.c.key == "schema"
_JSON_OF_1: Final = {
    "bullets": ("condition", "problem_types", "evidence", "origin", "related"),
    "history": ("condition",),
    "cases": ("fields",),
    "decisions": ("reasons", "settings", "lesson"),
}
"""The columns of schema 1 that hold JSON."""
_OF_DAMAGE: Final = (KeyError, TypeError, ValueError, AttributeError, RecursionError)
"""What a row raises that holds other things than it should."""
_VECTORS_OF_1: Final = ("embeddings", "text_embeddings")
"""By bullet, and later by text: a file has one of them, or both."""
_TABLES_OF_1: Final = (*_JSON_OF_1, "selections", "outcomes", "adjustments", *_VECTORS_OF_1)


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
    if int(found) < tables.SCHEMA_VERSION:
        return False
    if missing := sorted(tables.metadata.tables.keys() - names):
        raise PlaybookError(
            f"{url} has schema {found} but no table {', '.join(missing)}: it is damaged, or an "
            "acegraph that was never released wrote it; open a backup or begin a new one"
        )
    return True


def migrate(connection: sa.Connection, url: str) -> None:
    """Make the tables, or bring them up to date."""
    if sa.inspect(connection).get_table_names():
        if is_current(connection, url):
            return  # another process was faster
        found = int(connection.scalar(sa.select(tables.meta.c.value).where(_SCHEMA_ROW)) or 1)
        for schema, step in enumerate(_STEPS[found - 1 :], start=found):
            _take(step, connection, f"cannot open {url}", schema)
        connection.execute(
            tables.meta.update().where(_SCHEMA_ROW).values(value=str(tables.SCHEMA_VERSION))
        )
        return
    tables.metadata.create_all(connection)
    connection.execute(tables.meta.insert().values(key="schema", value=str(tables.SCHEMA_VERSION)))
    connection.execute(tables.clock.insert().values(id=1, position=0, version=0, seal=0))


def _take(
    step: Callable[[sa.Connection], None], connection: sa.Connection, failed: str, schema: int
) -> None:
    """Take one step; what stands in its way is said in one line, and the caller rolls back."""
    driver = connection.dialect.loaded_dbapi
    try:
        step(connection)
    except (*_OF_DAMAGE, driver.IntegrityError) as error:
        found = f"no {error}" if isinstance(error, KeyError) else error
        raise PlaybookError(
            f"{failed}: its tables of schema {schema} are damaged: {found}"
        ) from error
    except driver.Error as error:  # a page writes through the driver itself
        raise PlaybookError(f"{failed}: {error}") from error


def _to_2(connection: sa.Connection) -> None:
    """One order over all rows and a hash for each; schema 1 was SQLite's alone."""
    old = _taken_from_1(connection)
    tables.metadata.create_all(connection)
    connection.execute(tables.clock.insert().values(id=1, position=0, version=0, seal=0))
    writer = LedgerWriter(connection, 0, len(old["history"]), 0)
    for row in old["bullets"]:
        writer.add_bullet(row)
    for row in old["decisions"]:
        row["seen"] = -1  # schema 1 did not keep it: such a decision cannot be replayed
    rights = [
        {"case": row["case"], "node": row["node"], "number": number}
        for row in old["decisions"]
        if (number := row.pop("right_number")) is not None
    ]
    learned = [(row["case"], row.pop("lesson"), row["decided_at"]) for row in old["decisions"]]
    for row in old["adjustments"]:
        row |= {"reason": "by hand", "covers": 0}
    writer.add(tables.history, old["history"])
    writer.add(tables.cases, old["cases"])
    writer.add(tables.decisions, old["decisions"])
    writer.add(tables.selections, old["selections"])
    writer.add(tables.outcomes, old["outcomes"])
    writer.add(tables.rights, rights)
    writer.add(
        tables.lessons,
        [{"case": case, "lesson": text, "at": at} for case, text, at in learned if text],
    )
    writer.add(tables.adjustments, old["adjustments"])
    _keep_vectors(connection, old)
    connection.execute(
        tables.clock.update().values(
            position=writer.position, version=writer.version, seal=writer.seal
        )
    )


def _taken_from_1(connection: sa.Connection) -> dict[str, _Rows]:
    """The rows of schema 1 by table, their JSON as it is written today; its tables are dropped."""
    old: dict[str, _Rows] = {}
    there = sa.inspect(connection).get_table_names()
    for name in (name for name in _TABLES_OF_1 if name in there):
        found = connection.exec_driver_sql(f"SELECT * FROM {name} ORDER BY rowid").mappings()
        old[name] = [dict(row) for row in found]
        connection.exec_driver_sql(f"DROP TABLE {name}")
        for row in old[name]:
            for column in _JSON_OF_1.get(name, ()):
                row[column] = _canonical(row[column], f"{column!r} of {name}")
    return old


def _canonical(text: str | None, where: str) -> str | None:
    try:
        return None if text is None else to_text(json.loads(text))
    except (TypeError, ValueError) as error:
        raise ValueError(f"{where}: {error}") from error


def _keep_vectors(connection: sa.Connection, old: dict[str, _Rows]) -> None:
    """What a model was once paid for goes on, under its text."""
    from acegraph.state.database.writer import vector_hash

    texts = {row["number"]: text_hash(row["content"]) for row in old["bullets"]}
    by_bullet, by_text = (old.get(name, []) for name in _VECTORS_OF_1)
    kept = {
        (r["model"], texts[r["bullet"]]): r["vector"] for r in by_bullet if r["bullet"] in texts
    }
    kept |= {(row["model"], row["text_hash"]): row["vector"] for row in by_text}
    rows = [
        {"model": model, "text_hash": text, "vector": v, "hash": vector_hash(model, text, v)}
        for (model, text), v in kept.items()
    ]
    if rows:
        connection.execute(tables.embeddings.insert(), rows)


_STEPS: Final[tuple[Callable[[sa.Connection], None], ...]] = (_to_2,)
"""The step at index i leads from schema i + 1 to schema i + 2."""
