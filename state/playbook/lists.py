"""Lists of whom payments name: block, allow and watch, each entry until a day.

A block declines, an allow approves what would be declined, and of whoever is watched a person is
asked. What declines more acts when a person says so; an allow waits for a second one. Entries are
never changed: an approval and an end are rows of their own. Whom an entry is about is stored as a
keyed hash, as in sightings, and for people as it was written, or its last letters if the field is
not stored.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final, Literal, get_args

import sqlalchemy as sa

from acegraph.state.database.base import Database
from acegraph.state.database.encoding import now
from acegraph.state.database.tables import list_entries
from acegraph.state.database.writer import LedgerWriter, Statement
from acegraph.state.errors import InvalidInput
from acegraph.state.values import Data

ListName = Literal["block", "allow", "watch"]
LISTS: Final[tuple[ListName, ...]] = get_args(ListName)
_e = list_entries.c
_ORDER: Final = ("node", "kind", "entity")
_OF: Final = Statement(
    sa.select(list_entries)
    .where(*(_e[name] == sa.bindparam(name) for name in _ORDER))
    .order_by(_e.number)
)
_COLUMNS: Final = list_entries.c.keys()


@dataclass(frozen=True)
class Entry:
    """One entry of a list."""

    number: int
    list: ListName
    kind: str
    name: str
    """Whom it is about, as people read it."""
    reason: str
    by: str
    at: str
    until: str
    """From when on it does not count any more; empty: never."""
    approved_by: str = ""
    ended_by: str = ""

    @property
    def id(self) -> str:
        """How people name it."""
        return f"list-{self.number}"

    @property
    def waits(self) -> bool:
        """Whether a second person has to approve it."""
        return self.list == "allow" and not self.approved_by and not self.ended_by

    def counts(self, at: str) -> bool:
        """Whether it counts at a time."""
        return not (self.waits or self.ended_by or (self.until and at >= self.until))

    @property
    def told(self) -> str:
        """Why it counts, in words."""
        until = f" until {self.until[:10]}" if self.until else ""
        author = self.by.rpartition(":")[2]
        return f"on the {self.list} list since {self.at[:10]} by {author}{until}: {self.reason}"


def _folded(rows: Iterable[Mapping[str, Any]]) -> list[Entry]:
    """The entries that rows make, in their order."""
    found: dict[int, Entry] = {}
    for row in rows:
        if row["action"] == "add":
            told = (row["number"], row["list"], row["kind"], row["name"], row["reason"])
            found[row["number"]] = Entry(*told, row["by"], row["at"], row["until"])
        elif entry := found.get(row["entry"]):
            part = "approved_by" if row["action"] == "approve" else "ended_by"
            found[entry.number] = replace(entry, **{part: row["by"]})
    return list(found.values())


def all_entries(connection: sa.Connection) -> list[Entry]:
    """All entries, oldest first; also those that wait or have ended."""
    rows = connection.execute(sa.select(list_entries).order_by(_e.number)).mappings()
    return _folded(map(dict, rows))


def entries_about(database: Database, node: str, who: Mapping[str, str]) -> list[Entry]:
    """The entries that count now about anybody of these, by kind the keyed hash."""
    at, found = now(), list[Entry]()
    for kind, entity in who.items():
        if rows := database.fetch(_OF, node, kind, entity):
            named = (dict(zip(_COLUMNS, row, strict=True)) for row in rows)
            found += [entry for entry in _folded(named) if entry.counts(at)]
    return found


def add_entries(
    writer: LedgerWriter, said: Mapping[str, str], who: Sequence[tuple[str, str]]
) -> list[int]:
    """Add entries that say the same of some, each given by hash and name; gives their numbers.

    `said` has node, kind, list, reason, by, until.
    """
    numbers = range(_last(writer) + 1, _last(writer) + 1 + len(who))
    same = {**said, "action": "add", "at": now()}
    rows: list[Data] = [
        {**same, "number": number, "entry": number, "entity": entity, "name": name}
        for number, (entity, name) in zip(numbers, who, strict=True)
    ]
    writer.add(list_entries, rows)
    return list(numbers)


def change_entry(writer: LedgerWriter, number: int, action: str, by: str, reason: str) -> None:
    """Approve or end an entry."""
    found = sa.select(list_entries).where(_e.number == number, _e.action == "add")
    row = writer.connection.execute(found).mappings().first()
    if row is None:
        raise InvalidInput(f"no entry {number}; 'acegraph list show' shows all")
    kept = {name: row[name] for name in _COLUMNS if name not in ("position", "hash")}
    said = {"number": _last(writer) + 1, "action": action, "by": by, "reason": reason, "at": now()}
    writer.add(list_entries, [{**kept, **said}])


def _last(writer: LedgerWriter) -> int:
    return int(writer.connection.scalar(sa.select(sa.func.max(_e.number))) or 0)
