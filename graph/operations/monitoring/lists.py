"""Lists of shops, customers, terminals: who is blocked, allowed or watched, why, and until when."""

from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Final

from acegraph.graph.data.rows import read_encoded
from acegraph.nodes.evidence.sightings.columns import id_of
from acegraph.state import BulletPlaybook, InvalidSettings
from acegraph.state.errors import InvalidAnswer, InvalidInput, some
from acegraph.state.ledger.sightings import hash_of, key_of
from acegraph.state.maintenance.people.second_person import check_alone
from acegraph.state.playbook.lists import LISTS, Entry, add_entries, all_entries, change_entry
from acegraph.state.run.review_answers import ApprovalAnswer, is_same_name, read_answer
from acegraph.state.values import ANALYST

PREFIX: Final = "list-"
USUAL_DAYS: Final = 28
_LONGEST: Final = 200
_LAST: Final = 4
"""So many letters of a value that is not stored are kept for people."""


def add(
    playbook: BulletPlaybook,
    node: str,
    list_name: str,
    kind: str,
    names: Sequence[str],
    by: str,
    reason: str,
    days: float | None = USUAL_DAYS,
    *,
    alone: bool = False,
) -> list[Entry]:
    """Put some of a kind on a list for so many days; without days for ever. An allow waits for a
    second person, unless there is none.
    """
    if list_name not in LISTS:
        raise InvalidSettings(f"a list is {', '.join(LISTS)}, not {list_name!r}")
    field = playbook.task(node).field_of(column_of(playbook, node, kind))
    if not reason.strip():
        raise InvalidSettings("--why is wanted: the reason is kept")
    ids = [id_of(name) for name in names]
    if odd := [row for row, one in enumerate(ids, 1) if not one or len(one) > _LONGEST]:
        rows = some([f"row {row}" for row in odd])
        raise InvalidInput(f"{len(odd)} of {len(ids)} name nobody ({rows}); nothing was added")
    said = {"node": node, "kind": kind, "list": list_name, "by": by, "reason": reason}
    said["until"] = _until(days)
    is_stored = field is not None and field.stored
    with playbook.writing() as writer:
        key = key_of(writer)
        who = [
            (hash_of(key, kind, one), name if is_stored else f"...{name[-_LAST:]}")
            for one, name in {
                one: name for one, name in zip(ids, names, strict=True) if one
            }.items()
        ]
        numbers = add_entries(writer, said, who)
        if alone and list_name == "allow":
            check_alone(playbook.database)
            for number in numbers:
                change_entry(writer, number, "approve", by, f"alone: {reason}")
    return [one for one in shown(playbook) if one.number in {*numbers}]


def _until(days: float | None) -> str:
    return "" if days is None else (datetime.now(UTC) + timedelta(days=days)).isoformat()


def column_of(playbook: BulletPlaybook, node: str, kind: str) -> str:
    """The field that names a kind of entity."""
    columns = playbook.task(node).entities
    if kind not in columns:
        known = ", ".join(columns) or "nobody"
        raise InvalidSettings(
            f"no kind {kind!r} in the task, which names {known} (train --as NAME=entity:KIND)"
        )
    return columns[kind]


def names_in(file: Path) -> list[str]:
    """The names in a file, one a line; what follows a comma is left out."""
    text, _ = read_encoded(file)
    return [line.partition(",")[0].strip().strip('"') for line in text.splitlines() if line.strip()]


def shown(playbook: BulletPlaybook) -> list[Entry]:
    """All entries, oldest first."""
    with playbook.database.reading() as connection:
        return all_entries(connection)


def end(playbook: BulletPlaybook, number: int, by: str, reason: str) -> None:
    """End an entry now."""
    with playbook.writing() as writer:
        change_entry(writer, number, "end", by, reason)


def approve_entry(playbook: BulletPlaybook, entry_id: str, given: object) -> str:
    """Approve an entry that waits, or end it, with `who`, `approve` and `why`; gives what it is."""
    answer = read_answer(ApprovalAnswer, given)
    number = entry_id.removeprefix(PREFIX)
    with playbook.writing() as writer:
        entry = next((one for one in shown(playbook) if str(one.number) == number), None)
        if entry is None or not entry.waits:
            raise InvalidInput(f"{entry_id} waits for nobody; 'acegraph list show' shows all")
        if answer.approve and is_same_name(entry.by.removeprefix(ANALYST), answer.who):
            raise InvalidAnswer(f"{answer.who} added {entry_id}: ask somebody else to approve it")
        action = "approve" if answer.approve else "end"
        change_entry(writer, entry.number, action, answer.source, answer.why)
    return "active" if answer.approve else "ended"
