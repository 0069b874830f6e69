"""A playbook in PostgreSQL, for several processes or machines that share it.

The isolation level is READ COMMITTED. A writer locks the row of the clock first and then bullets in
the order of their numbers, so that writers queue and cannot deadlock. The tables are in the schema
`acegraph`, unless the options of the URL name another search_path.
"""

import time
from collections.abc import Generator, Sequence
from contextlib import suppress
from functools import partial
from os import getpid
from typing import Any, Final

import sqlalchemy as sa

from acegraph.state.database import tables
from acegraph.state.database.base import READ_CLOCK, WAIT_SECONDS, Database, Durability
from acegraph.state.database.places import secrets_in, shown_url
from acegraph.state.database.writer import Statement
from acegraph.state.errors import InvalidSettings
from acegraph.state.values import Data

_SCHEMA: Final = "acegraph"
_OPENING: Final = 0x61636567  # the lock under which one process creates or migrates the tables
_CONFLICTS: Final = ("40001", "40P01")  # a serialisation failure, a deadlock
_LIMITS: Final = {"connect_timeout": WAIT_SECONDS // 3, "tcp_user_timeout": 2000 * WAIT_SECONDS}
"""How long to wait for a connection, in seconds, and for a network that is silent, in milliseconds;
the URL may say otherwise."""


class PostgresDatabase(Database):
    """PostgreSQL through psycopg, with a pool of connections."""

    _read_clock = Statement(READ_CLOCK.with_for_update())

    def __init__(self, url: str, durability: Durability) -> None:
        try:
            import psycopg
        except ImportError:
            raise InvalidSettings(
                "a playbook in PostgreSQL needs psycopg: pip install 'acegraph[postgres]'"
            ) from None
        self._driver_error = psycopg.Error  # type: ignore[misc]
        parsed = _parsed(url)
        self._secrets = secrets_in(parsed)
        options = str(parsed.query.get("options", ""))
        if "search_path" not in options:
            options += f" -c search_path={_SCHEMA}"
        options += f" -c lock_timeout={WAIT_SECONDS}s"
        if durability == "full":  # else the setting of the server counts; its default is "on"
            options += " -c synchronous_commit=on"
        settings: Data = {"options": options}
        settings |= {name: limit for name, limit in _LIMITS.items() if name not in parsed.query}
        place = f"postgresql:{url.partition(':')[2]}"
        self._connect = partial(psycopg.connect, place, **settings)
        self._engine = sa.create_engine(
            "postgresql+psycopg://",
            creator=self._connect,
            paramstyle="format",
            pool_size=5,
            pool_pre_ping=True,
            hide_parameters=True,
        )
        self._autocommit = self._engine.execution_options(isolation_level="AUTOCOMMIT")
        self._line: psycopg.Connection[Any] | None = None
        super().__init__(shown_url(url), durability)

    def fetch(self, statement: Statement, *values: object) -> Sequence[Any]:
        """The rows of a query as tuples, with little overhead.

        One connection is kept for it: to fetch one from the pool, and to ask whether it is alive,
        takes longer than most queries. Where it is found dead, the query is sent again.
        """
        if self.is_writing:
            return super().fetch(statement, *values)
        self._check_usable()
        text = statement.text(self._engine.dialect)
        with self.lock:
            line = self._line
            try:
                try:
                    return self._ask(text, values)
                except self._driver_error:
                    if line is None or self._line is line:
                        raise
                    return self._ask(text, values)
            except self._errors as error:
                raise self._failure("cannot read", error) from error

    def _ask(self, text: str, values: Sequence[object]) -> Sequence[Any]:
        """The rows of a query, by the connection that is kept; a dead one is dropped."""
        if self._line is None:
            self._line = self._connect(autocommit=True)
        line: Any = self._line
        try:
            return line.execute(text, values).fetchall()  # type: ignore[no-any-return]
        except BaseException as error:
            # After a signal handler's error the next query would get this answer.
            if line.closed or not isinstance(error, self._driver_error):
                self._line = None
                line.close()
            raise

    def _transaction(self, deadline: float) -> Generator[sa.Connection, None, None]:
        connection = driver = None
        try:
            connection = self._engine.connect()
            driver = connection.connection.driver_connection
            connection.begin()  # else a commit would not know of what the driver did by itself
            left = deadline - time.monotonic()
            if left < WAIT_SECONDS - 1:  # others of this process were waited for already
                limit = max(1, int(1000 * left))
                connection.exec_driver_sql(f"SET LOCAL lock_timeout = {limit}")
            yield connection
            connection.commit()
            yield connection
        finally:
            if connection is not None:
                self._give_back(connection, driver)

    def _give_back(self, connection: sa.Connection, driver: Any) -> None:
        """Return a connection, rolled back; one that was interrupted is closed."""
        try:
            status = driver.info.transaction_status.name if driver is not None else ""
            if status in ("INTRANS", "INERROR"):
                driver.rollback()  # SQLAlchemy would not, after a commit that was interrupted
            elif status != "IDLE":
                with suppress(sa.exc.SQLAlchemyError):
                    connection.invalidate()
            connection.close()
        except BaseException:
            if driver is not None:
                driver.close()  # then the server rolls back
            raise

    def _opening(self) -> Generator[sa.Connection, None, None]:
        with self._engine.begin() as connection:
            connection.exec_driver_sql(f"SELECT pg_advisory_xact_lock({_OPENING})")
            # To read from a table makes the session take in what others did while it waited.
            found = "SELECT current_schema() FROM pg_namespace LIMIT 1"
            if connection.scalar(sa.text(found)) is None:
                # PostgreSQL turns a name without quotes into small letters.
                name = str(connection.scalar(sa.text("SHOW search_path"))).strip()
                name = name.strip('"') if name.startswith('"') else name.lower()
                quoted = connection.dialect.identifier_preparer.quote(name)
                connection.exec_driver_sql(f"CREATE SCHEMA IF NOT EXISTS {quoted}")
            yield connection

    def _read(self) -> Generator[sa.Connection, None, None]:
        with self._autocommit.connect() as connection:  # each query sees what is committed
            yield connection

    def _snapshot(self) -> Generator[sa.Connection, None, None]:
        with self._engine.connect() as connection:
            yield connection.execution_options(isolation_level="REPEATABLE READ")

    def _is_conflict(self, error: Exception) -> bool:
        return getattr(getattr(error, "orig", error), "sqlstate", None) in _CONFLICTS

    def integrity(self) -> list[str]:
        """No damage: PostgreSQL checks its pages itself whenever it reads them."""
        return []

    def scrub(self) -> None:
        """Rewrite the tables without deleted values; not the log and backups of the server."""
        with self._autocommit.connect() as connection:
            for table in tables.metadata.sorted_tables:
                connection.exec_driver_sql(f"VACUUM FULL {table.name}")

    def close(self) -> None:
        """Close all connections, except those that a fork inherited from its parent process."""
        self.is_closed = True
        if self._line is not None and getpid() == self._process:
            self._line.close()
        self._line = None
        self._engine.dispose(close=getpid() == self._process)


def _parsed(url: str) -> sa.URL:
    try:
        parsed = sa.make_url(url)
    except (sa.exc.ArgumentError, ValueError):
        raise InvalidSettings(
            "this is no PostgreSQL URL; postgresql://USER@HOST/NAME wanted"
        ) from None
    if "@" in f"{parsed.host}{parsed.database}":
        raise InvalidSettings(
            "in a PostgreSQL URL, @ and other signs of a password are written as %40, ..."
        )
    return parsed
