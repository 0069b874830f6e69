"""The playbook: all bullets, their records and versions, and the ledger of decisions behind them.

Bullets are kept in memory and written through; what another process wrote is noticed before each
read, and only that is read. It knows nothing of selection, models or graphs.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any, Final

import sqlalchemy as sa

from acegraph.state.database import tables
from acegraph.state.database.encoding import stored_float
from acegraph.state.errors import (
    InvalidInput,
    InvalidSettings,
    PlaybookError,
    UnknownBullet,
    UnknownDecision,
)
from acegraph.state.ledger.redaction import redacted
from acegraph.state.ledger.row_mapping import to_row
from acegraph.state.playbook.cache import PlaybookCache, retried
from acegraph.state.playbook.index import Bools, View
from acegraph.state.playbook.vector_matrix import Vector, VectorMatrix
from acegraph.state.values.bullet import Bullet, Source, Status
from acegraph.state.values.cases import EVIDENCE_WINDOW, Case, CaseTable
from acegraph.state.values.condition import Condition, parse_condition
from acegraph.state.values.decision import (
    CounterDeltas,
    DecisionRecord,
    Label,
    Recorded,
    add_deltas,
)
from acegraph.state.values.times import as_utc, now
from acegraph.state.values.transaction import clean_text
from acegraph.state.values.verdict import JUDGE

MAX_CONTENT: Final = 1_000
_VECTORS: Final = 500
"""How many vectors are read at once: memory should not hold all of them twice."""


class BulletPlaybook(PlaybookCache):
    """`BulletPlaybook()` lives in memory; `BulletPlaybook("sqlite:///ace.db")` and
    `BulletPlaybook("postgresql://...")` last.
    """

    def __enter__(self) -> "BulletPlaybook":
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    @retried
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
        with self.writing() as writer:
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
                created_at=now(),
                **details,
            )
            row = to_row(bullet)
            writer.add_bullet(row)
            self._keep(row)
            self.log(writer, bullet, "added", reason, source)
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
                for b in self._bullets.shelf(node).bullets
                if b.status != "removed"
                and (source is None or b.source == source)
                and (status is None or b.status == status)
            ]

    def view(self, node: str) -> View:
        """A node's bullets as arrays, and the moment at which they are what they are."""
        with self._fresh():
            return View.of(self._bullets.shelf(node), self._clock)

    def matrix(self, view: View, model: str, wanted: Bools) -> VectorMatrix | None:
        """A view's unit vectors; those wanted are read from the database where memory lacks
        them.
        """
        with self._lock:
            lacking = view.bullets(view.lacking(model, wanted))
            if lacking:
                self._check_model(model, self._vectors.bound_model())
            for start in range(0, len(lacking), _VECTORS):
                some = lacking[start : start + _VECTORS]
                known = self._vectors.read(model, [b.content for b in some])
                found = ((b.number, known[b.content]) for b in some if b.content in known)
                view.shelf.put_vectors(model, found)
            return view.shelf.matrix(model)

    @retried
    def update_stats(self, bullet_id: str, is_helpful: bool) -> None:
        """Count one outcome by hand: helpful or harmful, and selected, by one."""
        with self.writing() as writer:
            number = self.get_bullet(bullet_id).number
            deltas = {number: (int(is_helpful), int(not is_helpful), 1)}
            self.adjust(writer, deltas, "by hand")
            self.add_to_counters(deltas)

    @retried
    def set_status(self, bullet_id: str, status: Status, reason: str, source: str = "user") -> None:
        """Activate, retire or hold back a bullet; what it was is kept in the history."""
        if status not in ("candidate", "active", "retired"):
            raise InvalidInput(f"a bullet is candidate, active or retired, not {status!r}")
        with self.writing() as writer:
            before = self.get_bullet(bullet_id)
            # It was fitted beside bullets that may be gone: who comes back starts without.
            weight = before.weight if before.status == status else None
            bullet = replace(before, status=status, weight=weight)
            self.rewrite(writer, [bullet])
            self.log(writer, bullet, status, reason, source)

    @retried
    def set_weights(self, weights: Mapping[str, float | None]) -> None:
        """Store the fitted weights of bullets: evidence, like counters, not part of a version."""
        with self.writing() as writer:
            known = {i: self.get_bullet(i) for i in weights}
            changed = [
                replace(b, weight=stored_float(weights[i]))
                for i, b in known.items()
                if b.weight != weights[i]
            ]
            self.rewrite(writer, changed)

    def history(self) -> list[dict[str, Any]]:
        """Every change to the bullets, oldest first."""
        columns = [c for c in tables.history.c if c.name not in ("position", "hash")]
        with self.database.reading() as connection:
            rows = connection.execute(
                sa.select(*columns).order_by(tables.history.c.version)
            ).mappings()
            return [{**row, "bullet": f"b{row['bullet']}"} for row in rows]

    def vectors(self, model: str, bullet_ids: Iterable[str]) -> dict[str, Vector]:
        """The stored vectors of one embedding model, for those of the bullets that have one.

        Refused where the bullets have those of another model: see `rebind_vectors`.
        """
        self._check_model(model, self._vectors.bound_model())
        contents = {i: self.get_bullet(i).content for i in bullet_ids}
        known = self._vectors.read(model, contents.values())
        return {i: known[text] for i, text in contents.items() if text in known}

    @retried
    def store_vectors(self, model: str, vectors: Mapping[str, Vector]) -> None:
        """Keep vectors of bullets; those of two models are never mixed."""
        if vectors:
            with self.writing():
                self._check_model(model, self._vectors.bound_model())
                self._vectors.store(
                    model, {self.get_bullet(i).content: v for i, v in vectors.items()}
                )
                if self._vectors.bound_model() is None:
                    self._vectors.bind(model)
                self._bullets.put_vectors(model, {self._number(i): v for i, v in vectors.items()})

    def text_vectors(self, model: str, texts: Iterable[str]) -> dict[str, Vector]:
        """The stored vectors of any texts, for those that have one."""
        return self._vectors.read(model, texts)

    @retried
    def store_text_vectors(self, model: str, vectors: Mapping[str, Vector]) -> None:
        """Keep vectors of any texts, so that none is bought twice."""
        if vectors:
            with self.writing():
                self._vectors.store(model, vectors)

    @property
    def embedding_model(self) -> str | None:
        """The model whose vectors the bullets have; None while they have none."""
        return self._vectors.bound_model()

    @retried
    def rebind_vectors(self, model: str) -> None:
        """Let the bullets have the vectors of another model from now on."""
        with self.writing():
            self._vectors.bind(model)

    def _check_model(self, model: str, bound: str | None) -> None:
        if bound not in (None, model):
            how = f"run: acegraph reembed --model {model} --playbook {self.url}"
            if self.database.in_memory:
                how = f"call acegraph.graph.reembed(playbook, {model!r})"
            raise InvalidSettings(
                f"the bullets of this playbook have vectors of {bound!r}, not of {model!r}; to "
                f"switch, {how}"
            )

    @retried
    def record(self, record: DecisionRecord, label: Label | None = None) -> Recorded:
        """Store a decision and its outcome, and move the counters of its bullets, once per id."""
        record = redacted(record)
        with self.writing() as writer:
            for shown in record.shown:
                if shown.bullet_number not in self._bullets:
                    self.get_bullet(f"b{shown.bullet_number}")  # says what it looked for
            recorded = self._ledger.record(writer, record, label)
            self.add_to_counters(recorded.deltas)
            if label and recorded.label_changed and label.source != JUDGE:
                if not recorded.new_case:  # it may be of another node
                    self._cases.clear()
                elif record.counted:
                    self._add_case(record, label)
        return recorded

    def _add_case(self, record: DecisionRecord, label: Label) -> None:
        """Take a new labelled case into the table in memory, or the table is read anew."""
        table = self._cases.get(record.node)
        known_at = as_utc(label.known_at) if label.known_at else now()
        if table is not None and known_at < table.known_at:
            self._cases.pop(record.node)
        elif table is not None:
            given = (record.id, record.fields, label.value, record.text, record.digest)
            table.add(Case(*given, known_at))

    @retried
    def label(self, decision_id: str, label: Label) -> Recorded:
        """Say, or correct, the right answer of a stored decision."""
        found = self.label_many({decision_id: label}).get(decision_id)
        if found is None:
            self.decision(decision_id)  # says whether it was pruned or never there
            raise UnknownDecision(f"no decision {decision_id!r} in this playbook")
        return found

    @retried
    def label_many(self, labels: Mapping[str, Label]) -> dict[str, Recorded]:
        """Say, or correct, many right answers in one step; unknown decisions are left out."""
        with self.writing() as writer:
            found = self._ledger.label(writer, labels)
            deltas: CounterDeltas = {}
            for recorded in found.values():
                deltas = add_deltas(deltas, recorded.deltas)
                if recorded.label_changed:
                    self._cases.pop(recorded.node, None)
            self.add_to_counters(deltas)
        return found

    @retried
    def withdraw(self, decision_id: str, by: str, instead: Label | None = None) -> Recorded:
        """Take a label back with all it moved; an earlier one may stand again instead."""
        with self.writing() as writer:
            recorded = self._ledger.withdraw(writer, decision_id, by, instead)
            self.add_to_counters(recorded.deltas)
            self._cases.pop(recorded.node, None)
        return recorded

    @retried
    def conclude(self, decision_id: str, lesson: Mapping[str, Any]) -> None:
        """Note what was learned from a decision, so that it is not learned from twice."""
        with self.writing() as writer:
            self._ledger.conclude(writer, decision_id, lesson)

    @retried
    def right_decision_number(self, decision_id: str, node: str) -> int:
        """The how-many-eth right decision of its node this is; the same whenever it is asked."""
        with self.writing() as writer:
            return self._ledger.right_decision_number(writer, decision_id, node)

    def remember(
        self, past: Iterable[Case], node: str, source: str = "history", at: str = ""
    ) -> int:
        """Take labelled history in as evidence, known since now or `at`; gives how many cases were
        new.
        """
        return self._remember(list(past), node, Label("APPROVE", source, at or now()))

    @retried
    def _remember(self, past: Sequence[Case], node: str, label: Label) -> int:
        with self.writing() as writer:
            added = self._ledger.remember(writer, past, node, label)
            self._cases.pop(node, None)
        return added

    def decision(self, decision_id: str) -> dict[str, Any]:
        """A stored decision: what was asked, shown and said, and its label."""
        return self._ledger.decision(decision_id)

    def lesson(self, decision_id: str) -> dict[str, Any] | None:
        """What was learned from a decision, where the learning branch has run."""
        with self.writing() as writer:
            return self._ledger.lesson(writer, decision_id)

    def cases(self, node: str) -> CaseTable:
        """The newest labelled cases of a node, the evidence on which bullets are tested.

        A snapshot: what others record meanwhile does not change it.
        """
        with self._fresh():
            table = self._cases.get(node)
            if table is None or len(table) > 2 * EVIDENCE_WINDOW:
                with self.database.snapshot() as connection:
                    if self._writer is None:  # bullets and cases are of one moment
                        self._refresh(connection)
                    table = CaseTable(self._ledger.labelled(connection, node, EVIDENCE_WINDOW))
                self._cases[node] = table
            return table.snapshot()

    def fork(self) -> "BulletPlaybook":
        """An independent copy in memory, to try something on without touching this one."""
        from acegraph.state.database.copy import copy_ledger

        with self._lock:
            if self._writer is not None:
                raise PlaybookError("a playbook cannot be forked in the middle of a write")
        copy = BulletPlaybook()
        copy_ledger(self.database, copy.database)
        copy.invalidate()
        return copy
