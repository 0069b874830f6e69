"""Write a whole playbook into one SQLite file, while others go on using the playbook."""

import logging
from contextlib import closing
from pathlib import Path

from acegraph.state.database.base import Database
from acegraph.state.database.copy import copy_ledger
from acegraph.state.database.encoding import file_of
from acegraph.state.database.open import open_database
from acegraph.state.database.places import new_file
from acegraph.state.database.sqlite import SqliteDatabase
from acegraph.state.errors import InvalidInput, PlaybookError
from acegraph.state.playbook.playbook import BulletPlaybook

logger = logging.getLogger(__name__)


def back_up(playbook: BulletPlaybook, file: Path) -> None:
    """Write everything into a new SQLite file; others can read and write meanwhile."""
    if file.exists():
        raise InvalidInput(f"{file} exists; a backup overwrites nothing")
    if not file.parent.is_dir():
        raise InvalidInput(f"no folder {file.parent} for the backup {file}")
    position, version = _write(playbook.database, file)
    logger.info("backup: ledger up to position %d, version %d", position, version)


def restore(file: Path, url: str) -> None:
    """Bring a backup into a new or empty database: all of it, or nothing."""
    if not file.is_file():
        raise InvalidInput(f"{file}: no such file")
    target = file_of(url)
    with closing(open_database(f"sqlite:///{file}")) as source:
        if target is not None and not target.exists():
            _write(source, target)
            return
        with closing(open_database(url)) as database:
            copy_ledger(source, database)


def _write(source: Database, file: Path) -> tuple[int, int]:
    """Write a database into a new file, and give the ledger's position and version."""
    try:
        with new_file(file) as made:
            target = SqliteDatabase(f"sqlite:///{file}", "full", made)
            with closing(target):
                copy_ledger(source, target)
                clock = target.clock()
    except FileExistsError:
        raise InvalidInput(f"{file} exists; nothing is overwritten") from None
    except OSError as error:
        raise PlaybookError(f"cannot write {file}: {error.strerror}") from error
    return clock
