"""Bullets as a JSON file: written by one playbook, read by another. Never pickle, never code.

A record is evidence of the ledger that counted it: it is exported to be read, not imported to be
believed. A digest over the content finds files that were changed on their way; it is no signature.
"""

import hashlib
import json
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Final, get_args

from acegraph.nodes.curator.curator import Action, Curator
from acegraph.state import Bullet, BulletPlaybook, Condition, InvalidDataset, Source, Status

FORMAT: Final = "acegraph-playbook"
FORMAT_VERSION: Final = 2
MAX_BYTES: Final = 20_000_000


def bullet_to_json(bullet: Bullet) -> dict[str, Any]:
    """Everything a bullet is, but its id."""
    return {
        "content": bullet.content,
        "condition": bullet.condition.to_json() if bullet.condition else None,
        "node": bullet.node,
        "source": bullet.source,
        "status": bullet.status,
        "proof": bullet.proof,
        "problem_types": list(bullet.problem_types),
        "confidence": bullet.confidence,
        "weight": bullet.weight,
        "evidence": dict(bullet.evidence),
        "origin": dict(bullet.origin),
        "related": list(bullet.related),
        "record": {
            "helpful_count": bullet.helpful_count,
            "harmful_count": bullet.harmful_count,
            "times_selected": bullet.times_selected,
        },
        "created_at": bullet.created_at,
    }


def export_bullets(playbook: BulletPlaybook, file: Path) -> int:
    """Write all bullets; gives how many."""
    bullets = [bullet_to_json(b) for b in playbook]
    body = {"format": FORMAT, "format_version": FORMAT_VERSION, "bullets": bullets}
    body["sha256"] = _digest(body)
    file.write_text(json.dumps(body, indent=2, ensure_ascii=False) + "\n", encoding="utf-8")
    return len(bullets)


def merge_bullets(
    playbook: BulletPlaybook, entries: Sequence[dict[str, Any]], curator: Curator | None = None
) -> Counter[Action]:
    """Merge exported bullets through the curator, as one step: how many met which fate."""
    curator = curator or Curator()
    fates = Counter[Action]()
    with playbook.writing():
        for entry in entries:
            found = curator.curate(
                entry["content"],
                entry["node"],
                playbook,
                entry["source"],
                condition=entry["condition"],
                problem_types=entry["problem_types"],
                confidence=entry["confidence"],
                origin={"imported_from": entry["file"]},
            )
            fates[found.action] += 1
    return fates


def read_bullets(file: Path) -> list[dict[str, Any]]:
    """The active bullets of an exported file, every entry checked."""
    try:
        if file.stat().st_size > MAX_BYTES:
            raise InvalidDataset(f"{file}: more than {MAX_BYTES:,} bytes; no playbook is so large")
        body = json.loads(file.read_text(encoding="utf-8"))
    except FileNotFoundError:
        raise InvalidDataset(f"{file}: no such file") from None
    except OSError as error:
        raise InvalidDataset(f"{file}: cannot be read: {error.strerror}") from None
    except (ValueError, RecursionError) as error:
        raise InvalidDataset(f"{file}: not JSON: {error}") from None
    if (
        not isinstance(body, dict)
        or body.get("format") != FORMAT
        or not isinstance(body.get("bullets"), list)
    ):
        raise InvalidDataset(f"{file}: not a playbook written by 'acegraph playbook export'")
    if body.get("format_version") != FORMAT_VERSION:
        found = body.get("format_version")
        raise InvalidDataset(f"{file}: format version {found}; {FORMAT_VERSION} is read")
    if body.pop("sha256", None) != _digest(body):
        raise InvalidDataset(f"{file}: was changed after it was exported; export it again")
    entries = [
        _checked(entry, f"{file}: bullet {number}")
        for number, entry in enumerate(body["bullets"], start=1)
    ]
    return [{**entry, "file": file.name} for entry in entries if entry["status"] == "active"]


def _digest(body: dict[str, Any]) -> str:
    """Over everything in the file but the digest itself."""
    content = json.dumps(body, sort_keys=True, ensure_ascii=True).encode()
    return hashlib.sha256(content).hexdigest()


def _checked(entry: Any, where: str) -> dict[str, Any]:
    try:
        condition, confidence = entry["condition"], float(entry["confidence"])
        checked = {
            "content": str(entry["content"]),
            "condition": Condition.from_json(condition) if condition else None,
            "node": str(entry["node"]),
            "source": entry["source"],
            "status": entry["status"],
            "problem_types": [str(kind) for kind in entry["problem_types"]],
            "confidence": confidence,
        }
    except (KeyError, TypeError, ValueError) as error:
        raise InvalidDataset(f"{where}: {type(error).__name__}: {error}") from None
    if not 0 <= confidence <= 1 or not checked["node"]:
        raise InvalidDataset(f"{where}: a confidence is 0 to 1 and a node has a name")
    if checked["source"] not in get_args(Source) or checked["status"] not in get_args(Status):
        raise InvalidDataset(f"{where}: unknown source or status")
    return checked
