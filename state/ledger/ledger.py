"""Decisions and their outcomes: each counted once per decision id, whatever is retried.

An outcome and the counters it moves are one database transaction; the caller moves the counters
that are given back to it. It knows nothing of how bullets are cached or selected.
"""

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Any

import sqlalchemy as sa

from acegraph.state.database import tables
from acegraph.state.database.base import Database
from acegraph.state.database.encoding import chunks, is_storable, stored_float, to_text
from acegraph.state.database.writer import LedgerWriter
from acegraph.state.errors import DecisionConflict, PrunedDecision, UnknownDecision
from acegraph.state.ledger import queries as sql
from acegraph.state.ledger.label_history import confirms, is_repeated, repeated, says_something_new
from acegraph.state.ledger.row_mapping import case_row, read_case
from acegraph.state.values.cases import Case
from acegraph.state.values.decision import (
    CounterDeltas,
    DecisionRecord,
    Label,
    Recorded,
    add_deltas,
)
from acegraph.state.values.times import as_utc, now
from acegraph.state.values.transaction import clean_text
from acegraph.state.values.verdict import Verdict, is_absence

ERASED = "erased"
"""The digest of a case whose content was erased."""


@dataclass(frozen=True)
class _Standing:
    """What is known of a case before something is added."""

    node: str
    decision: Verdict | None
    counted: bool
    label: Label | None
    revision: int
    lesson: Mapping[str, Any] | None = None
    decided_by: str | None = None
    """The node that decided it; the case may have been another's before."""


class Ledger:
    """The record of cases, decisions and outcomes in one database."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def remember(self, writer: LedgerWriter, past: Iterable[Case], node: str, label: Label) -> int:
        """Store labelled cases that nobody has decided yet; known ones stay as they are.

        `label` says who says so and since when it is known; the cases say what.
        """
        at, added = now(), 0
        by_id = {case.id: case for case in past}
        for ids in chunks(list(by_id)):
            known: set[str] = set()
            for statement in (sql.KNOWN_CASES, sql.PRUNED_CASES):
                known.update(writer.connection.scalars(statement, {"ids": ids}))
            fresh = [by_id[i] for i in ids if i not in known]
            writer.add(tables.cases, [case_row(case, node, at) for case in fresh])
            writer.add(
                tables.outcomes,
                [_outcome(c.id, 1, replace(label, value=c.label), at) for c in fresh],
            )
            added += len(fresh)
        return added

    def record(self, writer: LedgerWriter, record: DecisionRecord, label: Label | None) -> Recorded:
        """Store a decision and, where it is known, its outcome; the second time changes nothing.

        What comes at once stands at adjacent positions: case, decision, selections, outcome
        (stream.py knows a label that came with its decision by that).
        """
        known = writer.first(sql.IS_KNOWN, record.id, record.id)
        if known is not None:
            return self._record_known(writer, record, label, *known)
        at = now()
        writer.add(tables.cases, [case_row(record, record.node, at, evidence=record.counted)])
        self._store_decision(writer, record, at)
        if label is not None:
            writer.add(tables.outcomes, [_outcome(record.id, 1, label, at)])
        return Recorded(
            decision=record.decision,
            node=record.node,
            is_new_decision=True,
            counted=record.counted,
            new_case=True,
            label=label,
            label_changed=label is not None,
            deltas=_first_deltas(record, label),
        )

    def _record_known(
        self,
        writer: LedgerWriter,
        record: DecisionRecord,
        label: Label | None,
        digest: str,
        is_pruned: int,
    ) -> Recorded:
        """The case was decided before, or remembered as labelled history."""
        if is_pruned:
            raise PrunedDecision(f"decision {record.id!r} was pruned on {digest[:10]}")
        if digest == ERASED:
            raise PrunedDecision(f"what decision {record.id!r} was about was erased")
        if digest != record.digest:
            raise DecisionConflict(
                f"decision id {record.id!r} was used for another transaction; nothing was changed "
                "(each payment wants an id of its own, or none)"
            )
        standing = _standing(writer.connection.execute(sql.STANDING, {"id": record.id}).one())
        if standing.decided_by not in (None, record.node):
            raise DecisionConflict(
                f"decision id {record.id!r} was decided by node {standing.decided_by!r}; nothing "
                f"was changed (node {record.node!r} wants an id of its own, or none)"
            )
        if standing.decision is not None:
            if label and is_repeated(writer, record.id, label):
                label = None  # the same request again must not undo a correction
            return self._settle(writer, {record.id: standing}, {record.id: label})[record.id]
        self._store_decision(writer, record, now())
        standing = replace(
            standing, node=record.node, decision=record.decision, counted=record.counted
        )
        settled = self._settle(
            writer, {record.id: standing}, {record.id: label}, {record.id: _argued(record)}
        )[record.id]
        # Labelled history: the label was there before the decision.
        deltas = add_deltas(_first_deltas(record, standing.label), settled.deltas)
        return replace(settled, is_new_decision=True, deltas=deltas)

    def label(self, writer: LedgerWriter, labels: Mapping[str, Label]) -> dict[str, Recorded]:
        """Say, or correct, the right answers of stored cases; unknown ones are left out."""
        found: dict[str, Recorded] = {}
        for ids in chunks([i for i in labels if is_storable(i)]):
            rows = writer.connection.execute(sql.ALL_STANDING, {"ids": ids})
            standing = {row.id: _standing(row) for row in rows}
            hidden = self._blocked(writer, [i for i in standing if is_absence(labels[i].source)])
            said = {i: None if i in hidden else labels[i] for i in ids if i in standing}
            known = {i: case.label for i, case in standing.items()}
            said |= dict.fromkeys(repeated(writer, known, said))
            self._note_confirmations(writer, standing, said)
            found |= self._settle(writer, standing, said)
            found |= {i: replace(found[i], missing=True) for i in hidden}
        return found

    def withdraw(
        self, writer: LedgerWriter, case_id: str, by: str, instead: Label | None
    ) -> Recorded:
        """Take back every label so far with all they moved; one of them may be said anew."""
        row = writer.connection.execute(sql.STANDING, {"id": case_id}).first()
        if row is None:
            self._refuse_pruned(writer.connection, case_id)
            raise UnknownDecision(f"no decision {case_id!r} in this playbook")
        case = _standing(row)
        gone = self._settle(writer, {case_id: case}, {case_id: None}, withdrawn_by=by)[case_id]
        if instead is None:
            return gone
        case = replace(case, label=None, revision=case.revision + 1)
        stands = self._settle(writer, {case_id: case}, {case_id: instead})[case_id]
        return replace(stands, deltas=add_deltas(gone.deltas, stands.deltas))

    def conclude(self, writer: LedgerWriter, case_id: str, lesson: Mapping[str, Any]) -> None:
        """Note what was learned from a decision; the first lesson stands."""
        known = writer.first(sql.LESSON, case_id)
        if known is None:
            raise UnknownDecision(f"no decision {case_id!r} in this playbook")
        if known[0] is None:
            learned = {"case": case_id, "lesson": to_text(dict(lesson)), "at": now()}
            writer.add(tables.lessons, [learned])

    def right_decision_number(self, writer: LedgerWriter, case_id: str, node: str) -> int:
        """The how-many-eth right decision of its node this is."""
        known = writer.first(sql.RIGHT_NUMBER, case_id)
        if known is not None:
            return int(known[0])
        (last,) = writer.first(sql.LAST_RIGHT, node)
        number = 1 + (last or 0)
        writer.add(tables.rights, [{"case": case_id, "node": node, "number": number}])
        return number

    def lesson(self, writer: LedgerWriter, case_id: str) -> dict[str, Any] | None:
        """What was learned from a decision, where something was."""
        found = writer.first(sql.LESSON, case_id)
        return json.loads(found[0]) if found is not None and found[0] is not None else None

    def decision(self, case_id: str) -> dict[str, Any]:
        """A stored decision with its case, the bullets shown and its label."""
        if not is_storable(case_id):
            raise UnknownDecision(f"no decision {case_id!r} in this playbook")
        with self._database.reading() as connection:
            found = connection.execute(sql.WHOLE_DECISION, {"id": case_id}).mappings().first()
            if found is None:
                self._refuse_pruned(connection, case_id)
                raise UnknownDecision(f"no decision {case_id!r} in this playbook")
            shown = connection.execute(sql.SHOWN, {"id": case_id}).all()
        row = dict(found)
        for name in ("fields", "reasons", "settings", "lesson"):
            row[name] = json.loads(row[name]) if row[name] is not None else None
        return {
            **row,
            "bullets": [f"b{row.bullet}" for row in shown if row.selected],
            "bullets_used": [f"b{row.bullet}" for row in shown if row.selected and row.credited],
        }

    def labelled(self, connection: sa.Connection, node: str, last: int) -> list[Case]:
        """The newest cases with a label that is more than an opinion, oldest first."""
        rows = connection.execute(sql.LABELLED, {"node": node, "last": last}).all()
        return [read_case(row) for row in reversed(rows)]

    def _refuse_pruned(self, connection: sa.Connection, case_id: str) -> None:
        """Say so, where a decision was here once."""
        at = connection.scalar(sql.IS_PRUNED, {"id": case_id})
        if at is not None:
            raise PrunedDecision(f"decision {case_id!r} was pruned on {at[:10]}")

    def _store_decision(self, writer: LedgerWriter, record: DecisionRecord, at: str) -> None:
        decision = {
            "case": record.id,
            "node": record.node,
            "decision": record.decision,
            "risk_score": stored_float(record.risk_score),
            "reasons": to_text(list(record.reasons)),
            "settings": to_text(dict(record.settings)),
            "playbook_version": record.playbook_version,
            "seen": record.seen,
            "counted": int(record.counted),
            "decided_at": at,
        }
        writer.add(tables.decisions, [decision])
        writer.add(
            tables.selections,
            [
                {
                    "case": record.id,
                    "bullet": shown.bullet_number,
                    "rank": rank,
                    "selected": int(shown.selected),
                    "credited": int(shown.credited),
                    "verdict": shown.verdict,
                }
                for rank, shown in enumerate(record.shown)
            ],
        )

    def _settle(
        self,
        writer: LedgerWriter,
        standing: Mapping[str, _Standing],
        labels: Mapping[str, Label | None],
        credited: Mapping[str, Mapping[int, str]] | None = None,
        withdrawn_by: str = "",
    ) -> dict[str, Recorded]:
        """Append labels that say something new, and take back what earlier ones had moved."""
        changed = {
            i: label
            for i, label in labels.items()
            if withdrawn_by or (label and says_something_new(standing[i].label, label))
        }
        at = now()
        rows = [
            _outcome(i, standing[i].revision + 1, label, at, withdrawn_by)
            for i, label in changed.items()
        ]
        writer.add(tables.outcomes, rows)
        if credited is None:
            credited = self._credited(writer, [i for i in changed if standing[i].counted])
        found = {}
        for i, case in standing.items():
            deltas: CounterDeltas = {}
            stands = changed.get(i, case.label)
            if i in changed and case.counted:
                argued = credited.get(i, {})
                before = _credit(argued, case.label.value, sign=-1) if case.label else {}
                deltas = add_deltas(before, _credit(argued, stands.value) if stands else {})
            found[i] = Recorded(
                decision=case.decision,
                node=case.node,
                is_new_decision=False,
                counted=case.counted,
                label=stands,
                label_changed=i in changed,
                lesson=case.lesson,
                deltas=deltas,
            )
        return found

    def _note_confirmations(
        self,
        writer: LedgerWriter,
        standing: Mapping[str, _Standing],
        labels: Mapping[str, Label | None],
    ) -> None:
        """Keep that somebody else says the same, below the label that stands: should that one be
        purged, the other stands on.
        """
        rows, at = [], now()
        for i, label in labels.items():
            known, revision = standing[i].label, standing[i].revision
            if confirms(known, label):
                rows.append(_outcome(i, revision + 1, label, at))
                rows.append(_outcome(i, revision + 2, known, at))
        writer.add(tables.outcomes, rows)

    def _blocked(self, writer: LedgerWriter, case_ids: list[str]) -> set[str]:
        """Those that were declined, and not let through: nobody could have charged them back."""
        if not case_ids:
            return set()
        rows = writer.connection.execute(sql.DECLINED, {"ids": case_ids})
        return {row.case for row in rows if not json.loads(row.settings).get("let_through")}

    def _credited(self, writer: LedgerWriter, case_ids: list[str]) -> dict[str, dict[int, str]]:
        found: dict[str, dict[int, str]] = {}
        if case_ids:
            for row in writer.connection.execute(sql.CREDITED, {"ids": case_ids}):
                found.setdefault(row.case, {})[row.bullet] = row.said
        return found


def _standing(row: Any) -> _Standing:
    return _Standing(
        row.node,
        row.decision,
        bool(row.counted),
        Label(row.label, row.label_source, row.label_known_at) if row.label else None,
        row.revision or 0,
        json.loads(row.lesson) if row.lesson is not None else None,
        row.decided_by,
    )


def _outcome(
    case_id: str, revision: int, label: Label | None, at: str, withdrawn_by: str = ""
) -> dict[str, Any]:
    return {
        "case": case_id,
        "revision": revision,
        "label": label.value if label else None,
        "source": clean_text(label.source if label else withdrawn_by),
        "known_at": as_utc(label.known_at) if label and label.known_at else at,
    }


def _argued(record: DecisionRecord) -> dict[int, str]:
    """What each credited bullet argued for, or else the decision."""
    return {s.bullet_number: s.verdict or record.decision for s in record.shown if s.credited}


def _first_deltas(record: DecisionRecord, label: Label | None) -> CounterDeltas:
    """What a new decision counts for, with the label that is known of it."""
    moves = {}
    for shown in record.shown if record.counted else ():
        helpful = harmful = False
        if label and shown.credited:
            helpful = (shown.verdict or record.decision) == label.value
            harmful = not helpful
        if shown.selected or helpful or harmful:
            moves[shown.bullet_number] = (int(helpful), int(harmful), int(shown.selected))
    return moves


def _credit(argued: Mapping[int, str], label: str, sign: int = 1) -> CounterDeltas:
    """Helpful where what was argued for is the label, harmful where it is not."""
    return {n: (sign, 0, 0) if said == label else (0, sign, 0) for n, said in argued.items()}
