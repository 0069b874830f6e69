"""What labels said of the entities of a payment: a mark for each time that one calls it fraud, and
the opposite mark when it no longer does.

Marks are written with the label, in the same database transaction. An opinion of a judge is none.
"""

from collections.abc import Iterable, Mapping
from typing import Any, Final

import sqlalchemy as sa

from acegraph.state.database.base import Database
from acegraph.state.database.encoding import chunks
from acegraph.state.database.tables import cases, marks, outcomes, sightings
from acegraph.state.database.writer import LedgerWriter, Statement
from acegraph.state.values import DECLINE, JUDGE, Evidence, Label, calls_fraud, marks_of

_LISTED: Final = 20
Change = tuple[Label | None, Label | None, int]
"""The label before, the label now, and the revision that made it."""
_m, _s = marks.c, sightings.c
_of_entity: Final = tuple(_m[name] == sa.bindparam(name) for name in ("node", "kind", "entity"))
_called_fraud: Final = (
    sa.select(_m.voice)
    .where(*_of_entity, _m.at > sa.bindparam("first"), _m.at <= sa.bindparam("at"))
    .where(_m.case != sa.bindparam("case"))
    .group_by(_m.case, _m.voice)
    .having(sa.func.sum(_m.frauds) > sa.literal_column("0", sa.Integer))
    .subquery()
)
_FRAUDS: Final = Statement(sa.select(sa.func.count(sa.distinct(_called_fraud.c.voice))))
_SETTLED: Final = Statement(
    sa.select(sa.func.count())
    .select_from(sightings)
    .where(*(_s[name] == sa.bindparam(name) for name in ("node", "kind", "entity")))
    .where(_s.at > sa.bindparam("first"), _s.at <= sa.bindparam("last"))
    .where(_s.case != sa.bindparam("case"))
)


def store_marks(writer: LedgerWriter, changes: Mapping[str, Change]) -> None:
    """Note what new labels of some cases say of the entities that the cases name."""
    steps = {
        case: (calls_fraud(after) - calls_fraud(before), revision)
        for case, (before, after, revision) in changes.items()
        if calls_fraud(after) != calls_fraud(before)
    }
    for part in chunks(list(steps)):
        rows = writer.connection.execute(sa.select(sightings).where(_s.case.in_(part))).all()
        writer.add(marks, marks_of(rows, steps))


def read_said(
    database: Database, place: tuple[str, str, str], at: int, case: str, evidence: Evidence
) -> tuple[int, int]:
    """How many payments of an entity are settled at a time, and how many voices call one fraud."""
    first, last = (at - ago for ago in evidence.window)
    ((settled,),) = database.fetch(_SETTLED, *place, first, last, case)
    ((frauds,),) = database.fetch(_FRAUDS, *place, first, at, case)
    return settled, frauds


def called_fraud(connection: sa.Connection, node: str, kind: str, since: int) -> list[Any]:
    """Whom labels called fraud since a time, those with most voices first: the keyed hash, the
    voices, the time of the newest such payment and one of its cases.
    """
    is_there = (_m.node == node, _m.kind == kind, _m.at > since)
    each = sa.select(_m.entity, _m.voice, _m.case, sa.func.max(_m.at).label("at")).where(*is_there)
    each = each.group_by(_m.entity, _m.voice, _m.case).having(sa.func.sum(_m.frauds) > 0)
    one = each.subquery().c
    voices, newest = sa.func.count(sa.distinct(one.voice)), sa.func.max(one.at)
    query = sa.select(one.entity, voices, newest, sa.func.max(one.case)).group_by(one.entity)
    return list(connection.execute(query.order_by(voices.desc(), newest.desc()).limit(_LISTED)))


def wrong_marks(connection: sa.Connection) -> Iterable[str]:
    """The cases whose marks are not what their labels say."""
    newest = sa.select(outcomes.c.case, sa.func.max(outcomes.c.revision).label("revision"))
    last = newest.group_by(outcomes.c.case).subquery()
    is_last = (outcomes.c.case == last.c.case) & (outcomes.c.revision == last.c.revision)
    is_fraud = (outcomes.c.label == DECLINE) & (outcomes.c.source != JUDGE)
    frauds = sa.select(outcomes.c.case).join(last, is_last).where(is_fraud)
    said = sa.select(_s.kind, _s.entity, _s.case).where(_s.case.in_(frauds))
    marked = sa.select(_m.kind, _m.entity, _m.case).where(_m.case.in_(sa.select(cases.c.id)))
    marked = marked.group_by(_m.kind, _m.entity, _m.case).having(sa.func.sum(_m.frauds) > 0)
    expected, found = (set(map(tuple, connection.execute(query))) for query in (said, marked))
    return sorted({case for *_, case in expected ^ found})
