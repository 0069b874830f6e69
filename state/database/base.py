"""A database behind a playbook: how it is opened, read and written, whatever its kind.

One writer at a time holds the clock's row, in whichever process, so that all writes have one
order. What differs between SQLite and PostgreSQL is in sqlite.py and postgres.py.
"""

from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from os import getpid
from threading import RLock, get_ident
from typing import Any, ClassVar, Literal, get_args

import sqlalchemy as sa

from acegraph.state.database import tables
from acegraph.state.database.migrations import is_current, migrate
from acegraph.state.database.writer import LedgerWriter, Statement
from acegraph.state.errors import InvalidSettings, PlaybookError, WriteConflict
from acegraph.state.values.decision import Clock

Durability = Literal["normal", "full"]
"""`normal` survives the end of the process, `full` also that of the machine."""


WAIT_SECONDS = 30
"""How long a writer waits for another one."""


READ_CLOCK = sa.select(tables.clock.c.position, tables.clock.c.version, tables.clock.c.seal)
_LOOK_AT_CLOCK = Statement(READ_CLOCK)
_SET_CLOCK = Statement(
    tables.clock.update().values(
        position=sa.bindparam("at_position"),
        version=sa.bindparam("at_version"),
        seal=sa.bindparam("with_seal"),
    )
)


class Database(ABC):
    """The interface that every kind of database has."""

    in_memory: ClassVar[bool] = False
    schema_version: ClassVar[int] = tables.SCHEMA_VERSION
    _read_clock: ClassVar[Statement]
    _driver_error: ClassVar[type[Exception]]

    def __init__(self, url: str, durability: Durability) -> None:
        if durability not in get_args(Durability):
            raise InvalidSettings(f"durability is normal or full, not {durability!r}")
        self.url = url
        """Without a password: it is printed in errors."""
        self.durability = durability
        self._lock = RLock()
        self._writer: LedgerWriter | None = None
        self._owner = 0
        self._process = getpid()
        try:
            with self._read() as connection:
                is_ready = is_current(connection, self.url)
            if not is_ready:
                with self._opening() as connection:
                    migrate(connection, self.url)
        except sa.exc.DBAPIError as error:
            self.close()
            raise PlaybookError(f"cannot open {self.url}: {_first_line(error)}") from error
        except PlaybookError:
            self.close()
            raise

    @contextmanager
    def writing(self) -> Iterator[LedgerWriter]:
        """Write all of it or nothing, in one order with everyone; nested uses join the outer."""
        self._check_process()
        with self._lock:
            if self._writer is not None:
                yield self._writer
                return
            try:
                with self._transaction() as connection:
                    self._owner = get_ident()
                    self._writer = writer = LedgerWriter(
                        connection, 0, 0, 0, _cursor=self._cursor()
                    )
                    writer.position, writer.version, writer.seal = writer.first(self._read_clock)
                    yield writer
                    if writer.is_written:
                        writer.run(_SET_CLOCK, [(writer.position, writer.version, writer.seal)])
            except (sa.exc.DBAPIError, self._driver_error) as error:
                kind = WriteConflict if self._is_conflict(error) else PlaybookError
                raise kind(f"cannot write to {self.url}: {_first_line(error)}") from error
            finally:
                self._writer = None
                self._owner = 0

    @contextmanager
    def reading(self) -> Iterator[sa.Connection]:
        """Read; inside `writing` what was written so far is seen."""
        self._check_process()
        try:
            if self._owner == get_ident() and self._writer is not None:
                yield self._writer.connection
            else:
                with self._read() as connection:
                    yield connection
        except sa.exc.DBAPIError as error:
            raise PlaybookError(f"cannot read {self.url}: {_first_line(error)}") from error

    @contextmanager
    def snapshot(self) -> Iterator[sa.Connection]:
        """Read several tables as they were at one moment."""
        self._check_process()
        if self._owner == get_ident() and self._writer is not None:
            yield self._writer.connection
            return
        try:
            with self._snapshot() as connection:
                yield connection
        except sa.exc.DBAPIError as error:
            raise PlaybookError(f"cannot read {self.url}: {_first_line(error)}") from error

    def fetch(self, statement: Statement, *values: Any) -> Sequence[Any]:
        """The rows that a query finds, as tuples, with as little around it as can be."""
        with self.reading() as connection:
            text = statement.text(connection.dialect)
            return connection.exec_driver_sql(text, values or None).all()

    def clock(self) -> Clock:
        """How far the ledger has come, whoever wrote last."""
        position, version, _ = self.fetch(_LOOK_AT_CLOCK)[0]
        return Clock(position, version)

    def _check_process(self) -> None:
        """A fork inherits neither SQLite's locks, so that writes would be lost, nor a PostgreSQL
        connection of its own.
        """
        if self._is_inherited() and not self.in_memory:
            raise PlaybookError(f"{self.url} was opened before a fork: open it in this process")

    def _is_inherited(self) -> bool:
        return getpid() != self._process

    @abstractmethod
    def _transaction(self) -> AbstractContextManager[sa.Connection]:
        """A write transaction: committed at the end, rolled back on an error."""

    def _opening(self) -> AbstractContextManager[sa.Connection]:
        """The transaction that makes or migrates the tables."""
        return self._transaction()

    @abstractmethod
    def _read(self) -> AbstractContextManager[sa.Connection]: ...

    @abstractmethod
    def _snapshot(self) -> AbstractContextManager[sa.Connection]: ...

    def _cursor(self) -> Any:
        """A cursor of the driver, where one can be had without asking SQLAlchemy."""
        return None

    @abstractmethod
    def _is_conflict(self, error: Exception) -> bool:
        """Whether the same transaction may succeed when it is tried again."""

    @abstractmethod
    def facts(self) -> dict[str, str]:
        """Settings and sizes that an operator wants to know."""

    @abstractmethod
    def integrity(self) -> list[str]:
        """What the database itself finds wrong with its files."""

    @abstractmethod
    def scrub(self) -> None:
        """Leave nothing of what was deleted or overwritten in the database's files."""

    @abstractmethod
    def close(self) -> None:
        """Let go of it."""


def _first_line(error: Exception) -> str:
    return str(getattr(error, "orig", error)).strip().partition("\n")[0]
