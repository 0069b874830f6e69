"""Store decisions and their labels: each counts once per decision id, however often it is sent.

Every function says by how much the counters of bullets change; `playbook/playbook.py` changes them
in the same database transaction. Nothing here knows how bullets are cached or selected.
"""

import json
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final

import sqlalchemy as sa

from acegraph.state.database import tables
from acegraph.state.database.base import Database
from acegraph.state.database.encoding import chunks, is_storable, to_text
from acegraph.state.database.writer import Draft, LedgerWriter, NeedsLock, NewRow
from acegraph.state.errors import (
    DecisionConflict,
    PlaybookError,
    PrunedDecision,
    UnknownDecision,
    quoted,
)
from acegraph.state.ledger import queries as sql
from acegraph.state.ledger.label_history import (
    confirms,
    is_approved_by_person,
    is_repeated,
    is_too_young,
    repeated,
    says_something_new,
)
from acegraph.state.ledger.row_mapping import case_row, decision_row, outcome_row, selection_rows
from acegraph.state.ledger.sightings import store_sightings
from acegraph.state.values.cases import Case
from acegraph.state.values.decision import (
    CounterDeltas,
    DecisionRecord,
    Label,
    Recorded,
    add_deltas,
)
from acegraph.state.values.label_sources import is_absence
from acegraph.state.values.times import now
from acegraph.state.values.verdict import APPROVE, Verdict

DecisionAndLabel = tuple[DecisionRecord, Label | None]
"""A decision, and its label if it is known."""
ERASED: Final = "erased"
"""The digest of a case whose content was erased."""


@dataclass(frozen=True)
class _CaseState:
    """What the ledger holds of a case before something is added."""

    node: str
    decision: Verdict | None
    counted: bool
    label: Label | None
    revision: int
    lesson: Mapping[str, object] | None
    decided_by: str | None
    """The node that decided the case; another node may have stored it before."""


def remember_cases(
    writer: LedgerWriter, past: Iterable[Case], node: str, label: Label
) -> list[Case]:
    """Store labelled cases that were never decided, and give those that were new.

    `label` gives the source of the labels and their time; each case gives its own value.
    """
    at, added = now(), list[Case]()
    by_id = {case.id: case for case in past}
    for ids in chunks(list(by_id)):
        known = ids_in_use(writer.connection, ids)
        fresh = [by_id[i] for i in ids if i not in known]
        writer.add(tables.cases, [case_row(case, node, at) for case in fresh])
        labels = [outcome_row(c.id, 1, replace(label, value=c.label), at) for c in fresh]
        writer.add(tables.outcomes, labels)
        store_sightings(writer, node, fresh)
        added += fresh
    return added


def correct_cases(writer: LedgerWriter, past: Iterable[Case], label: Label) -> int:
    """Correct the labels of stored cases, and give how many were corrected.

    Only a label of the same source is corrected: what others said of a case stays.
    """
    labels, corrected = {case.id: replace(label, value=case.label) for case in past}, 0
    for ids in chunks(list(labels)):
        states = {
            i: state
            for i, state in _case_states(writer, ids).items()
            if state.label
            and state.label.source == label.source
            and state.label.value != labels[i].value
        }
        _apply_labels(writer, states, {i: labels[i] for i in states})
        corrected += len(states)
    return corrected


def ids_in_use(
    connection: sa.Connection, ids: list[str], stored: sa.Select[str] = sql.KNOWN_CASES
) -> set[str]:
    """Those of the ids under which a case is stored, or was until it was pruned."""
    statements = (stored, sql.PRUNED_CASES)
    return {i for statement in statements for i in connection.scalars(statement, {"ids": ids})}


def find_digest(writer: LedgerWriter, case_id: str) -> str | None:
    """The digest of a stored case, or None for an unknown one; a pruned case is refused."""
    row = writer.first(sql.FIND_CASE, case_id, case_id)
    if row is None:
        return None
    digest_or_time, is_pruned = row
    if is_pruned:
        raise PrunedDecision(f"decision {quoted(case_id)} was pruned on {digest_or_time[:10]}")
    return str(digest_or_time)


def record_decision(
    writer: LedgerWriter, record: DecisionRecord, label: Label | None, rows: list[NewRow], at: str
) -> Recorded:
    """Store a decision and its label, if it is known; a decision sent again changes nothing."""
    digest = find_digest(writer, record.id)
    if digest is not None:
        return _record_known(writer, record, label, digest)
    writer.add_all(_with_label(rows, record.id, label, at))
    store_sightings(writer, record.node, [record])
    return _recorded_as_new(record, label, at)


def new_decision_rows(given: Sequence[DecisionAndLabel]) -> list[list[NewRow]]:
    """For each decision on a new case its rows, without its label."""
    at, all_rows = now(), []
    written: dict[int, str] = {}  # decisions of one batch share their settings
    for record, _ in given:
        key = id(record.settings)
        if key not in written:
            written[key] = to_text(dict(record.settings))
        rows: list[NewRow] = [
            (tables.cases, case_row(record, record.node, at, evidence=record.counted)),
            (tables.decisions, decision_row(record, at, written[key])),
            *((tables.selections, row) for row in selection_rows(record)),
        ]
        all_rows.append(rows)
    return all_rows


def _with_label(rows: list[NewRow], case_id: str, label: Label | None, at: str) -> list[NewRow]:
    """The rows of a new decision with that of its label, if it is known."""
    if label is None:
        return rows
    return [*rows, (tables.outcomes, outcome_row(case_id, 1, label, at))]


def _recorded_as_new(record: DecisionRecord, label: Label | None, at: str) -> Recorded:
    """What is said of a decision on a new case."""
    return Recorded(
        decision=record.decision,
        node=record.node,
        is_new_decision=True,
        counted=record.counted,
        new_case=True,
        label=replace(label, known_at=label.known_at or at) if label else None,
        label_changed=label is not None,
        deltas=_first_deltas(record, label),
    )


def record_decisions(
    writer: LedgerWriter, given: Sequence[DecisionAndLabel], rows: Sequence[list[NewRow]]
) -> list[Recorded | PlaybookError]:
    """`record_decision` for many; an error takes the place of a decision that is refused.

    `rows` are the `new_decision_rows`: to make them takes long, and needs no lock. Labels are known
    from now on, when the write has begun: so their times have the order of their positions.
    """
    at = now()
    if isinstance(writer, Draft) and len({record.id for record, _ in given}) < len(given):
        raise NeedsLock  # the second under an id has to read what is stored of the first
    new = _store_new(writer, given, rows, at) if len(given) > 1 else set()
    results: list[Recorded | PlaybookError] = []
    for number, (record, label) in enumerate(given):
        if number in new:
            results.append(_recorded_as_new(record, label, at))
            continue
        try:
            results.append(record_decision(writer, record, label, rows[number], at))
        except (DecisionConflict, PrunedDecision) as error:  # before anything of it was written
            results.append(error)
    return results


def _store_new(
    writer: LedgerWriter, given: Sequence[DecisionAndLabel], rows: Sequence[list[NewRow]], at: str
) -> set[int]:
    """Store the decisions under new ids, and give their numbers."""
    ids = list(dict.fromkeys(record.id for record, _ in given))
    known = {i for part in chunks(ids) for i in ids_in_use(writer.connection, part)}
    new = [(number, *given[number]) for number in _unknown_decisions(given, known)]
    writer.add_all(
        [row for n, record, label in new for row in _with_label(rows[n], record.id, label, at)]
    )
    for node in {record.node for _, record, _ in new}:
        store_sightings(writer, node, (record for _, record, _ in new if record.node == node))
    return {number for number, _, _ in new}


def _unknown_decisions(given: Sequence[DecisionAndLabel], known: Collection[str]) -> list[int]:
    """The numbers of the decisions under new ids; of several under one id the first."""
    first = {record.id: number for number, (record, _) in reversed(list(enumerate(given)))}
    return [
        n for n, (record, _) in enumerate(given) if first[record.id] == n and record.id not in known
    ]


def _record_known(
    writer: LedgerWriter, record: DecisionRecord, label: Label | None, digest: str
) -> Recorded:
    """Store a decision on a case that was decided before, or remembered as labelled history."""
    if digest == ERASED:
        raise PrunedDecision(f"what decision {quoted(record.id)} was about was erased")
    if digest != record.digest:
        raise DecisionConflict(
            f"decision id {quoted(record.id)} was used for another transaction; nothing was "
            "changed (each payment wants an id of its own, or none)"
        )
    state = _case_states(writer, [record.id])[record.id]
    if state.decided_by not in (None, record.node):
        raise DecisionConflict(
            f"decision id {quoted(record.id)} was decided by node {state.decided_by!r}; nothing "
            f"was changed (node {record.node!r} wants an id of its own, or none)"
        )
    if state.decision is not None:
        if label and is_repeated(writer, record.id, label):
            label = None  # the same request again must not undo a correction
        return _apply_labels(writer, {record.id: state}, {record.id: label})[record.id]
    _store_decision(writer, record, now())
    state = replace(state, node=record.node, decision=record.decision, counted=record.counted)
    recorded = _apply_labels(
        writer, {record.id: state}, {record.id: label}, {record.id: _argued_for(record)}
    )[record.id]
    # Labelled history: the label was there before the decision.
    deltas = add_deltas(_first_deltas(record, state.label), recorded.deltas)
    return replace(recorded, is_new_decision=True, deltas=deltas)


def _store_decision(writer: LedgerWriter, record: DecisionRecord, at: str) -> None:
    writer.add(tables.decisions, [decision_row(record, at)])
    writer.add(tables.selections, selection_rows(record))


def add_labels(
    writer: LedgerWriter, labels: Mapping[str, Label], mature_days: Mapping[str, float] | None
) -> dict[str, Recorded]:
    """Give, or correct, the labels of stored cases; unknown cases are left out.

    Without `mature_days` those in the settings of each decision count.
    """
    results: dict[str, Recorded] = {}
    for ids in chunks([i for i in labels if is_storable(i)]):
        states = _case_states(writer, ids)
        absent = {i: state for i, state in states.items() if is_absence(labels[i].source)}
        blocked = _blocked(writer, absent)
        honest = {i: labels[i] for i in states if labels[i].value == APPROVE}
        young = _too_young(writer, honest, mature_days) - blocked
        usable = {i: None if i in blocked | young else labels[i] for i in ids if i in states}
        current = {i: state.label for i, state in states.items()}
        usable |= dict.fromkeys(repeated(writer, current, usable))
        _store_confirmations(writer, states, usable)
        results |= _apply_labels(writer, states, usable)
        results |= {i: replace(results[i], missing=True) for i in blocked}
        results |= {i: replace(results[i], too_young=True) for i in young}
    return results


def _too_young(
    writer: LedgerWriter, labels: Mapping[str, Label], mature_days: Mapping[str, float] | None
) -> set[str]:
    """The cases that a label calls honest before its source can know."""
    if not labels or mature_days == {}:
        return set()
    young = set()
    for case_id, created_at, settings in writer.connection.execute(sql.AGED, {"ids": list(labels)}):
        days = mature_days
        if days is None and settings:
            days = json.loads(settings).get("mature_days")
        if days and is_too_young(labels[case_id], created_at, days):
            young.add(case_id)
    return young


def withdraw_label(writer: LedgerWriter, case_id: str, by: str, instead: Label | None) -> Recorded:
    """Take back every label of a case and what it counted; an earlier label may stay instead."""
    state = _case_states(writer, [case_id]).get(case_id)
    if state is None:
        find_digest(writer, case_id)  # raises if the case was pruned
        raise UnknownDecision(f"no decision {quoted(case_id)} in this playbook")
    gone = _apply_labels(writer, {case_id: state}, {case_id: None}, withdrawn_by=by)[case_id]
    if instead is None:
        return gone
    state = replace(state, label=None, revision=state.revision + 1)
    stays = _apply_labels(writer, {case_id: state}, {case_id: instead})[case_id]
    return replace(stays, deltas=add_deltas(gone.deltas, stays.deltas))


def store_lesson(writer: LedgerWriter, case_id: str, lesson: Mapping[str, object]) -> None:
    """Store what was learned from a decision, unless a lesson is stored already."""
    row = writer.first(sql.LESSON, case_id)
    if row is None:
        raise UnknownDecision(f"no decision {quoted(case_id)} in this playbook")
    if row[0] is None:
        learned = {"case": case_id, "lesson": to_text(dict(lesson)), "at": now()}
        writer.add(tables.lessons, [learned])


def read_lesson(database: Database, case_id: str) -> dict[str, Any] | None:
    """What was learned from a decision, if anything was."""
    rows = database.fetch(sql.LESSON, case_id)
    return json.loads(rows[0][0]) if rows and rows[0][0] is not None else None


def number_right_decision(writer: LedgerWriter, case_id: str, node: str) -> int:
    """The number of a right decision among the right decisions of its node, from 1 on."""
    row = writer.first(sql.RIGHT_DECISION_NUMBER, case_id)
    if row is not None:
        return int(row[0])
    (last,) = writer.first(sql.LAST_RIGHT_DECISION_NUMBER, node)
    number = 1 + (last or 0)
    writer.add(tables.rights, [{"case": case_id, "node": node, "number": number}])
    return number


def _case_states(writer: LedgerWriter, ids: list[str]) -> dict[str, _CaseState]:
    return {
        row.id: _CaseState(
            row.node,
            row.decision,
            bool(row.counted),
            Label(row.label, row.label_source, row.label_known_at) if row.label else None,
            row.revision or 0,
            json.loads(row.lesson) if row.lesson is not None else None,
            row.decided_by,
        )
        for row in writer.connection.execute(sql.CASE_STATES, {"ids": ids})
    }


def _apply_labels(
    writer: LedgerWriter,
    states: Mapping[str, _CaseState],
    labels: Mapping[str, Label | None],
    credited: Mapping[str, Mapping[int, str]] | None = None,
    withdrawn_by: str = "",
) -> dict[str, Recorded]:
    """Store the labels that say something new, or withdrawals, and say which counters change.

    `credited` is what the credited bullets argued for; if it is None, it is read.
    """
    changed = {
        i: label
        for i, label in labels.items()
        if withdrawn_by or (label and says_something_new(states[i].label, label))
    }
    at = now()
    rows = [
        outcome_row(i, states[i].revision + 1, label, at, withdrawn_by)
        for i, label in changed.items()
    ]
    writer.add(tables.outcomes, rows)
    if credited is None:
        credited = _credited(writer, [i for i in changed if states[i].counted])
    results = {}
    for i, state in states.items():
        label = changed.get(i, state.label)
        argued_for = credited.get(i, {}) if i in changed and state.counted else {}
        taken_off = _credit(argued_for, state.label, sign=-1)
        results[i] = Recorded(
            decision=state.decision,
            node=state.node,
            is_new_decision=False,
            counted=state.counted,
            label=label,
            label_changed=i in changed,
            lesson=state.lesson,
            deltas=add_deltas(taken_off, _credit(argued_for, label)),
        )
    return results


def _store_confirmations(
    writer: LedgerWriter, states: Mapping[str, _CaseState], labels: Mapping[str, Label | None]
) -> None:
    """Store confirmations below the current label: when it is purged, they take its place."""
    rows, at = [], now()
    for i, label in labels.items():
        current, revision = states[i].label, states[i].revision
        if confirms(current, label):
            rows.append(outcome_row(i, revision + 1, label, at))
            rows.append(outcome_row(i, revision + 2, current, at))
    writer.add(tables.outcomes, rows)


def _blocked(writer: LedgerWriter, states: Mapping[str, _CaseState]) -> set[str]:
    """The cases that were declined and not let through, or that neither the agent decided nor a
    person approved: such a payment cannot be charged back.
    """
    if not states:
        return set()
    undecided = {i for i, state in states.items() if state.decision is None}
    approved = {i for i in undecided if is_approved_by_person(states[i].label)}
    rows = writer.connection.execute(sql.DECLINED, {"ids": list(states)})
    declined = {row.case for row in rows if not json.loads(row.settings).get("let_through")}
    return declined | undecided - approved


def _credited(writer: LedgerWriter, case_ids: list[str]) -> dict[str, dict[int, str]]:
    """For each case the credited bullets, and what each of them argued for."""
    credited: dict[str, dict[int, str]] = {}
    if case_ids:
        for row in writer.connection.execute(sql.CREDITED, {"ids": case_ids}):
            credited.setdefault(row.case, {})[row.bullet] = row.argued_for
    return credited


def _argued_for(record: DecisionRecord) -> dict[int, str]:
    """What each credited bullet argued for, or else the decision."""
    return {s.bullet_number: s.verdict or record.decision for s in record.shown if s.credited}


def _first_deltas(record: DecisionRecord, label: Label | None) -> CounterDeltas:
    """What a new decision adds to the counters, with the label that is known of it."""
    if not record.counted:
        return {}
    selected = {shown.bullet_number: (0, 0, 1) for shown in record.shown if shown.selected}
    return add_deltas(selected, _credit(_argued_for(record), label))


def _credit(argued_for: Mapping[int, str], label: Label | None, sign: int = 1) -> CounterDeltas:
    """Helpful for a bullet that argued for the label, harmful for one that did not."""
    if label is None:
        return {}
    return {
        bullet: (sign, 0, 0) if verdict == label.value else (0, sign, 0)
        for bullet, verdict in argued_for.items()
    }
