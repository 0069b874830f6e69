"""A playbook in a SQLite file, or in memory: one connection, one lock.

Several processes may share a file: with BEGIN IMMEDIATE one of them writes at a time.
"""

import sqlite3
import time
from collections.abc import Iterator
from contextlib import contextmanager
from shutil import disk_usage
from typing import Any, Final

import sqlalchemy as sa
from sqlalchemy.pool import StaticPool

from acegraph.state.database.base import WAIT_SECONDS, Database, Durability
from acegraph.state.database.encoding import file_of
from acegraph.state.database.writer import Statement
from acegraph.state.errors import PlaybookError

_RETRY_SECONDS: Final = 0.01


class _Transaction:
    """A database transaction for writing; a class, because that is faster than a generator."""

    def __init__(self, driver: sqlite3.Connection, connection: sa.Connection) -> None:
        self._driver, self._connection = driver, connection

    def __enter__(self) -> sa.Connection:
        self._driver.execute("BEGIN IMMEDIATE")
        return self._connection

    def __exit__(self, kind: object, *_: object) -> None:
        try:
            if kind is None:
                self._driver.execute("COMMIT")
        finally:
            if self._driver.in_transaction:  # a full disk may have ended it already
                self._driver.execute("ROLLBACK")


def _use_wal(connection: sqlite3.Connection) -> None:
    """Switch a file to WAL; SQLite does not wait if another process is switching it, so we do."""
    last_try = time.monotonic() + WAIT_SECONDS
    while True:
        try:
            connection.execute("PRAGMA journal_mode = WAL")
            return
        except sqlite3.OperationalError as error:
            if "locked" not in str(error) or time.monotonic() > last_try:
                raise
            time.sleep(_RETRY_SECONDS)


class SqliteDatabase(Database):
    """SQLite with WAL: readers never wait for the one writer."""

    _driver_error = sqlite3.Error

    def __init__(self, url: str, durability: Durability) -> None:
        file = file_of(url)
        self.in_memory = file is None  # type: ignore[misc]
        self._engine = sa.create_engine(
            # Not parsed as a URL: the name of a file may contain "?" or "%".
            sa.URL.create("sqlite", database=str(file)) if file else url,
            poolclass=StaticPool,
            connect_args={"check_same_thread": False, "timeout": WAIT_SECONDS},
        )

        def set_up(connection: sqlite3.Connection, _record: object) -> None:
            connection.isolation_level = None  # else the driver says BEGIN, which is DEFERRED
            _use_wal(connection)
            connection.execute(f"PRAGMA synchronous = {durability.upper()}")

        sa.event.listen(self._engine, "connect", set_up)
        try:
            self._connection = self._engine.connect().execution_options(
                isolation_level="AUTOCOMMIT"
            )
        except sa.exc.DatabaseError as error:
            self._engine.dispose()
            raise PlaybookError(f"cannot open {url}: {error.orig}") from error
        driver = self._connection.connection.driver_connection
        assert isinstance(driver, sqlite3.Connection)
        self._driver = driver
        super().__init__(url, durability)

    def fetch(self, statement: Statement, *values: object) -> list[Any]:
        """The rows of a query, from the driver: for one row SQLAlchemy takes longer than SQLite."""
        self._check_process()
        with self._lock:
            try:
                text = statement.text(self._connection.dialect)
                return self._driver.execute(text, values).fetchall()
            except sqlite3.Error as error:
                raise PlaybookError(f"cannot read {self.url}: {error}") from error

    def _transaction(self) -> "_Transaction":
        return _Transaction(self._driver, self._connection)

    @contextmanager
    def _read(self) -> Iterator[sa.Connection]:
        with self._lock:
            yield self._connection

    @contextmanager
    def _snapshot(self) -> Iterator[sa.Connection]:
        with self._lock:
            self._driver.execute("BEGIN")
            try:
                yield self._connection
            finally:
                if self._driver.in_transaction:
                    self._driver.execute("ROLLBACK")

    def _is_conflict(self, error: Exception) -> bool:
        return False  # a writer waits for the lock; after the time-out a retry would not help

    def copy_into(self, other: "SqliteDatabase") -> None:
        """Overwrite another database with this one, page by page."""
        with self._lock, other._lock:
            self._driver.backup(other._driver)

    def facts(self) -> dict[str, str]:
        """Settings and sizes for an operator."""
        file = file_of(self.url)
        with self.reading() as connection:
            facts = {
                "database": f"SQLite {sqlite3.sqlite_version}",
                "journal mode": str(connection.exec_driver_sql("PRAGMA journal_mode").scalar()),
                "durability": self.durability,
            }
        if file is not None:
            with_log = [file, file.with_name(file.name + "-wal")]
            size = sum(part.stat().st_size for part in with_log if part.exists())
            free = disk_usage(file.parent).free
            facts |= {"size": f"{size / 1e6:.1f} MB", "free disk space": f"{free / 1e9:.1f} GB"}
        return facts

    def integrity(self) -> list[str]:
        """The damage that SQLite finds in the file."""
        with self.reading() as connection:
            rows = connection.exec_driver_sql("PRAGMA integrity_check").scalars()
            return [f"SQLite: {row}" for row in rows if row != "ok"]

    def scrub(self) -> None:
        """Rewrite the file without deleted values, and empty its log."""
        with self._lock:
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
        with self._lock:
            self._connection.close()
            self._engine.dispose()
