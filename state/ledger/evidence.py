"""Which labelled cases of a ledger are evidence, in the order in which their labels came."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import sqlalchemy as sa

from acegraph.state.database.encoding import chunks
from acegraph.state.ledger import queries as sql
from acegraph.state.ledger.row_mapping import read_case
from acegraph.state.values.cases import ALL_COUNT, Case, CaseTable, Draw
from acegraph.state.values.times import now


def evidence_of(connection: sa.Connection, node: str, all_count: int = ALL_COUNT) -> CaseTable:
    """The labelled cases of a node that count: all, or those that are drawn of a long history."""
    given = {"node": node}
    counts = {row.label: row.cases for row in connection.execute(sql.COUNT_LABELLED, given)}
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


def in_order(rows: Sequence[sa.Row[Any]]) -> list[tuple[str, sa.Row[Any]]]:
    """Labels with the time since when they are known, oldest first; one from the future was known
    when the row before it was.

    Else a clock that was once ahead would shut all later labels out.
    """
    present, known_at, timed = now(), "", []
    for row in sorted(rows, key=lambda row: int(row.position)):
        if row.known_at <= present:
            known_at = max(known_at, row.known_at)
        timed.append((min(row.known_at, known_at), row))
    return sorted(timed, key=lambda pair: pair[0])  # stable: then by position
