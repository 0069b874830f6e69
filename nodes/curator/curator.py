"""The curator: lets a heuristic into the playbook, or refuses it, and gives the reason.

It refuses duplicates, screens every proposal (screening.py), tests what can be tested on the
labelled cases (proof.py), and keeps the playbook within its capacity. It never writes a heuristic.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable, Mapping, Sequence
from copy import copy
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Final, Literal

from acegraph.nodes.curator.capacity import expendable, expired
from acegraph.nodes.curator.duplicates import ALIKE_FROM, likenesses
from acegraph.nodes.curator.proof import in_words, lacking_proof, prove
from acegraph.nodes.curator.screening import MAX_LENGTH, Objection, Proposal, Screening, proposal_of
from acegraph.nodes.evidence.backtest import Backtest, can_prove
from acegraph.nodes.evidence.drift import since_change
from acegraph.nodes.evidence.proof_levels import GateLevel, gate_of
from acegraph.nodes.rules.points import UNIT, points_over, start_over
from acegraph.nodes.rules.weights import fired_over, reason_to_retire, weights_of
from acegraph.state import InvalidSettings
from acegraph.state.playbook.index import View
from acegraph.state.run.schema import CurationData
from acegraph.state.values import (
    APPROVE,
    BY_ITSELF,
    MAX_CONTENT,
    PURGED,
    WAITS_FOR,
    Bullet,
    CaseTable,
    Condition,
    Source,
    Status,
    clean_text,
    parse_condition,
)

if TYPE_CHECKING:
    from acegraph.state import BulletPlaybook

logger = logging.getLogger(__name__)

Action = Literal["added", "revived", "duplicate", "refused", "held"]
"""`held`: a candidate that waits for a person, or for a backtest that stands."""
_SCREENING: Final = Screening()


@dataclass(frozen=True)
class Curation:
    """What the curator did with a proposal."""

    action: Action
    reason: str
    bullet_id: str | None = None
    evidence: Mapping[str, object] = field(default_factory=dict)
    retired: tuple[str, ...] = ()
    """Ids of the bullets that were retired on the way."""

    def to_json(self) -> CurationData:
        """The curation in the form in which state and ledger hold it."""
        return {
            "action": self.action,
            "reason": self.reason,
            "bullet_id": self.bullet_id,
            "evidence": dict(self.evidence),
            "retired": list(self.retired),
        }


class Curator:
    """Keeps the playbook small and sound; `gate` is the level of proof, `screen` the screening."""

    def __init__(
        self,
        similarity_threshold: float = ALIKE_FROM,
        *,
        gate: GateLevel = "standard",
        capacity: int = 50,
        screen: Callable[[Proposal], Objection | None] | None = _SCREENING,
    ) -> None:
        if not 0 <= similarity_threshold <= 1:
            raise InvalidSettings(f"similarity_threshold is 0 to 1, not {similarity_threshold}")
        if capacity < 1:
            raise InvalidSettings(f"capacity is at least 1, not {capacity}")
        self.similarity_threshold = similarity_threshold
        self.gate = gate_of(gate)
        self.capacity = capacity
        self.screen = screen
        self.entry: Status = "active"
        """The status of a bullet that is let in."""
        self.lowering: Status = "active"
        """That of one which lowers risk."""

    def awaiting_approval(self, *, lowering_only: bool = False) -> Curator:
        """A copy of this curator that makes every bullet, or those that lower risk, wait for a
        person's approval.
        """
        waiting = copy(self)
        waiting.lowering = "candidate"
        if not lowering_only:
            waiting.entry = "candidate"
        return waiting

    def entry_of(self, bullet: Bullet) -> Status:
        """The status of a bullet that is let in."""
        return self.lowering if bullet.verdict == APPROVE else self.entry

    def merge_bullet(
        self, content: str, node: str, playbook: BulletPlaybook, source: Source = "offline"
    ) -> str | None:
        """The id of the new bullet, active or a candidate; None for a duplicate or a refusal."""
        return self.curate(content, node, playbook, source).bullet_id

    def curate(
        self,
        content: str,
        node: str,
        playbook: BulletPlaybook,
        source: Source = "offline",
        *,
        condition: Condition | None = None,
        problem_types: Iterable[str] = (),
        confidence: float = 0.5,
        origin: Mapping[str, object] | None = None,
    ) -> Curation:
        """Decide on a proposed heuristic, in one database transaction.

        A text that is no sentence of its condition is left out: it could say anything beside it.
        """
        content = clean_text(content)
        if condition and parse_condition(content) is None:
            content = condition.render()
        if len(content) > MAX_CONTENT:
            return Curation("refused", f"a heuristic has at most {MAX_LENGTH} characters")
        condition = condition or parse_condition(content)
        draft = Bullet("", content, node, source, tuple(problem_types), confidence)
        draft = replace(draft, condition=condition, origin=dict(origin or {}))
        with playbook.writing():
            curation = self._decide_on(draft, playbook)
        # A reason may quote what the heuristic says: it belongs in the ledger, not in a log.
        logger.info("heuristic %s, bullet %s", curation.action, curation.bullet_id)
        return curation

    def _decide_on(self, draft: Bullet, playbook: BulletPlaybook) -> Curation:
        view = playbook.view(draft.node)
        if repetition := _repetition(draft, view):
            return repetition
        alike = likenesses(draft.content, draft.condition, view, self.similarity_threshold)
        twins = [like.bullet for like in alike if like.is_duplicate]
        if twin := _of_status(twins, "active"):
            return _duplicate_of(twin)
        proposal = proposal_of(draft, playbook)
        doubt = self.screen(proposal) if self.screen else None
        if doubt and not doubt.held:
            return Curation("refused", doubt.reason)
        # A waiting candidate stops only a proposal that would have to wait too.
        if doubt and (twin := _of_status(twins, "candidate")):
            return _duplicate_of(twin)
        tested, refusal = prove(proposal, view.rows, self.gate)
        if refusal:
            return Curation("refused", refusal, evidence=tested.to_json() if tested else {})
        if not doubt and (why := lacking_proof(proposal, tested, self.gate)):
            doubt = Objection(why, held=True)
            if twin := _of_status(twins, "candidate"):
                return _duplicate_of(twin)
        in_use = ("active", "candidate")
        related = tuple(a.bullet.id for a in alike if a.bullet.status in in_use)
        # A twin has the same rule, perhaps in words that were the reason to hold it.
        sound = [t for t in twins if not doubt and self._is_sound(t, draft, playbook)]
        former = _former(sound, draft.source)
        return self._admit(replace(draft, related=related), former, tested, doubt, playbook)

    def _is_sound(self, twin: Bullet, draft: Bullet, playbook: BulletPlaybook) -> bool:
        """Whether a twin may act in the place of a draft that may."""
        if twin.content == draft.content or self.screen is None:
            return True
        return self.screen(proposal_of(twin, playbook)) is None

    def _admit(
        self,
        draft: Bullet,
        former: Bullet | None,
        tested: Backtest | None,
        doubt: Objection | None,
        playbook: BulletPlaybook,
    ) -> Curation:
        """Add the draft, or let its former twin act again; what a person retired asks a person."""
        evidence: dict[str, object] = {**tested.to_json()} if tested else {}
        reason = doubt.reason if doubt else in_words(tested)
        if former and _was_retired_by_person(former, playbook):
            if former.status == "candidate":
                return _duplicate_of(former)
            reason = "proposed again, and a person had retired it"
            playbook.set_status(former.id, "candidate", reason, "curator")
            return Curation("held", reason, former.id, evidence)
        if former:
            bullet_id, reason = former.id, f"proposed again; {reason}"
            playbook.set_status(
                bullet_id, self.entry_of(draft), reason, "curator", proven_by=evidence
            )
        else:
            if doubt and self.entry_of(draft) == "active":
                evidence = {**evidence, WAITS_FOR: doubt.reason}
            bullet_id = playbook.add_bullet(
                draft.content,
                draft.node,
                draft.source,
                condition=draft.condition,
                problem_types=draft.problem_types,
                confidence=draft.confidence,
                status="candidate" if doubt else self.entry_of(draft),
                reason=reason,
                proof="proven" if tested else "unproven",
                evidence=evidence,
                origin=draft.origin,
                related=draft.related,
            )
        retired = self.tend(draft.node, playbook, keep=bullet_id)
        action: Action = "revived" if former else "held" if doubt else "added"
        return Curation(action, reason, bullet_id, evidence, tuple(retired))

    def tend(self, node: str, playbook: BulletPlaybook, keep: str | None = None) -> list[str]:
        """Let candidates act whose backtest stands by now, fit the weights of the active bullets
        again, and retire the useless and any excess.
        """
        with playbook.writing():
            for bullet in playbook.get_bullets_for_node(node, status="candidate"):
                if bullet.id != keep:
                    self._test_again(bullet, playbook)
            waiting = playbook.get_bullets_for_node(node, status="candidate")
            retired = _retire(expired(waiting, self.capacity, keep), playbook)
            bullets = playbook.get_bullets_for_node(node, status=None)
            cases = since_change(playbook.cases(node), bullets)
            retired += _retire(_refit(bullets, cases, playbook, keep), playbook)
            if playbook.view(node).active > self.capacity:
                active = playbook.get_bullets_for_node(node)
                retired += _retire(expendable(active, self.capacity, keep), playbook)
            return retired

    def bear_out(
        self, bullet_id: str, playbook: BulletPlaybook, evidence: Mapping[str, object], reason: str
    ) -> bool:
        """Let a candidate act that a backtest or a trial has proved; False if it is no candidate.

        Without a person a candidate becomes active by this, or by a proposal of the same rule that
        is proved (`curate`).
        """
        with playbook.writing():
            is_waiting = playbook.get_bullet(bullet_id).status == "candidate"
            if is_waiting:
                playbook.set_status(bullet_id, "active", reason, "curator", proven_by=evidence)
                logger.info("bullet %s borne out", bullet_id)
            return is_waiting

    def _test_again(self, bullet: Bullet, playbook: BulletPlaybook) -> None:
        """Let a candidate act if what it waited for has come: a backtest that stands."""
        may_act = self.entry_of(bullet) == "active" and WAITS_FOR in bullet.evidence
        if not may_act or not bullet.condition or self.gate is None:
            return
        bullets = playbook.view(bullet.node).rows
        proposal = proposal_of(bullet, playbook)
        tested, refusal = prove(proposal, bullets, self.gate)
        if tested and not refusal and not (self.screen and self.screen(proposal)):
            self.bear_out(bullet.id, playbook, tested.to_json(), in_words(tested))


def _refit(
    bullets: Sequence[Bullet], table: CaseTable, playbook: BulletPlaybook, keep: str | None
) -> list[tuple[Bullet, str]]:
    """Store new weights; give the bullets that are useless with them, and the reasons."""
    checkable = [b for b in bullets if b.condition and b.status == "active"]
    if not checkable or not can_prove(table):
        return []
    fired, start = fired_over((b.condition for b in checkable), table), start_over(table)
    weights = weights_of(checkable, fired, table, start)
    playbook.set_weights({b.id: w for b, w in zip(checkable, weights, strict=True)})
    weighed = [replace(b, weight=w) for b, w in zip(checkable, weights, strict=True)]
    log_odds = start + sum(points_over(table, b) for b in weighed) / UNIT
    return [
        (bullet, reason)
        for bullet, cases in zip(weighed, fired, strict=True)
        if bullet.id != keep and (reason := reason_to_retire(bullet, cases, table, log_odds))
    ]


def _retire(bullets: Iterable[tuple[Bullet, str]], playbook: BulletPlaybook) -> list[str]:
    """Retire bullets, each for its reason, and return their ids."""
    retired = []
    for bullet, reason in bullets:
        playbook.set_status(bullet.id, "retired", reason, "curator")
        logger.info("bullet %s retired: %s", bullet.id, reason)
        retired.append(bullet.id)
    return retired


def _repetition(draft: Bullet, view: View) -> Curation | None:
    """The answer to a heuristic with the very text of a bullet: a node may run twice."""
    length, decision = len(draft.content.lower()), draft.origin.get("decision")
    as_long = view.bullets(view.of_length(length, length))
    repeated = [b for b in as_long if b.content == draft.content]
    for bullet in repeated:
        if decision and bullet.origin.get("decision") == decision:
            action: Action = "held" if bullet.status == "candidate" else "added"
            return Curation(action, f"already {action} for this decision", bullet.id)
    active = _of_status(repeated, "active")
    return _duplicate_of(active) if active and active.condition == draft.condition else None


def _duplicate_of(bullet: Bullet) -> Curation:
    return Curation("duplicate", f"says the same as {bullet.id}")


def _of_status(bullets: Sequence[Bullet], status: Status) -> Bullet | None:
    return next((b for b in bullets if b.status == status), None)


def _former(twins: Sequence[Bullet], source: Source) -> Bullet | None:
    """A bullet that says the same: a candidate, or else a retired one of the same source."""
    same_source = (b for b in twins if b.source == source)
    return _of_status(twins, "candidate") or next(same_source, None)


def _was_retired_by_person(bullet: Bullet, playbook: BulletPlaybook) -> bool:
    """Whether a person's last change to the status of a bullet was to retire it."""
    for row in reversed(playbook.history(bullet.id)):
        is_persons = row["source"] not in BY_ITSELF and not row["reason"].startswith(PURGED)
        if is_persons and row["change"] == row["status"]:
            return bool(row["status"] == "retired")
    return False
