"""Decisions and their outcomes: each counted once per decision id, whatever is retried.

An outcome and the counters it moves are one database transaction. It knows nothing of how bullets
are cached or selected.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import sqlalchemy as sa

from acegraph.state import statements as sql
from acegraph.state.cases import Case
from acegraph.state.errors import DecisionConflict, UnknownDecision
from acegraph.state.tables import Database, now
from acegraph.state.transaction import Fields
from acegraph.state.verdict import APPROVE, JUDGE, Verdict

Moves = Mapping[int, tuple[int, int, int]]
"""What is added per bullet number: helpful, harmful, selected."""


@dataclass(frozen=True)
class Shown:
    """One bullet that was shown for a decision."""

    bullet_number: int
    credited: bool
    """Whether the outcome counts for it: it had a part, or the caller credits all selected ones."""
    verdict: Verdict | None
    """What it argued for; None credits it with the decision's own outcome."""
    selected: bool = True
    """False for a rule that held and was not shown: it is tested by the outcome, and no more."""


@dataclass(frozen=True)
class DecisionRecord:
    """One decision with all that is needed to judge and replay it."""

    id: str
    node: str
    text: str
    fields: Fields
    digest: str
    decision: Verdict
    risk_score: float | None = None
    reasons: tuple[str, ...] = ()
    settings: Mapping[str, Any] = field(default_factory=dict)
    playbook_version: int = 0
    shown: tuple[Shown, ...] = ()
    counted: bool = True
    """False for a frozen or vanilla run: stored, but no counter moves and nothing is evidence."""


@dataclass(frozen=True)
class Label:
    """What the right answer is, who says so, and since when it is known."""

    value: Verdict
    source: str = "label"
    known_at: str = ""


@dataclass(frozen=True)
class Recorded:
    """What the ledger did with a decision or a label."""

    decision: Verdict | None
    """The decision that stands: the first one given under this id."""
    first: bool
    """Whether the decision is new; False for one delivered again."""
    new_case: bool = False
    """Whether the transaction was unknown before: neither decided nor remembered."""
    label: Label | None = None
    """The label that stands, where one is known."""
    label_changed: bool = False
    lesson: Mapping[str, Any] | None = None
    """What was learned from it already, where the learning branch has run."""
    right_number: int | None = None
    """The how-many-eth right decision of its node this is; None for a wrong or unjudged one."""
    moved: Moves = field(default_factory=dict)


class Ledger:
    """The record of cases, decisions and outcomes in one database."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def remember(self, past: Iterable[Case], node: str, source: str = "history") -> int:
        """Store labelled cases that nobody has decided yet; known ones stay as they are."""
        at = now()
        with self._database.writing() as connection:
            known = set(connection.scalars(sql.CASE_IDS))
            fresh = list({case.id: case for case in past if case.id not in known}.values())
            if not fresh:
                return 0
            connection.execute(sql.ADD_CASE, [_case_row(case, node, at) for case in fresh])
            connection.execute(
                sql.ADD_OUTCOME,
                [
                    {
                        "case": c.id,
                        "revision": 1,
                        "label": c.label,
                        "source": source,
                        "known_at": at,
                    }
                    for c in fresh
                ],
            )
        return len(fresh)

    def record(self, record: DecisionRecord, label: Label | None = None) -> Recorded:
        """Store a decision and, where it is known, its outcome; the second time changes nothing."""
        with self._database.writing() as connection:
            standing = connection.execute(sql.STANDING, {"id": record.id}).first()
            if standing is not None and standing.digest != record.digest:
                raise DecisionConflict(
                    f"decision id {record.id!r} was used for another transaction; "
                    "nothing was changed"
                )
            if standing is not None and standing.decision is not None:
                return self._settle(connection, record.id, label)
            if standing is None:
                case = Case(record.id, record.fields, APPROVE, record.text, record.digest)
                row = _case_row(case, record.node, now())
                connection.execute(sql.ADD_CASE, {**row, "evidence": record.counted})
            self._store_decision(connection, record)
            moved: Moves = {}
            if record.counted:
                moved = {s.bullet_number: (0, 0, 1) for s in record.shown if s.selected}
                if standing is not None and standing.label is not None:
                    # Labelled history: the label was there before the decision.
                    moved = _sum(moved, self._credit(connection, record.id, standing.label))
                self.move(connection, moved)
            settled = self._settle(connection, record.id, label)
            return replace(
                settled,
                first=True,
                new_case=standing is None,
                moved=_sum(moved, settled.moved),
            )

    def label(self, case_id: str, label: Label) -> Recorded:
        """Say, or correct, the right answer of a stored case."""
        with self._database.writing() as connection:
            return self._settle(connection, case_id, label)

    def conclude(self, case_id: str, lesson: Mapping[str, Any]) -> None:
        """Note what was learned from a decision."""
        with self._database.writing() as connection:
            connection.execute(sql.CONCLUDE, {"id": case_id, "learned": dict(lesson)})

    def decision(self, case_id: str) -> dict[str, Any]:
        """A stored decision with its case, the bullets shown and its label."""
        with self._database.reading() as connection:
            row = connection.execute(sql.WHOLE_DECISION, {"id": case_id}).mappings().first()
            if row is None:
                raise UnknownDecision(f"no decision {case_id!r} in this playbook")
            shown = connection.execute(sql.SHOWN, {"id": case_id}).all()
        return {
            **row,
            "bullets": [f"b{row.bullet}" for row in shown if row.selected],
            "bullets_used": [f"b{row.bullet}" for row in shown if row.selected and row.credited],
        }

    def labelled(self, node: str, last: int) -> list[Case]:
        """The newest cases with a label that is more than an opinion, oldest first."""
        with self._database.reading() as connection:
            rows = connection.execute(sql.LABELLED, {"node": node, "last": last}).all()
        return [Case(*row) for row in reversed(rows)]

    def move(self, connection: sa.Connection, moved: Moves) -> None:
        """Add to the counters of bullets, in the order of their numbers."""
        if moved:
            connection.execute(
                sql.MOVE,
                [
                    {"bullet": number, "helpful": h, "harmful": f, "selected": s}
                    for number, (h, f, s) in sorted(moved.items())
                ],
            )

    def _store_decision(self, connection: sa.Connection, record: DecisionRecord) -> None:
        connection.execute(
            sql.ADD_DECISION,
            {
                "case": record.id,
                "node": record.node,
                "decision": record.decision,
                "risk_score": record.risk_score,
                "reasons": list(record.reasons),
                "settings": dict(record.settings),
                "playbook_version": record.playbook_version,
                "counted": record.counted,
                "decided_at": now(),
            },
        )
        if record.shown:
            connection.execute(
                sql.ADD_SELECTION,
                [
                    {
                        "case": record.id,
                        "bullet": shown.bullet_number,
                        "rank": rank,
                        "selected": shown.selected,
                        "credited": shown.credited,
                        "verdict": shown.verdict,
                    }
                    for rank, shown in enumerate(record.shown)
                ],
            )

    def _settle(self, connection: sa.Connection, case_id: str, label: Label | None) -> Recorded:
        """Append a label that says something new, and take back what an earlier one had moved."""
        standing = connection.execute(sql.STANDING, {"id": case_id}).first()
        if standing is None:
            raise UnknownDecision(f"no decision {case_id!r} in this playbook")
        known = Label(standing.label, standing.label_source) if standing.label else None
        moved: dict[int, tuple[int, int, int]] = {}
        changed = label is not None and not _says_nothing_new(standing, label)
        if label is not None and changed:
            row = {"case": case_id, "revision": (standing.revision or 0) + 1, "label": label.value}
            at = label.known_at or now()
            connection.execute(sql.ADD_OUTCOME, {**row, "source": label.source, "known_at": at})
            if standing.counted:
                if known is not None:
                    moved = self._credit(connection, case_id, known.value, sign=-1)
                moved = _sum(moved, self._credit(connection, case_id, label.value))
                self.move(connection, moved)
            known = label
        is_right = standing.counted and known is not None and standing.decision == known.value
        return Recorded(
            decision=standing.decision,
            first=False,
            label=known,
            label_changed=changed,
            lesson=standing.lesson,
            right_number=self._number(connection, case_id, standing) if is_right else None,
            moved=moved,
        )

    def _number(self, connection: sa.Connection, case_id: str, standing: Any) -> int:
        if standing.right_number is None:
            connection.execute(sql.NUMBER, {"id": case_id, "of_node": standing.node})
        return int(connection.scalar(sql.RIGHT_NUMBER, {"id": case_id}) or 0)

    def _credit(
        self, connection: sa.Connection, case_id: str, label: str, sign: int = 1
    ) -> dict[int, tuple[int, int, int]]:
        """Helpful where what a bullet argued for, or else the decision, is the label."""
        rows = connection.execute(sql.CREDITED, {"id": case_id})
        return {n: (sign, 0, 0) if said == label else (0, sign, 0) for n, said in rows}


def _says_nothing_new(standing: Any, label: Label) -> bool:
    if standing.label is None:
        return False
    return label.source == JUDGE or (
        label.value == standing.label and standing.label_source != JUDGE
    )


def _case_row(case: Case, node: str, at: str) -> dict[str, Any]:
    return {
        "id": case.id,
        "node": node,
        "text": case.text,
        "fields": dict(case.fields),
        "digest": case.digest,
        "evidence": True,
        "created_at": at,
    }


def _sum(left: Moves, right: Moves) -> dict[int, tuple[int, int, int]]:
    total = dict(left)
    for number, (h, f, s) in right.items():
        before = total.get(number, (0, 0, 0))
        total[number] = (before[0] + h, before[1] + f, before[2] + s)
    return total
