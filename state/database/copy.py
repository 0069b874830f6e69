"""Copy a ledger from one database to another one, for backups, forks and moves."""

import sqlalchemy as sa

from acegraph.state.database import tables
from acegraph.state.database.base import Database
from acegraph.state.database.sqlite import SqliteDatabase
from acegraph.state.errors import PlaybookError

_ROWS_AT_ONCE = 1_000


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
