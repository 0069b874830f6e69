"""The database behind a playbook: how it is opened, read and written, whatever its kind.

Of all processes one writer at a time holds the row of the clock, so that all writes have one
order. What differs between SQLite and PostgreSQL is in sqlite.py and postgres.py.
"""

import logging
import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Generator, Sequence
from contextlib import AbstractContextManager, nullcontext, suppress
from os import getpid
from threading import RLock, get_ident
from types import TracebackType
from typing import Any, ClassVar, Literal, Protocol, TypeVar, get_args
from weakref import ReferenceType, ref

import sqlalchemy as sa

from acegraph.state.database import tables
from acegraph.state.database.tables import create_tables, is_current
from acegraph.state.database.writer import LedgerWriter, Statement, fetch_by
from acegraph.state.errors import InvalidSettings, PlaybookError, WriteConflict
from acegraph.state.values import Clock

Durability = Literal["normal", "full"]
"""`normal`: writes survive a crash of the process; `full`: also a crash of the machine."""
WAIT_SECONDS = 30
"""How long a writer waits for other writers, of its own process and of others together."""
READ_CLOCK = sa.select(tables.clock.c.position, tables.clock.c.version, tables.clock.c.seal)
_SET_CLOCK = Statement(
    tables.clock.update().values(
        position=sa.bindparam("at_position"),
        version=sa.bindparam("at_version"),
        seal=sa.bindparam("with_seal"),
    )
)
_Steps = Generator[Any, None, None]
T_co = TypeVar("T_co", covariant=True)
logger = logging.getLogger(__name__)


class Scope(AbstractContextManager[T_co, None]):
    """Runs a generator that yields once, as `contextlib.contextmanager` does.

    After an exception at a bad moment contextlib leaves the generator where it is, with its locks
    and its open database transaction. A scope closes it.
    """

    def __init__(self, steps: Generator[T_co, None, None]) -> None:
        self._steps = steps

    def __enter__(self) -> T_co:
        try:
            return next(self._steps)
        except BaseException:
            self._steps.close()
            raise

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        try:
            if error is None:
                next(self._steps, None)
            else:
                self._steps.throw(error)
        except BaseException as raised:
            if raised is not error:
                raise
            error.__traceback__ = trace
        finally:
            self._steps.close()


class Memory(Protocol):
    """What a caller keeps in memory of the database, and what changes together with it."""

    def begin(self, writer: LedgerWriter) -> None:
        """Read what others wrote, and take the memory for wrong until `settle`."""

    def flush(self, writer: LedgerWriter) -> None:
        """Write what is pending: the commit comes next."""

    def settle(self, writer: LedgerWriter) -> None:
        """Take the memory for right again: all is committed."""


class Database(ABC):
    """The interface of every kind of database."""

    in_memory: ClassVar[bool] = False
    schema_version: ClassVar[int] = tables.SCHEMA_VERSION
    is_closed: bool = False
    _read_clock: ClassVar[Statement] = Statement(READ_CLOCK)
    """How a writer reads the clock; in PostgreSQL the query also locks the row."""
    _driver_error: ClassVar[type[Exception]]
    _secrets: Sequence[str] = ()
    """Parts of the URL that no error message may repeat."""

    def __init__(self, url: str, durability: Durability) -> None:
        if durability not in get_args(Durability):
            raise InvalidSettings(f"durability is normal or full, not {durability!r}")
        self.url = url
        """The URL without a password: error messages contain it."""
        self.lock = RLock()
        """Held while the memory beside the database is read, and while a write goes on."""
        self._turn = RLock()
        """Held by the one thread that writes or waits for the database; readers do not need it."""
        self._writer: LedgerWriter | None = None
        self._owner = 0
        self._newest: dict[int, tuple[ReferenceType[_Steps], ...]] = {}
        """By thread: the steps of its newest write."""
        self._process = getpid()
        try:
            self._make_current()
        except BaseException:
            self.close()
            raise

    def _make_current(self) -> None:
        """Create or migrate the tables, unless a first look finds them as they should be.

        Only a look under the lock says what is wrong: without it, another process may be at work.
        """
        try:
            with Scope(self._snapshot()) as connection:
                is_ready = is_current(connection)
            if not is_ready:
                with Scope(self._opening()) as connection:
                    self._create_or_migrate(connection)
        except self._errors as error:
            raise self._failure("cannot open", error) from error

    def _create_or_migrate(self, connection: sa.Connection) -> None:
        if not sa.inspect(connection).get_table_names():
            create_tables(connection)
            return
        from acegraph.state.database.migrations import migrate  # needed by older databases alone

        migrate(connection, self.url)

    @property
    def _errors(self) -> tuple[type[Exception], ...]:
        return (sa.exc.StatementError, self._driver_error, UnicodeDecodeError)

    def _failure(self, what: str, error: Exception) -> BaseException:
        """What a caller gets to know of an error of the database."""
        cause = getattr(error, "orig", error) or error
        if not isinstance(cause, (self._driver_error, sa.exc.SQLAlchemyError, UnicodeDecodeError)):
            return cause  # of a signal handler: SQLAlchemy took it for an error of the statement
        message = f"{what} {self.url}: {self._in_words(error)}"
        if self._is_conflict(error):
            logger.warning("write conflict: %s", message)
            return WriteConflict(message)
        return PlaybookError(message)

    @property
    def is_writing(self) -> bool:
        """Whether this thread is inside `writing`."""
        return self._owner == get_ident()

    @property
    def writer(self) -> LedgerWriter | None:
        """The write that this thread is inside of."""
        return self._writer if self.is_writing else None

    def writing(self, memory: Memory | None = None) -> AbstractContextManager[LedgerWriter]:
        """Open a write transaction that is committed as a whole; a nested use joins the outer."""
        self._check_usable()
        if self.writer is not None:
            return nullcontext(self.writer)
        self._close_newest()
        transaction = self._transaction(time.monotonic() + WAIT_SECONDS)
        steps = self._write(transaction, memory)
        self._newest[get_ident()] = (ref(steps), ref(transaction))
        return Scope(steps)

    def end_interrupted(self) -> None:
        """End a write of this thread that an exception out of a signal handler has left open."""
        self._close_newest()
        if self.is_writing:
            self._owner, self._writer = 0, None
        for lock in (self.lock, self._turn):
            with suppress(RuntimeError):  # until none is held
                while True:
                    lock.release()
        with self.lock:
            self._end_orphan()

    def _close_newest(self) -> None:
        for steps in self._newest.pop(get_ident(), ()):
            if (left_open := steps()) is not None:
                left_open.close()

    def _write(
        self, transaction: Generator[sa.Connection, None, None], memory: Memory | None
    ) -> Generator[LedgerWriter, None, None]:
        """One write: whatever interrupts it, the end of `transaction` rolls back and unlocks.

        A call can be interrupted when it has returned and before its result is used. Hence each
        lock is released without asking whether it was acquired, and here, not in a function, which
        could be interrupted before it begins.
        """
        began = time.monotonic()
        try:
            if not self._turn.acquire(timeout=WAIT_SECONDS):
                raise self._locked()
            yield from self._commit(transaction, memory, began)
        except AssertionError as error:
            # SQLAlchemy says so where a signal interrupts its commit: the signal's error counts.
            raise error.__context__ or error from None
        except self._errors as error:
            raise self._failure("cannot write to", error) from error
        finally:
            try:  # noqa: SIM105
                self._turn.release()
            except RuntimeError:
                pass

    def _commit(
        self, transaction: Generator[sa.Connection, None, None], memory: Memory | None, began: float
    ) -> Generator[LedgerWriter, None, None]:
        """What is written between the begin of a database transaction and its commit."""
        try:
            writer = LedgerWriter(next(transaction), 0, 0, 0)
            writer.position, writer.version, writer.seal = writer.first(self._read_clock)
            if not self.lock.acquire(timeout=max(0, began + WAIT_SECONDS - time.monotonic())):
                raise self._locked()
            self._writer, self._owner = writer, get_ident()
            if memory is not None:
                memory.begin(writer)
            yield writer
            if memory is not None:
                memory.flush(writer)
            if writer.is_written:
                writer.run(_SET_CLOCK, [(writer.position, writer.version, writer.seal)])
            next(transaction)  # commits
            if memory is not None:
                memory.settle(writer)
        finally:
            self._owner, self._writer = 0, None
            try:
                transaction.close()
            finally:
                try:  # noqa: SIM105
                    self.lock.release()
                except RuntimeError:
                    pass

    def _locked(self) -> PlaybookError:
        return PlaybookError(
            f"cannot write to {self.url}: others have been writing for {WAIT_SECONDS} s; try again"
        )

    def reading(self) -> AbstractContextManager[sa.Connection]:
        """A connection for reading; inside `writing` it sees what was written so far."""
        return Scope(self._reading(self._read))

    def snapshot(self) -> AbstractContextManager[sa.Connection]:
        """A connection for reading that sees all tables as they are at one moment."""
        return Scope(self._reading(self._snapshot))

    def _reading(
        self, connect: Callable[[], Generator[sa.Connection, None, None]]
    ) -> Generator[sa.Connection, None, None]:
        self._check_usable()
        try:
            if self.writer is not None:
                yield self.writer.connection
            else:
                yield from connect()
        except self._errors as error:
            raise self._failure("cannot read", error) from error

    def fetch(self, statement: Statement, *values: object) -> Sequence[Any]:
        """The rows of a query as tuples, with little overhead."""
        with self.reading() as connection:
            return fetch_by(connection)(statement, *values)

    def clock(self) -> Clock:
        """How far the ledger has come, with the writes of all processes."""
        position, version, _ = self.fetch(Database._read_clock)[0]
        return Clock(position, version)

    def _check_usable(self) -> None:
        """Refuse a forked process, which lacks SQLite's locks and shares PostgreSQL's connection,
        and a database that was closed, or whose file is another one now.
        """
        if self.is_closed:
            raise PlaybookError(f"{self.url} was closed: open it again")
        if not self.in_memory:
            if getpid() != self._process:
                raise PlaybookError(f"{self.url} was opened before a fork: open it in this process")
            if self._is_gone():
                raise PlaybookError(f"{self.url} was removed or replaced: open it again")

    def _is_gone(self) -> bool:
        """Whether what is open is not what the URL names any more."""
        return False

    def _in_words(self, error: Exception) -> str:
        """The first line of what the driver said, without anything secret of the URL."""
        text = str(getattr(error, "orig", error)).strip().partition("\n")[0]
        for secret in self._secrets:
            text = text.replace(secret, "***")
        return text

    @abstractmethod
    def _transaction(self, deadline: float) -> Generator[sa.Connection, None, None]:
        """A database transaction for writing.

        It yields when it has begun, and again when it is committed. Its end rolls back what was not
        committed.
        """

    def _opening(self) -> Generator[sa.Connection, None, None]:
        """The database transaction that creates or migrates the tables."""
        return self._transaction(time.monotonic() + WAIT_SECONDS)

    @abstractmethod
    def _read(self) -> Generator[sa.Connection, None, None]: ...

    @abstractmethod
    def _snapshot(self) -> Generator[sa.Connection, None, None]: ...

    def _end_orphan(self) -> None:  # noqa: B027
        """Roll back what a signal handler's exception left open; the caller holds the lock."""

    @abstractmethod
    def _is_conflict(self, error: Exception) -> bool:
        """Whether the same database transaction may succeed when it is tried again."""

    @abstractmethod
    def integrity(self) -> list[str]:
        """The damage that the database itself finds in its files."""

    @abstractmethod
    def scrub(self) -> None:
        """Remove deleted and overwritten values from the files of the database."""

    def check_ready(self) -> None:
        """Raise unless the tables are there, are of the present schema, and take writes; nothing is
        changed.
        """
        with self.snapshot() as connection:
            if not is_current(connection):
                raise PlaybookError(f"{self.url} has not schema {self.schema_version}")
        with self.writing() as writer:
            now = (writer.position, writer.version, writer.seal)
            # There and back: SQLite writes nothing for a row that is set to what it is.
            writer.run(_SET_CLOCK, [(writer.position + 1, writer.version, writer.seal), now])

    @abstractmethod
    def close(self) -> None:
        """Close all connections."""
