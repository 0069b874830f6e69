"""Copying a ledger from one database to another, row by row: backups, forks, moving house."""

from pathlib import Path

import sqlalchemy as sa

from acegraph.state import tables
from acegraph.state.database import Database, open_database
from acegraph.state.errors import InvalidInput, PlaybookError
from acegraph.state.playbook import BulletPlaybook
from acegraph.state.sqlite import SqliteDatabase
from acegraph.state.vectors import MODEL_KEY

_SOME = 1_000


def copy_ledger(source: Database, target: Database) -> None:
    """Make an empty database hold what another one holds, as of one moment."""
    if target.clock().position:
        raise PlaybookError(f"{target.url} is not empty; nothing was copied")
    if isinstance(source, SqliteDatabase) and isinstance(target, SqliteDatabase):
        source.copy_into(target)
        return
    with source.snapshot() as read, target.writing() as page:
        page.connection.execute(tables.clock.delete())
        for table in tables.metadata.sorted_tables:
            wanted = sa.select(table)
            if table is tables.meta:  # the schema is the target's own
                wanted = wanted.where(table.c.key == MODEL_KEY)
            rows = read.execution_options(yield_per=_SOME).execute(wanted).mappings()
            for part in rows.partitions(_SOME):
                page.connection.execute(table.insert(), [dict(row) for row in part])


def back_up(playbook: BulletPlaybook, file: Path) -> None:
    """Write a SQLite file that holds everything; others go on reading and writing meanwhile."""
    if file.exists():
        raise InvalidInput(f"{file} exists; a backup overwrites nothing")
    if not file.parent.is_dir():
        raise InvalidInput(f"no folder {file.parent} for the backup {file}")
    partial = file.with_name(file.name + ".part")
    partial.unlink(missing_ok=True)
    target = open_database(f"sqlite:///{partial}", "full")
    try:
        copy_ledger(playbook.database, target)
    finally:
        target.close()
    partial.rename(file)
