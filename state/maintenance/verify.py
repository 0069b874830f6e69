"""The audit behind `acegraph verify`: every row against its hash, every counter against the ledger.

It trusts nothing that is stored: a row that cannot be read is a finding, not a crash.
"""

from collections.abc import Callable, Iterable, Iterator
from functools import partial
from typing import Final

import sqlalchemy as sa

from acegraph.state.database import tables
from acegraph.state.database.base import Database
from acegraph.state.database.writer import row_hash
from acegraph.state.errors import PlaybookError
from acegraph.state.ledger.counters import adjusted, bullet_texts, count
from acegraph.state.ledger.marks import wrong_marks
from acegraph.state.playbook.playbook import BulletPlaybook
from acegraph.state.values import add_deltas

_SOME: Final = 1_000


def verify(ledger: BulletPlaybook | Database) -> list[str]:
    """Everything that is not as the ledger says it must be; an empty list for a clean ledger."""
    database = ledger.database if isinstance(ledger, BulletPlaybook) else ledger
    findings = _unless_unreadable(database.integrity)
    with database.snapshot() as connection:
        for check in (_check_rows, _check_counters, _check_contents, _check_ties, _check_marks):
            findings += _unless_unreadable(partial(check, connection))
    return findings


def _unless_unreadable(check: Callable[[], Iterable[str]]) -> list[str]:
    try:
        return list(check())
    except (PlaybookError, sa.exc.SQLAlchemyError, ValueError, TypeError) as error:
        first_line = str(getattr(error, "orig", error)).strip().partition("\n")[0]
        return [f"cannot be read: {first_line}"]


def _check_rows(connection: sa.Connection) -> Iterator[str]:
    """Each row has its hash, and all hashes together make the seal."""
    seal, last, version = 0, 0, 0
    for table in (*tables.LEDGER, tables.bullets):
        order = "changed" if table is tables.bullets else "position"
        keys = [c.name for c in table.primary_key]
        result = connection.execution_options(yield_per=_SOME).execute(sa.select(table))
        for row in map(dict, result.mappings()):
            if row["hash"] != row_hash(table.name, row):
                key = ", ".join(str(row[name]) for name in keys)
                yield f"{table.name} {key}: the row was changed outside the ledger"
            seal ^= int(row["hash"])
            last = max(last, int(row[order]))
            if table is tables.history:
                version = max(version, int(row["version"]))
    clock = connection.execute(sa.select(tables.clock)).one()
    if clock.seal != seal:
        yield "the seal over all rows is broken: a row is missing, was put back, or was changed"
    if (clock.id, clock.position, clock.version) != (1, last, version):
        yield (
            f"clock {clock.id} stands at position {clock.position}, version {clock.version}; "
            f"the rows reach {last} and {version}"
        )


def _check_counters(connection: sa.Connection) -> Iterator[str]:
    expected = add_deltas(count(connection), adjusted(connection))
    rows = connection.execute(sa.select(tables.bullets).order_by(tables.bullets.c.number))
    for row in rows:
        stored = (row.helpful_count, row.harmful_count, row.times_selected)
        counted = expected.pop(row.number, (0, 0, 0))
        if stored != counted:
            yield (
                f"b{row.number}: helpful, harmful, selected are {stored}; "
                f"the ledger's outcomes make {counted}"
            )
    for number in expected:
        yield f"b{number} has outcomes in the ledger and is not in the playbook"


def _check_contents(connection: sa.Connection) -> Iterator[str]:
    """The bullets are what the newest rows of the history say."""
    rows = bullet_texts(connection, sa.true())
    expected = {row.bullet: (row.content, row.condition, row.status) for row in rows}
    b = tables.bullets.c
    for row in connection.execute(sa.select(b.number, b.content, b.condition, b.status)):
        if expected.pop(row.number, None) != (row.content, row.condition, row.status):
            yield f"b{row.number} is not what the history says it is"
    for number in expected:
        yield f"b{number} is in the history and not in the playbook"


def _check_marks(connection: sa.Connection) -> Iterator[str]:
    """The marks of entities are what the labels of their payments say."""
    for case in wrong_marks(connection):
        yield f"marks {case!r}: they are not what its label says"


def _check_ties(connection: sa.Connection) -> Iterator[str]:
    """Every decision, label and lesson has its case, every selection its decision."""
    cases = sa.select(tables.cases.c.id)
    decisions = sa.select(tables.decisions.c.case)
    for table, owners, what in (
        (tables.decisions, cases, "case"),
        (tables.outcomes, cases, "case"),
        (tables.selections, decisions, "decision"),
        (tables.lessons, cases, "case"),
        (tables.answers, cases, "case"),
    ):
        query = sa.select(table.c.case).where(table.c.case.not_in(owners)).distinct()
        for case in connection.scalars(query):
            yield f"{table.name} {case!r}: its {what} is missing"
