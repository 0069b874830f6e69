"""Look stored cases up: which ids are known, what a challenger decided."""

import json
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final

import sqlalchemy as sa

from acegraph.state.database.base import Database
from acegraph.state.database.encoding import chunks, is_storable
from acegraph.state.database.tables import cases, decisions, outcomes
from acegraph.state.ledger.counters import is_current_label
from acegraph.state.ledger.ledger import ERASED
from acegraph.state.ledger.queries import KNOWN_CASES, PRUNED_CASES
from acegraph.state.values.transaction import Fields
from acegraph.state.values.verdict import JUDGE, Verdict

# An erased case was evidence until it was erased.
_EVIDENCE: Final = KNOWN_CASES.where((cases.c.evidence == 1) | (cases.c.digest == ERASED))


def known_ids(database: Database, ids: Iterable[str], *, evidence_only: bool = False) -> set[str]:
    """Those of the ids under which a case is stored, or was until it was pruned."""
    stored = _EVIDENCE if evidence_only else KNOWN_CASES
    known: set[str] = set()
    with database.reading() as connection:
        for some in chunks([name for name in ids if is_storable(name)]):
            for statement in (stored, PRUNED_CASES):
                known.update(connection.scalars(statement, {"ids": some}))
    return known


def count_evidence(database: Database, prefix: str) -> int:
    """How many cases of evidence have ids that begin so."""
    has_prefix = cases.c.id.startswith(prefix, autoescape=True)
    statement = sa.select(sa.func.count()).where(has_prefix, cases.c.evidence == 1)
    with database.reading() as connection:
        return int(connection.scalar(statement) or 0)


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
    """The labelled decisions beside which a version decided, in the order of the decisions."""
    newest = outcomes.alias("newest")
    query = (
        sa.select(
            decisions.c.decision,
            decisions.c.risk_score,
            decisions.c.settings,
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
    challenged = []
    for row in rows:
        settings = json.loads(row.settings)
        if settings["challenger"] == version:
            shadow = settings["shadow"]
            challenged.append(
                ChallengedDecision(
                    json.loads(row.fields),
                    row.label,
                    row.decision,
                    row.risk_score,
                    shadow["decision"],
                    shadow["risk_score"],
                )
            )
    return challenged
