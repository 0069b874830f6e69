"""One write transaction of the ledger: a page with its place in the order and a seal.

Every row gets the next position and a hash over its columns; the seal is all hashes together. It
knows nothing of what the rows mean.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from hashlib import blake2b
from operator import itemgetter
from typing import Any, Final

import sqlalchemy as sa

from acegraph.state.database import tables

_COLUMNS: Final = {
    table.name: tuple(c.name for c in table.c if c.name != "hash")
    for table in (*tables.LEDGER, tables.bullets)
}
_VALUES: Final = {name: itemgetter(*columns) for name, columns in _COLUMNS.items()}
"""A row as its table's columns; the hash comes last in every table."""
_GIVEN: Final = {t.name: itemgetter(*_COLUMNS[t.name][:-1]) for t in tables.LEDGER}
"""The same without its position, which comes last but one."""
_FORMS: Final = {
    table.name: "\x1f".join(
        "%s" if isinstance(column.type, sa.Text) else "\x1e%r"
        for column in table.c
        if column.name != "hash"
    )
    for table in tables.LEDGER
}
"""A row with a value in every column as `hash_values` writes it, in one step."""
_PLAIN: Final = frozenset({str, int, float, type(None)})
_COUNTERS: Final = ("number", "helpful_count", "harmful_count", "times_selected", "changed")
_LASTING: Final = tuple(c for c in _COLUMNS["bullets"] if c not in _COUNTERS)


def hash_values(values: Iterable[Any]) -> int:
    """64 bits over some values, the same on every machine and database.

    No text that is stored holds the characters that part the values here.
    """
    return _hash("\x1f".join([v if isinstance(v, str) else f"\x1e{v!r}" for v in values]))


def _hash(text: str) -> int:
    digest = blake2b(text.encode("utf-8", "surrogatepass"), digest_size=8).digest()
    return int.from_bytes(digest, "big", signed=True)


def _plain(value: Any) -> Any:
    """A value without a class of its own: what the database gives back."""
    if isinstance(value, str):
        return str.__str__(value)
    if isinstance(value, int):
        return int(value)
    if isinstance(value, float):
        return float(value)
    return _plain(value.item()) if hasattr(value, "item") else value


def row_hash(table: str, row: Mapping[str, Any]) -> int:
    """The hash that a row must have."""
    if table == tables.bullets.name:
        return lasting_hash(row) ^ tally_hash(*(row[name] for name in _COUNTERS))
    return hash_values(_VALUES[table](row))


def lasting_hash(bullet: Mapping[str, Any]) -> int:
    """The part of a bullet's hash that no outcome changes; the other part is cheap."""
    return hash_values([bullet[name] for name in _LASTING])


def tally_hash(number: int, helpful: int, harmful: int, selected: int, changed: int) -> int:
    """The part of a bullet's hash over its counters."""
    return _hash(
        f"\x1e{number}\x1f\x1e{helpful}\x1f\x1e{harmful}\x1f\x1e{selected}\x1f\x1e{changed}"
    )


def tally_of(bullet: Mapping[str, Any]) -> int:
    """The same, of a row."""
    return tally_hash(*(bullet[name] for name in _COUNTERS))


class Statement:
    """A statement handed to the driver itself: for one row SQLAlchemy costs more than the database.

    It is built with SQLAlchemy and compiled once per kind of database. Its parameters are given by
    their places, in the order of the SQL: by their names every driver takes twice as long.
    """

    def __init__(self, clause: sa.Executable) -> None:
        self._clause = clause
        self._texts: dict[str, str] = {}

    def text(self, dialect: sa.Dialect) -> str:
        """The SQL that this kind of database understands."""
        found = self._texts.get(dialect.name)
        if found is None:
            found = self._texts[dialect.name] = str(self._clause.compile(dialect=dialect))  # type: ignore[attr-defined]
        return found


_INSERTS: Final = {
    table.name: Statement(table.insert()) for table in (*tables.LEDGER, tables.bullets)
}


@dataclass
class LedgerWriter:
    """One write transaction while it is being written."""

    connection: sa.Connection
    position: int
    """Of the newest row."""
    version: int
    """Of the playbook."""
    seal: int
    is_written: bool = False
    _cursor: Any = None
    """The driver's own."""

    def __post_init__(self) -> None:
        if self._cursor is None:
            self._cursor = self.connection.connection.cursor()

    def next_position(self) -> int:
        """Take the next place in the order."""
        self.is_written = True
        self.position += 1
        return self.position

    def run(self, statement: Statement, rows: list[tuple[Any, ...]]) -> None:
        """Run a statement for each of some rows of parameters."""
        text = statement.text(self.connection.dialect)
        if len(rows) == 1:
            self._cursor.execute(text, rows[0])
        else:
            self._cursor.executemany(text, rows)

    def first(self, statement: Statement, *values: Any) -> Any:
        """The first row that a query finds, as a tuple."""
        self._cursor.execute(statement.text(self.connection.dialect), values)
        return self._cursor.fetchone()

    def add(self, table: sa.Table, rows: list[dict[str, Any]]) -> None:
        """Append rows to one of the ledger's tables."""
        if not rows:
            return
        self.is_written = True
        whole, position, seal = [], self.position, self.seal
        given, form = _GIVEN[table.name], _FORMS[table.name]
        for row in rows:
            position += 1
            values = (*given(row), position)
            if not _PLAIN.issuperset(map(type, values)):
                values = tuple(map(_plain, values))
            found = hash_values(values) if None in values else _hash(form % values)
            seal ^= found
            whole.append((*values, found))
        self.position, self.seal = position, seal
        self.run(_INSERTS[table.name], whole)

    def add_bullet(self, row: dict[str, Any]) -> None:
        """Add a bullet with all its columns."""
        row["changed"] = self.next_position()
        row["hash"] = row_hash("bullets", row)
        self.seal ^= row["hash"]
        self.run(_INSERTS["bullets"], [(*_VALUES["bullets"](row), row["hash"])])

    def reseal(self, old: int, new: int) -> None:
        """Note that a row has another hash than before."""
        self.seal ^= old ^ new

    def replace(self, table: sa.Table, row: Mapping[str, Any], changes: Mapping[str, Any]) -> None:
        """Write a row anew in its place, and its hash into the seal."""
        self.is_written = True
        new = {**row, **changes}
        # By difference: a damaged row must not become whole by being written to.
        new["hash"] = row["hash"] ^ row_hash(table.name, row) ^ row_hash(table.name, new)
        self.reseal(row["hash"], new["hash"])
        here = sa.and_(*(column == row[column.name] for column in table.primary_key))
        self.connection.execute(table.update().where(here).values({**changes, "hash": new["hash"]}))

    def remove(self, table: sa.Table, condition: sa.ColumnElement[bool]) -> int:
        """Delete rows, and take their hashes out of the seal."""
        gone = self.connection.scalars(sa.select(table.c.hash).where(condition)).all()
        for found in gone:
            self.seal ^= found
        if gone:
            self.is_written = True
            self.connection.execute(table.delete().where(condition))
        return len(gone)


def vector_hash(model: str, name: str, vector: bytes) -> int:
    """The hash that a stored vector must have."""
    return hash_values((model, name, vector))
