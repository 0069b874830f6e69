"""A playbook in a SQLite file, or in memory: one connection, one lock.

Several processes may share a file: BEGIN IMMEDIATE lets one of them write at a time.
"""

import sqlite3
import time
from collections.abc import Iterator
from contextlib import contextmanager
from shutil import disk_usage
from typing import Any, Final

import sqlalchemy as sa
from sqlalchemy.pool import StaticPool

from acegraph.state.database.base import READ_CLOCK, WAIT_SECONDS, Database, Durability
from acegraph.state.database.encoding import file_of
from acegraph.state.database.writer import Statement
from acegraph.state.errors import PlaybookError

_SHORTLY: Final = 0.01


class _Transaction:
    """A write transaction; a class, as it is opened for every decision."""

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
    """Of several who open a new file at once one switches it; the others are not told to wait."""
    last_try = time.monotonic() + WAIT_SECONDS
    while True:
        try:
            connection.execute("PRAGMA journal_mode = WAL")
            return
        except sqlite3.OperationalError as error:
            if "locked" not in str(error) or time.monotonic() > last_try:
                raise
            time.sleep(_SHORTLY)


class SqliteDatabase(Database):
    """SQLite: WAL, one writer, readers never wait for it."""

    _read_clock = Statement(READ_CLOCK)
    _driver_error = sqlite3.Error

    def __init__(self, url: str, durability: Durability) -> None:
        file = file_of(url)
        self.in_memory = file is None  # type: ignore[misc]
        self._engine = sa.create_engine(
            # Not read as a URL: a file's name may hold a question mark or a percent sign.
            sa.URL.create("sqlite", database=str(file)) if file else url,
            poolclass=StaticPool,
            connect_args={"check_same_thread": False, "timeout": WAIT_SECONDS},
        )

        def set_up(connection: Any, _record: object) -> None:
            connection.isolation_level = None  # we say BEGIN ourselves: pysqlite's is DEFERRED
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
        raw: Any = self._connection.connection.driver_connection
        self._driver: sqlite3.Connection = raw
        super().__init__(url, durability)

    def _cursor(self) -> sqlite3.Cursor:
        return self._driver.cursor()

    def fetch(self, statement: Statement, *values: Any) -> list[Any]:
        """Asked of the driver itself: for one row SQLAlchemy costs more than SQLite."""
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
        return False  # who waits for the lock longer than the time-out has another problem

    def copy_into(self, other: "SqliteDatabase") -> None:
        """Make another database the same, page by page."""
        with self._lock, other._lock:
            self._driver.backup(other._driver)

    def facts(self) -> dict[str, str]:
        """Settings and sizes that an operator wants to know."""
        file = file_of(self.url)
        with self.reading() as connection:
            found = {
                "database": f"SQLite {sqlite3.sqlite_version}",
                "journal mode": str(connection.exec_driver_sql("PRAGMA journal_mode").scalar()),
                "durability": self.durability,
            }
        if file is not None:
            with_log = [file, file.with_name(file.name + "-wal")]
            size = sum(part.stat().st_size for part in with_log if part.exists())
            free = disk_usage(file.parent).free
            found |= {"size": f"{size / 1e6:.1f} MB", "free disk space": f"{free / 1e9:.1f} GB"}
        return found

    def integrity(self) -> list[str]:
        """What SQLite finds wrong with the file."""
        with self.reading() as connection:
            rows = connection.exec_driver_sql("PRAGMA integrity_check").scalars()
            return [f"SQLite: {row}" for row in rows if row != "ok"]

    def scrub(self) -> None:
        """Write the file anew from what is left in it, and empty its log."""
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
        """Let go of the file."""
        with self._lock:
            self._connection.close()
            self._engine.dispose()
