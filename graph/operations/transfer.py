"""Bullets as a JSON file that one playbook writes and another reads: never pickle, never code.

Counters are evidence of the ledger that counted them: they are exported for people to read, and not
imported. A file is no proof of anything: what is read passes the curator.
"""

import json
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Final, Literal

from pydantic import BaseModel, Field, ValidationError

from acegraph.nodes.curator.curator import Action, Curator
from acegraph.state import BulletPlaybook, InvalidDataset
from acegraph.state.database.places import whole_file
from acegraph.state.task.reading import first_fault
from acegraph.state.values import MAX_CONTENT, Bullet, Condition, Source, Status

_MAX_WORDS: Final = 100
"""Characters of a name, and how many kinds of problem a bullet has at most."""
Name = Annotated[str, Field(min_length=1, max_length=_MAX_WORDS)]


def bullet_to_json(bullet: Bullet) -> dict[str, object]:
    """Everything about a bullet."""
    rule = bullet.condition
    tested = {"condition": rule and rule.to_json(), "rule": rule and rule.render()}
    return {**vars(bullet), **tested, "success_rate": round(bullet.get_success_rate(), 4)}


def export_bullets(playbook: BulletPlaybook, file: Path) -> int:
    """Write all bullets to a new file; returns how many."""
    bullets = [bullet_to_json(b) for b in playbook]
    body = {"format": "acegraph-playbook", "format_version": 2, "bullets": bullets}
    text = json.dumps(body, indent=2, ensure_ascii=False) + "\n"
    with whole_file(file, overwrite=False) as part:
        part.write_text(text, encoding="utf-8")
    return len(bullets)


def merge_bullets(playbook: BulletPlaybook, bullets: Sequence[Bullet]) -> Counter[Action]:
    """Merge bullets through the curator, in one database transaction; counts what it did."""
    curator, actions = Curator(), Counter[Action]()
    with playbook.writing():
        for bullet in bullets:
            curation = curator.curate(
                bullet.content,
                bullet.node,
                playbook,
                bullet.source,
                condition=bullet.condition,
                problem_types=bullet.problem_types,
                confidence=bullet.confidence,
                origin=bullet.origin,
            )
            actions[curation.action] += 1
    return actions


class _Entry(BaseModel):
    """A bullet as a file holds it."""

    content: str
    condition: dict[str, object] | None
    node: Name
    source: Source
    status: Status
    problem_types: Annotated[tuple[Name, ...], Field(max_length=_MAX_WORDS - 1)]
    confidence: Annotated[float, Field(ge=0, le=1)]
    origin: dict[str, object] = {}


class _File(BaseModel):
    """What `acegraph playbook export` writes."""

    format: Literal["acegraph-playbook"]
    format_version: Literal[2]
    bullets: list[_Entry]


def read_bullets(file: Path) -> list[Bullet]:
    """The active bullets of an exported file, without ids and counters; every entry is checked."""
    try:
        entries = _File.model_validate_json(file.read_bytes()).bullets
    except ValidationError as error:
        raise InvalidDataset(f"{file}: {': '.join(first_fault(error))}"[:300]) from None
    numbered = enumerate(entries, start=1)
    bullets = [_bullet(entry, file.name, f"{file}: bullet {number}") for number, entry in numbered]
    return [bullet for bullet in bullets if bullet.status == "active"]


def _bullet(entry: _Entry, file: str, where: str) -> Bullet:
    try:
        condition = Condition.from_json(entry.condition) if entry.condition else None
    except (AttributeError, KeyError, TypeError, ValueError) as error:
        raise InvalidDataset(f"{where}: condition: {str(error)[:200]}") from None
    rule = condition.render() if condition else ""
    if max(len(entry.content), len(rule)) > MAX_CONTENT:
        raise InvalidDataset(
            f"{where}: a bullet and its condition have at most {MAX_CONTENT} characters each"
        )
    author = str(entry.origin.get("author") or "")[:_MAX_WORDS]
    origin = {"imported_from": file} | ({"author": author} if author else {})
    kept = entry.model_dump(exclude={"condition", "origin"})
    return Bullet(id="", condition=condition, origin=origin, **kept)
