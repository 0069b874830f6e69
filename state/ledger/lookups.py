"""Look stored cases up: which ids are in use, one whole decision, what was decided in shadow."""

import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Final

import sqlalchemy as sa

from acegraph.state.database.base import Database
from acegraph.state.database.encoding import chunks, is_storable
from acegraph.state.database.tables import answers, bullets, cases, decisions, outcomes, selections
from acegraph.state.database.writer import LedgerWriter
from acegraph.state.errors import PrunedDecision, UnknownDecision, quoted
from acegraph.state.ledger import queries as sql
from acegraph.state.ledger.counters import is_blocked, is_current_label, is_label_of_decision
from acegraph.state.values import HELD_BACK, SHOWN, Data, Fields, Verdict

ERASED: Final = "erased"
"""The digest of a case whose content was erased."""
# An erased case was evidence until it was erased.
_EVIDENCE: Final = sql.KNOWN_CASES.where((cases.c.evidence == 1) | (cases.c.digest == ERASED))


def ids_in_use(
    connection: sa.Connection, ids: list[str], stored: sa.Select[str] = sql.KNOWN_CASES
) -> set[str]:
    """Those of the ids under which a case is stored, or was until it was pruned."""
    statements = (stored, sql.PRUNED_CASES)
    return {i for statement in statements for i in connection.scalars(statement, {"ids": ids})}


def find_digest(writer: LedgerWriter, case_id: str) -> str | None:
    """The digest of a stored case, or None for an unknown one; a pruned case is refused."""
    row = writer.first(sql.FIND_CASE, case_id, case_id)
    if row is None:
        return None
    digest_or_time, is_pruned = row
    if is_pruned:
        raise PrunedDecision(f"decision {quoted(case_id)} was pruned on {digest_or_time[:10]}")
    return str(digest_or_time)


def known_ids(database: Database, ids: Iterable[str], *, evidence_only: bool = False) -> set[str]:
    """Those of the ids under which a case is stored, or was until it was pruned."""
    stored = _EVIDENCE if evidence_only else sql.KNOWN_CASES
    parts = chunks([case_id for case_id in ids if is_storable(case_id)])
    with database.reading() as connection:
        return {i for part in parts for i in ids_in_use(connection, part, stored)}


def nodes_with_cases(database: Database) -> set[str]:
    """The nodes that have stored cases."""
    with database.reading() as connection:
        return set(connection.scalars(sa.select(cases.c.node).distinct()))


def count_evidence(database: Database, prefix: str) -> int:
    """How many cases of evidence have ids that begin with a prefix."""
    has_prefix = cases.c.id.startswith(prefix, autoescape=True)
    statement = sa.select(sa.func.count()).where(has_prefix, cases.c.evidence == 1)
    with database.reading() as connection:
        return int(connection.scalar(statement) or 0)


def cases_of_bullet(database: Database, number: int) -> set[str]:
    """The cases for whose decisions a bullet was shown or counted."""
    with database.reading() as connection:
        query = sa.select(selections.c.case).where(selections.c.bullet == number)
        return set(connection.scalars(query))


def stored_decision(database: Database, case_id: str) -> Data:
    """A stored decision with its case, the bullets and its label.

    `bullets` were shown; where nobody reads, all rules that counted.
    """
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
    acted = [s for s in shown if s.selected != HELD_BACK]
    read = [s for s in acted if s.selected == SHOWN] or acted
    decision["bullets"] = [f"b{s.bullet}" for s in read]
    decision["bullets_used"] = [f"b{s.bullet}" for s in acted if s.credited]
    return decision


@dataclass(frozen=True)
class Said:
    """What somebody said of a case."""

    label: Verdict | None
    """None: the label before was taken back."""
    source: str
    known_at: str
    why: str = ""
    """The reason of a person who was asked."""


def label_history(database: Database, case_id: str) -> list[Said]:
    """All that was said of a case, oldest first."""
    said = sa.select(outcomes).where(outcomes.c.case == case_id).order_by(outcomes.c.revision)
    asked = sa.select(answers).where(answers.c.case == case_id)
    with database.reading() as connection:
        reasons = {(row.verdict, row.source): row.why for row in connection.execute(asked)}
        return [
            Said(row.label, row.source, row.known_at, reasons.get((row.label, row.source), ""))
            for row in connection.execute(said)
        ]


def read_cases(
    database: Database, ids: Sequence[str], word: str = ""
) -> dict[str, tuple[str, Fields]]:
    """The texts and fields of some cases by id: of those in whose id or text a word occurs."""
    found: dict[str, tuple[str, Fields]] = {}
    query = sa.select(cases.c.id, cases.c.text, cases.c.fields)
    if word:
        texts = (cases.c.id, cases.c.text)
        query = query.where(sa.or_(*(text.icontains(word, autoescape=True) for text in texts)))
    with database.reading() as connection:
        for part in chunks(list(ids)):
            for row in connection.execute(query.where(cases.c.id.in_(part))):
                found[row.id] = (row.text, json.loads(row.fields))
    return found


@dataclass(frozen=True)
class LabelledDecision:
    """A decision whose right answer is known."""

    fields: Fields
    label: Verdict | None
    decision: Verdict
    risk_score: float | None
    settings: Data


def labelled_with(database: Database, setting: str) -> list[LabelledDecision]:
    """The decisions whose settings hold an object of this name, in their order, that have a label
    or have none because they were declined.
    """
    newest = outcomes.alias("newest")
    query = (
        sa.select(
            *(decisions.c[name] for name in ("decision", "risk_score", "settings")),
            cases.c.fields,
            newest.c.label,
        )
        .select_from(decisions)
        .join(cases, cases.c.id == decisions.c.case)
        .outerjoin(newest, is_label_of_decision(newest))
        .where(
            sa.or_(newest.c.label.is_not(None), is_blocked(newest)),
            decisions.c.settings.contains(f'"{setting}":{{'),
        )
        .order_by(decisions.c.position)
    )
    with database.reading() as connection:
        rows = connection.execute(query).all()
    return [
        LabelledDecision(
            json.loads(row.fields),
            row.label,
            row.decision,
            row.risk_score,
            json.loads(row.settings),
        )
        for row in rows
    ]


@dataclass(frozen=True)
class LedgerCounts:
    """How much a ledger holds, counted at one moment."""

    decisions: dict[str, int]
    """By verdict."""
    undecided: int
    """Transactions that neither the agent nor a person nor a label has decided."""
    labels: dict[str, int]
    """By label; the newest label of each case counts."""
    labels_missing: int
    """Decisions without a label."""
    bullets: dict[str, int]
    """By status."""


def ledger_counts(database: Database) -> LedgerCounts:
    """Count decisions, labels and bullets."""
    is_labelled = sa.and_(is_current_label(outcomes), outcomes.c.label.is_not(None))
    labelled, decided = sa.select(outcomes.c.case).where(is_labelled), sa.select(decisions.c.case)
    with database.snapshot() as connection:

        def by(column: sa.Column[str], *conditions: sa.ColumnElement[bool]) -> dict[str, int]:
            query = sa.select(column, sa.func.count()).where(*conditions).group_by(column)
            return {word: int(number) for word, number in connection.execute(query)}

        is_open = (
            cases.c.digest != ERASED,
            cases.c.id.not_in(decided),
            cases.c.id.not_in(labelled),
        )
        return LedgerCounts(
            decisions=by(decisions.c.decision),
            undecided=sum(by(cases.c.node, *is_open).values()),
            labels=by(outcomes.c.label, is_labelled),
            labels_missing=sum(by(decisions.c.node, decisions.c.case.not_in(labelled)).values()),
            bullets=by(bullets.c.status),
        )
