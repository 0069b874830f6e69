"""Bullets as rows of the database, and back."""

from collections.abc import Mapping
from typing import Any

from acegraph.state.bullet import Bullet
from acegraph.state.condition import Condition


def to_row(bullet: Bullet) -> dict[str, Any]:
    """The columns of a new bullet; its number and its counters are the database's."""
    return {
        "node": bullet.node,
        "content": bullet.content,
        "condition": bullet.condition.to_json() if bullet.condition else None,
        "source": bullet.source,
        "problem_types": list(bullet.problem_types),
        "confidence": bullet.confidence,
        "status": bullet.status,
        "proof": bullet.proof,
        "evidence": dict(bullet.evidence),
        "origin": dict(bullet.origin),
        "related": list(bullet.related),
        "weight": bullet.weight,
        "created_at": bullet.created_at,
    }


def from_row(row: Mapping[str, Any]) -> Bullet:
    """The bullet that a row holds."""
    condition = row["condition"]
    return Bullet(
        **{
            k: v
            for k, v in row.items()
            if k not in ("number", "condition", "problem_types", "related")
        },
        id=f"b{row['number']}",
        condition=Condition.from_json(condition) if condition else None,
        problem_types=tuple(row["problem_types"]),
        related=tuple(row["related"]),
    )
