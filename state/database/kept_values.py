"""Small values beside the ledger, as JSON by key: sessions, proposals, reports.

They are in `meta`, in no order and without a hash: nothing that is decided depends on them.
"""

import json
from typing import Any, Final

import sqlalchemy as sa

from acegraph.state.database.base import Database
from acegraph.state.database.tables import meta
from acegraph.state.database.writer import LedgerWriter
from acegraph.state.values import Data

SIGHTING_COLUMNS: Final = "sighting_columns:"
"""The key, with a node, of the fields that sightings are read from."""


def kept(database: Database, prefix: str) -> Data:
    """The values whose keys begin with a prefix, by the rest of the key."""
    query = sa.select(meta.c.key, meta.c.value).where(
        meta.c.key.startswith(prefix, autoescape=True)
    )
    with database.reading() as connection:
        rows = connection.execute(query.order_by(meta.c.key)).all()
    return {row.key.removeprefix(prefix): json.loads(row.value) for row in rows}


def kept_value(database: Database, key: str) -> Any:
    """One value; None if there is none."""
    with database.reading() as connection:
        text = connection.scalar(sa.select(meta.c.value).where(meta.c.key == key))
    return json.loads(text) if text else None


def keep(database: Database, key: str, value: object) -> None:
    """Keep a value in the place of the one before."""
    with database.writing() as writer:
        keep_text(writer, key, json.dumps(value, sort_keys=True))


def keep_text(writer: LedgerWriter, key: str, text: str) -> None:
    """The same for a text, as part of a write."""
    writer.connection.execute(meta.delete().where(meta.c.key == key))
    writer.connection.execute(meta.insert(), [{"key": key, "value": text}])


def forget(database: Database, key: str) -> bool:
    """Remove a value; whether there was one."""
    with database.writing() as writer:
        return bool(writer.connection.execute(meta.delete().where(meta.c.key == key)).rowcount)
