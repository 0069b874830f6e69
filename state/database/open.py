"""Open the database that a URL names, SQLite or PostgreSQL, and copy a ledger to another one."""

from os import PathLike, fspath

import sqlalchemy as sa

from acegraph.state.database import tables
from acegraph.state.database.base import Database, Durability
from acegraph.state.database.sqlite import SqliteDatabase
from acegraph.state.errors import InvalidSettings, PlaybookError

_ROWS_AT_ONCE = 1_000


def open_database(url: str | PathLike[str] | None, durability: Durability = "normal") -> Database:
    """Open the database of a URL or the SQLite file of a path; else a new one in memory."""
    if isinstance(url, PathLike):
        url = f"sqlite:///{fspath(url)}"
    if url is not None and not isinstance(url, str):
        raise InvalidSettings(
            f"a playbook is a BulletPlaybook, a URL or a file, not {type(url).__name__}"
        )
    if url == "":
        raise InvalidSettings("the URL of the playbook is empty; without one it is in memory")
    scheme = (url or "sqlite:").partition(":")[0]
    if scheme == "sqlite":
        return SqliteDatabase(url or "sqlite://", durability)
    if scheme in ("postgresql", "postgres", "postgresql+psycopg"):
        from acegraph.state.database.postgres import PostgresDatabase

        return PostgresDatabase(url or "", durability)
    # The rest of the URL may hold a password.
    raise InvalidSettings(
        f"cannot open a playbook at {scheme}:...; sqlite:///FILE or postgresql://HOST/NAME wanted"
    )


def copy_ledger(source: Database, target: Database) -> None:
    """Copy all rows of a database, as they are at one moment, into an empty one."""
    if target.clock().position:
        raise PlaybookError(f"{target.url} is not empty; nothing was copied")
    if isinstance(source, SqliteDatabase) and isinstance(target, SqliteDatabase):
        source.copy_into(target)
        return
    with source.snapshot() as read, target.writing() as writer:
        writer.connection.execute(tables.clock.delete())
        for table in tables.metadata.sorted_tables:
            query = sa.select(table)
            if table is tables.meta:  # the target has its own schema version
                query = query.where(table.c.key != "schema")
            rows = read.execution_options(yield_per=_ROWS_AT_ONCE).execute(query).mappings()
            for part in rows.partitions(_ROWS_AT_ONCE):
                writer.connection.execute(table.insert(), [dict(row) for row in part])
