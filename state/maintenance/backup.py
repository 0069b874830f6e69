"""Copy a whole playbook to another place, while others go on using it."""

import logging
from contextlib import closing
from pathlib import Path

from acegraph.state.database.base import Database
from acegraph.state.database.encoding import file_of
from acegraph.state.database.open import copy_ledger, open_database
from acegraph.state.database.places import whole_file
from acegraph.state.database.sqlite import SqliteDatabase
from acegraph.state.errors import InvalidInput, PlaybookError
from acegraph.state.playbook.playbook import BulletPlaybook

logger = logging.getLogger(__name__)


def back_up(playbook: BulletPlaybook, file: Path) -> None:
    """Write everything into a new SQLite file; others can read and write meanwhile."""
    if file.exists():
        raise InvalidInput(f"{file} exists; a backup overwrites nothing")
    position, version = _write(playbook.database, file)
    logger.info("backup: ledger up to position %d, version %d", position, version)


def copy(source: str, target: str) -> None:
    """Copy the playbook of a URL into a new file or an empty database: all of it, or nothing."""
    file = file_of(target)
    with closing(open_database(source)) as database:
        if file is not None and not file.exists():
            _write(database, file)
            return
        with closing(open_database(target)) as empty:
            copy_ledger(database, empty)


def _write(source: Database, file: Path) -> tuple[int, int]:
    """Write a database into a new file, and give the ledger's position and version."""
    try:
        with whole_file(file, overwrite=False) as made:
            target = SqliteDatabase(f"sqlite:///{file}", "full", made)
            with closing(target):
                copy_ledger(source, target)
                clock = target.clock()
    except FileExistsError:
        raise InvalidInput(f"{file} exists; nothing is overwritten") from None
    except OSError as error:
        raise PlaybookError(f"cannot write {file}: {error.strerror}") from error
    return clock
