"""Copy a ledger from one database to another, row by row: for backups, forks and moves."""

import sqlalchemy as sa

from acegraph.state.database import tables
from acegraph.state.database.base import Database
from acegraph.state.database.sqlite import SqliteDatabase
from acegraph.state.database.tables import MODEL_KEY
from acegraph.state.errors import PlaybookError

_SOME = 1_000


def copy_ledger(source: Database, target: Database) -> None:
    """Make an empty database hold what another one holds, as of one moment."""
    if target.clock().position:
        raise PlaybookError(f"{target.url} is not empty; nothing was copied")
    if isinstance(source, SqliteDatabase) and isinstance(target, SqliteDatabase):
        source.copy_into(target)
        return
    with source.snapshot() as read, target.writing() as writer:
        writer.connection.execute(tables.clock.delete())
        for table in tables.metadata.sorted_tables:
            wanted = sa.select(table)
            if table is tables.meta:  # the schema is the target's own
                wanted = wanted.where(table.c.key == MODEL_KEY)
            rows = read.execution_options(yield_per=_SOME).execute(wanted).mappings()
            for part in rows.partitions(_SOME):
                writer.connection.execute(table.insert(), [dict(row) for row in part])
