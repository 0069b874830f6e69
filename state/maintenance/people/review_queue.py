"""What waits for a person, transactions to judge and bullets to approve, and a person's verdicts.

The forms of the answers are in `run/review_answers.py`; approval is in `nodes/curator/approval.py`.
"""

import json
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

import sqlalchemy as sa

from acegraph.state.database.encoding import chunks, now
from acegraph.state.database.tables import answers, cases, decisions, outcomes
from acegraph.state.errors import DecisionConflict
from acegraph.state.ledger.counters import is_current_label
from acegraph.state.ledger.labels import labels_given
from acegraph.state.ledger.lookups import ERASED, find_digest
from acegraph.state.ledger.row_mapping import case_row
from acegraph.state.maintenance.people.second_person import to_look_at
from acegraph.state.playbook.lists import all_entries
from acegraph.state.playbook.playbook import BulletPlaybook
from acegraph.state.run.review_answers import VerdictAnswer, check_subject
from acegraph.state.values import (
    ANALYST,
    JUDGE,
    LET_THROUGH,
    WAITS_FOR,
    Case,
    Label,
    Recorded,
    Verdict,
    written_risk,
)

if TYPE_CHECKING:
    from acegraph.state.run.schema import RunSettings

_UNDER_REVIEW: Final = ('"review":true', LET_THROUGH, '"watched":')
"""How the stored settings say that a person may be asked about a decision."""


@dataclass(frozen=True)
class Waiting:
    """One question that a person has not answered yet."""

    id: str
    """The id of a decision, of a bullet, or of an entry of a list."""
    kind: str
    """verdict, approval or entry."""
    about: str
    """The text of the transaction, or of the bullet."""
    why: str
    since: str


def waiting(playbook: BulletPlaybook, decided: Collection[str] | None = None) -> list[Waiting]:
    """Everything that waits for a person: transactions first, then bullets, oldest first.

    A transaction whose label is known waits no longer, though its run may still be paused. With
    `decided` only these decisions are looked at, besides the transactions without a decision.
    """
    return [*_transactions(playbook, decided), *_candidates(playbook), *_entries(playbook)]


def _transactions(playbook: BulletPlaybook, ids: Collection[str] | None) -> list[Waiting]:
    is_labelled = sa.exists().where(
        outcomes.c.case == cases.c.id,
        is_current_label(outcomes),
        outcomes.c.label.is_not(None),
        outcomes.c.source != JUDGE,
    )
    is_under_review = [decisions.c.settings.contains(setting) for setting in _UNDER_REVIEW]
    decided = (decisions.c.decision, decisions.c.risk_score, decisions.c.settings)
    query = (
        sa.select(cases.c.id, cases.c.text, cases.c.created_at, *decided)
        .select_from(cases)
        .outerjoin(decisions, decisions.c.case == cases.c.id)
        .where(~is_labelled, cases.c.digest != ERASED)
    )
    with playbook.database.reading() as connection:
        parts = [sa.or_(decisions.c.case.is_(None), *is_under_review)]
        if ids is not None:
            is_decided = sa.exists().where(decisions.c.case == cases.c.id)
            undecided = sa.select(cases.c.id).where(~is_decided, ~is_labelled)
            wanted = [*ids, *connection.scalars(undecided)]
            parts = [cases.c.id.in_(part) for part in chunks(wanted)]
        rows = [row for part in parts for row in connection.execute(query.where(part))]
    questions = []
    for row in sorted(rows, key=lambda row: (row.created_at, row.id)):
        settings = json.loads(row.settings) if row.decision is not None else None
        if why := reason_to_ask(row.decision, row.risk_score, settings):
            questions.append(Waiting(row.id, "verdict", row.text, why, row.created_at))
    return questions


def reason_to_ask(decision: str | None, risk: float | None, settings: "RunSettings | None") -> str:
    """Why a person is asked about a transaction; empty if nobody needs to be asked."""
    if decision is None or settings is None:
        return "the agent could not decide"
    at_risk = "" if risk is None else f" at risk {written_risk(risk)}"
    if settings.get("let_through"):
        return f"DECLINE{at_risk}, let through for review ({settings['explore']:g} of such)"
    if watched := settings.get("watched"):
        return f"{decision}{at_risk}; {watched}"
    if settings.get("review_pays"):
        return f"{decision}{at_risk}; asking costs less than the mistake to be expected"
    low, high = settings["review_from"], settings["review_to"]
    if "review_pays" not in settings and risk is not None and low <= risk <= high:
        return f"{decision}{at_risk}; from {low:g} to {high:g} a person is asked"
    return ""


def _candidates(playbook: BulletPlaybook) -> list[Waiting]:
    """The bullets that wait for approval, and those that act since one person let them."""
    questions, looks = [], to_look_at(playbook.database)
    for bullet in playbook:
        why, since = "", bullet.created_at
        if bullet.status == "candidate":
            why = _where_from(bullet.origin)
            if WAITS_FOR in bullet.evidence:
                why = f"{why}; it waits: {bullet.evidence[WAITS_FOR]}"
        elif bullet.status == "active" and (look := looks.get(bullet.id)):
            why, since = f"{look['by']} let it act: {look['why']}", look["at"]
        if why:
            questions.append(Waiting(bullet.id, "approval", bullet.content, why, since))
    return questions


def _entries(playbook: BulletPlaybook) -> list[Waiting]:
    """The entries of lists that a second person has to approve."""
    with playbook.database.reading() as connection:
        return [
            Waiting(one.id, "entry", f"{one.list} {one.kind} {one.name}", one.told, one.at)
            for one in all_entries(connection)
            if one.waits
        ]


def _where_from(origin: Mapping[str, object]) -> str:
    if "decision" not in origin and (author := origin.get("author")):
        return f"proposed by {author}: {origin.get('reason') or 'no reason is given'}"
    decision, source = origin.get("decision", "no decision"), origin.get("label_source", "nobody")
    return f"learned from {decision}, labelled by {source}"


def open_case(playbook: BulletPlaybook, case: Case, node: str, *, evidence: bool) -> None:
    """Store a transaction on which the agent could not decide, so that a person can."""
    with playbook.writing() as writer:
        digest = find_digest(writer, case.id)
        if digest is None:
            writer.add(cases, [case_row(case, node, now(), evidence=evidence)])
            if case.sighting:
                from acegraph.state.ledger.sightings import store_sightings  # most name nobody

                store_sightings(writer, node, [case], {})
        elif digest != case.digest:
            raise DecisionConflict(
                f"decision id {case.id!r} was used for another transaction; nothing was changed"
            )


@dataclass(frozen=True)
class HumanVerdict:
    """A person's verdict on a transaction, and what the ledger holds of it."""

    verdict: Verdict
    """The verdict of the person who answered first: it is what is done."""
    by: str
    """The source of that verdict, as the ledger signs it."""
    recorded: Recorded
    """The decision and its current label, which another source may have given or corrected."""

    def is_by(self, answer: VerdictAnswer) -> bool:
        """Whether this answer is the one that counts."""
        return (self.by, self.verdict) == (answer.source, answer.verdict)


def first_human_verdict(playbook: BulletPlaybook, decision_id: str) -> HumanVerdict | None:
    """The first verdict that a person gave on a stored case, whatever its label is now."""
    with playbook.database.reading() as connection:
        labels = labels_given(connection, [decision_id]).get(decision_id, ())
    first = next((label for label in labels if label.source.startswith(ANALYST)), None)
    if first is None:
        return None
    with playbook.writing():
        stored = playbook.decision(decision_id)
        if stored["label"] is None:  # withdrawn this moment
            return None
        # The current label given again changes nothing, and shows what the ledger holds.
        current = Label(stored["label"], stored["label_source"])
        recorded = playbook.label_many({decision_id: current})[decision_id]
    return HumanVerdict(first.value, first.source, recorded)


def give_verdict(playbook: BulletPlaybook, decision_id: str, answer: VerdictAnswer) -> HumanVerdict:
    """Make a person's verdict the label of a stored case; the first person's verdict stays."""
    check_subject(answer.decision_id, decision_id)
    with playbook.writing() as writer:
        stored = playbook.decision(decision_id)
        before = first_human_verdict(playbook, decision_id)
        if before is not None:
            return before
        counted = sa.select(sa.func.count()).where(answers.c.case == decision_id)
        kept = {"verdict": answer.verdict, "source": answer.source, "why": answer.why, "at": now()}
        number = int(writer.connection.scalar(counted) or 0) + 1
        writer.add(answers, [{"case": decision_id, "number": number, **kept}])
        label = Label(answer.verdict, answer.source)
        if stored["label"] is not None and stored["label_source"] != JUDGE:
            label = Label(stored["label"], stored["label_source"])  # more than an opinion
        recorded = playbook.label_many({decision_id: label})[decision_id]
    return HumanVerdict(answer.verdict, answer.source, recorded)
