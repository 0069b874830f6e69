"""The curator: lets a heuristic into the playbook, or refuses it, and says why.

Duplicates are refused; what can be checked is replayed over the labelled cases before it may act;
the playbook stays bounded. It decides what becomes active and never writes a heuristic itself.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from copy import copy
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, Final, Literal

import numpy as np

from acegraph.nodes.curator.capacity import expendable
from acegraph.nodes.curator.duplicates import likenesses
from acegraph.nodes.curator.screening import (
    Objection,
    Proposal,
    Screening,
    proposal_of,
    without_largest,
)
from acegraph.nodes.evidence.backtest import Backtest, backtest, can_prove
from acegraph.nodes.evidence.drift import since_change
from acegraph.nodes.evidence.proof_levels import GateLevel, gate_of
from acegraph.nodes.evidence.scorecard import log_odds_over, scorecard_over, weight_of
from acegraph.nodes.evidence.weights import fired_over, reason_to_retire, weights_of
from acegraph.state import (
    DECLINE,
    Bullet,
    CaseTable,
    Condition,
    InvalidSettings,
    Source,
    Status,
    clean_text,
    parse_condition,
)
from acegraph.state.run.schema import CurationData
from acegraph.state.values.decision import BY_ITSELF, PURGED

if TYPE_CHECKING:
    from acegraph.state import BulletPlaybook


Action = Literal["added", "revived", "duplicate", "refused", "held"]
"""`held`: a candidate that waits for a person, or for more evidence when it is proposed again."""
_MIN_FIRES: Final = 3
_SAME_CASES: Final = 0.95
_SCREENING: Final = Screening()


@dataclass(frozen=True)
class Curation:
    """What became of a proposal."""

    action: Action
    reason: str
    bullet_id: str | None = None
    evidence: Mapping[str, Any] = field(default_factory=dict)
    retired: tuple[str, ...] = ()
    """Bullets that were retired in its course."""

    def to_json(self) -> CurationData:
        """The form in which state and ledger hold it."""
        return {
            "action": self.action,
            "reason": self.reason,
            "bullet_id": self.bullet_id,
            "evidence": dict(self.evidence),
            "retired": list(self.retired),
        }


class Curator:
    """Keeps the playbook free of duplicates, of rules that chance explains, and of excess."""

    def __init__(
        self,
        similarity_threshold: float = 0.85,
        *,
        gate: GateLevel = "standard",
        capacity: int = 25,
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
        """What a bullet is when it is let in."""

    def awaiting_approval(self) -> Curator:
        """The same curator, under whom what is let in waits for a person."""
        waiting = copy(self)
        waiting.entry = "candidate"
        return waiting

    def merge_bullet(
        self, content: str, node: str, playbook: BulletPlaybook, source: Source = "offline"
    ) -> str | None:
        """Add a heuristic and give its id; None if it is a duplicate or refused.

        One that waits for a person is added too, with the status `candidate`.
        """
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
        origin: Mapping[str, Any] | None = None,
    ) -> Curation:
        """Decide on a proposal, as one step for everyone who shares the playbook."""
        content = clean_text(content)
        condition = condition or parse_condition(content)
        with playbook.writing():
            view, length = playbook.view(node), len(content.lower())
            as_long = view.bullets(view.of_length(length, length))
            if repeated := _already_done(as_long, content, origin):
                done: Action = "held" if repeated.status == "candidate" else "added"
                return Curation(done, f"already {done} for this decision", repeated.id)
            if twin := _word_for_word(as_long, content, condition):
                return Curation("duplicate", f"says the same as {twin.id}")
            alike = likenesses(content, condition, view, self.similarity_threshold)
            twins = [like.bullet for like in alike if like.difference is None]
            if twin := _of_status(twins, "active"):
                return Curation("duplicate", f"says the same as {twin.id}")
            cases = playbook.cases(node)
            proposal = proposal_of(content, condition, playbook, cases, origin)
            doubt = self.screen(proposal) if self.screen else None
            if doubt and not doubt.held:
                return Curation("refused", doubt.reason)
            # A candidate that waits is no hindrance to what needs not wait.
            if doubt and (twin := _of_status(twins, "candidate")):
                return Curation("duplicate", f"says the same as {twin.id}")
            tested, refusal = self._tested(proposal, view.shelf.bullets)
            waiting = len(playbook.get_bullets_for_node(node, status="candidate")) if doubt else 0
            if not refusal and doubt and waiting >= self.capacity:
                refusal = f"{doubt.reason}; and {waiting} candidates wait already"
            evidence = tested.to_json() if tested else {}
            if refusal:
                return Curation("refused", refusal, evidence=evidence)
            reason = doubt.reason if doubt else _why(tested)
            former = None if doubt else _former(twins, source)
            if former and _is_switched_off(playbook, former):
                return self._ask_again(playbook, former, evidence)
            if former:
                playbook.set_status(former.id, self.entry, f"proposed again; {reason}", "curator")
                bullet_id = former.id
            else:
                bullet_id = playbook.add_bullet(
                    content,
                    node,
                    source,
                    condition=condition,
                    problem_types=problem_types,
                    confidence=confidence,
                    status="candidate" if doubt else self.entry,
                    reason=reason,
                    proof="proven" if tested else "unproven",
                    evidence=evidence,
                    origin=dict(origin or {}),
                    related=tuple(a.bullet.id for a in alike if a.bullet.status == "active"),
                )
            retired = self.tend(node, playbook, keep=bullet_id)
            action: Action = "revived" if former else "held" if doubt else "added"
            return Curation(action, reason, bullet_id, evidence, tuple(retired))

    def _ask_again(
        self, playbook: BulletPlaybook, bullet: Bullet, evidence: Mapping[str, Any]
    ) -> Curation:
        """What a person retired stays so until a person has another word."""
        if bullet.status == "candidate":
            return Curation("duplicate", f"says the same as {bullet.id}")
        reason = "proposed again, and a person had retired it"
        playbook.set_status(bullet.id, "candidate", reason, "curator")
        return Curation("held", reason, bullet.id, evidence)

    def tend(self, node: str, playbook: BulletPlaybook, keep: str | None = None) -> list[str]:
        """Fit the weights of the active bullets anew; retire the worthless and any excess."""
        with playbook.writing():
            retired = self._refit(node, playbook, keep)
            if int(playbook.view(node).in_context(None).sum()) <= self.capacity:
                return retired
            active = playbook.get_bullets_for_node(node)
            for bullet, reason in expendable(active, self.capacity, keep):
                playbook.set_status(bullet.id, "retired", reason, "curator")
                retired.append(bullet.id)
            return retired

    def _refit(self, node: str, playbook: BulletPlaybook, keep: str | None) -> list[str]:
        table = playbook.cases(node)
        if not can_prove(table):
            return []
        everyone = playbook.get_bullets_for_node(node, status=None)
        table = since_change(table, everyone)
        checkable = [b for b in everyone if b.condition and b.status == "active"]
        if not checkable or not can_prove(table):
            return []
        fired, start = fired_over(checkable, table), scorecard_over(table)
        weights = weights_of(checkable, fired, table, start)
        playbook.set_weights({b.id: w for b, w in zip(checkable, weights, strict=True)})
        weighed = [replace(b, weight=w) for b, w in zip(checkable, weights, strict=True)]
        log_odds, retired = start + np.array([weight_of(b) for b in weighed]) @ fired, []
        for bullet, own in zip(weighed, fired, strict=True):
            reason = reason_to_retire(bullet, own, table, log_odds) if bullet.id != keep else ""
            if reason:
                playbook.set_status(bullet.id, "retired", reason, "curator")
                retired.append(bullet.id)
        return retired

    def _tested(
        self, proposal: Proposal, everyone: Sequence[Bullet]
    ) -> tuple[Backtest | None, str]:
        """The backtest on the labelled cases, and why it refuses, where it does."""
        condition = proposal.condition
        if condition is None or self.gate is None:
            return None, ""
        if not can_prove(proposal.table):
            return None, _never_right(condition, proposal.table)
        active = [b for b in everyone if b.status == "active"]
        table = since_change(proposal.table, everyone)
        tested, refusal = self._test(condition, table, active, proposal.decision)
        if not refusal and self.screen:
            refusal = self._without_largest(condition, table, active, proposal)
        return tested, refusal

    def _without_largest(
        self,
        condition: Condition,
        table: CaseTable,
        active: Sequence[Bullet],
        proposal: Proposal,
    ) -> str:
        """What one customer or merchant teaches alone must not bind all others."""
        rest = without_largest(condition, table, proposal.source)
        doubt = self._test(condition, rest, active)[1] if rest is not None else ""
        return f"does not stand without its largest customer or merchant: {doubt}" if doubt else ""

    def _test(
        self, condition: Condition, table: CaseTable, active: Sequence[Bullet], own: str = ""
    ) -> tuple[Backtest | None, str]:
        """One backtest, where one is possible, without the case that the rule was drawn from."""
        gate = self.gate
        if gate is None or not can_prove(table):
            return None, ""
        found = backtest(condition, table, log_odds_over(table, active), table.row_of(own))
        if found.fires < _MIN_FIRES:
            return found, f"fires on {found.fires} of {found.cases} labelled cases; too few to tell"
        if found.p_chance > gate.max_chance:
            return found, (
                f"right on {found.right} of {found.fires} labelled cases: chance does as well "
                f"(p = {found.p_chance:.2f})"
            )
        if found.gain < gate.proposed_gain:
            return found, "adds nothing to what the playbook already says"
        if rival := _same_cases(condition, table, active):
            return found, f"fires on the same cases as {rival.id}"
        return found, ""


def _never_right(condition: Condition, table: CaseTable) -> str:
    """Why a rule is refused by cases too few, or too much alike, to prove any."""
    fired = condition.holds_over(table)
    wanted = table.fraud if condition.verdict == DECLINE else ~table.fraud
    fires, right = int(fired.sum()), int((fired & wanted).sum())
    return f"right on none of {fires} labelled cases" if fires >= _MIN_FIRES and not right else ""


def _word_for_word(
    bullets: Sequence[Bullet], content: str, condition: Condition | None
) -> Bullet | None:
    """Who says just that: reflectors repeat themselves."""
    for bullet in bullets:
        if bullet.content == content and bullet.status == "active":
            return bullet if bullet.condition == condition else None
    return None


def _of_status(bullets: Sequence[Bullet], status: Status) -> Bullet | None:
    return next((b for b in bullets if b.status == status), None)


def _former(twins: Sequence[Bullet], source: Source) -> Bullet | None:
    """Who said the same before: a candidate, or one of this source that is out of use."""
    waiting = [b for b in twins if b.status == "candidate"]
    return next(iter([*waiting, *(b for b in twins if b.source == source)]), None)


def _is_switched_off(playbook: BulletPlaybook, bullet: Bullet) -> bool:
    """Whether the last word that a person had on a bullet was to retire it."""
    for row in reversed(playbook.history()):
        is_persons = row["source"] not in BY_ITSELF and not row["reason"].startswith(PURGED)
        if row["bullet"] == bullet.id and is_persons and row["change"] == row["status"]:
            return bool(row["status"] == "retired")
    return False


def _same_cases(condition: Condition, table: CaseTable, active: Sequence[Bullet]) -> Bullet | None:
    fired = condition.holds_over(table)
    for bullet in active:
        if bullet.condition and bullet.verdict == condition.verdict:
            theirs = bullet.condition.holds_over(table)
            both, either = int((fired & theirs).sum()), int((fired | theirs).sum())
            if either and both / either >= _SAME_CASES:
                return bullet
    return None


def _already_done(
    bullets: Sequence[Bullet], content: str, origin: Mapping[str, Any] | None
) -> Bullet | None:
    """The bullet that this very decision added before: a node may run twice."""
    decision = (origin or {}).get("decision")
    for bullet in bullets if decision else ():
        if bullet.origin.get("decision") == decision and bullet.content == content:
            return bullet
    return None


def _why(tested: Backtest | None) -> str:
    if tested is None:
        return "unproven: no labelled history to test it on, or nothing that can be tested"
    return (
        f"right on {tested.right} of {tested.fires} labelled cases "
        f"(precision {tested.precision:.2f}, 95 % interval {tested.precision_low:.2f} to "
        f"{tested.precision_high:.2f}), gain {tested.gain:.1f} standard errors"
    )
