"""Bullets, cases, decisions and labels as rows of the database, and back."""

import json
from dataclasses import replace
from typing import Any, Final, NamedTuple

import sqlalchemy as sa

from acegraph.state.database.encoding import as_utc, stored_float, to_text
from acegraph.state.values import (
    ACTED,
    HELD_BACK,
    SHOWN,
    Bullet,
    Case,
    Condition,
    Data,
    DataView,
    DecisionRecord,
    Label,
    Verdict,
    clean_text,
)

_JSON: Final = ("problem_types", "evidence", "origin", "related")
_PLAIN: Final = (
    *("node", "content", "source", "confidence", "status", "proof", "weight", "created_at"),
    *("helpful_count", "harmful_count", "times_selected"),
)


class LabelledRow(NamedTuple):
    """A label with its case, as `queries.py` selects it."""

    id: str
    node: str
    fields: str
    text: str
    digest: str
    label: Verdict
    revision: int
    source: str
    known_at: str
    departed: str | None
    """The settings of its decision, if a model departed from the playbook."""


def to_row(bullet: Bullet) -> Data:
    """A bullet as a row, without the columns that the writer of the ledger adds."""
    row = {"number": bullet.number} | {name: getattr(bullet, name) for name in _PLAIN}
    row |= {name: to_text(getattr(bullet, name)) for name in _JSON}
    row["condition"] = condition_text(bullet.condition)
    return row | {name: stored_float(row[name]) for name in ("confidence", "weight")}


def from_row(row: DataView) -> Bullet:
    """The bullet that a row holds."""
    data = {name: row[name] for name in _PLAIN} | {n: json.loads(row[n]) for n in _JSON}
    for name in ("problem_types", "related"):
        data[name] = tuple(data[name])
    return Bullet(id=f"b{row['number']}", condition=read_condition(row["condition"]), **data)


def as_in_history(bullet: Bullet, row: sa.Row[Any]) -> Bullet:
    """A bullet with the content, condition and status that a row of the history gives it."""
    condition = read_condition(row.condition)
    return replace(bullet, content=row.content, condition=condition, status=row.status)


def condition_text(condition: Condition | None) -> str | None:
    """A condition as it is stored."""
    return to_text(condition.to_json()) if condition else None


def read_condition(text: str | None) -> Condition | None:
    """The condition that a column holds."""
    return Condition.from_json(json.loads(text)) if text else None


def case_row(
    case: Case | DecisionRecord, node: str, at: str, *, evidence: bool = True
) -> dict[str, object]:
    """A case as a row; its label is a row of another table."""
    return {
        "id": case.id,
        "node": node,
        "text": case.text,
        "fields": to_text(dict(case.fields)),
        "digest": case.digest,
        "evidence": int(evidence),
        "created_at": at,
    }


def read_case(row: LabelledRow | sa.Row[Any]) -> Case:
    """The labelled case that a row holds."""
    departure = json.loads(row.departed)["departure"] if row.departed else 0.0
    content = (row.id, json.loads(row.fields), row.label, row.text, row.digest, row.known_at)
    return Case(*content, departure=departure)


def decision_row(record: DecisionRecord, at: str, settings: str = "") -> dict[str, object]:
    """A decision as a row; its case and the bullets shown are rows of other tables.

    `settings` are those of the record as text, where they are written already.
    """
    return {
        "case": record.id,
        "node": record.node,
        "decision": record.decision,
        "risk_score": stored_float(record.risk_score),
        "reasons": to_text(list(record.reasons)),
        "settings": settings or to_text(dict(record.settings)),
        "playbook_version": record.playbook_version,
        "seen": record.seen,
        "counted": int(record.counted),
        "decided_at": at,
        "task_version": record.task_version,
        "policy_version": record.policy_version,
    }


def selection_rows(record: DecisionRecord) -> list[dict[str, object]]:
    """The bullets of a decision as rows, in the order in which they were shown."""
    return [
        {
            "case": record.id,
            "bullet": shown.bullet_number,
            "rank": rank,
            "selected": SHOWN if shown.selected else ACTED if shown.acted else HELD_BACK,
            "credited": int(shown.credited),
            "verdict": shown.verdict,
        }
        for rank, shown in enumerate(record.shown)
    ]


def outcome_row(
    case_id: str, revision: int, label: Label | None, at: str, withdrawn_by: str = ""
) -> dict[str, object]:
    """A label as a row; without a label the row withdraws the one before."""
    return {
        "case": case_id,
        "revision": revision,
        "label": label.value if label else None,
        "source": clean_text(label.source if label else withdrawn_by),
        "known_at": as_utc(label.known_at) if label and label.known_at else at,
    }
