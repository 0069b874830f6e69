"""The curator: lets a heuristic into the playbook, or refuses it, and says why.

Duplicates are refused; what can be checked is replayed over the labelled cases before it may act;
the playbook stays bounded. It decides what becomes active and never writes a heuristic itself.
"""

from collections.abc import Iterable, Mapping, Sequence
from copy import copy
from dataclasses import asdict, dataclass, field
from difflib import SequenceMatcher
from typing import Any, Final, Literal

import numpy as np
from rapidfuzz.distance import Indel

from acegraph.nodes.analyst import log_odds_over, scorecard_over
from acegraph.nodes.difference import difference
from acegraph.nodes.evidence import Backtest, backtest, fit_weights
from acegraph.nodes.induction import MIN_CASES
from acegraph.state import (
    DECLINE,
    Bullet,
    BulletPlaybook,
    CaseTable,
    Condition,
    InvalidSettings,
    Source,
    Status,
    parse_condition,
)

Action = Literal["added", "revived", "duplicate", "refused"]
_MIN_FIRES: Final = 3
_MAX_CHANCE: Final = 0.05
_MIN_GAIN: Final = 1.0
_SAME_CASES: Final = 0.95
_FIRES_TO_RETIRE: Final = 10


@dataclass(frozen=True)
class Curation:
    """What became of a proposal."""

    action: Action
    reason: str
    bullet_id: str | None = None
    evidence: Mapping[str, Any] = field(default_factory=dict)
    retired: tuple[str, ...] = ()
    """Bullets that were retired in its course."""

    def to_json(self) -> dict[str, Any]:
        """The form in which state and ledger hold it."""
        return {**asdict(self), "evidence": dict(self.evidence), "retired": list(self.retired)}


class Curator:
    """Keeps the playbook free of duplicates, of rules that chance explains, and of excess."""

    def __init__(
        self,
        similarity_threshold: float = 0.85,
        *,
        gate: Literal["on", "off"] = "on",
        capacity: int = 25,
    ) -> None:
        if not 0 <= similarity_threshold <= 1:
            raise InvalidSettings(f"similarity_threshold is 0 to 1, not {similarity_threshold}")
        if capacity < 1:
            raise InvalidSettings(f"capacity is at least 1, not {capacity}")
        self.similarity_threshold = similarity_threshold
        self.gate = gate
        self.capacity = capacity
        self.entry: Status = "active"
        """What a bullet is when it is let in."""

    def awaiting_approval(self) -> "Curator":
        """The same curator, under whom what is let in waits for a person."""
        waiting = copy(self)
        waiting.entry = "candidate"
        return waiting

    def merge_bullet(
        self, content: str, node: str, playbook: BulletPlaybook, source: Source = "offline"
    ) -> str | None:
        """Add a heuristic and give its id; None if it is a duplicate or refused."""
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
        condition = condition or parse_condition(content)
        with playbook.writing():
            everyone = playbook.get_bullets_for_node(node, status=None)
            if repeated := _already_done(everyone, content, origin):
                return Curation("added", "already added for this decision", repeated.id)
            twin = self._twin(content, condition, [b for b in everyone if b.status != "retired"])
            if twin:
                return Curation("duplicate", f"says the same as {twin.id}")
            table = playbook.cases(node)
            active = [b for b in everyone if b.status == "active"]
            tested, refusal = self._test(condition, table, active)
            evidence = tested.to_json() if tested else {}
            if refusal:
                return Curation("refused", refusal, evidence=evidence)
            reason = _why(tested)
            retired_ones = [b for b in everyone if b.status == "retired" and b.source == source]
            former = self._twin(content, condition, retired_ones)
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
                    status=self.entry,
                    reason=reason,
                    proof="proven" if tested else "unproven",
                    evidence=evidence,
                    origin=dict(origin or {}),
                    related=tuple(self._relatives(content, condition, active)),
                )
            retired = self.tend(node, playbook, keep=bullet_id)
            action: Action = "revived" if former else "added"
            return Curation(action, reason, bullet_id, evidence, tuple(retired))

    def tend(self, node: str, playbook: BulletPlaybook, keep: str | None = None) -> list[str]:
        """Fit the weights of the active bullets anew; retire the worthless and any excess."""
        with playbook.writing():
            retired = self._refit(node, playbook, keep)
            active = playbook.get_bullets_for_node(node)
            excess = len(active) - self.capacity
            if excess > 0:
                expendable = sorted((b for b in active if b.id != keep), key=_worth)[:excess]
                for bullet in expendable:
                    reason = f"least useful of {len(active)}; the playbook holds {self.capacity}"
                    playbook.set_status(bullet.id, "retired", reason, "curator")
                    retired.append(bullet.id)
            return retired

    def _refit(self, node: str, playbook: BulletPlaybook, keep: str | None) -> list[str]:
        table = playbook.cases(node)
        checkable = [b for b in playbook.get_bullets_for_node(node) if b.condition]
        if not checkable or not _can_prove(table):
            return []
        weights = fitted_weights(table, checkable)
        playbook.set_weights({b.id: w for b, w in zip(checkable, weights, strict=True)})
        retired = []
        for bullet, weight in zip(checkable, weights, strict=True):
            reason = _worn_out(bullet, weight, table) if bullet.id != keep else ""
            if reason:
                playbook.set_status(bullet.id, "retired", reason, "curator")
                retired.append(bullet.id)
        return retired

    def _twin(
        self, content: str, condition: Condition | None, bullets: Sequence[Bullet]
    ) -> Bullet | None:
        """The bullet that says the same: an equal condition, or a text too much alike."""
        for bullet in bullets:
            if condition and bullet.condition:
                if condition.same_as(bullet.condition):
                    return bullet
            elif self._alike(content, bullet.content) and not difference(content, bullet.content):
                return bullet
        return None

    def _relatives(
        self, content: str, condition: Condition | None, bullets: Sequence[Bullet]
    ) -> list[str]:
        """Bullets that look the same and say something else: contradictions and revisions."""
        return [
            b.id
            for b in bullets
            if self._alike(content, b.content)
            or (condition and b.condition and condition.tests() == b.condition.tests())
        ]

    def _alike(self, candidate: str, existing: str) -> bool:
        """The text test: `SequenceMatcher(None, candidate, existing).ratio()` above the threshold.

        The indel similarity is never below that ratio and a hundred times cheaper: what it refuses
        need not be looked at.
        """
        candidate, existing = candidate.lower(), existing.lower()
        if Indel.normalized_similarity(candidate, existing) <= self.similarity_threshold:
            return False
        return SequenceMatcher(None, candidate, existing).ratio() > self.similarity_threshold

    def _test(
        self, condition: Condition | None, table: CaseTable, active: Sequence[Bullet]
    ) -> tuple[Backtest | None, str]:
        """The backtest, where one is possible, and why it refuses, where it does."""
        if self.gate == "off" or condition is None or not _can_prove(table):
            return None, ""
        found = backtest(condition, table, log_odds_over(table, active))
        if found.fires < _MIN_FIRES:
            return found, f"fires on {found.fires} of {found.cases} labelled cases; too few to tell"
        if found.p_chance > _MAX_CHANCE:
            return found, (
                f"right on {found.right} of {found.fires} labelled cases: chance does as well "
                f"(p = {found.p_chance:.2f})"
            )
        if found.gain < _MIN_GAIN:
            return found, "adds nothing to what the playbook already says"
        if rival := _same_cases(condition, table, active):
            return found, f"fires on the same cases as {rival.id}"
        return found, ""


def fitted_weights(table: CaseTable, bullets: Sequence[Bullet]) -> list[float]:
    """The weights of checkable bullets that fit the labelled cases best."""
    fired = np.array([b.condition.holds_over(table) for b in bullets if b.condition])
    signs = np.array([1.0 if b.verdict == DECLINE else -1.0 for b in bullets])
    weights = fit_weights(fired, signs, table.fraud, scorecard_over(table))
    return [round(float(w), 4) for w in weights]


def _worn_out(bullet: Bullet, weight: float, table: CaseTable) -> str:
    """Why a bullet no longer earns its place, or nothing."""
    assert bullet.condition is not None
    fired = bullet.condition.holds_over(table)
    wanted = table.fraud if bullet.verdict == DECLINE else ~table.fraud
    fires, right = int(fired.sum()), int((fired & wanted).sum())
    if fires < _FIRES_TO_RETIRE:
        return ""
    if right * len(table) <= int(wanted.sum()) * fires:
        return f"right on {right} of {fires} labelled cases: no better than chance"
    if weight == 0:
        return f"no weight left: on its {fires} labelled cases the other bullets say it all"
    return ""


def _can_prove(table: CaseTable) -> bool:
    return len(table) >= MIN_CASES and 0 < int(table.fraud.sum()) < len(table)


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
    for bullet in bullets:
        if decision and bullet.origin.get("decision") == decision and bullet.content == content:
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


def _worth(bullet: Bullet) -> tuple[float, int]:
    """How useful a bullet is: by its weight and record, the older one first among equals."""
    weight = abs(bullet.weight) if bullet.weight is not None else bullet.get_success_rate()
    return weight * (1 + bullet.helpful_count) ** 0.5, bullet.number
