"""One write to the ledger, in one database transaction: each row gets a position and a hash.

The seal of the ledger is the XOR of all row hashes. The writer does not know what the rows mean.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from hashlib import blake2b
from operator import itemgetter
from typing import Any, Final

import sqlalchemy as sa
from sqlalchemy.engine.interfaces import DBAPICursor

from acegraph.state.database import tables
from acegraph.state.values import DataView

_COLUMNS: Final = {
    table.name: tuple(c.name for c in table.c if c.name != "hash")
    for table in (*tables.LEDGER, tables.bullets)
}
_VALUES: Final = {name: itemgetter(*columns) for name, columns in _COLUMNS.items()}
"""The values of a row in the order of its columns, without the hash, which is the last column."""
_CALLER_VALUES: Final = {t.name: itemgetter(*_COLUMNS[t.name][:-1]) for t in tables.LEDGER}
"""The values that the caller of `add` gives: without the position, which is the last but one."""
_PLAIN_TYPES: Final = frozenset({str, int, float, type(None)})
_COUNTERS: Final = ("number", "helpful_count", "harmful_count", "times_selected", "changed")
_LASTING: Final = tuple(c for c in _COLUMNS["bullets"] if c not in _COUNTERS)


def hash_values(values: Iterable[object]) -> int:
    """64 bits over some values, equal on every machine and database.

    No stored text contains the characters that separate the values here.
    """
    text = "\x1f".join([v if isinstance(v, str) else f"\x1e{v!r}" for v in values])
    digest = blake2b(text.encode("utf-8", "surrogatepass"), digest_size=8).digest()
    return int.from_bytes(digest, "big", signed=True)


def _plain(value: object) -> object:
    """A value as the database will return it: a plain str, int or float, not a subclass."""
    if isinstance(value, str):
        return str.__str__(value)
    if isinstance(value, int):
        return int(value)
    if isinstance(value, float):
        return float(value)
    return _plain(value.item()) if hasattr(value, "item") else value


def row_hash(table: str, row: Mapping[str, object]) -> int:
    """The hash that a row must have."""
    if table == tables.bullets.name:
        return lasting_hash(row) ^ tally_of(row)
    return hash_values(_hashed(table, _VALUES[table](row)))


def _hashed(table: str, values: "Values") -> "Values":
    """The values that are hashed: where a decision has no version of a task and a policy, the hash
    is that of schema 4, which had no such columns.
    """
    if table == tables.decisions.name and values[-3:-1] == (None, None):
        return (*values[:-3], values[-1])
    return values


def lasting_hash(bullet: Mapping[str, object]) -> int:
    """The part of a bullet's hash that no outcome changes: all columns without the counters."""
    return hash_values([bullet[name] for name in _LASTING])


def tally_of(bullet: Mapping[str, object]) -> int:
    """The part of a bullet's hash over its counters; it is cheap to compute."""
    return hash_values([bullet[name] for name in _COUNTERS])


class Statement:
    """A statement for the driver itself: for one row SQLAlchemy takes longer than the database.

    It is built with SQLAlchemy and compiled once for each kind of database. Its parameters are
    given in the order of the SQL: by name every driver takes twice as long.
    """

    def __init__(self, clause: sa.Executable) -> None:
        self._clause = clause
        self._texts: dict[str, str] = {}

    def text(self, dialect: sa.Dialect) -> str:
        """The SQL text for one kind of database."""
        text = self._texts.get(dialect.name)
        if text is None:
            text = self._texts[dialect.name] = str(self._clause.compile(dialect=dialect))  # type: ignore[attr-defined]
        return text


Fetch = Callable[..., Sequence[Any]]
"""Gives the rows of a `Statement` with some values, as tuples."""


def fetch_by(connection: sa.Connection) -> Fetch:
    """What fetches rows by a connection."""

    def fetch(statement: Statement, *values: object) -> Sequence[Any]:
        text = statement.text(connection.dialect)
        return connection.exec_driver_sql(text, values or None).all()

    return fetch


_INSERTS: Final = {
    table.name: Statement(table.insert()) for table in (*tables.LEDGER, tables.bullets)
}


NewRow = tuple[sa.Table, Mapping[str, object]]
"""A row for one of the ledger's tables, without its position and its hash."""
Values = tuple[object, ...]
"""A row in the order of its columns."""


@dataclass
class LedgerWriter:
    """One open write transaction of the database."""

    connection: sa.Connection
    position: int
    """The position of the newest row."""
    version: int
    """The version of the playbook."""
    seal: int
    is_written: bool = False
    _cursor: DBAPICursor = field(init=False)

    def __post_init__(self) -> None:
        self._cursor = self.connection.connection.cursor()

    def next_position(self) -> int:
        """Take the next position in the order of the ledger."""
        self.is_written = True
        self.position += 1
        return self.position

    def run(self, statement: Statement, rows: Sequence[Values]) -> None:
        """Run a statement once for each row of parameters."""
        text = statement.text(self.connection.dialect)
        if len(rows) == 1:
            self._cursor.execute(text, rows[0])
        else:
            self._cursor.executemany(text, rows)

    def first(self, statement: Statement, *values: object) -> Any:
        """The first row of a query as a tuple, or None."""
        self._cursor.execute(statement.text(self.connection.dialect), values)
        return self._cursor.fetchone()

    def add(self, table: sa.Table, rows: Sequence[Mapping[str, object]]) -> None:
        """Append rows to one of the ledger's tables."""
        self.add_all([(table, row) for row in rows])

    def add_all(self, rows: Sequence[NewRow]) -> None:
        """Append rows to several of the ledger's tables, with positions in this order."""
        placed: dict[str, list[Values]] = {}
        for table, new in rows:
            name = table.name
            values: Values = (*_CALLER_VALUES[name](new), self.next_position())
            if not _PLAIN_TYPES.issuperset(map(type, values)):
                values = tuple(map(_plain, values))
            new_hash = hash_values(_hashed(name, values))
            self.seal ^= new_hash
            placed.setdefault(name, []).append((*values, new_hash))
        for name, some in placed.items():
            if len(some) == 1 or self.connection.dialect.name != "postgresql":
                self.run(_INSERTS[name], some)
                continue
            names = ", ".join(f'"{column}"' for column in (*_COLUMNS[name], "hash"))
            with self._cursor.copy(f"COPY {name} ({names}) FROM STDIN") as copied:
                for row in some:
                    copied.write_row(row)

    def add_bullet(self, row: dict[str, object]) -> None:
        """Add a bullet with all its columns; `changed` and `hash` are set in the row."""
        row["changed"] = self.next_position()
        row["hash"] = new_hash = row_hash("bullets", row)
        self.seal ^= new_hash
        self.run(_INSERTS["bullets"], [(*_VALUES["bullets"](row), new_hash)])

    def replace(self, table: sa.Table, row: DataView, changes: Mapping[str, object]) -> None:
        """Change some columns of a row, and its hash."""
        self.is_written = True
        # The hash changes by a difference: a damaged row must not look undamaged afterwards.
        difference = row_hash(table.name, row) ^ row_hash(table.name, {**row, **changes})
        self.seal ^= difference
        is_row = sa.and_(*(column == row[column.name] for column in table.primary_key))
        new_values = {**changes, "hash": row["hash"] ^ difference}
        self.connection.execute(table.update().where(is_row).values(new_values))

    def remove(self, table: sa.Table, condition: sa.ColumnElement[bool]) -> int:
        """Delete rows, and remove their hashes from the seal."""
        hashes = self.connection.scalars(sa.select(table.c.hash).where(condition)).all()
        for old_hash in hashes:
            self.seal ^= old_hash
        if hashes:
            self.is_written = True
            self.connection.execute(table.delete().where(condition))
        return len(hashes)
