"""Store decisions: each counts once per decision id, however often it is sent.

Every function says by how much the counters of bullets change; `playbook/playbook.py` changes them
in the same database transaction. Nothing here knows how bullets are cached or selected.
"""

from collections.abc import Sequence
from dataclasses import replace
from operator import attrgetter

from acegraph.state.database import tables
from acegraph.state.database.encoding import chunks, now, to_text
from acegraph.state.database.writer import LedgerWriter, NewRow
from acegraph.state.errors import DecisionConflict, PlaybookError, PrunedDecision, quoted
from acegraph.state.ledger import queries as sql
from acegraph.state.ledger.labels import apply_labels, case_states, is_repeated
from acegraph.state.ledger.lookups import ERASED, find_digest, ids_in_use
from acegraph.state.ledger.row_mapping import case_row, decision_row, outcome_row, selection_rows
from acegraph.state.values import CounterDeltas, DecisionRecord, Label, Recorded, add_deltas, credit

DecisionAndLabel = tuple[DecisionRecord, Label | None]
"""A decision, and its label if it is known."""


def record_decisions(
    writer: LedgerWriter, given: Sequence[DecisionAndLabel]
) -> list[Recorded | PlaybookError]:
    """Store decisions and their labels, as far as they are known; what is sent again changes
    nothing.

    An error takes the place of a decision that is refused.
    """
    at = now()
    new = _store_new(writer, given, at)
    results: list[Recorded | PlaybookError] = []
    for number, (record, label) in enumerate(given):
        if new.get(record.id) == number:
            results.append(_recorded_as_new(record, label, at))
            continue
        try:
            results.append(_record_known(writer, record, label))
        except (DecisionConflict, PrunedDecision) as error:  # before anything of it was written
            results.append(error)
    return results


def _store_new(writer: LedgerWriter, given: Sequence[DecisionAndLabel], at: str) -> dict[str, int]:
    """Store the decisions under new ids, and give their numbers; of several under one id the first
    is new.
    """
    new = {record.id: number for number, (record, _) in reversed(list(enumerate(given)))}
    for case_id in _known(writer, list(new)):
        del new[case_id]
    rows: list[NewRow] = []
    written: dict[int, str] = {}  # decisions of one batch share their settings
    for number in sorted(new.values()):
        record, label = given[number]
        key = id(record.settings)
        if key not in written:
            written[key] = to_text(dict(record.settings))
        rows.append((tables.cases, case_row(record, record.node, at, evidence=record.counted)))
        rows.append((tables.decisions, decision_row(record, at, written[key])))
        rows += [(tables.selections, row) for row in selection_rows(record)]
        if label is not None:
            rows.append((tables.outcomes, outcome_row(record.id, 1, label, at)))
    writer.add_all(rows)
    seen = [given[number][0] for number in new.values() if given[number][0].sighting]
    for node in set(map(attrgetter("node"), seen)):
        from acegraph.state.ledger.sightings import store_sightings  # most payments name nobody

        of_node = [record for record in seen if record.node == node]
        labels = {record.id: given[new[record.id]][1] for record in of_node}
        store_sightings(writer, node, of_node, labels)
    return new


def _known(writer: LedgerWriter, ids: list[str]) -> set[str]:
    """Those of the ids under which a case is stored, or was until it was pruned."""
    if len(ids) == 1:  # SQLAlchemy takes longer for it than the database
        return set(ids) if writer.first(sql.FIND_CASE, ids[0], ids[0]) else set()
    return {i for part in chunks(ids) for i in ids_in_use(writer.connection, part)}


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


def _record_known(writer: LedgerWriter, record: DecisionRecord, label: Label | None) -> Recorded:
    """Store a decision on a case that was decided before, or remembered as labelled history."""
    digest = find_digest(writer, record.id)
    if digest == ERASED:
        raise PrunedDecision(f"what decision {quoted(record.id)} was about was erased")
    state = case_states(writer, [record.id])[record.id]
    # Its stored case hid what was hidden then, and not what is hidden now.
    from acegraph.state.ledger.hidden_fields import as_stored  # few ids come again

    then = as_stored(replace(record.whole or record, settings=state.settings))
    if digest not in (record.digest, then.digest):
        raise DecisionConflict(
            f"decision id {quoted(record.id)} was used for another transaction; nothing was "
            "changed (each payment wants an id of its own, or none)"
        )
    if state.decided_by not in (None, record.node):
        raise DecisionConflict(
            f"decision id {quoted(record.id)} was decided by node {state.decided_by!r}; nothing "
            f"was changed (node {record.node!r} wants an id of its own, or none)"
        )
    if state.decision is not None:
        if label and is_repeated(writer, record.id, label):
            label = None  # the same request again must not undo a correction
        return apply_labels(writer, {record.id: state}, {record.id: label})[record.id]
    writer.add(tables.decisions, [decision_row(record, now())])
    writer.add(tables.selections, selection_rows(record))
    state = replace(state, node=record.node, decision=record.decision, counted=record.counted)
    recorded = apply_labels(writer, {record.id: state}, {record.id: label})[record.id]
    # Labelled history: the label was there before the decision.
    deltas = add_deltas(_first_deltas(record, state.label), recorded.deltas)
    return replace(recorded, is_new_decision=True, deltas=deltas)


def _first_deltas(record: DecisionRecord, label: Label | None) -> CounterDeltas:
    """What a new decision adds to the counters, with the label that is known of it."""
    if not record.counted:
        return {}
    selected, argued_for = dict[int, tuple[int, int, int]](), dict[int, str]()
    for shown in record.shown:
        if shown.selected:
            selected[shown.bullet_number] = (0, 0, 1)
        if shown.credited:
            argued_for[shown.bullet_number] = shown.verdict or record.decision
    return add_deltas(selected, credit(argued_for, label))
