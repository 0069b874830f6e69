"""A playbook in PostgreSQL, for several processes or machines that share it.

The isolation level is READ COMMITTED. A writer locks the row of the clock first and then bullets in
the order of their numbers, so that writers queue and cannot deadlock. The tables are in the schema
`acegraph`, unless the options of the URL name another search_path.
"""

from collections.abc import Iterator
from contextlib import contextmanager

import sqlalchemy as sa

from acegraph.state.database import tables
from acegraph.state.database.base import READ_CLOCK, WAIT_SECONDS, Database, Durability
from acegraph.state.database.writer import Statement
from acegraph.state.errors import InvalidSettings

_SCHEMA = "acegraph"
_OPENING = 0x61636567  # the lock under which one process creates or migrates the tables
_CONFLICTS = ("40001", "40P01")  # a serialisation failure, a deadlock


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
        try:
            parsed = sa.make_url(url).set(drivername="postgresql+psycopg")
        except (sa.exc.ArgumentError, ValueError):
            raise InvalidSettings(
                "this is no PostgreSQL URL; postgresql://USER@HOST/NAME wanted"
            ) from None
        options = str(parsed.query.get("options", ""))
        if "search_path" not in options:
            options += f" -c search_path={_SCHEMA}"
        options += f" -c lock_timeout={WAIT_SECONDS}s"
        if durability == "full":  # else the setting of the server counts; its default is "on"
            options += " -c synchronous_commit=on"
        self._engine = sa.create_engine(
            parsed.difference_update_query(["options"]),
            paramstyle="format",
            pool_size=5,
            pool_pre_ping=True,
            connect_args={"options": options, "connect_timeout": WAIT_SECONDS // 3},
        )
        secret = ["options", "password", "sslpassword"]
        safe = parsed.set(drivername="postgresql").difference_update_query(secret)
        super().__init__(safe.render_as_string(hide_password=True), durability)

    @contextmanager
    def _transaction(self) -> Iterator[sa.Connection]:
        with self._engine.begin() as connection:
            yield connection

    @contextmanager
    def _opening(self) -> Iterator[sa.Connection]:
        with self._engine.begin() as connection:
            connection.exec_driver_sql(f"SELECT pg_advisory_xact_lock({_OPENING})")
            schema = connection.scalar(sa.text("SHOW search_path"))
            # PostgreSQL turns a name without quotes into small letters.
            name = str(schema).strip()
            name = name.strip('"') if name.startswith('"') else name.lower()
            quoted = connection.dialect.identifier_preparer.quote(name)
            if connection.scalar(sa.text("SELECT current_schema()")) is None:
                connection.exec_driver_sql(f"CREATE SCHEMA {quoted}")
            yield connection

    @contextmanager
    def _read(self) -> Iterator[sa.Connection]:
        with self._engine.connect() as connection:
            yield connection

    @contextmanager
    def _snapshot(self) -> Iterator[sa.Connection]:
        with self._engine.connect() as connection:
            yield connection.execution_options(isolation_level="REPEATABLE READ")

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
            for table in (*tables.LEDGER, tables.bullets, tables.embeddings):
                autocommit.exec_driver_sql(f"VACUUM FULL {table.name}")

    def close(self) -> None:
        """Close all connections, except those that a fork inherited from its parent process."""
        self._engine.dispose(close=not self._is_inherited())
