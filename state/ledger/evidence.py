"""Which labelled cases of a ledger are evidence, in the order in which their labels came.

Of a whole table only those rows are stored that are drawn; `meta` keeps how many were left out.
"""

import json
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, Final

import sqlalchemy as sa

from acegraph.state.database.encoding import chunks
from acegraph.state.database.kept_values import keep_text
from acegraph.state.database.tables import meta
from acegraph.state.database.writer import LedgerWriter
from acegraph.state.ledger import queries as sql
from acegraph.state.ledger.row_mapping import read_case
from acegraph.state.values.cases import ALL_COUNT, TABLE, Case, CaseTable, Draw, drawing_number
from acegraph.state.values.times import now
from acegraph.state.values.verdict import Verdict

_LEFT_OUT: Final = "left_out:"
_CORRECTED: Final = "corrected:"


def evidence_of(connection: sa.Connection, node: str, all_count: int = ALL_COUNT) -> CaseTable:
    """The labelled cases of a node that count: all, or those that are drawn of a long history."""
    given = {"node": node}
    counts = read_left_out(connection, node)
    counts.update({row.label: row.cases for row in connection.execute(sql.COUNT_LABELLED, given)})
    draw = Draw(counts, all_count)
    if all(count < all_count for count in counts.values()):
        in_time = in_order(connection.execute(sql.LABELLED, given).all())
        found = (replace(read_case(row), known_at=known_at) for known_at, row in in_time)
        return _since_correction(CaseTable(found, draw), connection, node)
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
    table = CaseTable((cases[case_id] for case_id in drawn), draw)
    return _since_correction(table, connection, node)


def _since_correction(table: CaseTable, connection: sa.Connection, node: str) -> CaseTable:
    """The table, with how many of its cases came before a whole table was last corrected."""
    at = connection.scalar(sa.select(meta.c.value).where(meta.c.key == _CORRECTED + node))
    table.in_order_from = sum(case.known_at <= at for case in table) if at else 0
    return table


def note_correction(writer: LedgerWriter, node: str) -> None:
    """Keep when a whole table came again with corrected labels: from then on, the cases before are
    not in the order in which they happened.
    """
    keep_text(writer, _CORRECTED + node, now())


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


def add_left_out(writer: LedgerWriter, node: str, counts: Mapping[Verdict, int]) -> None:
    """Count rows of a whole table that are not stored."""
    all_counts = read_left_out(writer.connection, node)
    all_counts.update(counts)
    keep_text(writer, _LEFT_OUT + node, json.dumps(all_counts, sort_keys=True))


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
