"""Look stored cases up: which ids are in use, one whole decision, what a challenger decided."""

import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final

import sqlalchemy as sa

from acegraph.state.database.base import Database
from acegraph.state.database.encoding import chunks, is_storable
from acegraph.state.database.tables import cases, decisions, outcomes
from acegraph.state.errors import PrunedDecision, UnknownDecision, quoted
from acegraph.state.ledger import queries as sql
from acegraph.state.ledger.counters import is_current_label
from acegraph.state.ledger.ledger import ERASED, ids_in_use
from acegraph.state.ledger.row_mapping import read_case
from acegraph.state.values.cases import Case
from acegraph.state.values.label_sources import JUDGE
from acegraph.state.values.times import now
from acegraph.state.values.transaction import Fields
from acegraph.state.values.verdict import Verdict

# An erased case was evidence until it was erased.
_EVIDENCE: Final = sql.KNOWN_CASES.where((cases.c.evidence == 1) | (cases.c.digest == ERASED))


def known_ids(database: Database, ids: Iterable[str], *, evidence_only: bool = False) -> set[str]:
    """Those of the ids under which a case is stored, or was until it was pruned."""
    stored = _EVIDENCE if evidence_only else sql.KNOWN_CASES
    parts = chunks([case_id for case_id in ids if is_storable(case_id)])
    with database.reading() as connection:
        return {i for part in parts for i in ids_in_use(connection, part, stored)}


def count_evidence(database: Database, prefix: str) -> int:
    """How many cases of evidence have ids that begin with a prefix."""
    has_prefix = cases.c.id.startswith(prefix, autoescape=True)
    statement = sa.select(sa.func.count()).where(has_prefix, cases.c.evidence == 1)
    with database.reading() as connection:
        return int(connection.scalar(statement) or 0)


def stored_decision(database: Database, case_id: str) -> dict[str, Any]:
    """A stored decision with its case, the bullets shown and its label."""
    if not is_storable(case_id):
        raise UnknownDecision(f"no decision {quoted(case_id)} in this playbook")
    with database.reading() as connection:
        row = connection.execute(sql.WHOLE_DECISION, {"id": case_id}).mappings().first()
        if row is None:
            if (at := connection.scalar(sql.IS_PRUNED, {"id": case_id})) is not None:
                raise PrunedDecision(f"decision {quoted(case_id)} was pruned on {at[:10]}")
            raise UnknownDecision(f"no decision {quoted(case_id)} in this playbook")
        shown = connection.execute(sql.SHOWN, {"id": case_id}).all()
    decision = dict(row)
    for name in ("fields", "reasons", "settings", "lesson"):
        decision[name] = json.loads(row[name]) if row[name] is not None else None
    decision["bullets"] = [f"b{s.bullet}" for s in shown if s.selected]
    decision["bullets_used"] = [f"b{s.bullet}" for s in shown if s.selected and s.credited]
    return decision


def labelled_cases(connection: sa.Connection, node: str, last: int) -> list[Case]:
    """The newest cases with a label that is more than a judge's opinion, oldest first."""
    given = {"node": node, "last": last, "now": now()}
    rows = connection.execute(sql.LABELLED, given).all()[::-1]
    if ahead := connection.execute(sql.LABELLED_IN_FUTURE, given).all():
        in_time = in_order(rows, ahead)[-last:]
        return [replace(read_case(row), known_at=known_at) for known_at, row in in_time]
    return [read_case(row) for row in rows]


def in_order(
    rows: Sequence[sa.Row[Any]], ahead: Sequence[sa.Row[Any]]
) -> list[tuple[str, sa.Row[Any]]]:
    """Labels with the time since when they are known, oldest first; one from the future was known
    when the row before it was.

    Else a clock that was once ahead would shut all later labels out.
    """
    by_position = sorted([*rows, *ahead], key=lambda row: int(row.position))
    is_ahead, known_at, timed = {row.id for row in ahead}, "", []
    for row in by_position:
        if row.id not in is_ahead:
            known_at = max(known_at, row.known_at)
        at = known_at if row.id in is_ahead else row.known_at
        timed.append((at, row))
    return sorted(timed, key=lambda pair: pair[0])  # stable: then by position


@dataclass(frozen=True)
class ChallengedDecision:
    """A labelled decision, and what a challenger decided on the same transaction."""

    fields: Fields
    label: Verdict
    decision: Verdict
    risk_score: float | None
    challenger_decision: Verdict | None
    challenger_risk_score: float | None


def challenged_decisions(database: Database, version: int) -> list[ChallengedDecision]:
    """The labelled decisions with a challenger of this version, in the order of the decisions."""
    newest = outcomes.alias("newest")
    query = (
        sa.select(
            *(decisions.c[name] for name in ("decision", "risk_score", "settings")),
            cases.c.fields,
            newest.c.label,
        )
        .select_from(decisions)
        .join(cases, cases.c.id == decisions.c.case)
        .join(newest, newest.c.case == decisions.c.case)
        .where(
            is_current_label(newest),
            newest.c.source != JUDGE,
            newest.c.label.is_not(None),
            decisions.c.settings.contains('"shadow":{'),
        )
        .order_by(decisions.c.position)
    )
    with database.reading() as connection:
        rows = connection.execute(query).all()
    return [
        ChallengedDecision(
            json.loads(row.fields),
            row.label,
            row.decision,
            row.risk_score,
            settings["shadow"]["decision"],
            settings["shadow"]["risk_score"],
        )
        for row in rows
        if (settings := json.loads(row.settings))["challenger"] == version
    ]
