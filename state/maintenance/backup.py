"""Copy a whole playbook to another place, while others go on using it."""

import logging
from contextlib import closing
from pathlib import Path

from acegraph.state.database.base import Database
from acegraph.state.database.encoding import file_of
from acegraph.state.database.open import copy_ledger, open_database
from acegraph.state.database.sqlite import new_database
from acegraph.state.errors import PlaybookError
from acegraph.state.maintenance.verify import verify
from acegraph.state.playbook.playbook import BulletPlaybook
from acegraph.state.values import Clock

logger = logging.getLogger(__name__)


def back_up(playbook: BulletPlaybook, file: Path) -> None:
    """Write everything into a new SQLite file; others can read and write meanwhile."""
    position, version = _write(playbook.database, file)
    logger.info("backup: ledger up to position %d, version %d", position, version)


def copy(source: str, target: str) -> None:
    """Copy the playbook of a URL into a new file or an empty database, and verify the copy."""
    file = file_of(target)
    with closing(open_database(source)) as database:
        if file is not None and not file.exists():
            _write(database, file)
            return
        with closing(open_database(target)) as empty:
            copy_ledger(database, empty)
            if found := verify(empty):
                raise PlaybookError(f"{empty.url} was not copied well: {found[0]}")


def _write(source: Database, file: Path) -> Clock:
    """Write a database into a new file, verify it there, and give the ledger's clock."""
    try:
        with new_database(f"sqlite:///{file}", file, verify) as target:
            copy_ledger(source, target)
            return target.clock()
    except OSError as error:
        raise PlaybookError(f"cannot write {file}: {error.strerror}") from error
