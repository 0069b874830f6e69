"""The payments that later payments look back on: who, when, how much and where.

Ids are stored as keyed hashes, so that redacted ids count and nobody is named. Sightings are
written with their case, in the same database transaction and once.
"""

import hmac
import json
import secrets
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, Final

import sqlalchemy as sa

from acegraph.state.database.base import Database
from acegraph.state.database.encoding import chunks
from acegraph.state.database.kept_values import SIGHTING_COLUMNS, keep_text
from acegraph.state.database.tables import list_entries, marks, meta, sightings
from acegraph.state.database.writer import LedgerWriter, Statement
from acegraph.state.ledger.marks import read_said, store_marks
from acegraph.state.values import (
    PAYERS,
    WINDOWS,
    Case,
    Data,
    DecisionRecord,
    Evidence,
    Label,
    Past,
    Sighting,
    is_named,
)

_KEY: Final = "sighting_key"
"""The key in `meta` of the secret that ids are hashed with."""
_BEGINNING: Final = -(2**62)

_ZERO, _ONE = sa.literal_column("0", sa.Integer), sa.literal_column("1", sa.Integer)
_s = sightings.c
_is_before: Final = (
    _s.node == sa.bindparam("node"),
    _s.kind == sa.bindparam("kind"),
    _s.entity == sa.bindparam("entity"),
    _s.at <= sa.bindparam("at"),
    _s.case != sa.bindparam("case"),
)


def _sum(column: sa.Column[int], since: str = "") -> sa.ColumnElement[int]:
    counted = sa.case((_s.at > sa.bindparam(since), column), else_=_ZERO) if since else column
    return sa.func.coalesce(sa.func.sum(counted), _ZERO)


_TOTALS: Final = Statement(
    sa.select(
        *(_sum(column, since) for column in (_s.payments, _s.amount) for since in WINDOWS),
        _sum(_s.amount),
        _sum(_s.known_amounts),
        sa.func.max(sa.case((_s.merchant == sa.bindparam("m"), _ONE), else_=_ZERO)),
    ).where(*_is_before, _s.at > sa.bindparam("since"))
)
_LAST: Final = Statement(
    sa.select(_s.at, _s.latitude, _s.longitude)
    .where(*_is_before)
    .order_by(_s.at.desc(), _s.position.desc())
    .suffix_with("LIMIT 1")  # SQLAlchemy would make it a parameter
)
_SECRET: Final = Statement(
    sa.select(meta.c.value).where(meta.c.key == sa.literal_column(f"'{_KEY}'"))
)


def store_sightings(
    writer: LedgerWriter,
    node: str,
    seen: Iterable[Case | DecisionRecord],
    labels: Mapping[str, Label | None],
) -> None:
    """Store what later payments see of new cases, and what their first labels say."""
    new = [(case.id, case.sighting) for case in seen if case.sighting]
    if not new:
        return
    key = key_of(writer)
    writer.add(sightings, [row for pair in new for row in _rows(key, node, *pair)])
    store_marks(writer, {case: (None, label, 1) for case, label in labels.items()})


def key_of(writer: LedgerWriter) -> str:
    """The secret that ids are hashed with; it is made when it is first needed."""
    secret = writer.first(_SECRET)
    key = str(secret[0]) if secret else secrets.token_hex(32)
    if secret is None:
        keep_text(writer, _KEY, key)
    return key


def _rows(key: str, node: str, case_id: str, sighting: Sighting) -> Iterator[Data]:
    merchant = _hashes(key, sighting).get("merchant")
    for kind, entity in _hashes(key, sighting).items():
        yield {
            "node": node,
            "kind": kind,
            "entity": entity,
            "at": sighting.at,
            "case": case_id,
            "payments": 1,
            "known_amounts": int(sighting.amount is not None),
            "amount": sighting.amount or 0,
            "merchant": merchant if kind != "merchant" else None,
            "latitude": sighting.place[0] if sighting.place else None,
            "longitude": sighting.place[1] if sighting.place else None,
        }


def _hashes(key: str, sighting: Sighting) -> dict[str, str]:
    return {kind: hash_of(key, kind, text) for kind, text in sighting.who.items()}


def hash_of(key: str, kind: str, text: str) -> str:
    """The keyed hash of somebody."""
    return hmac.new(key.encode(), f"{kind}:{text}".encode(), "sha256").hexdigest()[:32]


def read_past(
    database: Database,
    node: str,
    sighting: Sighting,
    case_id: str,
    evidence: Mapping[str, Evidence],
) -> dict[str, Past]:
    """By kind of entity what a payment sees of the payments before it, without itself."""
    secret = database.fetch(_SECRET)
    hashes = _hashes(secret[0][0], sighting) if secret else {}
    starts = [sighting.at - window for window in WINDOWS.values()]
    pasts = {}
    for kind, entity in hashes.items():
        before = (node, kind, entity, sighting.at, case_id)
        # All payments of a merchant would be many, and nobody asks what it usually takes.
        since = _BEGINNING if kind in PAYERS else starts[-1]
        (totals,) = database.fetch(
            _TOTALS, *starts, *starts, hashes.get("merchant"), *before, since
        )
        last: Sequence[Any] = database.fetch(_LAST, *before) or [(None, None, None)]
        at, north, east = last[0]
        settled, frauds = 0, 0
        if kind in evidence:
            place = (node, kind, entity)
            settled, frauds = read_said(database, place, sighting.at, case_id, evidence[kind])
        pasts[kind] = Past(
            payments=tuple(map(int, totals[:3])),
            amounts=tuple(map(int, totals[3:6])),
            all_amounts=int(totals[6]),
            known_amounts=int(totals[7]),
            last_at=at,
            last_place=None if north is None else (north, east),
            knows_merchant=bool(totals[8]),
            settled=settled,
            frauds=frauds,
        )
    return pasts


def remove_sightings(
    writer: LedgerWriter, case_ids: Iterable[str], field: str = "", forms: Sequence[str] = ()
) -> int:
    """Remove the sightings of cases, and those of whoever a field names in one of these forms."""
    removed = 0
    for part in chunks(list(case_ids)):
        for table in (sightings, marks):
            removed += writer.remove(table, table.c.case.in_(part))
    if not forms:
        return removed
    rows = writer.connection.execute(sa.select(meta.c.key, meta.c.value))
    settings = {row.key: row.value for row in rows}
    stored = (sightings, marks, list_entries)
    pairs = sa.union(*(sa.select(table.c.node, table.c.kind) for table in stored))
    for node, kind in writer.connection.execute(pairs).all():
        columns = json.loads(settings.get(SIGHTING_COLUMNS + node, "{}"))
        named = {what for what, name in columns.items() if is_named(name, field)}
        # A name that no column has may be that of a column in earlier files.
        if not named or kind in named or kind not in columns:
            hashes = [hash_of(settings[_KEY], kind, form) for form in forms]
            for table in stored:
                is_theirs = (table.c.node == node, table.c.entity.in_(hashes))
                removed += writer.remove(table, sa.and_(*is_theirs))
    return removed


def hashes_of(database: Database, who: Mapping[str, str]) -> dict[str, str]:
    """By kind the keyed hash under which somebody is stored; nothing where nobody is."""
    secret = database.fetch(_SECRET)
    return {kind: hash_of(secret[0][0], kind, text) for kind, text in who.items()} if secret else {}


def payments_of(connection: sa.Connection, node: str, kind: str, entity: str) -> list[Any]:
    """The payments of an entity, the newest first: their case and time."""
    is_theirs = (_s.node == node, _s.kind == kind, _s.entity == entity)
    query = sa.select(_s.case, _s.at).where(*is_theirs).order_by(_s.at.desc(), _s.position.desc())
    return list(connection.execute(query))


def newest_payment(connection: sa.Connection, node: str) -> int:
    """When the newest payment of a node was that names somebody."""
    return int(connection.scalar(sa.select(sa.func.max(_s.at)).where(_s.node == node)) or 0)
