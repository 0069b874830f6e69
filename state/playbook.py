"""The playbook: all bullets, their records and versions, and the ledger of decisions behind them.

Bullets are kept in memory and written through; a change by another process is noticed before each
read. It knows nothing of selection, models or graphs.
"""

from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from threading import RLock
from typing import Any, Final, get_args

import sqlalchemy as sa

from acegraph.state import tables
from acegraph.state.bullet import Bullet, Source, Status
from acegraph.state.cases import Case, CaseTable
from acegraph.state.condition import Condition, parse_condition
from acegraph.state.errors import InvalidInput, InvalidSettings, PlaybookError, UnknownBullet
from acegraph.state.ledger import DecisionRecord, Label, Ledger, Moves, Recorded
from acegraph.state.rows import from_row, to_row
from acegraph.state.transaction import clean_text
from acegraph.state.vectors import Vector, VectorShelf
from acegraph.state.verdict import JUDGE

MAX_CONTENT: Final = 1_000
EVIDENCE_WINDOW: Final = 5_000
"""How many of the newest labelled cases count as evidence: enough to prove, few enough to
forget."""

_STALE: Final = -1


class BulletPlaybook:
    """`BulletPlaybook()` lives in memory; `BulletPlaybook("sqlite:///ace.db")` lasts."""

    def __init__(self, url: str | None = None) -> None:
        self._database = tables.Database(url)
        self._ledger = Ledger(self._database)
        self._lock = RLock()
        self._bullets: dict[int, Bullet] = {}
        self._vectors = VectorShelf(self._database)
        self._cases: dict[str, CaseTable] = {}
        self._version = 0
        self._writing_depth = 0
        self._seen = self._database.foreign_changes()
        self._load()

    @property
    def url(self) -> str:
        """Where it lives."""
        return self._database.url

    @property
    def version(self) -> int:
        """The number of the newest change to content, condition or status of a bullet."""
        with self._fresh():
            return self._version

    def __len__(self) -> int:
        with self._fresh():
            return len(self._bullets)

    def __iter__(self) -> Iterator[Bullet]:
        with self._fresh():
            return iter(list(self._bullets.values()))

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
        bullet = Bullet(
            id="",
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
        with self.writing() as connection:
            number = _new_key(connection.execute(tables.bullets.insert().values(**to_row(bullet))))
            bullet = replace(bullet, id=f"b{number}")
            self._log(connection, bullet, "added", reason, source)
            self._bullets[number] = bullet
        return bullet.id

    def get_bullet(self, bullet_id: str) -> Bullet:
        """One bullet by its id."""
        with self._fresh():
            bullet = self._bullets.get(self._number(bullet_id))
            if bullet is None:
                raise UnknownBullet(
                    f"no bullet {bullet_id!r} in playbook version {self._version}; "
                    f"it holds {len(self._bullets)} bullets"
                )
            return bullet

    def get_bullets_for_node(
        self, node: str, source: str | None = None, *, status: Status | None = "active"
    ) -> list[Bullet]:
        """The node's bullets in order of creation: active ones, of one source if asked."""
        with self._fresh():
            return [
                b
                for b in self._bullets.values()
                if b.node == node
                and (source is None or b.source == source)
                and (status is None or b.status == status)
            ]

    def update_stats(self, bullet_id: str, is_helpful: bool) -> None:
        """Count one outcome by hand: helpful or harmful, and selected, by one."""
        with self.writing() as connection:
            number = self._number(self.get_bullet(bullet_id).id)
            moved = {number: (int(is_helpful), int(not is_helpful), 1)}
            connection.execute(
                tables.adjustments.insert().values(
                    bullet=number,
                    helpful=int(is_helpful),
                    harmful=int(not is_helpful),
                    selected=1,
                    at=tables.now(),
                )
            )
            self._ledger.move(connection, moved)
            self._count(moved)

    def set_status(self, bullet_id: str, status: Status, reason: str, source: str = "user") -> None:
        """Activate, retire or hold back a bullet; what it was is kept in the history."""
        if status not in get_args(Status):
            raise InvalidInput(f"a bullet is candidate, active or retired, not {status!r}")
        with self.writing() as connection:
            before = self.get_bullet(bullet_id)
            # It was fitted beside bullets that may be gone: who comes back starts without.
            weight = before.weight if before.status == status else None
            bullet = replace(before, status=status, weight=weight)
            number = self._number(bullet_id)
            connection.execute(
                tables.bullets.update()
                .where(tables.bullets.c.number == number)
                .values(status=status, weight=weight)
            )
            self._log(connection, bullet, status, reason, source)
            self._bullets[number] = bullet

    def set_weights(self, weights: Mapping[str, float]) -> None:
        """Store the fitted weights of bullets: evidence, like counters, not part of a version."""
        with self.writing() as connection:
            changed = {
                self._number(bullet_id): weight
                for bullet_id, weight in weights.items()
                if self.get_bullet(bullet_id).weight != weight
            }
            if not changed:
                return
            connection.execute(
                tables.bullets.update()
                .where(tables.bullets.c.number == sa.bindparam("bullet"))
                .values(weight=sa.bindparam("fitted")),
                [{"bullet": number, "fitted": weight} for number, weight in changed.items()],
            )
            for number, weight in changed.items():
                self._bullets[number] = replace(self._bullets[number], weight=weight)

    def history(self) -> list[dict[str, Any]]:
        """Every change to the bullets, oldest first."""
        with self._database.reading() as connection:
            rows = connection.execute(
                sa.select(tables.history).order_by(tables.history.c.version)
            ).mappings()
            return [{**row, "bullet": f"b{row['bullet']}"} for row in rows]

    def vectors(self, model: str, bullet_ids: Iterable[str]) -> dict[str, Vector]:
        """The stored vectors of one embedding model, for those of the bullets that have one.

        Refused where the bullets have those of another model: see `rebind_vectors`.
        """
        with self._fresh():
            self._check_model(model)
            contents = {i: self.get_bullet(i).content for i in bullet_ids}
            known = self._vectors.of_texts(model, contents.values())
            return {i: known[text] for i, text in contents.items() if text in known}

    def store_vectors(self, model: str, vectors: Mapping[str, Vector]) -> None:
        """Keep vectors of bullets; those of two models are never mixed."""
        if vectors:
            with self.writing():
                self._check_model(model)
                self._vectors.store(
                    model, {self.get_bullet(i).content: v for i, v in vectors.items()}
                )
                if self._vectors.bound_model() is None:
                    self._vectors.bind(model)

    def text_vectors(self, model: str, texts: Iterable[str]) -> dict[str, Vector]:
        """The stored vectors of any texts, for those that have one."""
        with self._fresh():
            return self._vectors.of_texts(model, texts, keep=False)

    def store_text_vectors(self, model: str, vectors: Mapping[str, Vector]) -> None:
        """Keep vectors of any texts, so that none is bought twice."""
        if vectors:
            with self.writing():
                self._vectors.store(model, vectors, keep=False)

    @property
    def embedding_model(self) -> str | None:
        """The model whose vectors the bullets have; None while they have none."""
        return self._vectors.bound_model()

    def rebind_vectors(self, model: str) -> None:
        """Let the bullets have the vectors of another model from now on."""
        with self.writing():
            self._vectors.bind(model)

    def _check_model(self, model: str) -> None:
        bound = self._vectors.bound_model()
        if bound not in (None, model):
            how = f"run: acegraph reembed --model {model} --playbook {self.url}"
            if self._database.in_memory:
                how = f"call acegraph.graph.reembed(playbook, {model!r})"
            raise InvalidSettings(
                f"the bullets of this playbook have vectors of {bound!r}, not of {model!r}; to "
                f"switch, {how}"
            )

    def record(self, record: DecisionRecord, label: Label | None = None) -> Recorded:
        """Store a decision and its outcome, and move the counters of its bullets, once per id."""
        with self.writing():
            for shown in record.shown:
                self.get_bullet(f"b{shown.bullet_number}")
            recorded = self._ledger.record(record, label)
            self._count(recorded.moved)
            if label and recorded.label_changed and label.source != JUDGE:
                table = self._cases.get(record.node)
                if table is not None and recorded.new_case:
                    if record.counted:
                        fields, digest = record.fields, record.digest
                        table.add(Case(record.id, fields, label.value, record.text, digest))
                else:
                    self._cases.pop(record.node, None)
        return recorded

    def label(self, decision_id: str, label: Label) -> Recorded:
        """Say, or correct, the right answer of a stored decision."""
        with self.writing():
            recorded = self._ledger.label(decision_id, label)
            self._count(recorded.moved)
            if recorded.label_changed:
                self._cases.clear()
        return recorded

    def conclude(self, decision_id: str, lesson: Mapping[str, Any]) -> None:
        """Note what was learned from a decision, so that it is not learned from twice."""
        self._ledger.conclude(decision_id, lesson)

    def remember(self, past: Iterable[Case], node: str, source: str = "history") -> int:
        """Take labelled history in as evidence; gives how many cases were new."""
        with self.writing():
            added = self._ledger.remember(past, node, source)
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
        with self._lock:
            if self._writing_depth:
                raise PlaybookError("a playbook cannot be forked in the middle of a write")
            copy = BulletPlaybook()
            self._database.copy_into(copy._database)
        copy._load()
        return copy

    @contextmanager
    def writing(self) -> Iterator[sa.Connection]:
        """Hold the playbook still: what happens inside is one step for everyone else."""
        with self._lock:
            outermost = not self._writing_depth
            self._writing_depth += 1
            try:
                with self._database.writing() as connection:
                    if outermost:
                        self._refresh()
                    yield connection
            except BaseException:
                self._seen = _STALE  # memory may be ahead of what was rolled back: read it again
                raise
            finally:
                self._writing_depth -= 1

    def close(self) -> None:
        """Let go of the database."""
        self._database.close()

    def __enter__(self) -> "BulletPlaybook":
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    @contextmanager
    def _fresh(self) -> Iterator[None]:
        with self._lock:
            if not self._writing_depth:
                self._refresh()
            yield

    def _refresh(self) -> None:
        seen = self._database.foreign_changes()
        if seen != self._seen:
            self._load()
            self._seen = seen

    def _load(self) -> None:
        with self._database.reading() as connection:
            rows = connection.execute(
                sa.select(tables.bullets).order_by(tables.bullets.c.number)
            ).mappings()
            self._bullets = {row["number"]: from_row(dict(row)) for row in rows}
            newest = connection.scalar(sa.select(sa.func.max(tables.history.c.version)))
            self._version = int(newest or 0)
        self._vectors.forget()
        self._cases.clear()

    def _log(
        self, connection: sa.Connection, bullet: Bullet, change: str, reason: str, source: str
    ) -> None:
        entry = connection.execute(
            tables.history.insert().values(
                at=tables.now(),
                bullet=self._number(bullet.id),
                change=change,
                reason=reason,
                source=source,
                content=bullet.content,
                condition=bullet.condition.to_json() if bullet.condition else None,
                status=bullet.status,
            )
        )
        self._version = _new_key(entry)

    def _count(self, moved: Moves) -> None:
        for number, (helpful, harmful, selected) in moved.items():
            before = self._bullets[number]
            self._bullets[number] = replace(
                before,
                helpful_count=before.helpful_count + helpful,
                harmful_count=before.harmful_count + harmful,
                times_selected=before.times_selected + selected,
            )

    @staticmethod
    def _number(bullet_id: str) -> int:
        digits = bullet_id.removeprefix("b")
        return int(digits) if digits.isascii() and digits.isdigit() and len(digits) < 16 else -1


def _new_key(result: sa.CursorResult[Any]) -> int:
    key = result.inserted_primary_key
    assert key is not None
    return int(key[0])
