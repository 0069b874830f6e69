"""Bullets and cases as rows of the database, and back."""

import json
from collections.abc import Mapping
from typing import Any, Final

from acegraph.state.database.encoding import stored_float, to_text
from acegraph.state.values.bullet import Bullet
from acegraph.state.values.cases import Case
from acegraph.state.values.condition import Condition
from acegraph.state.values.decision import DecisionRecord

_JSON: Final = ("problem_types", "evidence", "origin", "related")
_NOT_OF_A_BULLET: Final = {"number", "condition", "changed", "hash"}


def to_row(bullet: Bullet) -> dict[str, Any]:
    """All columns of a bullet but those that the ledger's page adds."""
    return {
        "number": bullet.number,
        "node": bullet.node,
        "content": bullet.content,
        "condition": condition_text(bullet.condition),
        "source": bullet.source,
        "problem_types": to_text(list(bullet.problem_types)),
        "confidence": stored_float(bullet.confidence),
        "status": bullet.status,
        "proof": bullet.proof,
        "evidence": to_text(dict(bullet.evidence)),
        "origin": to_text(dict(bullet.origin)),
        "related": to_text(list(bullet.related)),
        "weight": stored_float(bullet.weight),
        "helpful_count": bullet.helpful_count,
        "harmful_count": bullet.harmful_count,
        "times_selected": bullet.times_selected,
        "created_at": bullet.created_at,
    }


def from_row(row: Mapping[str, Any]) -> Bullet:
    """The bullet that a row holds."""
    plain = {k: v for k, v in row.items() if k not in _NOT_OF_A_BULLET and k not in _JSON}
    data = {name: json.loads(row[name]) for name in _JSON}
    return Bullet(
        **plain,
        id=f"b{row['number']}",
        condition=read_condition(row["condition"]),
        problem_types=tuple(data["problem_types"]),
        evidence=data["evidence"],
        origin=data["origin"],
        related=tuple(data["related"]),
    )


def condition_text(condition: Condition | None) -> str | None:
    """A condition as it is stored."""
    return to_text(condition.to_json()) if condition else None


def read_condition(text: str | None) -> Condition | None:
    """The condition that a column holds."""
    return Condition.from_json(json.loads(text)) if text else None


def case_row(
    case: Case | DecisionRecord, node: str, at: str, *, evidence: bool = True
) -> dict[str, Any]:
    """A case as a row; its label is an outcome of its own."""
    return {
        "id": case.id,
        "node": node,
        "text": case.text,
        "fields": to_text(dict(case.fields)),
        "digest": case.digest,
        "evidence": int(evidence),
        "created_at": at,
    }


def read_case(row: Any) -> Case:
    """The labelled case that a row holds."""
    return Case(row.id, json.loads(row.fields), row.label, row.text, row.digest, row.known_at)
