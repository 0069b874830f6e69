"""The labelled cases of a ledger that are evidence: how history is stored, and in which order
labels came.

Of a whole table only those rows are stored that are drawn; `meta` keeps how many were left out.
"""

import json
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any, Final

import sqlalchemy as sa

from acegraph.state.database import tables
from acegraph.state.database.encoding import chunks, now
from acegraph.state.database.kept_values import keep_text
from acegraph.state.database.tables import meta
from acegraph.state.database.writer import LedgerWriter
from acegraph.state.ledger import queries as sql
from acegraph.state.ledger.labels import apply_labels, case_states
from acegraph.state.ledger.lookups import ids_in_use
from acegraph.state.ledger.row_mapping import case_row, outcome_row, read_case
from acegraph.state.values import (
    ALL_COUNT,
    TABLE,
    Case,
    CaseTable,
    Draw,
    Label,
    Verdict,
    drawing_number,
)

_LEFT_OUT: Final = "left_out:"


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
        if seen := [case for case in fresh if case.sighting]:
            from acegraph.state.ledger.sightings import store_sightings  # most name nobody

            of_seen = {case.id: replace(label, value=case.label) for case in seen}
            store_sightings(writer, node, seen, of_seen)
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
            for i, state in case_states(writer, ids).items()
            if state.label
            and state.label.source == label.source
            and state.label.value != labels[i].value
        }
        apply_labels(writer, states, {i: labels[i] for i in states})
        corrected += len(states)
    return corrected


def remember_table(
    writer: LedgerWriter,
    drawn: Sequence[Case],
    counts: Mapping[Verdict, int],
    node: str,
    label: Label,
) -> tuple[int, int]:
    """Store cases that were drawn from a whole table with these counts, and correct the labels of
    those that are stored; gives how many are new and how many are corrected.

    Of a label, as large a share of the cases that are not drawn is new as of those that are.
    """
    by_label = Counter(case.label for case in drawn)
    added = remember_cases(writer, drawn, node, label)
    corrected = correct_cases(writer, drawn, label)
    new, left_out = Counter(case.label for case in added), read_left_out(writer.connection, node)
    for name, count in counts.items():
        left_out[name] += round((count - by_label[name]) * new[name] / max(by_label[name], 1))
    keep_text(writer, _LEFT_OUT + node, json.dumps(left_out, sort_keys=True))
    return len(added), corrected


def evidence_of(connection: sa.Connection, node: str, all_count: int = ALL_COUNT) -> CaseTable:
    """The labelled cases of a node that count: all, or those that are drawn of a long history."""
    given = {"node": node}
    counts = read_left_out(connection, node)
    counts.update({row.label: row.cases for row in connection.execute(sql.COUNT_LABELLED, given)})
    draw = Draw(counts, all_count)
    if all(count < all_count for count in counts.values()):
        in_time = in_order(connection.execute(sql.LABELLED, given).all())
        found = (replace(read_case(row), known_at=known_at) for known_at, row in in_time)
        return CaseTable(found, draw)
    weights = {
        row.id: (known_at, draw.weight(row.id, row.label))
        for known_at, row in in_order(connection.execute(sql.LABELS, given).all())
    }
    drawn = {case_id: pair for case_id, pair in weights.items() if pair[1]}
    cases: dict[str, Case] = {}
    for part in chunks(list(drawn)):
        for row in connection.execute(sql.LABELLED_OF, {"ids": part}):
            known_at, weight = drawn[row.id]
            cases[row.id] = replace(read_case(row), known_at=known_at, weight=weight)
    return CaseTable((cases[case_id] for case_id in drawn), draw)


def read_left_out(connection: sa.Connection, node: str) -> Counter[Verdict]:
    """By label how many rows of whole tables were not stored."""
    kept = connection.scalar(sa.select(meta.c.value).where(meta.c.key == _LEFT_OUT + node))
    return Counter(json.loads(kept)) if kept else Counter()


def labels_of_tables(connection: sa.Connection, node: str) -> dict[int, Verdict]:
    """By the number that drew it, the label of each stored row of whole tables."""
    return {
        drawing_number(row.id): row.label
        for row in connection.execute(sql.LABELS, {"node": node})
        if row.id.startswith(TABLE)
    }


def in_order(rows: Sequence[Any]) -> list[tuple[str, Any]]:
    """Labels with the time since when they are known, oldest first.

    A time in the future counts as the newest time before it: else, after a clock that was once
    ahead, all later labels would be taken for older ones.
    """
    present, newest, timed = now(), "", []
    for row in sorted(rows, key=lambda row: _known_since(row)[1]):
        known_at, _ = _known_since(row)
        if known_at <= present:
            newest = max(newest, known_at)
        timed.append((min(known_at, newest), row))
    return sorted(timed, key=lambda pair: pair[0])  # stable: then by position


def _known_since(row: Any) -> tuple[str, int]:
    """Since when a label is known, and its position; a row of a whole table keeps its place in it
    when its label is corrected.
    """
    if row.id.startswith(TABLE) and "stored" in row._fields:
        return row.created_at, int(row.stored)
    return row.known_at, int(row.position)
