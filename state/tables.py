"""The database behind a playbook: its tables, how it is opened, how a transaction is held.

It knows columns and locks; what the rows mean is said in playbook.py and ledger.py.
"""

import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path
from threading import RLock
from typing import Any

import sqlalchemy as sa
from sqlalchemy.pool import StaticPool

from acegraph.state.errors import InvalidSettings, PlaybookError

SCHEMA_VERSION = 1
_BUSY_TIMEOUT_SECONDS = 30

metadata = sa.MetaData()

meta = sa.Table(
    "ace_meta",
    metadata,
    sa.Column("key", sa.String, primary_key=True),
    sa.Column("value", sa.String, nullable=False),
)
bullets = sa.Table(
    "bullets",
    metadata,
    sa.Column("number", sa.Integer, primary_key=True, autoincrement=True),
    sa.Column("node", sa.String, nullable=False, index=True),
    sa.Column("content", sa.String, nullable=False),
    sa.Column("condition", sa.JSON(none_as_null=True)),
    sa.Column("source", sa.String, nullable=False),
    sa.Column("problem_types", sa.JSON, nullable=False),
    sa.Column("confidence", sa.Float, nullable=False),
    sa.Column("status", sa.String, nullable=False),
    sa.Column("proof", sa.String, nullable=False),
    sa.Column("evidence", sa.JSON, nullable=False),
    sa.Column("origin", sa.JSON, nullable=False),
    sa.Column("related", sa.JSON, nullable=False),
    sa.Column("weight", sa.Float),
    sa.Column("helpful_count", sa.Integer, nullable=False, default=0),
    sa.Column("harmful_count", sa.Integer, nullable=False, default=0),
    sa.Column("times_selected", sa.Integer, nullable=False, default=0),
    sa.Column("created_at", sa.String, nullable=False),
    sqlite_autoincrement=True,
)
# Append-only. A playbook version is the number of its newest row.
history = sa.Table(
    "history",
    metadata,
    sa.Column("version", sa.Integer, primary_key=True, autoincrement=True),
    sa.Column("at", sa.String, nullable=False),
    sa.Column("bullet", sa.Integer, nullable=False),
    sa.Column("change", sa.String, nullable=False),
    sa.Column("reason", sa.String, nullable=False),
    sa.Column("source", sa.String, nullable=False),
    sa.Column("content", sa.String, nullable=False),
    sa.Column("condition", sa.JSON(none_as_null=True)),
    sa.Column("status", sa.String, nullable=False),
    sqlite_autoincrement=True,
)
# Of any text, bullet or transaction: what a model was once paid for is never bought again.
embeddings = sa.Table(
    "text_embeddings",
    metadata,
    sa.Column("model", sa.String, primary_key=True),
    sa.Column("text_hash", sa.String, primary_key=True),
    sa.Column("vector", sa.LargeBinary, nullable=False),
)
# What was asked. A case may be known before it is decided: labelled history is.
cases = sa.Table(
    "cases",
    metadata,
    sa.Column("id", sa.String, primary_key=True),
    sa.Column("node", sa.String, nullable=False, index=True),
    sa.Column("text", sa.String, nullable=False),
    sa.Column("fields", sa.JSON, nullable=False),
    sa.Column("digest", sa.String, nullable=False),
    sa.Column("evidence", sa.Boolean, nullable=False),
    sa.Column("created_at", sa.String, nullable=False),
)
# What was said about it, under which playbook version.
decisions = sa.Table(
    "decisions",
    metadata,
    sa.Column("case", sa.String, primary_key=True),
    sa.Column("node", sa.String, nullable=False),
    sa.Column("decision", sa.String, nullable=False),
    sa.Column("risk_score", sa.Float),
    sa.Column("reasons", sa.JSON, nullable=False),
    sa.Column("settings", sa.JSON, nullable=False),
    sa.Column("playbook_version", sa.Integer, nullable=False),
    sa.Column("counted", sa.Boolean, nullable=False),
    sa.Column("decided_at", sa.String, nullable=False),
    # Numbers the right decisions of a node, so that "every k-th" holds for all threads and
    # processes.
    sa.Column("right_number", sa.Integer),
    # What was learned from it; a decision delivered again is not reflected on again.
    sa.Column("lesson", sa.JSON(none_as_null=True)),
    sa.Index("decisions_right", "node", "right_number"),
)
selections = sa.Table(
    "selections",
    metadata,
    sa.Column("case", sa.String, primary_key=True),
    sa.Column("bullet", sa.Integer, primary_key=True),
    sa.Column("rank", sa.Integer, nullable=False),
    sa.Column("selected", sa.Boolean, nullable=False),
    sa.Column("credited", sa.Boolean, nullable=False),
    sa.Column("verdict", sa.String),
)
# Append-only. The newest revision of a case is its label; the earlier ones say what was thought
# before.
outcomes = sa.Table(
    "outcomes",
    metadata,
    sa.Column("case", sa.String, primary_key=True),
    sa.Column("revision", sa.Integer, primary_key=True),
    sa.Column("label", sa.String, nullable=False),
    sa.Column("source", sa.String, nullable=False),
    sa.Column("known_at", sa.String, nullable=False),
)
# Counters moved outside a decision: `update_stats` by hand. Append-only.
adjustments = sa.Table(
    "adjustments",
    metadata,
    sa.Column("number", sa.Integer, primary_key=True, autoincrement=True),
    sa.Column("bullet", sa.Integer, nullable=False),
    sa.Column("helpful", sa.Integer, nullable=False),
    sa.Column("harmful", sa.Integer, nullable=False),
    sa.Column("selected", sa.Integer, nullable=False),
    sa.Column("at", sa.String, nullable=False),
)


def now() -> str:
    """The time as every table writes it: UTC, ISO 8601."""
    return datetime.now(UTC).isoformat(timespec="microseconds")


class Database:
    """One connection, one lock: in memory, or a SQLite file that several processes may share."""

    def __init__(self, url: str | None = None) -> None:
        self.url = url or "sqlite://"
        if not self.url.startswith("sqlite://"):
            scheme = self.url.partition(":")[0]  # the rest may hold a password
            raise InvalidSettings(f"cannot open a playbook at {scheme}:...; sqlite:///FILE wanted")
        self.in_memory = self.url in ("sqlite://", "sqlite:///:memory:")
        self._lock = RLock()
        self._depth = 0
        self._engine = sa.create_engine(
            self.url,
            poolclass=StaticPool,
            connect_args={"check_same_thread": False, "timeout": _BUSY_TIMEOUT_SECONDS},
        )
        sa.event.listen(self._engine, "connect", _set_up)
        try:
            self._connection = self._engine.connect().execution_options(
                isolation_level="AUTOCOMMIT"
            )
            self._prepare()
        except sa.exc.DatabaseError as error:
            self._engine.dispose()
            raise PlaybookError(f"cannot open {self.url}: {error.orig}") from error

    def _prepare(self) -> None:
        tables = set(sa.inspect(self._connection).get_table_names())
        if tables and meta.name not in tables:
            raise PlaybookError(f"{self.url} is another program's database; nothing was changed")
        with self.writing() as connection:
            metadata.create_all(connection)
            found = connection.scalar(sa.select(meta.c.value).where(meta.c.key == "schema"))
            if found is None:
                connection.execute(meta.insert().values(key="schema", value=str(SCHEMA_VERSION)))
            elif int(found) != SCHEMA_VERSION:
                raise PlaybookError(
                    f"{self.url} has schema {found}; this acegraph reads {SCHEMA_VERSION}"
                )

    @contextmanager
    def reading(self) -> Iterator[sa.Connection]:
        """Read; no other thread of this process writes meanwhile."""
        with self._lock:
            yield self._connection

    @contextmanager
    def writing(self) -> Iterator[sa.Connection]:
        """Write all of it or nothing; nested uses join the outer one."""
        with self._lock:
            if self._depth:
                yield self._connection
                return
            self._depth += 1
            try:
                self._connection.exec_driver_sql("BEGIN IMMEDIATE")
                try:
                    yield self._connection
                    self._connection.exec_driver_sql("COMMIT")
                except BaseException:
                    if self._raw().in_transaction:  # a full disk may have ended it already
                        self._connection.exec_driver_sql("ROLLBACK")
                    raise
            except sa.exc.OperationalError as error:
                raise PlaybookError(f"cannot write to {self.url}: {error.orig}") from error
            finally:
                self._depth -= 1

    def foreign_changes(self) -> int:
        """A number that changes when another connection has written to the file."""
        if self.in_memory:
            return 0
        with self._lock:
            return int(self._connection.exec_driver_sql("PRAGMA data_version").scalar() or 0)

    def copy_into(self, other: "Database") -> None:
        """Make another database hold what this one holds."""
        with self._lock, other._lock:
            self._raw().backup(other._raw())

    def _raw(self) -> sqlite3.Connection:
        raw: Any = self._connection.connection.driver_connection
        assert isinstance(raw, sqlite3.Connection)
        return raw

    def close(self) -> None:
        """Let go of the file."""
        with self._lock:
            self._connection.close()
            self._engine.dispose()


def _set_up(connection: Any, _record: object) -> None:
    connection.isolation_level = None  # we say BEGIN ourselves: pysqlite's own is never IMMEDIATE
    connection.execute("PRAGMA journal_mode = WAL")
    connection.execute("PRAGMA synchronous = NORMAL")
    connection.execute("PRAGMA foreign_keys = ON")


def file_of(url: str) -> Path | None:
    """The file behind a SQLite URL, where there is one."""
    path = url.removeprefix("sqlite:///")
    return Path(path) if path not in (url, ":memory:", "") else None
