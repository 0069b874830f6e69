"""One write transaction of the ledger: a page with its place in the order and a seal.

Every row gets the next position and a hash over its columns; the seal is all hashes together. It
knows nothing of what the rows mean.
"""

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from hashlib import blake2b
from typing import Any, Final

import sqlalchemy as sa

from acegraph.state import tables

_COLUMNS: Final = {
    table.name: tuple(c.name for c in table.c if c.name != "hash")
    for table in (*tables.LEDGER, tables.bullets)
}
_COUNTERS: Final = ("number", "helpful_count", "harmful_count", "times_selected", "changed")
_LASTING: Final = tuple(c for c in _COLUMNS["bullets"] if c not in _COUNTERS)
_INSERTS: Final = {table.name: table.insert() for table in (*tables.LEDGER, tables.bullets)}


def hash_values(values: Iterable[Any]) -> int:
    """64 bits over some values, the same on every machine and database."""
    text = json.dumps(list(values), default=repr, separators=(",", ":"))
    return int.from_bytes(blake2b(text.encode(), digest_size=8).digest(), "big", signed=True)


def row_hash(table: str, row: Mapping[str, Any]) -> int:
    """The hash that a row must have."""
    if table == tables.bullets.name:
        return lasting_hash(row) ^ tally_hash(row)
    return hash_values(row[name] for name in _COLUMNS[table])


def lasting_hash(bullet: Mapping[str, Any]) -> int:
    """The part of a bullet's hash that no outcome changes; the other part is cheap."""
    return hash_values(bullet[name] for name in _LASTING)


def tally_hash(bullet: Mapping[str, Any]) -> int:
    """The part of a bullet's hash over its counters."""
    return hash_values(bullet[name] for name in _COUNTERS)


@dataclass
class Page:
    """One write transaction while it is being written."""

    connection: sa.Connection
    position: int
    """Of the newest row."""
    version: int
    """Of the playbook."""
    seal: int
    is_written: bool = False

    def next_position(self) -> int:
        """Take the next place in the order."""
        self.is_written = True
        self.position += 1
        return self.position

    def add(self, table: sa.Table, rows: list[dict[str, Any]]) -> None:
        """Append rows to one of the ledger's tables; they are completed in place."""
        if not rows:
            return
        columns = _COLUMNS[table.name]
        for row in rows:
            row["position"] = self.next_position()
            row["hash"] = hash_values(row[name] for name in columns)
            self.seal ^= row["hash"]
        self.connection.execute(_INSERTS[table.name], rows)

    def add_bullet(self, row: dict[str, Any]) -> None:
        """Add a bullet with all its columns."""
        row["changed"] = self.next_position()
        row["hash"] = row_hash("bullets", row)
        self.seal ^= row["hash"]
        self.connection.execute(_INSERTS["bullets"], row)

    def reseal(self, old: int, new: int) -> None:
        """Note that a row has another hash than before."""
        self.seal ^= old ^ new

    def remove(self, table: sa.Table, condition: sa.ColumnElement[bool]) -> int:
        """Delete rows, and take their hashes out of the seal."""
        gone = self.connection.scalars(sa.select(table.c.hash).where(condition)).all()
        for found in gone:
            self.seal ^= found
        if gone:
            self.is_written = True
            self.connection.execute(table.delete().where(condition))
        return len(gone)
