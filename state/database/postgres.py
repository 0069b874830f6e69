"""A playbook in PostgreSQL, for several processes or machines that share it.

The isolation level is READ COMMITTED. A writer locks the row of the clock first and then bullets in
the order of their numbers, so that writers queue and cannot deadlock. The tables are in the schema
`acegraph`, unless the options of the URL name another search_path.
"""

import json
import time
from collections.abc import Generator, Sequence
from contextlib import suppress
from functools import cache
from typing import TYPE_CHECKING, Any, Final, TypeVar

import sqlalchemy as sa

from acegraph.state.database import tables
from acegraph.state.database.base import (
    READ_CLOCK,
    WAIT_SECONDS,
    Database,
    Durability,
)
from acegraph.state.database.places import secrets_in, shown_url
from acegraph.state.database.writer import Draft, Statement, Values
from acegraph.state.errors import InvalidSettings

if TYPE_CHECKING:
    import psycopg

    Steps = Generator[Any, Any, "T"]

T = TypeVar("T")
_SCHEMA: Final = "acegraph"
_OPENING: Final = 0x61636567  # the lock under which one process creates or migrates the tables
_CONFLICTS: Final = ("40001", "40P01")  # a serialisation failure, a deadlock
_SILENCE_SECONDS: Final = 2 * WAIT_SECONDS
"""How long a server may say nothing, unless the URL has a `tcp_user_timeout`: longer than a wait
for a lock. The network answers for a server that stands still, so its own limits do not help."""
_LONG_SILENCE: Final = 10
"""How many times as long a server may say nothing while it reads or rewrites whole tables."""


_COLUMNS: Final = {table.name: [c.name for c in table.c] for table in tables.LEDGER}
_COUNTERS: Final = (
    *("helpful_count", "harmful_count", "times_selected"),
    *("changed", "hash", "number"),
)


@cache
def _append(names: tuple[str, ...], counts: bool) -> str:
    """The statement that moves the clock from one moment and, if it stood there, adds rows.

    Rows come as JSON: one parameter for each table, however many rows there are.
    """
    parts = [
        "moved AS (UPDATE clock SET position = %s, seal = %s"
        " WHERE position = %s AND seal = %s RETURNING id)",
        *(
            f"{name}_added AS (INSERT INTO {name} SELECT r.* FROM moved,"
            f" json_populate_recordset(NULL::{name}, %s::json) r)"
            for name in names
        ),
    ]
    if counts:
        sums = ", ".join(f"{name} = b.{name} + r.{name}" for name in _COUNTERS[:3])
        parts.append(
            f"counted AS (UPDATE bullets b SET {sums}, changed = r.changed, hash = r.hash"
            " FROM moved, json_populate_recordset(NULL::bullets, %s::json) r"
            " WHERE b.number = r.number)"
        )
    return f"WITH {', '.join(parts)} SELECT id FROM moved"


def _impatient(silence: float) -> "type[psycopg.Connection[Any]]":
    """A connection that is given up when the server says nothing for some seconds."""
    import psycopg

    class Connection(psycopg.Connection[Any]):
        silence_allowed = silence

        def wait(self, gen: "Steps[T]", *args: Any, **kwargs: Any) -> T:
            try:
                return super().wait(self._until_silent(gen), *args, **kwargs)
            except psycopg.Error:
                raise
            except BaseException:  # of a signal handler: what comes next would get this answer
                self.pgconn.finish()
                raise

        def _until_silent(self, steps: "Steps[T]") -> "Steps[T]":
            heard = time.monotonic()
            try:
                wanted = next(steps)
                while True:
                    ready = yield wanted
                    if ready:
                        heard = time.monotonic()
                        wanted = steps.send(ready)
                    elif time.monotonic() - heard > self.silence_allowed:
                        self.pgconn.finish()
                        raise psycopg.OperationalError(
                            f"the server has said nothing for {self.silence_allowed:g} s"
                        )
                    else:
                        steps.send(ready)
            except StopIteration as end:
                result: T = end.value
                return result

    return Connection


class PostgresDatabase(Database):
    """PostgreSQL through psycopg, with a pool of connections."""

    takes_drafts = True
    _read_clock = Statement(READ_CLOCK.with_for_update())

    def __init__(self, url: str, durability: Durability) -> None:
        try:
            import psycopg
        except ImportError:
            raise InvalidSettings(
                "a playbook in PostgreSQL needs psycopg: pip install 'acegraph[postgres]'"
            ) from None
        self._driver_error = psycopg.Error  # type: ignore[misc]
        try:
            parsed = sa.make_url(url).set(drivername="postgresql+psycopg")
        except (sa.exc.ArgumentError, ValueError):
            raise InvalidSettings(
                "this is no PostgreSQL URL; postgresql://USER@HOST/NAME wanted"
            ) from None
        if "@" in f"{parsed.host}{parsed.database}":
            raise InvalidSettings(
                "in a PostgreSQL URL, @ and other signs of a password are written as %40, ..."
            )
        if "tenant" in parsed.query:
            raise InvalidSettings(
                "tenant=NAME is gone: ?options=-csearch_path%3Dacegraph_NAME opens that playbook"
            )
        self._secrets = secrets_in(parsed)
        options = str(parsed.query.get("options", ""))
        if "search_path" not in options:
            options += f" -c search_path={_SCHEMA}"
        options += f" -c lock_timeout={WAIT_SECONDS}s"
        if durability == "full":  # else the setting of the server counts; its default is "on"
            options += " -c synchronous_commit=on"
        limits = _limits(parsed)
        self._engine = sa.create_engine(
            parsed.difference_update_query(["options"]),
            paramstyle="format",
            pool_size=5,
            pool_pre_ping=True,
            hide_parameters=True,
            connect_args={"options": options, **limits},
        )
        self._autocommit = self._engine.execution_options(isolation_level="AUTOCOMMIT")
        self._line: sa.Connection | None = None
        kind = _impatient(limits["tcp_user_timeout"] / 1000)

        def connect(_dialect: object, _record: object, args: Any, settings: Any) -> Any:
            return kind.connect(*args, **settings)

        sa.event.listen(self._engine, "do_connect", connect)
        super().__init__(shown_url(url), durability)

    def fetch(self, statement: Statement, *values: object) -> Sequence[Any]:
        """The rows of a query as tuples; by the connection that is kept, with little overhead."""
        if self.is_writing:
            return super().fetch(statement, *values)
        return self._at_once("cannot read", statement.text(self._engine.dialect), *values)

    def _draft(self) -> Draft:
        ((position, version, seal),) = self.fetch(Database._read_clock)
        assert self._line is not None
        return Draft(self._line, position, version, seal)

    def write_draft(self, draft: Draft) -> bool:
        """Write what a draft holds in one statement, unless the ledger has moved since it began.

        The statement is a transaction of its own, so that no other writer waits for this process.
        """
        if not draft.is_written:
            return self.is_as_read(draft)
        names, counts = tuple(sorted(draft.rows)), bool(draft.counters)
        values: list[object] = [draft.position, draft.seal, *draft.start]
        values += [_in_json(_COLUMNS[name], draft.rows[name]) for name in names]
        values += [_in_json(_COUNTERS, draft.counters)] if counts else []
        return bool(self._at_once("cannot write to", _append(names, counts), *values))

    def _at_once(self, what: str, statement: str, *values: object) -> Sequence[Any]:
        """The rows of a statement that is a transaction of its own.

        One connection is kept for such statements: to fetch one from the pool, and to ask whether
        it is alive, takes longer than most of them. Of a connection that is found dead nothing is
        known, so what is sent here can be sent again: it reads, or compares before it writes.
        """
        self._check_usable()
        try:
            for is_last in (False, True):
                line = self._line
                if line is None or line.closed or line.invalidated:
                    line = self._line = self._autocommit.connect()
                driver: Any = line.connection.driver_connection
                try:
                    return driver.execute(statement, values).fetchall()  # type: ignore[no-any-return]
                except self._driver_error:
                    if not driver.closed:
                        raise
                    if self._line is line:  # else another thread has replaced it
                        self._line = None
                    with suppress(sa.exc.SQLAlchemyError):
                        line.invalidate()
                        line.close()
                    if is_last:
                        raise
        except self._errors as error:
            raise self._failure(what, error) from error
        raise AssertionError

    @property
    def _errors(self) -> tuple[type[Exception], ...]:
        # The last one is said of a connection that another thread has found dead.
        return (*super()._errors, sa.exc.PendingRollbackError)

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
            connection = connection.execution_options(isolation_level="REPEATABLE READ")
            driver: Any = connection.connection.driver_connection
            usual = driver.silence_allowed
            driver.silence_allowed *= _LONG_SILENCE
            try:
                yield connection
            finally:
                driver.silence_allowed = usual

    def _is_conflict(self, error: Exception) -> bool:
        return getattr(getattr(error, "orig", error), "sqlstate", None) in _CONFLICTS

    def facts(self) -> dict[str, str]:
        """Settings and sizes for an operator."""
        with self.reading() as connection:
            size = connection.scalar(sa.text("SELECT pg_database_size(current_database())"))
            return {
                "database": f"PostgreSQL {connection.scalar(sa.text('SHOW server_version'))}",
                "schema": str(connection.scalar(sa.text("SELECT current_schema()"))),
                "fsync": str(connection.scalar(sa.text("SHOW fsync"))),
                "synchronous commit": str(connection.scalar(sa.text("SHOW synchronous_commit"))),
                "durability": self.durability,
                "size": f"{int(size or 0) / 1e6:.1f} MB",
            }

    def integrity(self) -> list[str]:
        """No damage: PostgreSQL checks its pages itself whenever it reads them."""
        return []

    def scrub(self) -> None:
        """Rewrite the tables without deleted values; not the log and backups of the server."""
        with self._engine.connect() as connection:
            autocommit = connection.execution_options(isolation_level="AUTOCOMMIT")
            for table in tables.metadata.sorted_tables:
                autocommit.exec_driver_sql(f"VACUUM FULL {table.name}")

    def close(self) -> None:
        """Close all connections, except those that a fork inherited from its parent process."""
        self.is_closed = True
        if self._line is not None and not self._is_inherited():
            self._line.close()
        self._line = None
        self._engine.dispose(close=not self._is_inherited())


def _in_json(names: Sequence[str], rows: Sequence[Values]) -> str:
    return json.dumps([dict(zip(names, row, strict=True)) for row in rows])


def _limits(url: sa.URL) -> dict[str, int]:
    """How long to wait for a connection, in seconds, and for an answer, in milliseconds."""
    limits = {"connect_timeout": WAIT_SECONDS // 3, "tcp_user_timeout": 1000 * _SILENCE_SECONDS}
    try:
        return {name: int(str(url.query.get(name, limit))) for name, limit in limits.items()}
    except ValueError:
        raise InvalidSettings(
            "connect_timeout (in s) and tcp_user_timeout (in ms) of a PostgreSQL URL are whole "
            "numbers"
        ) from None
