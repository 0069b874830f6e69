"""The playbook: all bullets, their records and versions, and the ledger of decisions behind them.

Bullets are kept in memory and written through; what another process wrote is noticed before each
read, and only that is read. It knows nothing of selection, models or graphs.
"""

import functools
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace
from threading import RLock
from typing import Any, Final, TypeVar, cast

import sqlalchemy as sa

from acegraph.state import statements as sql
from acegraph.state import tables
from acegraph.state.bullet import Bullet, Source, Status
from acegraph.state.cases import Case, CaseTable
from acegraph.state.condition import Condition, parse_condition
from acegraph.state.database import READ_CLOCK, Clock, Durability, open_database
from acegraph.state.errors import (
    InvalidInput,
    PlaybookError,
    UnknownBullet,
    UnknownDecision,
    WriteConflict,
)
from acegraph.state.ledger import DecisionRecord, Label, Ledger, Moves, Recorded, add_moves
from acegraph.state.page import Page, lasting_hash, tally_hash, tally_of
from acegraph.state.redaction import redacted
from acegraph.state.rows import condition_text, from_row, read_case, to_row
from acegraph.state.transaction import clean_text
from acegraph.state.vectors import Vector, VectorShelf
from acegraph.state.verdict import JUDGE

MAX_CONTENT: Final = 1_000
EVIDENCE_WINDOW: Final = 5_000
"""How many of the newest labelled cases count as evidence: enough to prove, few enough to
forget."""

_STALE: Final = -1
_ATTEMPTS: Final = 5
_Method = TypeVar("_Method", bound=Callable[..., Any])


@dataclass(frozen=True)
class View:
    """The bullets of a node at one moment, and which moment that was."""

    bullets: list[Bullet]
    clock: Clock


def _retried(method: _Method) -> _Method:
    """Try again what the database gave up in favour of another writer; nothing else."""

    @functools.wraps(method)
    def wrapped(self: "BulletPlaybook", *args: Any, **kwargs: Any) -> Any:
        for _ in range(_ATTEMPTS - 1):
            try:
                return method(self, *args, **kwargs)
            except WriteConflict:
                if self._writing_depth:  # the outer write is lost as a whole
                    raise
        return method(self, *args, **kwargs)

    return cast(_Method, wrapped)


class BulletPlaybook:
    """`BulletPlaybook()` lives in memory; `BulletPlaybook("sqlite:///ace.db")` and
    `BulletPlaybook("postgresql://...")` last.
    """

    def __init__(self, url: str | None = None, *, durability: Durability = "normal") -> None:
        self.database: Final = open_database(url, durability)
        """For the ledger's own operations; a user has no need of it."""
        self._ledger = Ledger(self.database)
        self._lock = RLock()
        self._bullets: dict[int, Bullet] = {}
        self._hashes: dict[int, tuple[int, int]] = {}
        """Per bullet: the lasting part of its hash, and the whole."""
        self._vectors = VectorShelf(self.database)
        self._moved: dict[int, tuple[int, int, int]] = {}
        """What the step under way has moved and not yet written."""
        self._cases: dict[str, CaseTable] = {}
        self._clock = Clock(_STALE, 0)
        self._writing_depth = 0
        with self._fresh():
            pass

    @property
    def url(self) -> str:
        """Where it lives; without a password."""
        return self.database.url

    @property
    def clock(self) -> Clock:
        """How far the ledger has come, and the playbook's version."""
        with self._fresh():
            return self._clock

    @property
    def version(self) -> int:
        """The number of the newest change to content, condition or status of a bullet."""
        return self.clock.version

    def __len__(self) -> int:
        return len(list(iter(self)))

    def __iter__(self) -> Iterator[Bullet]:
        with self._fresh():
            return iter([b for b in self._bullets.values() if b.status != "removed"])

    @_retried
    def add_bullet(
        self,
        content: str,
        node: str,
        source: Source = "offline",
        *,
        condition: Condition | None = None,
        problem_types: Iterable[str] = (),
        confidence: float = 0.5,
        status: Status = "active",
        reason: str = "added",
        **details: Any,
    ) -> str:
        """Add a bullet and give its id. Its condition is read from the text unless given.

        Further `details` are `proof`, `evidence`, `origin`, `related` and `weight` of `Bullet`.
        """
        content = clean_text(content)
        if not content or len(content) > MAX_CONTENT:
            raise InvalidInput(f"a bullet has 1 to {MAX_CONTENT} characters, not {len(content)}")
        if source not in ("offline", "online"):
            raise InvalidInput(f"the source of a bullet is offline or online, not {source!r}")
        with self.writing() as page:
            number = max(self._bullets, default=0) + 1
            bullet = Bullet(
                id=f"b{number}",
                content=content,
                node=node,
                source=source,
                condition=condition or parse_condition(content),
                problem_types=tuple(problem_types),
                confidence=float(confidence),
                status=status,
                created_at=tables.now(),
                **details,
            )
            row = to_row(bullet)
            page.add_bullet(row)
            self._keep(row)
            self.log(page, bullet, "added", reason, source)
        return bullet.id

    def get_bullet(self, bullet_id: str) -> Bullet:
        """One bullet by its id, whatever became of it."""
        with self._fresh():
            bullet = self._bullets.get(self._number(bullet_id))
            if bullet is None:
                raise UnknownBullet(
                    f"no bullet {bullet_id!r} in playbook version {self._clock.version}; "
                    f"it holds {len(self)} bullets"
                )
            return bullet

    def get_bullets_for_node(
        self, node: str, source: str | None = None, *, status: Status | None = "active"
    ) -> list[Bullet]:
        """The node's bullets in order of creation: active ones, of one source if asked."""
        with self._fresh():
            return [
                b
                for b in self
                if b.node == node
                and (source is None or b.source == source)
                and (status is None or b.status == status)
            ]

    def view(self, node: str, source: str | None = None) -> View:
        """The node's active bullets and the moment at which they are what they are."""
        with self._fresh():
            return View(self.get_bullets_for_node(node, source), self._clock)

    @_retried
    def update_stats(self, bullet_id: str, is_helpful: bool) -> None:
        """Count one outcome by hand: helpful or harmful, and selected, by one."""
        with self.writing() as page:
            number = self.get_bullet(bullet_id).number
            moved = {number: (int(is_helpful), int(not is_helpful), 1)}
            self.adjust(page, moved, "by hand")
            self.move(moved)

    @_retried
    def set_status(self, bullet_id: str, status: Status, reason: str, source: str = "user") -> None:
        """Activate, retire or hold back a bullet; what it was is kept in the history."""
        if status not in ("candidate", "active", "retired"):
            raise InvalidInput(f"a bullet is candidate, active or retired, not {status!r}")
        with self.writing() as page:
            before = self.get_bullet(bullet_id)
            # It was fitted beside bullets that may be gone: who comes back starts without.
            weight = before.weight if before.status == status else None
            bullet = replace(before, status=status, weight=weight)
            self.rewrite(page, [bullet])
            self.log(page, bullet, status, reason, source)

    @_retried
    def set_weights(self, weights: Mapping[str, float]) -> None:
        """Store the fitted weights of bullets: evidence, like counters, not part of a version."""
        with self.writing() as page:
            now = {i: self.get_bullet(i) for i in weights}
            changed = [
                replace(b, weight=float(weights[i]))
                for i, b in now.items()
                if b.weight != weights[i]
            ]
            self.rewrite(page, changed)

    def history(self) -> list[dict[str, Any]]:
        """Every change to the bullets, oldest first."""
        columns = [c for c in tables.history.c if c.name not in ("position", "hash")]
        with self.database.reading() as connection:
            rows = connection.execute(
                sa.select(*columns).order_by(tables.history.c.version)
            ).mappings()
            return [{**row, "bullet": f"b{row['bullet']}"} for row in rows]

    def vectors(self, model: str, bullet_ids: Iterable[str]) -> dict[str, Vector]:
        """The stored vectors of one embedding model, for those of the bullets that have one."""
        with self._fresh():
            known = self._vectors.of_model(model)
            return {i: known[n] for i in bullet_ids if (n := self._number(i)) in known}

    @_retried
    def store_vectors(self, model: str, vectors: Mapping[str, Vector]) -> None:
        """Keep vectors of one embedding model; vectors of two models are never mixed."""
        if vectors:
            with self.writing():
                self._vectors.store(model, {self._number(i): v for i, v in vectors.items()})

    @_retried
    def record(self, record: DecisionRecord, label: Label | None = None) -> Recorded:
        """Store a decision and its outcome, and move the counters of its bullets, once per id."""
        record = redacted(record)
        with self.writing():
            for shown in record.shown:
                if shown.bullet_number not in self._bullets:
                    self.get_bullet(f"b{shown.bullet_number}")  # says what it looked for
            recorded = self._ledger.record(record, label)
            self.move(recorded.moved)
            if label and recorded.label_changed and label.source != JUDGE:
                table = self._cases.get(record.node)
                if table is not None and recorded.new_case:
                    if record.counted:
                        fields, digest = record.fields, record.digest
                        table.add(Case(record.id, fields, label.value, record.text, digest))
                else:
                    self._cases.pop(record.node, None)
        return recorded

    @_retried
    def label(self, decision_id: str, label: Label) -> Recorded:
        """Say, or correct, the right answer of a stored decision."""
        found = self.label_many({decision_id: label}).get(decision_id)
        if found is None:
            self.decision(decision_id)  # says whether it was pruned or never there
            raise UnknownDecision(f"no decision {decision_id!r} in this playbook")
        return found

    @_retried
    def label_many(self, labels: Mapping[str, Label]) -> dict[str, Recorded]:
        """Say, or correct, many right answers in one step; unknown decisions are left out."""
        with self.writing():
            found = self._ledger.label(labels)
            moved: Moves = {}
            for recorded in found.values():
                moved = add_moves(moved, recorded.moved)
                if recorded.label_changed:
                    self._cases.pop(recorded.node, None)
            self.move(moved)
        return found

    @_retried
    def withdraw(self, decision_id: str, by: str, instead: Label | None = None) -> Recorded:
        """Take a label back with all it moved; an earlier one may stand again instead."""
        with self.writing():
            recorded = self._ledger.withdraw(decision_id, by, instead)
            self.move(recorded.moved)
            self._cases.pop(recorded.node, None)
        return recorded

    @_retried
    def conclude(self, decision_id: str, lesson: Mapping[str, Any]) -> None:
        """Note what was learned from a decision, so that it is not learned from twice."""
        with self.writing():
            self._ledger.conclude(decision_id, lesson)

    @_retried
    def right_number(self, decision_id: str, node: str) -> int:
        """The how-many-eth right decision of its node this is; the same whenever it is asked."""
        with self.writing():
            return self._ledger.right_number(decision_id, node)

    @_retried
    def remember(self, past: Iterable[Case], node: str, source: str = "history") -> int:
        """Take labelled history in as evidence; gives how many cases were new."""
        with self.writing():
            added = self._ledger.remember(list(past), node, source)
            self._cases.pop(node, None)
        return added

    def decision(self, decision_id: str) -> dict[str, Any]:
        """A stored decision: what was asked, shown and said, and its label."""
        return self._ledger.decision(decision_id)

    def cases(self, node: str) -> CaseTable:
        """The newest labelled cases of a node, the evidence on which bullets are tested.

        A snapshot: what others record meanwhile does not change it.
        """
        with self._fresh():
            table = self._cases.get(node)
            if table is None or len(table) > 2 * EVIDENCE_WINDOW:
                table = CaseTable(self._ledger.labelled(node, EVIDENCE_WINDOW))
                self._cases[node] = table
            return table.snapshot()

    def fork(self) -> "BulletPlaybook":
        """An independent copy in memory, to try something on without touching this one."""
        from acegraph.state.copying import copy_ledger

        with self._lock:
            if self._writing_depth:
                raise PlaybookError("a playbook cannot be forked in the middle of a write")
        copy = BulletPlaybook()
        copy_ledger(self.database, copy.database)
        copy.forget()
        return copy

    @contextmanager
    def writing(self) -> Iterator[Page]:
        """Hold the playbook still: what happens inside is one step for everyone else."""
        with self._lock:
            outermost = not self._writing_depth
            self._writing_depth += 1
            try:
                with self.database.writing() as page:
                    if outermost and Clock(page.position, page.version) != self._clock:
                        self._refresh(page.connection)
                    yield page
                    if outermost:
                        self._write_moved(page)
                if outermost:
                    self._clock = Clock(page.position, page.version)
            except BaseException:
                self.forget()  # memory may be ahead of what was rolled back
                raise
            finally:
                self._writing_depth -= 1

    def move(self, moved: Moves) -> None:
        """Add to the counters of bullets; what one step moves is written at its end, at once."""
        for number, (helpful, harmful, selected) in moved.items():
            self._bullets[number] = self._bullets[number].counted(helpful, harmful, selected)
        self._moved = add_moves(self._moved, moved)

    def _write_moved(self, page: Page) -> None:
        """In the order of their numbers: PostgreSQL locks the rows one by one."""
        rows = []
        for number, (helpful, harmful, selected) in sorted(self._moved.items()):
            (lasting, old), after = self._hashes[number], self._bullets[number]
            position = page.next_position()
            counts = (after.helpful_count, after.harmful_count, after.times_selected)
            new = lasting ^ tally_hash(number, *counts, position)
            page.reseal(old, new)
            self._hashes[number] = (lasting, new)
            moves = {"helpful": helpful, "harmful": harmful, "selected": selected}
            rows.append({"bullet": number, **moves, "at_position": position, "new_hash": new})
        if rows:
            page.run(sql.MOVE, rows)
        self._moved = {}

    def adjust(self, page: Page, moved: Moves, reason: str, at: str = "", covers: int = 0) -> None:
        """Note counters that move, or moved, without a stored decision."""
        last = page.connection.scalar(sa.select(sa.func.max(tables.adjustments.c.number))) or 0
        page.add(
            tables.adjustments,
            [
                {
                    "number": last + i,
                    "bullet": number,
                    "helpful": h,
                    "harmful": f,
                    "selected": s,
                    "reason": reason,
                    "at": at or tables.now(),
                    "covers": covers,
                }
                for i, (number, (h, f, s)) in enumerate(sorted(moved.items()), start=1)
            ],
        )

    def rewrite(self, page: Page, changed: Iterable[Bullet]) -> None:
        """Store bullets with another content, condition, status or weight."""
        self._write_moved(page)
        rows = []
        for bullet in changed:
            lasting, old = self._hashes[bullet.number]
            row = {**to_row(bullet), "changed": page.next_position()}
            # By difference: a damaged row must not become whole by being written to.
            lasting ^= lasting_hash(to_row(self._bullets[bullet.number])) ^ lasting_hash(row)
            row["hash"] = lasting ^ tally_of(row)
            page.reseal(old, row["hash"])
            self._keep(row)
            rows.append(
                {
                    "bullet": bullet.number,
                    "new_content": row["content"],
                    "new_condition": row["condition"],
                    "new_status": row["status"],
                    "new_weight": row["weight"],
                    "at_position": row["changed"],
                    "new_hash": row["hash"],
                }
            )
        if rows:
            page.run(sql.REWRITE, rows)

    def log(self, page: Page, bullet: Bullet, change: str, reason: str, source: str) -> None:
        """Give the playbook its next version."""
        page.version += 1
        entry = {
            "version": page.version,
            "at": tables.now(),
            "bullet": bullet.number,
            "change": change,
            "reason": clean_text(reason),
            "source": clean_text(source),
            "content": bullet.content,
            "condition": condition_text(bullet.condition),
            "status": bullet.status,
        }
        page.add(tables.history, [entry])

    def forget(self) -> None:
        """Read everything anew when next asked."""
        self._clock = Clock(_STALE, 0)
        self._moved = {}

    def forget_cases(self) -> None:
        """Read the labelled cases anew when next asked."""
        self._cases.clear()

    def share_vectors(self, other: "BulletPlaybook") -> None:
        """Use the vectors of a playbook with the same bullets: they need not be bought again."""
        self._vectors = other._vectors

    def close(self) -> None:
        """Let go of the database."""
        self.database.close()

    def __enter__(self) -> "BulletPlaybook":
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    @contextmanager
    def _fresh(self) -> Iterator[None]:
        with self._lock:
            is_known = self._clock.position != _STALE
            if (
                not self._writing_depth
                and not (self.database.in_memory and is_known)
                and self.database.clock() != self._clock
            ):
                with self.database.snapshot() as connection:
                    self._refresh(connection)
            yield

    def _refresh(self, connection: sa.Connection) -> None:
        """Read what has changed since it was last looked at: all of it, when that is unknown."""
        since = self._clock.position
        found = connection.execute(READ_CLOCK).one()
        if found.position == since:
            return
        known = len(self._bullets)
        if since == _STALE:
            self._bullets, self._hashes = {}, {}
            self._cases.clear()
        for bullet in connection.execute(sql.BULLETS_SINCE, {"since": since}):
            self._keep(bullet._asdict())
        if self._cases:
            for case in connection.execute(sql.LABELLED_SINCE, {"since": since}):
                self._take_in(case)
        if since == _STALE or len(self._bullets) != known:
            self._vectors.forget()
        self._clock = Clock(found.position, found.version)

    def _take_in(self, row: Any) -> None:
        """Add a case that another process labelled to the table in memory."""
        table = self._cases.get(row.node)
        if table is None or row.source == JUDGE:
            return
        if row.revision == 1 and row.label is not None:
            table.add(read_case(row))
        else:
            self._cases.pop(row.node)

    def _keep(self, row: Mapping[str, Any]) -> None:
        self._bullets[row["number"]] = from_row(row)
        self._hashes[row["number"]] = (row["hash"] ^ tally_of(row), row["hash"])

    @staticmethod
    def _number(bullet_id: str) -> int:
        digits = bullet_id.removeprefix("b")
        return int(digits) if digits.isascii() and digits.isdigit() and len(digits) < 16 else -1
