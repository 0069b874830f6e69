"""What is declared of a node: its task and its policy, of which the newest version counts.

Every version stays as it was set. A task follows from what was set, or has grown from labelled
cases.
"""

import json
from collections.abc import Iterable, Mapping
from dataclasses import replace
from functools import cache
from typing import Final, Literal, cast

import sqlalchemy as sa

from acegraph.state.database import tables
from acegraph.state.database.encoding import now, to_text
from acegraph.state.database.writer import Statement, fetch_by
from acegraph.state.errors import InvalidSettings, OutdatedVersion, quoted
from acegraph.state.ledger.evidence import evidence_of
from acegraph.state.playbook.bullets import Bullets
from acegraph.state.playbook.cache import Stored, retried
from acegraph.state.task.card_payments import CARD_PAYMENTS, DEFAULT_NODE
from acegraph.state.task.growth import grown
from acegraph.state.task.policy import USUAL, Policy
from acegraph.state.task.task import Task, cases_to_look_at
from acegraph.state.values import Bullet, CaseTable, Data, clean_text

Kind = Literal["task", "policy"]
_TABLES: Final = {"task": tables.tasks, "policy": tables.policies}
_CACHED: Final = "task"


@cache
def _newest(kind: Kind) -> Statement:
    """The newest version of what is declared of a node."""
    table, later = _TABLES[kind], _TABLES[kind].alias()
    columns = (table.c[name] for name in ("version", "content", "set_by", "at"))
    is_later = sa.and_(later.c.node == table.c.node, later.c.version > table.c.version)
    of_node = sa.select(*columns).where(table.c.node == sa.bindparam("node"))
    return Statement(of_node.where(~sa.exists().where(is_later)))


class Declarations(Bullets):
    """What can be done with the tasks and policies of a playbook, and with its labelled cases."""

    def declared(self, kind: Kind, node: str) -> Stored | None:
        """The newest version of a node's own task or policy; None if none was set."""
        with self._lock:
            self._read_news()
            return self._stored(kind, node)

    def _stored(self, kind: Kind, node: str) -> Stored | None:
        key = (kind, node)
        if key not in self._set:
            rows = self.database.fetch(_newest(kind), node)
            self._set[key] = (rows[0][0], json.loads(rows[0][1])) if rows else None
        return self._set[key]

    def _in_force(self, kind: Kind, node: str) -> Stored | None:
        """What holds for a node, as of the news that were read."""
        own = self._stored(kind, node)
        return own if own or node == DEFAULT_NODE else self._stored(kind, DEFAULT_NODE)

    def declarations(self, kind: Kind, node: str) -> list[Data]:
        """Every version of a node's task or policy, oldest first."""
        table = _TABLES[kind]
        columns = [column for column in table.c if column.name not in ("node", "position", "hash")]
        query = sa.select(*columns).where(table.c.node == node).order_by(table.c.version)
        with self.database.reading() as connection:
            rows = connection.execute(query).mappings()
            return [{**row, "content": json.loads(row["content"])} for row in rows]

    @retried
    def declare(
        self,
        kind: Kind,
        node: str,
        content: Mapping[str, object],
        *,
        expected_version: int,
        by: str,
        reason: str,
        approved_by: str = "",
    ) -> int:
        """Store the next version of a node's task or policy, and give its number.

        `expected_version` is the one that the caller has read, 0 for none: of two writers that
        expect the same one the second finds the first's, and stores nothing.
        """
        with self.writing() as writer:
            rows = fetch_by(writer.connection)(_newest(kind), node)
            version, _, set_by, at = rows[0] if rows else (0, "", "", "")
            if version != expected_version:
                who = f", which {set_by} set at {at[:16]}" if rows else ""
                raise OutdatedVersion(
                    f"{_TABLES[kind].name} of node {quoted(node)}: version {expected_version} was "
                    f"expected as the newest and version {version} is{who}; nothing was changed: "
                    "look at it and set yours again"
                )
            row = {
                "node": node,
                "version": version + 1,
                "at": now(),
                "set_by": clean_text(by),
                "reason": clean_text(reason),
                "content": to_text(dict(content)),
                "approved_by": clean_text(approved_by) or None,
            }
            writer.add(_TABLES[kind], [row])
            self._set.pop((kind, node), None)
        return int(version) + 1

    def cases(self, node: str) -> CaseTable:
        """A snapshot of the labelled cases of a node that count, on which bullets are tested."""
        with self._lock:
            self._read_news()
            self._take_labels()
            table = self._cases.get(node)
            if table is None or (table.draw is not None and table.draw.is_outdated):
                table = self._read_cases(lambda connection: evidence_of(connection, node))
                self._cases[node] = table
            snapshot = table.snapshot()
            snapshot.task = self._task_of(node, snapshot)
            return snapshot

    def _task_of(self, node: str, table: CaseTable) -> Task:
        """The task of a node as of some labelled cases.

        It follows from them, from the rules and from what was set: every process has the same.
        """
        stored = self._in_force("task", node)
        key = (stored and stored[0], cases_to_look_at(len(table)), self._clock.version)
        kept = table.shared.get(_CACHED)
        if isinstance(kept, tuple) and kept[0] == key:
            return cast(Task, kept[1])
        base = Task.from_json(stored[1]) if stored else CARD_PAYMENTS
        conditions = (b.condition for b in self._bullets.of_node(node).rows if b.condition)
        task = grown(base, table, [test for one in conditions for test in one.spelled])
        table.shared[_CACHED] = (key, task)
        return task

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
        stored = self.declared("task", node)
        version = stored[0] if stored else 0
        active = self.get_bullets_for_node(node) if stored else ()
        changed = _rules_that_lose(self.task(node), task, active)
        if changed and not retire:
            lost = "; ".join(f"{bullet.id} ({why})" for bullet, why in changed)
            raise InvalidSettings(
                f"active rules test what this task changes: {lost}; keep these fields as they are, "
                "or set_task(..., retire=True) makes candidates of the rules"
            )
        task = replace(task, version=version + 1)
        content = task.to_json()
        with self.writing():
            self.declare("task", node, content, expected_version=version, by=by, reason=reason)
            for bullet, why in changed:
                why = f"another task: {why}"
                self.set_status(bullet.id, "candidate", why, by or "user")
        return task

    def adopt_task(self, given: object, node: str = DEFAULT_NODE) -> Task:
        """Set the task that a host gives, unless the playbook has had it: it may have grown since.

        `given` is a task, the path of a task.json, or a pydantic model.
        """
        from acegraph.state.task.schema import as_task  # a host gives it once, or never

        task = as_task(given)
        told = replace(task, version=1)
        history = self.declarations("task", node)
        if any(Task.from_json({**one["content"], "version": 1}) == told for one in history):
            return self.task(node)
        return self.set_task(task, node, by="host", reason="given to the playbook or the graph")

    def policy(self, node: str = DEFAULT_NODE) -> Policy:
        """What is wanted of a node's decisions; a node without a policy has the usual one's."""
        with self._lock:
            self._read_news()
            stored = self._in_force("policy", node)
        return replace(Policy.from_json(stored[1]), version=stored[0]) if stored else USUAL

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
        stored = self.declared("policy", node)
        expected = policy.version if policy.version and stored else stored[0] if stored else 0
        content = replace(policy, version=0).to_json()
        said = {"by": by, "reason": reason, "approved_by": approved_by}
        version = self.declare("policy", node, content, expected_version=expected, **said)
        return replace(policy, version=version)


def _rules_that_lose(
    older: Task, newer: Task, active: Iterable[Bullet]
) -> list[tuple[Bullet, str]]:
    """The rules that test a field which another task has not or has otherwise, and why."""
    changed = newer.differs(older)
    found = []
    for bullet in active:
        tested = bullet.condition.fields if bullet.condition else ()
        bases = [name if name in older.by_name else name.rpartition(".")[0] for name in tested]
        why = [f"{name} {changed[name]}" for name in dict.fromkeys(bases) if name in changed]
        if why:
            found.append((bullet, ", ".join(why)))
    return found
