"""Which labelled cases are evidence: the newest, and of those before them as many as memory holds.

The newest 10,000 to 20,000 all count. Of those before them, up to 5,000 frauds and 5,000 honest
payments count, each for as many as it stands for. So all frauds of a long history count, where they
are rare. Which ones count depends only on the labelled cases: every process has the same evidence.
"""

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, Final

import sqlalchemy as sa

from acegraph.state.database.encoding import chunks
from acegraph.state.ledger import queries as sql
from acegraph.state.ledger.row_mapping import read_case
from acegraph.state.values.cases import Case
from acegraph.state.values.times import now
from acegraph.state.values.verdict import APPROVE, DECLINE

NEWEST: Final = 10_000
"""At least so many of the newest cases all count; at twice as many the older half is sampled."""
OLDER: Final = 5_000
"""Of each label at most so many of the cases before them are drawn."""


@dataclass(frozen=True)
class Evidence:
    """The labelled cases that count, oldest first."""

    cases: list[Case]
    enough_for: int
    """After so many more labels, what counts is chosen again."""


def evidence_of(
    connection: sa.Connection, node: str, newest: int = NEWEST, drawn: int = OLDER
) -> Evidence:
    """The labelled cases of a node that count now: `newest` all, `drawn` of each label before."""
    given = {"node": node}
    total = connection.scalar(sql.COUNT_LABELLED, given) or 0
    older = max(total // newest - 1, 0) * newest
    if not older:
        in_time = in_order(connection.execute(sql.LABELLED, given).all())
        cases = [replace(read_case(row), known_at=known_at) for known_at, row in in_time]
        return Evidence(cases, 2 * newest - total)
    labels = in_order(connection.execute(sql.LABELS, given).all())
    weights = dict.fromkeys((row.id for _, row in labels[older:]), 1.0)
    for label in (DECLINE, APPROVE):
        ids = [row.id for _, row in labels[:older] if row.label == label]
        chosen = sorted(ids, key=_by_chance)[:drawn]
        weights.update(dict.fromkeys(chosen, len(ids) / max(len(chosen), 1)))
    found: dict[str, Case] = {}
    for part in chunks(list(weights)):
        for row in connection.execute(sql.LABELLED_OF, {"ids": part}):
            found[row.id] = replace(read_case(row), weight=weights[row.id])
    cases = [replace(found[r.id], known_at=at) for at, r in labels if r.id in found]
    return Evidence(cases, older + 2 * newest - total)


def _by_chance(case_id: str) -> bytes:
    """A number that nobody can choose by choosing a transaction, and that is always the same."""
    return hashlib.blake2b(case_id.encode(), digest_size=8, person=b"ace-evidence").digest()


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
