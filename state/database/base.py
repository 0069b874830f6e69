"""The database behind a playbook: how it is opened, read and written, whatever its kind.

Of all processes one writer at a time holds the row of the clock, so that all writes have one
order. What differs between SQLite and PostgreSQL is in sqlite.py and postgres.py.
"""

import logging
import time
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
"""`normal`: writes survive a crash of the process; `full`: also a crash of the machine."""
WAIT_SECONDS = 30
"""How long a writer waits for another writer."""
_LONG_WAIT_SECONDS = 1.0
"""A writer that waited longer than this is noted in the log."""
READ_CLOCK = sa.select(tables.clock.c.position, tables.clock.c.version, tables.clock.c.seal)
_SET_CLOCK = Statement(
    tables.clock.update().values(
        position=sa.bindparam("at_position"),
        version=sa.bindparam("at_version"),
        seal=sa.bindparam("with_seal"),
    )
)
logger = logging.getLogger(__name__)


class Database(ABC):
    """The interface of every kind of database."""

    in_memory: ClassVar[bool] = False
    schema_version: ClassVar[int] = tables.SCHEMA_VERSION
    _read_clock: ClassVar[Statement] = Statement(READ_CLOCK)
    """How a writer reads the clock; in PostgreSQL the query also locks the row."""
    _driver_error: ClassVar[type[Exception]]

    def __init__(self, url: str, durability: Durability) -> None:
        if durability not in get_args(Durability):
            raise InvalidSettings(f"durability is normal or full, not {durability!r}")
        self.url = url
        """The URL without a password: error messages contain it."""
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
        """Open a write transaction that is committed as a whole; a nested use joins the outer."""
        self._check_process()
        began = time.monotonic()
        with self._lock:
            if self._writer is not None:
                yield self._writer
                return
            try:
                with self._transaction() as connection:
                    self._owner = get_ident()
                    self._writer = writer = LedgerWriter(connection, 0, 0, 0)
                    writer.position, writer.version, writer.seal = writer.first(self._read_clock)
                    if (waited := time.monotonic() - began) > _LONG_WAIT_SECONDS:
                        logger.warning("waited %.1f s to write to %s", waited, self.url)
                    yield writer
                    if writer.is_written:
                        writer.run(_SET_CLOCK, [(writer.position, writer.version, writer.seal)])
            except (sa.exc.DBAPIError, self._driver_error) as error:
                message = f"cannot write to {self.url}: {_first_line(error)}"
                if self._is_conflict(error):
                    logger.warning("write conflict: %s", message)
                    raise WriteConflict(message) from error
                raise PlaybookError(message) from error
            finally:
                self._writer = None
                self._owner = 0

    @contextmanager
    def reading(self) -> Iterator[sa.Connection]:
        """A connection for reading; inside `writing` it sees what was written so far."""
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
        """A connection for reading that sees all tables as they are at one moment."""
        self._check_process()
        if self._owner == get_ident() and self._writer is not None:
            yield self._writer.connection
            return
        try:
            with self._snapshot() as connection:
                yield connection
        except sa.exc.DBAPIError as error:
            raise PlaybookError(f"cannot read {self.url}: {_first_line(error)}") from error

    def fetch(self, statement: Statement, *values: object) -> Sequence[Any]:
        """The rows of a query as tuples, with little overhead."""
        with self.reading() as connection:
            text = statement.text(connection.dialect)
            return connection.exec_driver_sql(text, values or None).all()

    def clock(self) -> Clock:
        """How far the ledger has come, with the writes of all processes."""
        position, version, _ = self.fetch(Database._read_clock)[0]
        return Clock(position, version)

    def _check_process(self) -> None:
        """Refuse a forked process: it lacks SQLite's locks and shares PostgreSQL's connection."""
        if self._is_inherited() and not self.in_memory:
            raise PlaybookError(f"{self.url} was opened before a fork: open it in this process")

    def _is_inherited(self) -> bool:
        return getpid() != self._process

    @abstractmethod
    def _transaction(self) -> AbstractContextManager[sa.Connection]:
        """A database transaction for writing: committed at the end, rolled back on an error."""

    def _opening(self) -> AbstractContextManager[sa.Connection]:
        """The database transaction that creates or migrates the tables."""
        return self._transaction()

    @abstractmethod
    def _read(self) -> AbstractContextManager[sa.Connection]: ...

    @abstractmethod
    def _snapshot(self) -> AbstractContextManager[sa.Connection]: ...

    @abstractmethod
    def _is_conflict(self, error: Exception) -> bool:
        """Whether the same database transaction may succeed when it is tried again."""

    @abstractmethod
    def facts(self) -> dict[str, str]:
        """Settings and sizes for an operator."""

    @abstractmethod
    def integrity(self) -> list[str]:
        """The damage that the database itself finds in its files."""

    @abstractmethod
    def scrub(self) -> None:
        """Remove deleted and overwritten values from the files of the database."""

    @abstractmethod
    def close(self) -> None:
        """Close all connections."""


def _first_line(error: Exception) -> str:
    return str(getattr(error, "orig", error)).strip().partition("\n")[0]
