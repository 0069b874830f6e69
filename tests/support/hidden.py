"""A playbook whose task does not store some fields."""

from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path
from typing import Any

from acegraph.state import BulletPlaybook


def hiding(
    names: Iterable[str], playbook: BulletPlaybook | None = None, node: str = "fraud_detection"
) -> BulletPlaybook:
    """The playbook, a new one unless it is given, with these fields and no others hidden."""
    playbook = BulletPlaybook() if playbook is None else playbook
    task = playbook.task(node)
    fields = tuple(replace(one, stored=True) for one in task.fields)
    playbook.set_task(replace(task, fields=fields).hiding(names), node, retire=True)
    return playbook


def bytes_of(folder: Path) -> bytes:
    """All that the files of a folder hold, the log of a database included."""
    return b"".join(file.read_bytes() for file in sorted(folder.iterdir()))


def repeating_agent(asked: dict[str, Any]) -> dict[str, Any]:
    """An agent that gives the whole transaction as its reason."""
    return {"decision": "APPROVE", "risk_score": 0.1, "reasons": [str(asked["transaction"])]}
