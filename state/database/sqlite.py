"""A playbook in a SQLite file, or in memory: one connection, one lock.

Several processes may share a file: with BEGIN IMMEDIATE one of them writes at a time.
"""

import os
import sqlite3
import time
from collections.abc import Callable, Generator, Iterator, Sequence
from contextlib import closing, contextmanager
from os.path import samestat
from pathlib import Path
from shutil import disk_usage
from typing import Any, Final

import sqlalchemy as sa
from sqlalchemy.pool import StaticPool

from acegraph.state.database.base import WAIT_SECONDS, Database, Durability
from acegraph.state.database.encoding import file_of
from acegraph.state.database.writer import Statement
from acegraph.state.errors import InvalidInput, PlaybookError

_RETRY_SECONDS: Final = 0.001
_LONGEST_PAUSE_SECONDS: Final = 0.025
_LEAST_FREE: Final = 10_000_000
"""With fewer bytes left on the disk a database is not ready."""
_BE_PATIENT: Final = f"PRAGMA busy_timeout = {1000 * WAIT_SECONDS}"
_BEGIN: Final = f"PRAGMA busy_timeout = 0; BEGIN IMMEDIATE; {_BE_PATIENT}"


def _keep_connection(context: sa.ExceptionContext) -> None:
    """Keep the one connection after Ctrl-C, for which SQLAlchemy would close it."""
    context.is_disconnect = False


def _make(url: str, file: Path) -> None:
    """Make the file of a new playbook, whole or not at all; refuse a file that is none."""
    if not file.exists():
        try:
            with new_database(url, file):
                pass
        except InvalidInput:
            if not file.exists():  # else another one was faster
                raise
        except OSError as error:
            raise PlaybookError(f"cannot make {url}: {error.strerror}") from error
    elif not file.is_file():
        raise PlaybookError(f"cannot open {url}: it is not a file")
    elif not file.stat().st_size:
        raise PlaybookError(
            f"{url} is empty: not a playbook; restore a backup, or remove the file to begin anew"
        )


@contextmanager
def new_database(
    url: str, file: Path, audit: Callable[[Database], Sequence[str]] = Database.integrity
) -> "Iterator[SqliteDatabase]":
    """A database for a new file, which gets its name when all is written and nothing is found."""
    from acegraph.state.database.places import whole_file  # most databases are there

    with whole_file(file, overwrite=False) as made:
        with closing(SqliteDatabase(url, "full", made)) as database:
            yield database
            with database.reading() as connection:  # for good: several may open it at once
                connection.exec_driver_sql("PRAGMA journal_mode = WAL")
        with closing(SqliteDatabase(url, "full", made)) as written:
            if found := audit(written):
                raise PlaybookError(f"{url} was not made: {found[0]} ({len(found)} found)")


class SqliteDatabase(Database):
    """SQLite with WAL: readers never wait for the one writer."""

    _driver_error = sqlite3.Error

    def __init__(self, url: str, durability: Durability, new_file: Path | None = None) -> None:
        file = new_file or file_of(url)
        self.in_memory = file is None  # type: ignore[misc]
        if file is not None and new_file is None:
            _make(url, file)
        self._engine = sa.create_engine(
            # Not parsed as a URL: the name of a file may contain "?" or "%".
            sa.URL.create("sqlite", database=str(file)) if file else url,
            poolclass=StaticPool,
            hide_parameters=True,
            connect_args={"check_same_thread": False, "timeout": WAIT_SECONDS},
        )

        def set_up(connection: sqlite3.Connection, _record: object) -> None:
            connection.isolation_level = None  # else the driver says BEGIN, which is DEFERRED
            if new_file is None:  # else errors of the last checkpoint would go unheard
                connection.execute("PRAGMA journal_mode = WAL")
            connection.execute(f"PRAGMA synchronous = {durability.upper()}")

        sa.event.listen(self._engine, "connect", set_up)
        sa.event.listen(self._engine, "handle_error", _keep_connection)
        try:
            self._connection = self._engine.connect().execution_options(
                isolation_level="AUTOCOMMIT"
            )
        except (sa.exc.DBAPIError, UnicodeDecodeError) as error:
            self._engine.dispose()
            raise PlaybookError(f"cannot open {url}: {self._in_words(error)}") from error
        driver = self._connection.connection.driver_connection
        assert isinstance(driver, sqlite3.Connection)
        self._driver = driver
        self._file = os.path.abspath(file or "")
        self._opened = os.stat(self._file)
        super().__init__(url, durability)

    def _is_gone(self) -> bool:
        try:
            return not samestat(os.stat(self._file), self._opened)
        except FileNotFoundError:
            return True

    def fetch(self, statement: Statement, *values: object) -> list[Any]:
        """The rows of a query, from the driver: for one row SQLAlchemy takes longer than SQLite."""
        self._check_usable()
        with self.lock:
            try:
                text = statement.text(self._connection.dialect)
                return self._driver.execute(text, values).fetchall()
            except (sqlite3.Error, UnicodeDecodeError) as error:
                raise PlaybookError(f"cannot read {self.url}: {error}") from error

    def _transaction(self, deadline: float) -> Generator[sa.Connection, None, None]:
        """Wait for the lock of the file without holding our own: readers go on meanwhile."""
        pause = _RETRY_SECONDS
        while True:
            try:
                if not self.lock.acquire(timeout=max(0, deadline - time.monotonic())):
                    raise self._locked()
                self._end_orphan()
                with self._driver:  # commits or rolls back, in C: no signal comes in between
                    if has_begun := self._begins():
                        yield self._connection
                if has_begun:
                    yield self._connection
                    return
            finally:
                try:  # noqa: SIM105
                    self.lock.release()
                except RuntimeError:
                    pass
            if time.monotonic() > deadline:
                raise self._locked()
            time.sleep(pause)
            pause = min(2 * pause, _LONGEST_PAUSE_SECONDS)

    def _begins(self) -> bool:
        """Begin to write, unless another process does."""
        try:
            # Some of this counts when it is compiled, and `execute` would not compile it again.
            self._driver.executescript(_BEGIN)
        except sqlite3.OperationalError as error:
            self._driver.executescript(_BE_PATIENT)
            if error.sqlite_errorcode & 0xFF != sqlite3.SQLITE_BUSY:
                raise
            return False
        return True

    def _end_orphan(self) -> None:
        """Roll back what a signal handler's exception left open; the caller holds the lock."""
        if not self.is_closed and self._driver.in_transaction:
            self._driver.execute("ROLLBACK")

    def _read(self) -> Generator[sa.Connection, None, None]:
        with self.lock:
            yield self._connection

    def _snapshot(self) -> Generator[sa.Connection, None, None]:
        with self.lock:
            self._end_orphan()
            try:
                self._driver.execute("BEGIN")
                yield self._connection
            finally:
                if not self.is_writing:  # a block that was left open may end in another's write
                    self._end_orphan()

    def _is_conflict(self, error: Exception) -> bool:
        return False  # a writer waits for the lock; after the time-out a retry would not help

    def copy_into(self, other: "SqliteDatabase") -> None:
        """Overwrite another database with this one, page by page."""
        try:
            with self.lock, other.lock:
                self._driver.backup(other._driver)
        except sqlite3.Error as error:
            raise PlaybookError(f"cannot copy {self.url} to {other.url}: {error}") from error

    def check_ready(self) -> None:
        """Raise also if the disk is full."""
        if not self.in_memory and disk_usage(os.path.dirname(self._file)).free < _LEAST_FREE:
            raise PlaybookError(f"the disk of {self.url} is full")
        super().check_ready()

    def integrity(self) -> list[str]:
        """The damage that SQLite finds in the file."""
        with self.reading() as connection:
            rows = connection.exec_driver_sql("PRAGMA integrity_check").scalars()
            return [f"SQLite: {row}" for row in rows if row != "ok"]

    def scrub(self) -> None:
        """Rewrite the file without deleted values, and empty its log."""
        with self.lock:
            try:
                self._driver.execute("VACUUM")
                busy = self._driver.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchone()[0]
            except sqlite3.Error as error:
                raise PlaybookError(f"cannot clean {self.url}: {error}; try again") from error
        if busy:
            raise PlaybookError(
                f"{self.url} is being read: erased, but bytes may be left in its log; try again"
            )

    def close(self) -> None:
        """Close the file."""
        with self.lock:
            self.is_closed = True
            self._connection.close()
            self._engine.dispose()
