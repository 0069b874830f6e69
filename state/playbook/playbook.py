"""The playbook: its bullets, and the ledger of decisions, labels and lessons behind them.

Bullets are in `bullets.py`, tasks and policies in `declarations.py`. It knows nothing of selection,
models or graphs.
"""

import json
from collections.abc import Iterable, Mapping, Sequence
from contextlib import AbstractContextManager
from functools import cache, reduce
from operator import attrgetter
from os import PathLike
from typing import TYPE_CHECKING, Final

import sqlalchemy as sa

from acegraph.state.database import tables
from acegraph.state.database.base import Durability
from acegraph.state.database.encoding import chunks, now, to_text
from acegraph.state.database.kept_values import SIGHTING_COLUMNS, keep, kept_value
from acegraph.state.database.open import copy_ledger
from acegraph.state.database.writer import LedgerWriter
from acegraph.state.errors import PlaybookError, UnknownDecision, quoted
from acegraph.state.ledger import queries as sql
from acegraph.state.ledger.evidence import labels_of_tables, remember_cases, remember_table
from acegraph.state.ledger.labels import add_labels, case_states, withdraw_label
from acegraph.state.ledger.ledger import DecisionAndLabel, record_decisions
from acegraph.state.ledger.lookups import stored_decision
from acegraph.state.playbook.cache import retried
from acegraph.state.playbook.declarations import Declarations
from acegraph.state.values import (
    Case,
    CaseTable,
    Data,
    DecisionRecord,
    Label,
    Past,
    Recorded,
    Sighting,
    Verdict,
    add_deltas,
)

if TYPE_CHECKING:
    from acegraph.state.playbook.lists import Entry


_REFINED_FROM: Final = "refined_from:"
_UNSEARCHED: Final = "unsearched:"
_waiting: Final = tables.waiting_lessons


class BulletPlaybook(Declarations):
    """A playbook in memory, or at a URL like `sqlite:///ace.db` or `postgresql://...`."""

    def __init__(
        self,
        url: str | PathLike[str] | None = None,
        *,
        durability: Durability = "normal",
        task: object = None,
    ) -> None:
        """`task` says what the cases are: a Task, the path of a task.json, or a pydantic model."""
        super().__init__(url, durability=durability)
        if task is not None:
            self.adopt_task(task)

    def __enter__(self) -> "BulletPlaybook":
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def record(self, record: DecisionRecord, label: Label | None = None) -> Recorded:
        """Store a decision and its label, and add to the counters of its bullets, once per id."""
        (result,) = self.record_many([(record, label)])
        if isinstance(result, PlaybookError):
            raise result
        return result

    def record_many(self, given: Sequence[DecisionAndLabel]) -> list[Recorded | PlaybookError]:
        """`record` for many decisions, in one write.

        An error takes the place of a decision that is refused; it does not stop the others.
        """
        stored: list[DecisionAndLabel] = []
        for record, label in given:
            for shown in record.shown:
                if shown.bullet_number not in self._bullets:
                    self.get_bullet(f"b{shown.bullet_number}")  # raises UnknownBullet
            if record.settings.get("redact"):
                from acegraph.state.ledger.hidden_fields import as_stored  # few hide anything

                record = as_stored(record)
            stored.append((record, label))
        return self._record_many(stored) if stored else []

    @retried
    def _record_many(self, given: Sequence[DecisionAndLabel]) -> list[Recorded | PlaybookError]:
        with self.writing() as writer:
            results = record_decisions(writer, given)
            self._count(one for one in results if isinstance(one, Recorded))
        for (made, _), done in zip(given, results, strict=True):
            is_known = isinstance(done, Recorded) and done.is_new_decision and not done.new_case
            if is_known and "departure" in made.settings:
                self.invalidate_cases()  # the table has the case without it
        return results

    @retried
    def label(self, decision_id: str, label: Label, *, learn: bool = False) -> Recorded:
        """Give, or correct, the label of a stored decision."""
        results = self.label_many({decision_id: label}, learn=learn)
        if decision_id not in results:
            self.decision(decision_id)  # raises, unless another process has just stored it
            return self.label(decision_id, label, learn=learn)
        return results[decision_id]

    @retried
    def label_many(
        self, labels: Mapping[str, Label], *, learn: bool = False
    ) -> dict[str, Recorded]:
        """Give, or correct, many labels in one write; unknown decisions are left out.

        With `learn` the mistakes of runs with `learn_later` are queued in the same write.
        """

        @cache
        def days_of(node: str) -> Mapping[str, float]:
            return self.policy(node).mature_days

        with self.writing() as writer:
            results = add_labels(writer, labels, days_of)
            mistakes = [i for i, one in results.items() if learn and one.is_lesson]
            for ids in chunks(mistakes):
                for case_id, state in case_states(writer, ids).items():
                    if state.settings.get("learn_later"):
                        self.queue_lesson(case_id)
            self._count(results.values())
        return results

    @retried
    def withdraw(self, decision_id: str, by: str, instead: Label | None = None) -> Recorded:
        """Take back the labels of a decision and what they counted; `instead` takes their place."""
        with self.writing() as writer:
            recorded = withdraw_label(writer, decision_id, by, instead)
            self.add_to_counters(recorded.deltas)
            self._cases.pop(recorded.node, None)
        return recorded

    @retried
    def conclude(self, decision_id: str, lesson: Mapping[str, object]) -> None:
        """Store what was learned from a decision, so that it is not learned from twice."""
        with self.writing() as writer:
            row = writer.first(sql.LESSON, decision_id)
            if row is None:
                raise UnknownDecision(f"no decision {quoted(decision_id)} in this playbook")
            if row[0] is None:
                learned = {"case": decision_id, "lesson": to_text(dict(lesson)), "at": now()}
                writer.add(tables.lessons, [learned])
            self.drop_lesson(decision_id)

    @retried
    def queue_lesson(self, decision_id: str) -> None:
        """Let a decision wait until it is learned from in the background.

        It is queued in the write that records it or its label, and leaves the queue in the write
        that stores its lesson: whatever is killed, it is learned from once.
        """
        with self.writing() as writer:
            waits = sa.select(_waiting.c.case).where(_waiting.c.case == decision_id)
            if writer.connection.scalar(waits) is None:
                row = {"case": decision_id, "position": writer.position}
                writer.connection.execute(_waiting.insert(), [row])

    @retried
    def drop_lesson(self, decision_id: str) -> None:
        """Take a decision out of the queue, because there is nothing to learn from it."""
        with self.writing() as writer:
            writer.connection.execute(_waiting.delete().where(_waiting.c.case == decision_id))

    def waiting_lessons(self) -> list[str]:
        """The decisions that wait to be learned from in the background, in their order."""
        with self.database.reading() as connection:
            order = (_waiting.c.position, _waiting.c.case)
            return list(connection.scalars(sa.select(_waiting.c.case).order_by(*order)))

    @retried
    def remember(
        self, past: Sequence[Case], node: str, source: str = "history", at: str = ""
    ) -> int:
        """Store labelled history as evidence, known since `at` or now; gives how many are new."""
        label = Label("APPROVE", source, at or now())
        with self.writing() as writer:
            added = remember_cases(writer, past, node, label)
            self._cases.pop(node, None)
        return len(added)

    @retried
    def remember_table(
        self, drawn: Sequence[Case], counts: Mapping[Verdict, int], node: str, at: str = ""
    ) -> tuple[int, int]:
        """Store cases that were drawn from a whole table with these counts, known since `at` or
        now; gives how many are new and of how many the label is corrected.
        """
        label = Label("APPROVE", "history", at or now())
        with self.writing() as writer:
            done = remember_table(writer, drawn, counts, node, label)
            self._cases.pop(node, None)
        return done

    def labels_of_tables(self, node: str) -> dict[int, Verdict]:
        """By the number that drew it, the label of each stored row of whole tables."""
        with self.database.reading() as connection:
            return labels_of_tables(connection, node)

    def refined_from(self, node: str) -> int:
        """How many labelled cases there were when the playbook was last refined as a whole, or
        learned its first lesson; 0 if neither has happened.
        """
        return int(kept_value(self.database, _REFINED_FROM + node) or 0)

    @retried
    def keep_refined_from(self, node: str, cases: int) -> None:
        """Keep how many labelled cases there are at a refinement; the next one waits for more."""
        with self.writing():
            keep(self.database, _REFINED_FROM + node, cases)

    def unsearched(self, node: str) -> float:
        """What mistakes have cost since a rule was last sought (nodes/evidence/mistakes.py)."""
        return float(kept_value(self.database, _UNSEARCHED + node) or 0)

    @retried
    def keep_unsearched(self, node: str, cost: float) -> None:
        """Keep what mistakes have cost."""
        with self.writing():
            keep(self.database, _UNSEARCHED + node, cost)

    @retried
    def set_sighting_columns(self, node: str, columns: Mapping[str, str]) -> None:
        """Say from which fields of a payment its sighting is read from now on."""
        with self.writing():
            keep(self.database, SIGHTING_COLUMNS + node, dict(columns))

    def sighting_columns(self, node: str) -> dict[str, str] | None:
        """The fields from which sightings are read, by what they hold; None if none were set."""
        columns: dict[str, str] | None = kept_value(self.database, SIGHTING_COLUMNS + node)
        return columns

    def past(self, node: str, sighting: Sighting, case_id: str) -> dict[str, Past]:
        """By kind of entity what is known of the payments before one, without itself."""
        from acegraph.state.ledger.sightings import read_past  # most payments name nobody

        return read_past(self.database, node, sighting, case_id, self.task(node).evidence)

    def listed(self, node: str, who: Mapping[str, str]) -> "list[Entry]":
        """The entries of lists that count now about anybody of these, by kind their folded id."""
        from acegraph.state.ledger.sightings import hashes_of  # most payments name nobody
        from acegraph.state.playbook.lists import entries_about

        return entries_about(self.database, node, hashes_of(self.database, who))

    def decision(self, decision_id: str) -> Data:
        """A stored decision with its transaction, the bullets shown, its label and its lesson."""
        return stored_decision(self.database, decision_id)

    @retried
    def lesson(self, decision_id: str) -> Data | None:
        """What was learned from a decision; None if the learning branch has not run."""
        rows = self.database.fetch(sql.LESSON, decision_id)
        return json.loads(rows[0][0]) if rows and rows[0][0] is not None else None

    def fork(self) -> "BulletPlaybook":
        """An independent copy in memory; changes to it do not touch this playbook."""
        if self.database.is_writing:
            raise PlaybookError("a playbook cannot be forked in the middle of a write")
        copy = BulletPlaybook()
        copy_ledger(self.database, copy.database)
        copy.invalidate()
        return copy

    def frozen(self, node: str) -> "BulletPlaybook":
        """The playbook as it is now, for decisions of a node while others write."""
        return self if self.database.in_memory else FrozenPlaybook(self, node)

    def _count(self, recorded: Iterable[Recorded]) -> None:
        """Move the counters as decisions and labels say."""
        self.add_to_counters(reduce(add_deltas, map(attrgetter("deltas"), recorded), {}))


class FrozenPlaybook(BulletPlaybook):
    """A playbook as it was when this was made, for decisions while others are learned from.

    Bullets, cases, task and policy are those of that moment. What was paid before a payment, and
    the vectors, are those of the playbook itself: they do not follow from the moment.
    """

    def __init__(self, playbook: BulletPlaybook, node: str) -> None:
        with playbook.database.lock:
            cases, _ = playbook.cases(node), playbook._in_force("policy", node)
            self.__dict__.update(playbook.__dict__)
            self._playbook, self._set = playbook, playbook._set.copy()
            self._bullets = playbook._bullets.at(self._clock, node)
            self._cases = {node: cases}

    def _read_news(self) -> None:
        """Nothing: it stays as it was."""

    def cases(self, node: str) -> CaseTable:
        """The labelled cases of that moment."""
        return self._cases[node] if node in self._cases else super().cases(node)

    def writing(self) -> AbstractContextManager[LedgerWriter]:
        """Vectors that are fetched on the way are written to the playbook itself."""
        return self._playbook.writing()
