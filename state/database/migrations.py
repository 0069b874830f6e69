"""Bring a database to the present schema when it is opened.

A new database gets the tables of tables.py; an older one goes through the steps that it lacks.
Steps are only ever appended. A newer database, or one of another program, is refused.
"""

import json
import logging
import time
from collections.abc import Callable, Iterator
from typing import Any, Final

import sqlalchemy as sa
from sqlalchemy.schema import CreateIndex, CreateTable, ExecutableDDLElement

from acegraph.state.database import tables
from acegraph.state.database.encoding import text_hash, to_text
from acegraph.state.database.writer import LedgerWriter, vector_hash
from acegraph.state.errors import PlaybookError

_SCHEMA_ROW: Final = tables.meta.c.key == "schema"
_JSON_OF_1: Final = {
    "bullets": ("condition", "problem_types", "evidence", "origin", "related"),
    "history": ("condition",),
    "cases": ("fields",),
    "decisions": ("reasons", "settings", "lesson"),
}
"""The columns of schema 1 that hold JSON."""
_DAMAGE_ERRORS: Final = (KeyError, TypeError, ValueError, AttributeError, RecursionError)
"""The errors that a step raises if a row does not have its form."""
_VECTORS_OF_1: Final = ("embeddings", "text_embeddings")
"""The vectors by bullet, and later by text: a file has one of the tables, or both."""
_TABLES_OF_1: Final = (*_JSON_OF_1, "selections", "outcomes", "adjustments", *_VECTORS_OF_1)
_DEFINITIONS: Final[dict[str, list[str]]] = {}
"""How the tables are created, by dialect: a playbook in memory is made for every copy of one."""
logger = logging.getLogger(__name__)


def is_current(connection: sa.Connection) -> bool:
    """Whether the tables are there and their schema is the present one."""
    names = set(sa.inspect(connection).get_table_names())
    return names.issuperset(tables.metadata.tables) and _schema(connection) == str(
        tables.SCHEMA_VERSION
    )


def _schema(connection: sa.Connection) -> str | None:
    return connection.scalar(sa.select(tables.meta.c.value).where(_SCHEMA_ROW))


def _old_schema(connection: sa.Connection, names: set[str], url: str) -> int:
    """The schema of a database that is to be migrated; a newer or foreign one is refused."""
    if tables.meta.name not in names:
        raise PlaybookError(f"{url} is another program's database; nothing was changed")
    schema = str(_schema(connection))
    if schema not in map(str, range(1, tables.SCHEMA_VERSION + 1)):
        raise PlaybookError(
            f"{url} has schema {schema[:20]}; this acegraph reads up to {tables.SCHEMA_VERSION}: "
            "a newer acegraph wrote it, or it is damaged"
        )
    if int(schema) == tables.SCHEMA_VERSION:
        missing = sorted(tables.metadata.tables.keys() - names)
        raise PlaybookError(
            f"{url} has schema {schema} but no table {', '.join(missing)}: it is damaged, or an "
            "acegraph that was never released wrote it; open a backup or begin a new one"
        )
    return int(schema)


def migrate(connection: sa.Connection, url: str) -> None:
    """Create the tables, or bring them to the present schema."""
    if names := set(sa.inspect(connection).get_table_names()):
        if is_current(connection):
            return  # another process was faster
        old = _old_schema(connection, names, url)
        began = time.monotonic()
        logger.info("migrating %s from schema %d to %d", url, old, tables.SCHEMA_VERSION)
        for schema, step in enumerate(_STEPS[old - 1 :], start=old):
            _run_step(step, connection, f"cannot open {url}", schema)
        connection.execute(
            tables.meta.update().where(_SCHEMA_ROW).values(value=str(tables.SCHEMA_VERSION))
        )
        seconds = time.monotonic() - began
        logger.info("migrated %s to schema %d in %.1f s", url, tables.SCHEMA_VERSION, seconds)
        return
    _create_tables(connection)
    connection.execute(tables.meta.insert().values(key="schema", value=str(tables.SCHEMA_VERSION)))


def _create_tables(connection: sa.Connection) -> None:
    """Create all tables where none is there."""
    dialect = connection.dialect
    if dialect.name not in _DEFINITIONS:
        _DEFINITIONS[dialect.name] = [str(one.compile(dialect=dialect)) for one in _definitions()]
    for definition in _DEFINITIONS[dialect.name]:
        connection.exec_driver_sql(definition)
    _start_clock(connection)


def _definitions() -> Iterator[ExecutableDDLElement]:
    for table in tables.metadata.sorted_tables:
        yield CreateTable(table)
        yield from map(CreateIndex, table.indexes)


def _start_clock(connection: sa.Connection) -> None:
    connection.execute(tables.clock.insert().values(id=1, position=0, version=0, seal=0))


def _run_step(
    step: Callable[[sa.Connection], None], connection: sa.Connection, failed: str, schema: int
) -> None:
    """Run one step; an error says in one line why it failed, and the caller rolls back."""
    driver = connection.dialect.loaded_dbapi
    try:
        step(connection)
    except (*_DAMAGE_ERRORS, driver.IntegrityError) as error:
        damage = f"no {error}" if isinstance(error, KeyError) else error
        raise PlaybookError(
            f"{failed}: its tables of schema {schema} are damaged: {damage}"
        ) from error
    except driver.Error as error:  # a `LedgerWriter` calls the driver without SQLAlchemy
        raise PlaybookError(f"{failed}: {error}") from error


def _to_2(connection: sa.Connection) -> None:
    """Give each row a position in one order and a hash; schema 1 existed in SQLite only."""
    old = _take_rows_of_1(connection)
    tables.metadata.create_all(connection)  # but for the one that stays
    _start_clock(connection)
    writer = LedgerWriter(connection, 0, len(old["history"]), 0)
    for row in old["bullets"]:
        writer.add_bullet(row)
    for row in old["decisions"]:
        row["seen"] = -1  # schema 1 did not store it: such a decision cannot be replayed
    rights = [
        {"case": row["case"], "node": row["node"], "number": number}
        for row in old["decisions"]
        if (number := row.pop("right_number")) is not None
    ]
    lessons = [
        {"case": row["case"], "lesson": lesson, "at": row["decided_at"]}
        for row in old["decisions"]
        if (lesson := row.pop("lesson"))
    ]
    for row in old["adjustments"]:
        row |= {"reason": "by hand", "covers": 0}
    for name in ("history", "cases", "decisions", "selections", "outcomes"):
        writer.add(tables.metadata.tables[name], old[name])
    writer.add(tables.rights, rights)
    writer.add(tables.lessons, lessons)
    writer.add(tables.adjustments, old["adjustments"])
    _keep_vectors(connection, old)
    new_clock = {"position": writer.position, "version": writer.version, "seal": writer.seal}
    connection.execute(tables.clock.update().values(new_clock))


def _take_rows_of_1(connection: sa.Connection) -> dict[str, list[dict[str, Any]]]:
    """Read the rows of schema 1, with their JSON in its present form, and drop the tables."""
    old = {}
    existing = sa.inspect(connection).get_table_names()
    for name in (name for name in _TABLES_OF_1 if name in existing):
        rows = connection.exec_driver_sql(f"SELECT * FROM {name} ORDER BY rowid").mappings()
        old[name] = [dict(row) for row in rows]
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


def _keep_vectors(connection: sa.Connection, old: dict[str, list[dict[str, Any]]]) -> None:
    """Store the vectors of schema 1 under their texts: no text is embedded twice."""
    texts = {row["number"]: text_hash(row["content"]) for row in old["bullets"]}
    by_bullet, by_text = (old.get(name, []) for name in _VECTORS_OF_1)
    vectors = {
        (r["model"], texts[r["bullet"]]): r["vector"] for r in by_bullet if r["bullet"] in texts
    }
    vectors |= {(row["model"], row["text_hash"]): row["vector"] for row in by_text}
    rows = [
        {"model": model, "text_hash": text, "vector": v, "hash": vector_hash(model, text, v)}
        for (model, text), v in vectors.items()
    ]
    if rows:
        connection.execute(tables.embeddings.insert(), rows)


def _to_3(connection: sa.Connection) -> None:
    """Add the table of sightings; the step before may have made it."""
    tables.sightings.create(connection, checkfirst=True)


def _to_4(connection: sa.Connection) -> None:
    """Add what people answered and why, the order of decisions, the answers of trials, and the
    lessons that wait to be learned in the background; the first step may have made them.
    """
    for table in (tables.answers, tables.trial_answers, tables.waiting_lessons):
        table.create(connection, checkfirst=True)
    for index in tables.decisions.indexes:
        index.create(connection, checkfirst=True)


_STEPS: Final[tuple[Callable[[sa.Connection], None], ...]] = (_to_2, _to_3, _to_4)
"""The step at index i leads from schema i + 1 to schema i + 2."""
