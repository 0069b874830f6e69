"""What a label adds to those that were said before: something new, a confirmation, or nothing.

Requests and files are sent again; what comes a second time must not undo what was said since.
"""

from collections.abc import Mapping
from typing import Any

import sqlalchemy as sa

from acegraph.state.database.writer import LedgerWriter
from acegraph.state.ledger import queries as sql
from acegraph.state.values.decision import Label
from acegraph.state.values.times import as_utc
from acegraph.state.values.verdict import JUDGE


def says_something_new(known: Label | None, label: Label) -> bool:
    """Whether a label changes what stands; an opinion never does."""
    if known is None:
        return True
    return label.source != JUDGE and (label.value != known.value or known.source == JUDGE)


def confirms(known: Label | None, label: Label | None) -> bool:
    """Whether somebody else says what is known."""
    if known is None or label is None or JUDGE in (known.source, label.source):
        return False
    return label.value == known.value and label.source != known.source


def is_repeated(writer: LedgerWriter, case_id: str, label: Label) -> bool:
    """Whether the label that comes with a decision was said before, whatever stands now."""
    return any(_is_same(row, label) for row in labels_given(writer.connection, [case_id]))


def repeated(
    writer: LedgerWriter, known: Mapping[str, Label | None], labels: Mapping[str, Label | None]
) -> list[str]:
    """Labels of a file that is sent again: with the same time, or as a confirmation."""
    others = {
        i: label
        for i, label in labels.items()
        if label
        and (stands := known[i])
        and (label.known_at or confirms(stands, label))
        and (label.value, label.source) != (stands.value, stands.source)
    }
    return [
        row.case
        for row in labels_given(writer.connection, list(others))
        if _is_same(row, label := others[row.case])
        and (_is_of_same_time(row, label) or confirms(known[row.case], label))
    ]


def _is_same(row: Any, label: Label) -> bool:
    return bool((row.label, row.source) == (label.value, label.source))


def _is_of_same_time(row: Any, label: Label) -> bool:
    return bool(label.known_at) and bool(row.known_at == as_utc(label.known_at))


def labels_given(connection: sa.Connection, case_ids: list[str]) -> list[Any]:
    """Every label of some cases, since they were last withdrawn."""
    found: dict[str, list[Any]] = {}
    for row in connection.execute(sql.LABELS_GIVEN, {"ids": case_ids}) if case_ids else ():
        if row.label is None:
            found.pop(row.case, None)
        else:
            found.setdefault(row.case, []).append(row)
    return [row for rows in found.values() for row in rows]
