"""The audit behind `acegraph verify`: every row against its hash, every counter against the ledger.

It reads plainly and trusts nothing: whatever cannot be read is a finding, not a crash.
"""

from collections.abc import Callable, Iterator
from typing import Any, Final

import sqlalchemy as sa

from acegraph.state.database import tables
from acegraph.state.database.base import Database
from acegraph.state.database.writer import row_hash, vector_hash
from acegraph.state.errors import PlaybookError
from acegraph.state.ledger.counters import adjusted, bullet_texts, count
from acegraph.state.playbook.playbook import BulletPlaybook
from acegraph.state.values.decision import add_deltas

_SOME: Final = 1_000


def verify(ledger: BulletPlaybook | Database) -> list[str]:
    """Everything that is not as the ledger says it must be; nothing, for a clean one."""
    database = ledger.database if isinstance(ledger, BulletPlaybook) else ledger
    findings: list[str] = list(_unless_unreadable(database.integrity))
    with database.snapshot() as connection:
        for check in (_check_rows, _check_vectors, _check_counters, _check_contents, _check_ties):
            findings += _unless_unreadable(lambda check=check: list(check(connection)))  # type: ignore[misc]
    return findings


def _unless_unreadable(check: Callable[[], list[str]]) -> list[str]:
    try:
        return check()
    except (PlaybookError, sa.exc.SQLAlchemyError, ValueError, TypeError) as error:
        said = str(getattr(error, "orig", error)).strip().partition("\n")[0]
        return [f"cannot be read: {said}"]


def _check_rows(connection: sa.Connection) -> Iterator[str]:
    """Each row has its hash, and all of them together make the seal."""
    seal, last, version = 0, 0, 0
    for table in (*tables.LEDGER, tables.bullets):
        order = "changed" if table is tables.bullets else "position"
        keys = [c.name for c in table.primary_key]
        result = connection.execution_options(yield_per=_SOME).execute(sa.select(table))
        for found in result:
            row = found._asdict()
            if row["hash"] != row_hash(table.name, row):
                yield f"{table.name} {_key(row, keys)}: the row was changed outside the ledger"
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


def _check_vectors(connection: sa.Connection) -> Iterator[str]:
    """Vectors can be bought anew, and yet a changed one would change what is shown."""
    table = tables.embeddings
    for row in connection.execution_options(yield_per=_SOME).execute(sa.select(table)):
        if row.hash != vector_hash(row.model, row.text_hash, bytes(row.vector)):
            yield f"vector {row.text_hash[:12]} of {row.model}: changed outside the ledger"


def _check_counters(connection: sa.Connection) -> Iterator[str]:
    expected = add_deltas(count(connection), adjusted(connection))
    rows = connection.execute(sa.select(tables.bullets).order_by(tables.bullets.c.number))
    for row in rows:
        found = (row.helpful_count, row.harmful_count, row.times_selected)
        wanted = expected.pop(row.number, (0, 0, 0))
        if found != wanted:
            yield (
                f"b{row.number}: helpful, harmful, selected are {found}; "
                f"the ledger's outcomes make {wanted}"
            )
    for number in expected:
        yield f"b{number} has outcomes in the ledger and is not in the playbook"


def _check_contents(connection: sa.Connection) -> Iterator[str]:
    """The bullets are what the newest rows of the history say."""
    told = {row[0]: row[1:] for row in bullet_texts(connection, sa.true())}
    b = tables.bullets.c
    for number, *content in connection.execute(
        sa.select(b.number, b.content, b.condition, b.status)
    ):
        if told.pop(number, None) != tuple(content):
            yield f"b{number} is not what the history says it is"
    for number in told:
        yield f"b{number} is in the history and not in the playbook"


def _check_ties(connection: sa.Connection) -> Iterator[str]:
    """Nothing hangs in the air: decisions have cases, the rest has decisions or cases."""
    cases = sa.select(tables.cases.c.id)
    decisions = sa.select(tables.decisions.c.case)
    for table, owners, what in (
        (tables.decisions, cases, "case"),
        (tables.outcomes, cases, "case"),
        (tables.selections, decisions, "decision"),
        (tables.lessons, cases, "case"),
    ):
        for case in connection.scalars(
            sa.select(table.c.case).where(table.c.case.not_in(owners)).distinct()
        ):
            yield f"{table.name} {case!r}: its {what} is missing"


def _key(row: Any, keys: list[str]) -> str:
    return ", ".join(str(row[name]) for name in keys)
