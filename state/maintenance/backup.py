"""Write a whole playbook into one SQLite file, while others go on using the playbook."""

import logging
from pathlib import Path

from acegraph.state.database.copy import copy_ledger
from acegraph.state.database.open import open_database
from acegraph.state.errors import InvalidInput
from acegraph.state.playbook.playbook import BulletPlaybook

logger = logging.getLogger(__name__)


def back_up(playbook: BulletPlaybook, file: Path) -> None:
    """Write everything into a new SQLite file; others can read and write meanwhile."""
    if file.exists():
        raise InvalidInput(f"{file} exists; a backup overwrites nothing")
    if not file.parent.is_dir():
        raise InvalidInput(f"no folder {file.parent} for the backup {file}")
    partial = file.with_name(file.name + ".part")
    partial.unlink(missing_ok=True)
    target = open_database(f"sqlite:///{partial}", "full")
    try:
        copy_ledger(playbook.database, target)
        position, version = target.clock()
    finally:
        target.close()
    partial.rename(file)
    logger.info("backup: ledger up to position %d, version %d", position, version)
