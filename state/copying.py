"""Copying a ledger from one database to another, row by row: backups, forks, moving house."""

from pathlib import Path

import sqlalchemy as sa

from acegraph.state import tables
from acegraph.state.database import Database, open_database
from acegraph.state.errors import InvalidInput, PlaybookError
from acegraph.state.playbook import BulletPlaybook
from acegraph.state.sqlite import SqliteDatabase

_SOME = 1_000


def copy_ledger(source: Database, target: Database) -> None:
    """Make an empty database hold what another one holds, as of one moment."""
    if isinstance(source, SqliteDatabase) and isinstance(target, SqliteDatabase):
        with source.reading():
            source.driver().backup(target.driver())
        return
    with source.snapshot() as read, target.writing() as page:
        if page.position:
            raise PlaybookError(f"{target.url} is not empty; nothing was copied")
        page.connection.execute(tables.clock.delete())
        for table in tables.metadata.sorted_tables:
            if table is tables.meta:
                continue
            rows = read.execution_options(yield_per=_SOME).execute(sa.select(table)).mappings()
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
