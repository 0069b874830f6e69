"""Relearn: what a playbook would have learned if some labels and imports had never come.

Labels that came after a wrong label were learned from beside it: without it other rules would have
been found, and only a replay tells which. An empty copy goes through all events of the ledger that
are not to be purged. Up to the first purged event it must decide and learn as the playbook did, or
it is no copy. The playbook itself is only read; purge.py decides when to adopt the copy.
"""

from __future__ import annotations

import logging
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any

from acegraph.graph.build import build_graph, gather_parts
from acegraph.graph.data.file_rows import Progress
from acegraph.graph.operations.feedback import feedback
from acegraph.nodes.curator.curator import Curator
from acegraph.nodes.curator.refinement.refine import refine
from acegraph.nodes.evidence.stakes import COSTS
from acegraph.nodes.judge.judge import PENDING, Judgement, SimpleJudge
from acegraph.nodes.models.named import EMBEDDED_NAME
from acegraph.nodes.reflector.case_by_case import learn_case_by_case
from acegraph.nodes.rules.points import NO_LANGUAGE_MODEL
from acegraph.state import AceContext, Bullet, BulletPlaybook, Case, Label
from acegraph.state.errors import AceError, InvalidInput, PlaybookError
from acegraph.state.ledger.events import Changed, Decided, Event, Labelled, broken_by, stream
from acegraph.state.maintenance.label_withdrawal import PurgeFilter
from acegraph.state.values.bullet import REFINEMENT
from acegraph.state.values.decision import PURGED, add_deltas
from acegraph.state.values.label_sources import BY_ITSELF

logger = logging.getLogger(__name__)


class CannotRelearn(PlaybookError):
    """The events of the ledger cannot be replayed."""


def relearn(
    playbook: BulletPlaybook,
    to_purge: PurgeFilter,
    curator: Curator | None = None,
    progress: Progress = lambda what, done, total: None,
) -> RelearnedCopy | None:
    """A copy of the playbook as it would be if what is to be purged had never come.

    None if no other label came after the first purged event: then taking back is enough.
    """
    events = list(stream(playbook.database))
    is_purged = [_is_purged(event, to_purge) for event in events]
    first = is_purged.index(True) if any(is_purged) else len(events)
    later = zip(events[first:], is_purged[first:], strict=True)
    if all(purged or _teaches_nothing(e) for e, purged in later):
        return None
    if why := broken_by(playbook.database) or _cannot_be_repeated(playbook, events):
        raise CannotRelearn(why)
    logger.info("relearning from %d events without %d of them", len(events), sum(is_purged))
    copy = RelearnedCopy(BulletPlaybook(), to_purge, curator or Curator())
    for node in {bullet.node for bullet in playbook}:
        if columns := playbook.sighting_columns(node):
            copy.playbook.set_sighting_columns(node, columns)
    copy.replay(events[:first], progress)
    bullets = {e.bullet.id: e.bullet for e in events[:first] if isinstance(e, Changed)}
    if _active_rules(copy.playbook) != _active_rules(bullets.values()):
        raise CannotRelearn("other bullets were learned then than come out now")
    copy.may_differ = True
    copy.replay(events[first:], progress)
    return copy


def _teaches_nothing(event: Event) -> bool:
    """Whether nothing was learned with it that is not taken back by itself."""
    if isinstance(event, Changed):
        return REFINEMENT not in event.bullet.origin
    return not event.label


def _cannot_be_repeated(playbook: BulletPlaybook, events: Iterable[Event]) -> str:
    """Why the embedded analyst and reflector cannot repeat what happened; empty if they can."""
    for bullet in playbook:
        if bullet.origin.get("author", NO_LANGUAGE_MODEL) != NO_LANGUAGE_MODEL:
            return "not the embedded reflector wrote its bullets"
        if "imported_from" in bullet.origin:
            return "bullets were imported into it"
    for event in events:
        if isinstance(event, Decided):
            if NO_LANGUAGE_MODEL not in event.reasons:
                return "not the embedded agent decided"
            if event.settings.get("review") or event.settings.get("learn_every"):
                return "people approved its bullets, or it learned from right decisions"
    return ""


def _is_purged(event: Event, to_purge: PurgeFilter) -> bool:
    if isinstance(event, Changed):
        return event.change == "added" and to_purge.matches_bullet(event.bullet.origin, event.at)
    if event.label is None:
        return False
    return event.is_purged or to_purge.matches_label(event.label, event.transaction.fields)


def _rule(bullet: Bullet) -> tuple[object, ...]:
    """What two bullets have in common if they are the same rule in two playbooks."""
    return bullet.content, bullet.condition, bullet.node, bullet.source


def _active_rules(bullets: Iterable[Bullet]) -> set[tuple[object, ...]]:
    return {_rule(bullet) for bullet in bullets if bullet.status == "active"}


def _same_bullets(playbook: BulletPlaybook, bullet: Bullet) -> list[Bullet]:
    return [other for other in playbook if _rule(other) == _rule(bullet)]


class _SilentJudge(SimpleJudge):
    """Says nothing: the labels of a replay come one by one, each with its own time."""

    async def judge_with(self, *_: object, **__: object) -> Judgement:
        return PENDING


@dataclass
class RelearnedCopy:
    """A playbook to which all events happen again, except those that are to be purged."""

    playbook: BulletPlaybook
    to_purge: PurgeFilter
    curator: Curator
    may_differ: bool = False
    """Whether the first purged event has passed: from then on decisions may come out otherwise."""
    position: int = -1
    """The ledger's position of the last event that was replayed."""
    refined: set[object] = field(default_factory=set)
    """The versions at which the playbook was refined, as far as they were replayed."""

    def __post_init__(self) -> None:
        parts = gather_parts(
            self.playbook, EMBEDDED_NAME, _SilentJudge(), EMBEDDED_NAME, curator=self.curator
        )
        # What is stored has the derived fields of its time, and its ids may be redacted.
        self.graph = build_graph(replace(parts, keeps_derived=True)).compile()

    def replay(
        self, events: Sequence[Event], progress: Progress = lambda what, done, total: None
    ) -> None:
        """Repeat some events."""
        for number, event in enumerate(events, start=1):
            try:
                self._repeat(event)
            except AceError as error:
                raise CannotRelearn(str(error)) from error
            self.position = event.position
            progress("learning anew", number, len(events))

    def _repeat(self, event: Event) -> None:
        if isinstance(event, Decided):
            self._repeat_decision(event)
        if _is_purged(event, self.to_purge):
            return
        if isinstance(event, Changed):
            self._repeat_change(event)
        elif event.label is not None:
            self._repeat_label(event, event.label)
        elif isinstance(event, Labelled):
            self.playbook.withdraw(event.id, event.by)

    def _repeat_decision(self, event: Decided) -> None:
        settings = {k: v for k, v in event.settings.items() if k in AceContext.model_fields}
        # What is stored is redacted and converted already, decisions in shadow count for
        # nothing, and labels that were too young were never stored.
        settings |= {"redact": [], "rates": {}, "mature_days": {}}
        settings |= {"challenger": None, "learn_later": False}
        settings["embedding_model"] = EMBEDDED_NAME
        if event.settings["learn_as"] == "offline":  # training has looked at the whole before
            node = event.settings["node"]
            self.playbook.keep_refined_from(node, len(self.playbook.cases(node)))
        # The graph also takes a Transaction, which holds the stored text and the fields read of it.
        given: Any = {"transaction": event.transaction, "decision_id": event.id}
        if not event.settings.get("let_through"):
            # With a label nothing is refused as not understood: it was decided then. The judge here
            # does not read it.
            given["ground_truth"] = event.decision
        self.graph.invoke(given, context=AceContext(**settings))
        decision = self.playbook.decision(event.id)["decision"]
        if not self.may_differ and decision != event.decision:
            raise CannotRelearn(
                f"decision {event.id!r} was {event.decision} and now comes out as {decision}"
            )

    def _repeat_label(self, event: Decided | Labelled, label: Label) -> None:
        if isinstance(event, Labelled) and event.is_history:
            past = event.transaction
            case = Case(event.id, past.fields, label.value, past.text, past.digest())
            self.playbook.remember([case], event.node, label.source, label.known_at)
            return
        try:
            feedback(
                self.playbook,
                event.id,
                label.value,
                source=label.source,
                at=label.known_at,
                reflector=EMBEDDED_NAME,
                curator=self.curator,
            )
        except InvalidInput:
            # The copy declined the payment: then the absence of a chargeback is no label.
            if not self.may_differ:
                raise

    def _repeat_change(self, event: Changed) -> None:
        """Repeat a change that a person made; learned bullets are learned again without that."""
        origin = event.bullet.origin
        if event.change == "added":
            if REFINEMENT in origin:
                # All bullets of one come together; those of a lesson come with the lesson.
                if "decision" not in origin and origin[REFINEMENT] not in self.refined:
                    self.refined.add(origin[REFINEMENT])
                    curator = self.curator.with_drift(bool(origin.get("drift", True)))
                    costs, node = str(origin.get(COSTS) or ""), event.bullet.node
                    source = event.bullet.source
                    learn = partial(learn_case_by_case, gate=curator.gate)
                    refine(self.playbook, node, curator, source, costs, learn=learn)
            elif "decision" not in origin:
                _add(self.playbook, event.bullet, event.reason)
        elif event.by not in BY_ITSELF:
            for bullet in _same_bullets(self.playbook, event.bullet):
                status = event.bullet.status
                self.playbook.set_status(bullet.id, status, event.reason, event.by)


def _add(playbook: BulletPlaybook, bullet: Bullet, reason: str) -> str:
    """Add a bullet of another playbook as it is, but with counters at zero."""
    return playbook.add_bullet(
        bullet.content,
        bullet.node,
        bullet.source,
        condition=bullet.condition,
        problem_types=bullet.problem_types,
        confidence=bullet.confidence,
        status=bullet.status,
        reason=reason,
        proof=bullet.proof,
        evidence=bullet.evidence,
        origin=bullet.origin,
    )


def _counts(bullet: Bullet, sign: int = 1) -> tuple[int, int, int]:
    helpful, harmful = sign * bullet.helpful_count, sign * bullet.harmful_count
    return helpful, harmful, sign * bullet.times_selected


def adopt(playbook: BulletPlaybook, copy: BulletPlaybook, why: str, by: str) -> list[str]:
    """Make the bullets in use those of the copy; returns the ids of bullets that are new.

    They get the counters and weights of the copy too, so that another purge adds up to the same. A
    bullet that a person switched off stays off.
    """
    reason = f"{PURGED}as it would be without {why}"
    may_change = {  # by the last change of each bullet
        row["bullet"]: row["source"] in BY_ITSELF or PURGED in row["reason"]
        for row in playbook.history()
    }
    added, kept = [], {}
    with playbook.writing() as writer:
        for bullet in [b for b in copy if b.status in ("active", "candidate")]:
            same = sorted(_same_bullets(playbook, bullet), key=lambda b: b.status == bullet.status)
            if same:
                kept[same[-1].id] = bullet
                continue
            new = _add(playbook, bullet, f"{PURGED}learned anew without {why}")
            kept[new] = bullet
            added.append(new)
        for bullet in list(playbook):
            status = kept[bullet.id].status if bullet.id in kept else "retired"
            if bullet.status != status and may_change.get(bullet.id, True):
                playbook.set_status(bullet.id, status, reason, by)
        mine = [playbook.get_bullet(bullet_id) for bullet_id in kept]
        wanted = {b.number: _counts(kept[b.id]) for b in mine}
        deltas = add_deltas(wanted, {b.number: _counts(b, sign=-1) for b in mine})
        playbook.adjust(writer, deltas, reason)
        playbook.add_to_counters(deltas)
        playbook.set_weights({i: b.weight for i, b in kept.items()})
        for node in {bullet.node for bullet in (*playbook, *copy)}:
            playbook.keep_refined_from(node, copy.refined_from(node))
    return added
