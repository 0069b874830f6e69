"""Store labels: what a new one adds to those that a case had before, and what counters it moves.

Requests and files are sent again; a label that comes a second time must not undo a correction.
"""

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from functools import lru_cache
from typing import Final

import sqlalchemy as sa

from acegraph.state.database import tables
from acegraph.state.database.encoding import as_utc, chunks, is_storable, now
from acegraph.state.database.writer import LedgerWriter
from acegraph.state.errors import UnknownDecision, quoted
from acegraph.state.ledger import queries as sql
from acegraph.state.ledger.lookups import find_digest
from acegraph.state.ledger.row_mapping import outcome_row
from acegraph.state.values import (
    ANALYST,
    APPROVE,
    DECLINE,
    JUDGE,
    CounterDeltas,
    DataView,
    Label,
    Recorded,
    Verdict,
    add_deltas,
    credit,
    folded_source,
    is_absence,
)

_settings_of: Final[Callable[[str], DataView]] = lru_cache(json.loads)
"""Those of most cases are the same."""


def is_too_young(label: Label, created_at: str, mature_days: Mapping[str, float]) -> bool:
    """Whether a label calls a payment honest before its source can know that.

    Only given and stored times count, and only when the label comes: a label that was too young is
    never stored, so whatever reads the ledger later, at any time, sees the same.
    """
    if label.value == DECLINE:
        return False
    by_source = {folded_source(source): days for source, days in mature_days.items()}
    known_at = datetime.fromisoformat(as_utc(label.known_at) if label.known_at else now())
    age = known_at - datetime.fromisoformat(created_at)
    return age < timedelta(days=by_source.get(folded_source(label.source), 0.0))


def says_something_new(current: Label | None, label: Label) -> bool:
    """Whether a label replaces the current one; the opinion of a judge never does."""
    if current is None:
        return True
    return label.source != JUDGE and (label.value != current.value or current.source == JUDGE)


def confirms(current: Label | None, label: Label | None) -> bool:
    """Whether a second source gives the value of the current label."""
    if current is None or label is None or JUDGE in (current.source, label.source):
        return False
    return label.value == current.value and label.source != current.source


def is_repeated(writer: LedgerWriter, case_id: str, label: Label) -> bool:
    """Whether the label that comes with a decision was given before, whatever the label is now."""
    given = labels_given(writer.connection, [case_id]).get(case_id, ())
    return any(_is_same(earlier, label) for earlier in given)


def _is_same(earlier: Label, label: Label) -> bool:
    return (earlier.value, earlier.source) == (label.value, label.source)


def _is_delivered_again(label: Label, earlier: Label) -> bool:
    """Whether a label that was given before is sent again; a person without a time thinks anew."""
    if label.known_at:
        return earlier.known_at == as_utc(label.known_at)
    return not label.source.startswith(ANALYST)


def repeated(
    writer: LedgerWriter, current: Mapping[str, Label | None], labels: Mapping[str, Label | None]
) -> list[str]:
    """The cases whose labels were given before, with the same time, without one, or as a
    confirmation.
    """
    others = {
        case_id: label
        for case_id, label in labels.items()
        if label and (before := current[case_id]) and not _is_same(before, label)
    }
    given = labels_given(writer.connection, list(others))
    return [
        case_id
        for case_id, label in others.items()
        for earlier in given.get(case_id, ())
        if _is_same(earlier, label)
        and (confirms(current[case_id], label) or _is_delivered_again(label, earlier))
    ]


def labels_given(connection: sa.Connection, case_ids: list[str]) -> dict[str, list[Label]]:
    """Every label of some cases, since their labels were last withdrawn, oldest first."""
    by_case: dict[str, list[Label]] = {}
    for row in connection.execute(sql.LABELS_GIVEN, {"ids": case_ids}) if case_ids else ():
        if row.label is None:
            by_case.pop(row.case, None)
        else:
            by_case.setdefault(row.case, []).append(Label(row.label, row.source, row.known_at))
    return by_case


@dataclass(frozen=True)
class CaseState:
    """What the ledger holds of a case before something is added."""

    node: str
    decision: Verdict | None
    counted: bool
    label: Label | None
    revision: int
    lesson: Mapping[str, object] | None
    decided_by: str | None
    """The node that decided the case; another node may have stored it before."""
    created_at: str
    settings: DataView
    """Those of the run that decided; empty without a decision."""
    is_open: bool = False
    """Whether it is evidence that nobody has decided or labelled."""

    def recorded(
        self, label: Label | None, deltas: CounterDeltas | None = None, *, is_new: bool = False
    ) -> Recorded:
        """What is said of it with a label that it has, or gets, or none."""
        return Recorded(
            decision=self.decision,
            node=self.node,
            is_new_decision=False,
            counted=self.counted,
            label=label,
            label_changed=is_new,
            lesson=self.lesson,
            deltas=deltas or {},
            was_open=is_new and self.is_open,
        )


def case_states(writer: LedgerWriter, ids: list[str]) -> dict[str, CaseState]:
    """What the ledger holds of some cases."""
    return {
        row.id: CaseState(
            row.node,
            row.decision,
            bool(row.counted),
            Label(row.label, row.label_source, row.label_known_at) if row.label else None,
            row.revision or 0,
            json.loads(row.lesson) if row.lesson is not None else None,
            row.decided_by,
            row.created_at,
            _settings_of(row.settings or "{}"),
            bool(row.evidence) and row.decided_by is None and not row.revision,
        )
        for row in writer.connection.execute(sql.CASE_STATES, {"ids": ids})
    }


def add_labels(
    writer: LedgerWriter, labels: Mapping[str, Label], days_of: Callable[[str], Mapping[str, float]]
) -> dict[str, Recorded]:
    """Give, or correct, the labels of stored cases; unknown cases are left out.

    `days_of` gives the policy's `mature_days` of a node; a run that changed it has its own.
    """
    results: dict[str, Recorded] = {}
    for ids in chunks([i for i in labels if is_storable(i)]):
        states = case_states(writer, ids)
        absent = {i: state for i, state in states.items() if is_absence(labels[i].source)}
        blocked = _blocked(absent)
        days = {
            i: state.settings["mature_days"]
            if state.settings.get("policy")
            else days_of(state.node)
            for i, state in states.items()
        }
        young = {
            i
            for i in states.keys() - blocked
            if days[i] and is_too_young(labels[i], states[i].created_at, days[i])
        }
        usable = {i: None if i in blocked | young else labels[i] for i in ids if i in states}
        current = {i: state.label for i, state in states.items()}
        usable |= dict.fromkeys(repeated(writer, current, usable))
        _store_confirmations(writer, states, usable)
        results |= apply_labels(writer, states, usable)
        results |= {i: replace(results[i], missing=True) for i in blocked}
        results |= {i: replace(results[i], too_young=True) for i in young}
    return results


def withdraw_label(writer: LedgerWriter, case_id: str, by: str, instead: Label | None) -> Recorded:
    """Take back every label of a case and what it counted; an earlier label may stay instead."""
    state = case_states(writer, [case_id]).get(case_id)
    if state is None:
        find_digest(writer, case_id)  # raises if the case was pruned
        raise UnknownDecision(f"no decision {quoted(case_id)} in this playbook")
    gone = apply_labels(writer, {case_id: state}, {case_id: None}, withdrawn_by=by)[case_id]
    if instead is None:
        return gone
    state = replace(state, label=None, revision=state.revision + 1)
    stays = apply_labels(writer, {case_id: state}, {case_id: instead})[case_id]
    return replace(stays, deltas=add_deltas(gone.deltas, stays.deltas))


def apply_labels(
    writer: LedgerWriter,
    states: Mapping[str, CaseState],
    labels: Mapping[str, Label | None],
    withdrawn_by: str = "",
) -> dict[str, Recorded]:
    """Store the labels that say something new, or withdrawals, and say which counters change."""
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
    if changed:
        from acegraph.state.ledger.marks import store_marks  # most decisions bring no label

        steps = {i: (states[i].label, changed[i], states[i].revision + 1) for i in changed}
        store_marks(writer, steps)
    credited: dict[str, dict[int, str]] = {}
    if counted := [i for i in changed if states[i].counted]:
        for row in writer.connection.execute(sql.CREDITED, {"ids": counted}):
            credited.setdefault(row.case, {})[row.bullet] = row.argued_for
    return {
        i: _labelled(state, changed[i], credited.get(i, {}))
        if i in changed
        else state.recorded(state.label)
        for i, state in states.items()
    }


def _labelled(state: CaseState, label: Label | None, argued_for: Mapping[int, str]) -> Recorded:
    """What is said of a case that gets a label, or loses the one that it had."""
    deltas = credit(argued_for, label) if state.counted else {}
    if state.counted and state.label:
        deltas = add_deltas(credit(argued_for, state.label, sign=-1), deltas)
    return state.recorded(label, deltas, is_new=True)


def _store_confirmations(
    writer: LedgerWriter, states: Mapping[str, CaseState], labels: Mapping[str, Label | None]
) -> None:
    """Store confirmations below the current label: when it is purged, they take its place."""
    rows, at = [], now()
    for i, label in labels.items():
        current, revision = states[i].label, states[i].revision
        if confirms(current, label):
            rows.append(outcome_row(i, revision + 1, label, at))
            rows.append(outcome_row(i, revision + 2, current, at))
    writer.add(tables.outcomes, rows)


def _blocked(states: Mapping[str, CaseState]) -> set[str]:
    """The cases that were declined and not let through, or that neither the agent decided nor a
    person approved: such a payment cannot be charged back.
    """
    blocked = set()
    for i, state in states.items():
        label = state.label or Label(DECLINE)
        by_person = label.value == APPROVE and label.source.startswith(ANALYST)
        is_declined = state.decision == DECLINE and not state.settings.get("let_through")
        if is_declined or (state.decision is None and not by_person):
            blocked.add(i)
    return blocked
