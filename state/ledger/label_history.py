"""What a new label adds to the labels that a case had before: news, a confirmation, or nothing.

Requests and files are sent again; a label that comes a second time must not undo a correction.
"""

from collections.abc import Mapping
from datetime import datetime, timedelta
from typing import NamedTuple

import sqlalchemy as sa

from acegraph.state.database.writer import LedgerWriter
from acegraph.state.ledger import queries as sql
from acegraph.state.values.decision import Label
from acegraph.state.values.label_sources import ANALYST, JUDGE, folded_source
from acegraph.state.values.times import as_utc, now
from acegraph.state.values.verdict import APPROVE, DECLINE, Verdict


class GivenLabel(NamedTuple):
    """A label that somebody once gave to a case."""

    case: str
    label: Verdict
    source: str
    known_at: str

    def is_same(self, label: Label) -> bool:
        """Whether a label has the same value and the same source."""
        return (self.label, self.source) == (label.value, label.source)


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


def is_approved_by_person(label: Label | None) -> bool:
    """Whether a person has said that a payment is honest."""
    return label is not None and label.value == APPROVE and label.source.startswith(ANALYST)


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
    return any(earlier.is_same(label) for earlier in labels_given(writer.connection, [case_id]))


def repeated(
    writer: LedgerWriter, current: Mapping[str, Label | None], labels: Mapping[str, Label | None]
) -> list[str]:
    """The cases whose labels were given before, with the same time or as a confirmation."""
    others = {
        case_id: label
        for case_id, label in labels.items()
        if label
        and (before := current[case_id])
        and (label.known_at or confirms(before, label))
        and (label.value, label.source) != (before.value, before.source)
    }
    return [
        earlier.case
        for earlier in labels_given(writer.connection, list(others))
        if earlier.is_same(label := others[earlier.case])
        and (_has_same_time(earlier, label) or confirms(current[earlier.case], label))
    ]


def _has_same_time(earlier: GivenLabel, label: Label) -> bool:
    return bool(label.known_at) and earlier.known_at == as_utc(label.known_at)


def labels_given(connection: sa.Connection, case_ids: list[str]) -> list[GivenLabel]:
    """Every label of some cases, since their labels were last withdrawn."""
    by_case: dict[str, list[GivenLabel]] = {}
    for row in connection.execute(sql.LABELS_GIVEN, {"ids": case_ids}) if case_ids else ():
        if row.label is None:
            by_case.pop(row.case, None)
        else:
            by_case.setdefault(row.case, []).append(GivenLabel(*row))
    return [label for labels in by_case.values() for label in labels]
