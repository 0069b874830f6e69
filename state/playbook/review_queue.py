"""What waits for a person: transactions to judge and bullets to approve."""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

import sqlalchemy as sa

from acegraph.state.database.tables import cases, decisions, outcomes
from acegraph.state.errors import DecisionConflict, PrunedDecision
from acegraph.state.ledger import queries as sql
from acegraph.state.ledger.counters import is_current_label
from acegraph.state.ledger.label_history import labels_given
from acegraph.state.ledger.ledger import ERASED
from acegraph.state.ledger.row_mapping import case_row
from acegraph.state.playbook.playbook import BulletPlaybook
from acegraph.state.run.review_answers import ANALYST, VerdictAnswer
from acegraph.state.values.bullet import Bullet
from acegraph.state.values.cases import Case
from acegraph.state.values.decision import LET_THROUGH, Label, Recorded
from acegraph.state.values.times import now
from acegraph.state.values.verdict import JUDGE, Verdict


def open_case(playbook: BulletPlaybook, case: Case, node: str, *, evidence: bool) -> None:
    """Keep a transaction on which the agent could not decide, so that a person can."""
    with playbook.writing() as writer:
        known = writer.first(sql.IS_KNOWN, case.id, case.id)
        if known is None:
            writer.add(cases, [case_row(case, node, now(), evidence=evidence)])
        elif known[1]:
            raise PrunedDecision(f"decision {case.id!r} was pruned on {known[0][:10]}")
        elif known[0] != case.digest:
            raise DecisionConflict(
                f"decision id {case.id!r} was used for another transaction; nothing was changed"
            )


@dataclass(frozen=True)
class HumanVerdict:
    """A transaction after a person's answer."""

    verdict: Verdict
    """What is to be done: the word of whoever answered first."""
    by: str
    recorded: Recorded
    """What the ledger knows; its label is another's where one came before, ground truth for one, or
    since.
    """

    def is_by(self, answer: VerdictAnswer) -> bool:
        """Whether this answer is the one that counts."""
        return (self.by, self.verdict) == (answer.source, answer.verdict)


def first_human_verdict(playbook: BulletPlaybook, decision_id: str) -> HumanVerdict | None:
    """What the first person has said of a stored case already, whatever its label is now."""
    said = _first_word(playbook, decision_id)
    if said is None:
        return None
    with playbook.writing():
        stored = playbook.decision(decision_id)
        if stored["label"] is None:  # withdrawn this moment
            return None
        # The same label again changes nothing, and tells what stands.
        label = Label(stored["label"], stored["label_source"])
        recorded = playbook.label_many({decision_id: label})[decision_id]
    return HumanVerdict(said.value, said.source, recorded)


def _first_word(playbook: BulletPlaybook, decision_id: str) -> Label | None:
    """The first label of a case that a person gave, since its labels were last withdrawn."""
    with playbook.database.reading() as connection:
        said = labels_given(connection, [decision_id])
    persons = (Label(row.label, row.source) for row in said if row.source.startswith(ANALYST))
    return next(persons, None)


def give_verdict(playbook: BulletPlaybook, decision_id: str, answer: VerdictAnswer) -> HumanVerdict:
    """A person's verdict as the label of a stored case; the first person's stands."""
    with playbook.writing():
        stored = playbook.decision(decision_id)
        before = first_human_verdict(playbook, decision_id)
        if before is not None:
            return before
        label = Label(answer.verdict, answer.source)
        if stored["label"] is not None and stored["label_source"] != JUDGE:
            label = Label(stored["label"], stored["label_source"])  # more than an opinion
        recorded = playbook.label_many({decision_id: label})[decision_id]
    return HumanVerdict(answer.verdict, answer.source, recorded)


@dataclass(frozen=True)
class Waiting:
    """One question that a person has not answered yet."""

    id: str
    """Of a decision, or of a bullet."""
    kind: str
    """verdict or approval."""
    about: str
    """The transaction, or the heuristic."""
    why: str
    since: str


def waiting(playbook: BulletPlaybook) -> list[Waiting]:
    """Everything that waits for a person: transactions first, then bullets, oldest first.

    A transaction whose label is known waits no longer, though its run may still be paused.
    """
    return [*_transactions(playbook), *_candidates(playbook)]


def _transactions(playbook: BulletPlaybook) -> list[Waiting]:
    labelled = sa.exists().where(
        outcomes.c.case == cases.c.id,
        is_current_label(outcomes),
        outcomes.c.label.is_not(None),
        outcomes.c.source != JUDGE,
    )
    rows = (
        sa.select(cases.c.id, cases.c.text, cases.c.created_at, *_DECIDED)
        .select_from(cases)
        .outerjoin(decisions, decisions.c.case == cases.c.id)
        .where(
            ~labelled,
            cases.c.digest != ERASED,
            sa.or_(
                decisions.c.case.is_(None),
                *(decisions.c.settings.contains(asked) for asked in _ASKED),
            ),
        )
        .order_by(cases.c.created_at, cases.c.id)
    )
    with playbook.database.reading() as connection:
        found = connection.execute(rows).all()
    return [
        Waiting(row.id, "verdict", row.text, why, row.created_at)
        for row in found
        if (why := _why_unsure(row))
    ]


_DECIDED: Final = (decisions.c.decision, decisions.c.risk_score, decisions.c.settings)
_ASKED: Final = ('"review":true', LET_THROUGH)


def _why_unsure(row: Any) -> str:
    if row.decision is None:
        return reason_to_ask(None, None, {})
    return reason_to_ask(row.decision, row.risk_score, json.loads(row.settings))


def reason_to_ask(decision: str | None, risk: float | None, settings: Mapping[str, Any]) -> str:
    """Why a person is asked about a transaction, or nothing."""
    if decision is None:
        return "the agent could not decide"
    if settings.get("let_through"):
        risk_said = "" if risk is None else f" at risk {risk:.2f}"
        return f"DECLINE{risk_said}, let through for review ({settings['explore']:g} of declines)"
    low, high = settings["review_from"], settings["review_to"]
    if risk is not None and low <= risk <= high:
        return f"{decision} at risk {risk:.2f}; from {low:g} to {high:g} a person is asked"
    return ""


def _candidates(playbook: BulletPlaybook) -> list[Waiting]:
    return [
        Waiting(b.id, "approval", b.content, _why_proposed(b), b.created_at)
        for b in playbook
        if b.status == "candidate"
    ]


def _why_proposed(bullet: Bullet) -> str:
    origin = bullet.origin
    return (
        f"learned from {origin.get('decision', 'no decision')}, "
        f"labelled by {origin.get('label_source', 'nobody')}"
    )
