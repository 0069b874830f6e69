"""A playbook's bullets in memory, kept in step with its database.

Before each read the cache reads what another process has written, and only that. Every write goes
through the cache: it changes memory and database together, or neither.
"""

import functools
from collections.abc import Callable, Iterable, Iterator
from contextlib import AbstractContextManager
from dataclasses import replace
from operator import itemgetter
from os import PathLike
from typing import Concatenate, Final, ParamSpec, TypeVar

import sqlalchemy as sa

from acegraph.state.database import tables
from acegraph.state.database.base import Durability
from acegraph.state.database.encoding import now
from acegraph.state.database.open import open_database
from acegraph.state.database.writer import (
    Fetch,
    LedgerWriter,
    fetch_by,
    hash_values,
    lasting_hash,
    tally_of,
)
from acegraph.state.errors import WriteConflict
from acegraph.state.ledger import queries as sql
from acegraph.state.ledger.row_mapping import (
    LabelledRow,
    condition_text,
    from_row,
    read_case,
    to_row,
)
from acegraph.state.playbook.index import BulletIndex
from acegraph.state.values import (
    JUDGE,
    Bullet,
    CaseTable,
    Clock,
    CounterDeltas,
    DataView,
    clean_text,
)

_START: Final = -1
_ATTEMPTS: Final = 5
_BULLET_COLUMNS: Final = tuple(tables.bullets.c.keys())
_REWRITTEN = itemgetter(
    *("content", "condition", "status", "proof", "evidence", "weight", "changed", "hash", "number")
)
Stored = tuple[int, DataView]
"""The number of a version, and its content; nobody changes the content."""
_Cache = TypeVar("_Cache", bound="PlaybookCache")
_Params = ParamSpec("_Params")
_Result = TypeVar("_Result")
_Method = Callable[Concatenate[_Cache, _Params], _Result]


def retried(method: _Method[_Cache, _Params, _Result]) -> _Method[_Cache, _Params, _Result]:
    """Run a method again if its write lost a conflict with another writer; no other error.

    Whatever error ends it, its write ends too.
    """

    @functools.wraps(method)
    def wrapped(self: _Cache, /, *args: _Params.args, **kwargs: _Params.kwargs) -> _Result:
        is_nested = self.database.is_writing  # then the outer write is lost as a whole
        attempts = 1 if is_nested else _ATTEMPTS
        try:
            for _ in range(attempts - 1):
                try:
                    return method(self, *args, **kwargs)
                except WriteConflict:
                    continue
            return method(self, *args, **kwargs)
        except BaseException:
            if not is_nested:
                self.database.end_interrupted()
            raise

    return wrapped


class PlaybookCache:
    """Bullets, their hashes and the labelled cases, as of one moment of the ledger."""

    def __init__(
        self, url: str | PathLike[str] | None = None, *, durability: Durability = "normal"
    ) -> None:
        self.database: Final = open_database(url, durability)
        """For the functions of `maintenance` and `ledger`; a user does not need it."""
        self._lock = self.database.lock
        self._bullets = BulletIndex()
        self._hashes: dict[int, tuple[int, int]] = {}
        """By bullet number: the part of the hash that no counter changes, and the whole hash."""
        self._vectors_in = self.database
        """Where the vectors of texts are stored."""
        self._pending_deltas: dict[int, tuple[int, int, int]] = {}
        """What the current write has added to counters, and not yet written to the database."""
        self._cases: dict[str, CaseTable] = {}
        self._set: dict[tuple[str, str], Stored | None] = {}
        """By kind and node: the newest task or policy that was read."""
        self._labels_until = 0
        """The position up to which labels are in the tables of cases."""
        self._clock = Clock(0, 0)
        self._is_stale = True
        """Whether memory may be wrong: then everything is read again."""
        with self._lock:
            self._read_news()

    def __reduce__(self) -> str:
        raise TypeError(
            "a playbook is an open database: open BulletPlaybook(url) where it is needed"
            + ("; one in memory can only be copied, by fork()" if self.database.in_memory else "")
        )

    @property
    def url(self) -> str:
        """Where the playbook is stored; without a password."""
        return self.database.url

    @property
    def clock(self) -> Clock:
        """How far the ledger has come, and the playbook's version."""
        with self._lock:
            self._read_news()
            return self._clock

    @property
    def version(self) -> int:
        """The number of the newest change to content, condition or status of a bullet."""
        return self.clock.version

    def __len__(self) -> int:
        return len(list(iter(self)))

    def __iter__(self) -> Iterator[Bullet]:
        with self._lock:
            self._read_news()
            return iter([b for b in self._bullets.values() if b.status != "removed"])

    def writing(self) -> AbstractContextManager[LedgerWriter]:
        """Make everything inside one write: others see all of it or nothing."""
        return self.database.writing(self)

    def begin(self, writer: LedgerWriter) -> None:
        """Read what others wrote, and take the memory for wrong until `settle`."""
        if self._is_stale or Clock(writer.position, writer.version) != self._clock:
            self._refresh()
        self._pending_deltas = {}
        self._is_stale = True

    def settle(self, writer: LedgerWriter) -> None:
        """Take the memory for right again: all is committed."""
        self._clock = Clock(writer.position, writer.version)
        self._is_stale = False

    def add_to_counters(self, deltas: CounterDeltas) -> None:
        """Add to the counters of bullets in memory; the end of the write stores them at once."""
        pending = self._pending_deltas
        for number, (helpful, harmful, selected) in deltas.items():
            self._bullets[number] = self._bullets[number].counted(helpful, harmful, selected)
            h, f, s = pending.get(number, (0, 0, 0))
            pending[int(number)] = (h + helpful, f + harmful, s + selected)

    def flush(self, writer: LedgerWriter) -> None:
        """Store the counters in the order of the bullets: PostgreSQL locks the rows one by one."""
        rows = []
        for number, deltas in sorted(self._pending_deltas.items()):
            after, position = self._bullets[number], writer.next_position()
            counts = (after.helpful_count, after.harmful_count, after.times_selected)
            lasting, old = self._hashes[number]
            new = lasting ^ hash_values((number, *counts, position))
            writer.seal ^= old ^ new
            self._hashes[number] = (lasting, new)
            rows.append((*deltas, position, new, number))
        if rows:
            writer.run(sql.ADD_TO_COUNTERS, rows)
        self._pending_deltas = {}

    def adjust(
        self, writer: LedgerWriter, deltas: CounterDeltas, reason: str, covers: int = 0
    ) -> None:
        """Store why counters hold more than the stored decisions say; no counter is changed."""
        last = writer.connection.scalar(sa.select(sa.func.max(tables.adjustments.c.number))) or 0
        noted = {"reason": reason, "at": now(), "covers": covers}
        rows = [
            {"number": i, "bullet": number, "helpful": h, "harmful": f, "selected": s, **noted}
            for i, (number, (h, f, s)) in enumerate(sorted(deltas.items()), start=last + 1)
        ]
        writer.add(tables.adjustments, rows)

    def rewrite(self, writer: LedgerWriter, changed: Iterable[Bullet]) -> None:
        """Store bullets with another content, condition, status, proof or weight."""
        self.flush(writer)
        rows = []
        for bullet in changed:
            lasting, old = self._hashes[bullet.number]
            row = {**to_row(bullet), "changed": writer.next_position()}
            # By difference: a damaged row must not become whole by being written to.
            lasting ^= lasting_hash(to_row(self._bullets[bullet.number])) ^ lasting_hash(row)
            row["hash"] = lasting ^ tally_of(row)
            writer.seal ^= old ^ row["hash"]
            self._keep(row)
            rows.append(_REWRITTEN(row))
        if rows:
            writer.run(sql.REWRITE_BULLET, rows)

    def log(
        self, writer: LedgerWriter, bullet: Bullet, change: str, reason: str, source: str
    ) -> None:
        """Add a change to the history, which gives the playbook its next version."""
        writer.version += 1
        entry = {
            "version": writer.version,
            "at": now(),
            "bullet": bullet.number,
            "change": change,
            "reason": clean_text(reason),
            "source": clean_text(source),
            "content": bullet.content,
            "condition": condition_text(bullet.condition),
            "status": bullet.status,
        }
        writer.add(tables.history, [entry])

    def invalidate(self) -> None:
        """Read everything again before the next use."""
        self._is_stale = True

    def invalidate_cases(self) -> None:
        """Read the labelled cases again before the next use."""
        with self._lock:
            self._cases.clear()

    def share_vectors(self, other: "PlaybookCache") -> None:
        """Use the stored vectors of a playbook with the same bullets; no model is asked again."""
        self._vectors_in = other._vectors_in

    def close(self) -> None:
        """Close the database."""
        self.database.close()

    def _read_news(self) -> None:
        """Read what others wrote; the caller holds the lock."""
        if self.database.is_writing:
            return
        if self._is_stale or not (self.database.in_memory or self.database.clock() == self._clock):
            self._refresh()

    def _refresh(self, fetch: Fetch | None = None) -> None:
        """Read what has changed since the last read; everything if memory may be wrong.

        Clock and bullets are of the moment of one statement.
        """
        fetch = fetch or self.database.fetch
        since = _START if self._is_stale else self._clock.position
        changed = fetch(sql.CHANGED_SINCE, *[since] * 4)
        position, version, is_adjusted, is_set = changed[0][:4]
        clock = Clock(position, version)
        if clock.position == since:
            return
        self._is_stale = True
        if since == _START:
            self._bullets, self._hashes, self._cases = BulletIndex(), {}, {}
            self._set.clear()
        for row in changed:
            if row[4] is not None:
                self._keep(dict(zip(_BULLET_COLUMNS, row[4:], strict=True)))
        if is_adjusted:
            self._cases.clear()  # cases may have been pruned or erased, words of tasks with them
        if is_set or is_adjusted:
            self._set.clear()
        self._clock = clock
        self._is_stale = False

    def _read_cases(self, read: Callable[[sa.Connection], CaseTable]) -> CaseTable:
        """Labelled cases as they are in the database; bullets and cases are of one moment."""
        with self.database.snapshot() as connection:
            if not self.database.is_writing:
                fetch = fetch_by(connection)
                self._refresh(fetch)
                self._take_labels(fetch)
            return read(connection)

    def _take_labels(self, fetch: Fetch | None = None) -> None:
        """Bring the tables of labelled cases up to date; a written label does not change."""
        writer = self.database.writer
        until = writer.position if writer else self._clock.position
        since = self._labels_until
        if self._cases and until > since:
            fetch = fetch or self.database.fetch
            for row in map(LabelledRow._make, fetch(sql.LABELLED_BETWEEN, since, until)):
                table = self._cases.get(row.node)
                if table is None or (row.source == JUDGE and row.revision == 1):
                    continue
                known_at = min(row.known_at, now())  # the clock of its writer may be ahead
                if row.revision == 1 and known_at >= table.known_at:
                    table.take(replace(read_case(row), known_at=known_at))
                else:  # it is not the newest
                    self._cases.pop(row.node)
        self._labels_until = until

    def _keep(self, row: DataView) -> None:
        """Take the row of a bullet into memory."""
        self._bullets[row["number"]] = from_row(row)
        self._hashes[row["number"]] = (row["hash"] ^ tally_of(row), row["hash"])
