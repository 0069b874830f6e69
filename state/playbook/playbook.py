"""The playbook: its bullets, and the ledger of decisions, labels and lessons behind them.

What is done with bullets is in `bullets.py`. It knows nothing of selection, models or graphs.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from functools import cache, partial, reduce
from os import PathLike
from typing import Any

import sqlalchemy as sa

from acegraph.state.database import tables
from acegraph.state.database.base import Durability
from acegraph.state.database.writer import LedgerWriter, fetch_by
from acegraph.state.errors import InvalidSettings, PlaybookError
from acegraph.state.ledger import ledger
from acegraph.state.ledger.evidence import (
    evidence_of,
    keep_refined_from,
    labels_of_tables,
    read_refined_from,
    remember_cases,
    remember_table,
)
from acegraph.state.ledger.hidden_fields import as_stored
from acegraph.state.ledger.labels import add_labels, withdraw_label
from acegraph.state.ledger.ledger import DecisionAndLabel
from acegraph.state.ledger.lookups import stored_decision
from acegraph.state.ledger.sightings import read_past, set_sighting_columns, sighting_columns
from acegraph.state.ledger.waiting_lessons import (
    leave_queue,
    queue_lesson,
    queue_mistakes,
    read_queue,
)
from acegraph.state.playbook.bullets import Bullets
from acegraph.state.playbook.cache import retried
from acegraph.state.playbook.settings_of_nodes import (
    Stored,
    append_version,
    in_words,
    newest,
    rules_that_lose,
    task_of,
    versions,
)
from acegraph.state.task.card_payments import DEFAULT_NODE
from acegraph.state.task.policy import Policy, read_policy
from acegraph.state.task.task import Task
from acegraph.state.values.cases import Case, CaseTable
from acegraph.state.values.decision import (
    CounterDeltas,
    DecisionRecord,
    Label,
    Past,
    Recorded,
    Sighting,
    add_deltas,
)
from acegraph.state.values.times import as_utc, now
from acegraph.state.values.verdict import JUDGE, Verdict


class BulletPlaybook(Bullets):
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
        given = [(as_stored(record), label) for record, label in given]
        shown = {shown.bullet_number for record, _ in given for shown in record.shown}
        if not all(number in self._bullets for number in shown):
            self.get_bullets(f"b{number}" for number in shown)  # raises UnknownBullet
        return self._record_many(given) if given else []

    @retried
    def _record_many(self, given: Sequence[DecisionAndLabel]) -> list[Recorded | PlaybookError]:
        rows = ledger.new_decision_rows(given)

        def record(writer: LedgerWriter) -> tuple[list[Recorded | PlaybookError], CounterDeltas]:
            results = ledger.record_decisions(writer, given, rows)
            return results, _sum(one for one in results if isinstance(one, Recorded))

        def note(results: list[Recorded | PlaybookError], since: int, until: int) -> None:
            labelled = [
                (made, done)
                for (made, _), done in zip(given, results, strict=True)
                if isinstance(done, Recorded) and done.label_changed
            ]
            if all(done.new_case for _, done in labelled):
                for made, done in labelled:
                    self._add_case(made, done.label)
            else:
                self._take_labels(since, until)

        results = self.append(record, note if any(label for _, label in given) else None)
        for (made, _), done in zip(given, results, strict=True):
            is_known = isinstance(done, Recorded) and done.is_new_decision and not done.new_case
            if is_known and "departure" in made.settings:
                self.invalidate_cases()  # the table has the case without it
        return results

    def _add_case(self, record: DecisionRecord, label: Label | None) -> None:
        """Add a new labelled case to the table in memory, or drop the table if it is not newest."""
        table = self._cases.get(record.node)
        if table is None or label is None or label.source == JUDGE or not record.counted:
            return
        known_at = min(as_utc(label.known_at), now())
        if known_at < table.known_at:
            self._cases.pop(record.node)
        else:
            content = (record.id, record.fields, label.value, record.text, record.digest)
            departure = float(record.settings.get("departure", 0.0))
            table.take(Case(*content, known_at, departure=departure))

    @retried
    def label(
        self,
        decision_id: str,
        label: Label,
        *,
        learn: bool = False,
    ) -> Recorded:
        """Give, or correct, the label of a stored decision."""
        results = self.label_many({decision_id: label}, learn=learn)
        if decision_id not in results:
            self.decision(decision_id)  # raises, unless another process has just stored it
            return self.label(decision_id, label, learn=learn)
        return results[decision_id]

    @retried
    def label_many(
        self,
        labels: Mapping[str, Label],
        *,
        learn: bool = False,
    ) -> dict[str, Recorded]:
        """Give, or correct, many labels in one write; unknown decisions are left out.

        With `learn` the mistakes of runs with `learn_later` are queued in the same write.
        """

        @cache
        def days_of(node: str) -> Mapping[str, float]:
            return self.policy(node).mature_days

        def add(writer: LedgerWriter) -> tuple[dict[str, Recorded], CounterDeltas]:
            results = add_labels(writer, labels, days_of)
            if learn:
                queue_mistakes(writer, results)
            return results, _sum(results.values())

        def note(results: dict[str, Recorded], since: int, until: int) -> None:
            if any(recorded.label_changed for recorded in results.values()):
                self._take_labels(since, until)

        return self.append(add, note)

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

        def store(writer: LedgerWriter) -> tuple[None, CounterDeltas]:
            ledger.store_lesson(writer, decision_id, lesson)
            leave_queue(writer, decision_id)
            return None, {}

        self.append(store)

    @retried
    def queue_lesson(self, decision_id: str) -> None:
        """Let a decision wait until it is learned from in the background."""
        with self.writing() as writer:
            queue_lesson(writer, decision_id)

    @retried
    def drop_lesson(self, decision_id: str) -> None:
        """Take a decision out of the queue, because there is nothing to learn from it."""
        with self.writing() as writer:
            leave_queue(writer, decision_id)

    def waiting_lessons(self) -> list[str]:
        """The decisions that wait to be learned from in the background, in their order."""
        with self.database.reading() as connection:
            return read_queue(connection)

    @retried
    def right_decision_number(self, decision_id: str, node: str) -> int:
        """The number of a right decision among those of its node; it never changes."""
        return self.append(
            lambda writer: (ledger.number_right_decision(writer, decision_id, node), {})
        )

    def remember(
        self, past: Iterable[Case], node: str, source: str = "history", at: str = ""
    ) -> int:
        """Store labelled history as evidence, known since `at` or now; gives how many are new."""
        return self._remember(list(past), node, Label("APPROVE", source, at or now()))

    @retried
    def _remember(self, past: Sequence[Case], node: str, label: Label) -> int:
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
        with self.database.reading() as connection:
            return read_refined_from(fetch_by(connection), node)

    @retried
    def keep_refined_from(self, node: str, cases: int) -> None:
        """Keep how many labelled cases there are at a refinement; the next one waits for more."""
        with self.writing() as writer:
            keep_refined_from(writer, node, cases)

    @retried
    def set_sighting_columns(self, node: str, columns: Mapping[str, str]) -> None:
        """Say from which fields of a payment its sighting is read from now on."""
        with self.writing() as writer:
            set_sighting_columns(writer, node, columns)

    def sighting_columns(self, node: str) -> dict[str, str] | None:
        """The fields from which sightings are read, by what they hold; None if none were set."""
        return sighting_columns(self.database, node)

    def past(self, node: str, sighting: Sighting, case_id: str) -> dict[str, Past]:
        """By kind of entity what is known of the payments before one, without itself."""
        return read_past(self.database, node, sighting, case_id)

    def decision(self, decision_id: str) -> dict[str, Any]:
        """A stored decision with its transaction, the bullets shown, its label and its lesson."""
        return stored_decision(self.database, decision_id)

    @retried
    def lesson(self, decision_id: str) -> dict[str, Any] | None:
        """What was learned from a decision; None if the learning branch has not run."""
        return ledger.read_lesson(self.database, decision_id)

    def stored_task(self, node: str) -> Stored | None:
        """The version and the content of a node's task; None if none was set."""
        return self._newest(tables.tasks, node)

    def stored_policy(self, node: str) -> Stored | None:
        """The version and the content of a node's policy; None if none was set."""
        return self._newest(tables.policies, node)

    def _newest(self, table: sa.Table, node: str) -> Stored | None:
        with self._lock:
            self._read_news()
            key = (table.name, node)
            if key not in self._set:
                self._set[key] = newest(self.database.fetch, table, node)
            return self._set[key]

    def _in_force(self, table: sa.Table, node: str) -> Stored | None:
        own = self._newest(table, node)
        return own if own or node == DEFAULT_NODE else self._newest(table, DEFAULT_NODE)

    @retried
    def store_task(
        self,
        node: str,
        content: Mapping[str, object],
        *,
        expected_version: int,
        by: str,
        reason: str,
    ) -> int:
        """Store the next version of a node's task, and give its number.

        `expected_version` is the one that the caller has read, 0 for none: if another one was set
        meanwhile, nothing is stored.
        """
        said = {"set_by": by, "reason": reason}
        return self._set_next(tables.tasks, node, content, expected_version, said)

    @retried
    def store_policy(
        self,
        node: str,
        content: Mapping[str, object],
        *,
        expected_version: int,
        by: str,
        reason: str,
        approved_by: str = "",
    ) -> int:
        """Store the next version of a node's policy, as `store_task` does that of its task."""
        said = {"set_by": by, "reason": reason, "approved_by": approved_by or None}
        return self._set_next(tables.policies, node, content, expected_version, said)

    def _set_next(
        self,
        table: sa.Table,
        node: str,
        content: Mapping[str, object],
        expected_version: int,
        said: Mapping[str, object],
    ) -> int:
        with self.writing() as writer:
            version = append_version(writer, table, node, content, expected_version, said)
            self._set.pop((table.name, node), None)
        return version

    def task_history(self, node: str) -> list[dict[str, Any]]:
        """Every version of a node's task, oldest first."""
        return versions(self.database, tables.tasks, node)

    def policy_history(self, node: str) -> list[dict[str, Any]]:
        """Every version of a node's policy, oldest first."""
        return versions(self.database, tables.policies, node)

    def cases(self, node: str) -> CaseTable:
        """A snapshot of the labelled cases of a node that count, on which bullets are tested."""
        with self._lock:
            self._read_news()
            table = self._cases.get(node)
            if table is None or (table.draw is not None and table.draw.is_outdated):
                table = self.database.in_snapshot(partial(self._read_cases, node))
                self._cases[node] = table
            snapshot = table.snapshot()
            bullets = self._bullets.of_node(node).bullets
            stored = self._in_force(tables.tasks, node)
            snapshot.task = task_of(stored, snapshot, bullets, self._clock.version)
            return snapshot

    def task(self, node: str = DEFAULT_NODE) -> Task:
        """What the cases of a node are, as it was set or as it has grown."""
        task = self.cases(node).task
        assert task is not None
        return task

    def set_task(
        self,
        task: Task,
        node: str = DEFAULT_NODE,
        *,
        by: str = "",
        reason: str = "",
        retire: bool = False,
    ) -> Task:
        """Say what the cases of a node are, as the next version of its task.

        What somebody has set and an active rule tests stays what it is, or with `retire` these
        rules become candidates.
        """
        stored = self.stored_task(node)
        version = stored[0] if stored else 0
        active = self.get_bullets_for_node(node) if stored else ()
        changed = rules_that_lose(self.task(node), task, active)
        if changed and not retire:
            raise InvalidSettings(in_words(changed))
        task = replace(task, version=version + 1)
        with self.writing():
            self.store_task(node, task.to_json(), expected_version=version, by=by, reason=reason)
            for bullet, why in changed:
                why = f"another task: {why}"
                self.set_status(bullet.id, "candidate", why, by or "user")
        return task

    def policy(self, node: str = DEFAULT_NODE) -> Policy:
        """What is wanted of a node's decisions; a node without a policy has the usual one's."""
        return read_policy(self._in_force(tables.policies, node))

    def set_policy(
        self,
        policy: Policy,
        node: str = DEFAULT_NODE,
        *,
        by: str = "host",
        reason: str = "",
        approved_by: str = "",
    ) -> Policy:
        """Say what is wanted of a node's decisions, at once, as the next version of its policy.

        A policy that was read from a playbook follows the version that was read, or is refused.
        """
        stored = self.stored_policy(node)
        expected = policy.version if policy.version and stored else stored[0] if stored else 0
        content = replace(policy, version=0).to_json()
        said = {"by": by, "reason": reason, "approved_by": approved_by}
        version = self.store_policy(node, content, expected_version=expected, **said)
        return replace(policy, version=version)

    def adopt_task(self, given: object, node: str = DEFAULT_NODE) -> Task:
        """Set the task that a host gives, unless the playbook has had it: it may have grown since.

        `given` is a task, the path of a task.json, or a pydantic model.
        """
        from acegraph.state.task.schema import as_task  # a host gives it once, or never

        task = as_task(given)
        told = {**task.to_json(), "version": 1}
        if any({**one["content"], "version": 1} == told for one in self.task_history(node)):
            return self.task(node)
        return self.set_task(task, node, by="host", reason="given to the playbook or the graph")

    def _read_cases(self, node: str, connection: sa.Connection) -> CaseTable:
        fetch = fetch_by(connection)
        if not self.database.is_writing:  # bullets and cases are of one moment
            self._refresh(fetch)
        return evidence_of(connection, node)

    def fork(self) -> "BulletPlaybook":
        """An independent copy in memory; changes to it do not touch this playbook."""
        from acegraph.state.database.copy import copy_ledger

        if self.database.is_writing:
            raise PlaybookError("a playbook cannot be forked in the middle of a write")
        copy = BulletPlaybook()
        copy_ledger(self.database, copy.database)
        copy.invalidate()
        return copy


def _sum(results: Iterable[Recorded]) -> CounterDeltas:
    """By how much the counters change altogether."""
    return reduce(add_deltas, (one.deltas for one in results), {})
