"""What would have been learned without some labels: the stream is replayed without them.

Honest labels that came between lies were learned from beside the lies: other rules were found, or
none, than without. Only replaying tells. The copy starts empty and is told everything that the
ledger holds but the suspect's labels, at the times that the ledger tells; up to the first of them
it must decide and learn as was decided and learned then, or it is no copy. The playbook itself is
only read.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from acegraph.graph.build import create_ace_graph
from acegraph.graph.operations.feedback import feedback
from acegraph.nodes.curator.curator import Curator
from acegraph.nodes.evidence.scorecard import NO_LANGUAGE_MODEL
from acegraph.nodes.judge.judge import SimpleJudge
from acegraph.nodes.models.providers import EMBEDDED_NAME
from acegraph.state import (
    AceContext,
    AceError,
    Bullet,
    BulletPlaybook,
    Case,
    InvalidInput,
    Label,
    PlaybookError,
)
from acegraph.state.ledger.events import Changed, Decided, Event, Labelled, broken_by, stream
from acegraph.state.maintenance.label_withdrawal import PurgeFilter
from acegraph.state.values.decision import BY_ITSELF, PURGED
from acegraph.state.values.notation import has_value

Progress = Callable[[str, int, int], None]


class CannotRelearn(PlaybookError):
    """The stream cannot be replayed."""


def relearn(
    playbook: BulletPlaybook,
    suspect: PurgeFilter,
    curator: Curator | None = None,
    progress: Progress = lambda what, done, total: None,
) -> Copy | None:
    """The playbook had the suspect never said anything.

    None where no other label came after the suspect's first: then taking back is enough.
    """
    events = list(stream(playbook.database))
    first = next((i for i, event in enumerate(events) if _is_said(suspect, event)), len(events))
    others = (e for e in events[first:] if not isinstance(e, Changed) and e.label)
    if all(_is_said(suspect, event) for event in others):
        return None
    if why := broken_by(playbook.database) or _not_ours(playbook, events):
        raise CannotRelearn(why)
    copy = Copy(BulletPlaybook(), suspect, curator or Curator())
    copy.replay(events[:first], progress)
    if _in_use(copy.playbook) != _in_use(_left_by(events[:first])):
        raise CannotRelearn("other bullets were learned then than come out now")
    copy.is_past_the_first_lie = True
    copy.replay(events[first:], progress)
    return copy


def _not_ours(playbook: BulletPlaybook, events: Iterable[Event]) -> str:
    """What had a part in it that is not here any more."""
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


def _is_said(suspect: PurgeFilter, event: Event) -> bool:
    """Whether an event is the suspect's doing."""
    if isinstance(event, Changed):
        return event.change == "added" and suspect.matches_import(event.bullet.origin, event.at)
    if event.label is None or not suspect.matches_label(event.label):
        return False
    return suspect.entity is None or has_value(event.transaction.fields, *suspect.entity)


def _said(bullet: Bullet) -> tuple[Any, ...]:
    """What makes two bullets the same."""
    return bullet.content, bullet.condition, bullet.node, bullet.source


def _in_use(bullets: Iterable[Bullet]) -> set[tuple[Any, ...]]:
    return {_said(bullet) for bullet in bullets if bullet.status == "active"}


def _left_by(events: Iterable[Event]) -> Iterable[Bullet]:
    """The bullets as some events left them."""
    return {e.bullet.id: e.bullet for e in events if isinstance(e, Changed)}.values()


@dataclass
class Copy:
    """A playbook to which everything happens again, but for what the suspect said."""

    playbook: BulletPlaybook
    suspect: PurgeFilter
    curator: Curator
    is_past_the_first_lie: bool = False
    position: int = -1
    """How far it has come."""

    def __post_init__(self) -> None:
        self.graph = create_ace_graph(
            playbook=self.playbook,
            agent=EMBEDDED_NAME,
            judge=SimpleJudge(),
            reflector=EMBEDDED_NAME,
            curator=self.curator,
        ).compile()

    def replay(
        self, events: Sequence[Event], progress: Progress = lambda what, done, total: None
    ) -> None:
        """Let some events happen."""
        for number, event in enumerate(events):
            try:
                self._let_happen(event)
            except CannotRelearn:
                raise
            except AceError as error:
                raise CannotRelearn(str(error)) from error
            self.position = event.position
            progress("learning anew", number + 1, len(events))

    def _let_happen(self, event: Event) -> None:
        is_said = _is_said(self.suspect, event)
        if isinstance(event, Decided):
            self._decide(event)
        if isinstance(event, Changed):
            if not is_said:
                self._change(event)
        elif event.label is not None and not is_said:
            self._label(event, event.label)
        elif isinstance(event, Labelled) and event.label is None:
            self.playbook.withdraw(event.id, event.by)

    def _decide(self, event: Decided) -> None:
        given = {k: v for k, v in event.settings.items() if k in AceContext.model_fields}
        # What is stored is redacted already; who decides in shadow counts for nothing.
        given |= {"redact": [], "challenger": None, "embedding_model": EMBEDDED_NAME}
        asked: Any = {"transaction": event.transaction, "decision_id": event.id}
        self.graph.invoke(asked, context=AceContext(**given))
        told = self.playbook.decision(event.id)["decision"]
        if not self.is_past_the_first_lie and told != event.decision:
            raise CannotRelearn(
                f"decision {event.id!r} was {event.decision} and now comes out as {told}"
            )

    def _label(self, event: Decided | Labelled, label: Label) -> None:
        if isinstance(event, Labelled) and event.is_history:
            given = event.transaction
            case = Case(event.id, given.fields, label.value, given.text, given.digest())
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
            # Declined here: that no chargeback came would have been no label.
            if not self.is_past_the_first_lie:
                raise

    def _change(self, event: Changed) -> None:
        """What people did; what was learned is learned again by itself."""
        if event.change == "added":
            if "decision" not in event.bullet.origin:
                _add(self.playbook, event.bullet, event.reason)
        elif event.by not in BY_ITSELF:
            for bullet in _same(self.playbook, event.bullet):
                status = event.bullet.status
                self.playbook.set_status(bullet.id, status, event.reason, event.by)


def _same(playbook: BulletPlaybook, bullet: Bullet) -> list[Bullet]:
    return [other for other in playbook if _said(other) == _said(bullet)]


def _add(playbook: BulletPlaybook, bullet: Bullet, reason: str) -> str:
    """Add a bullet of another playbook as it is, but for its counters."""
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


def adopt(playbook: BulletPlaybook, copy: BulletPlaybook, why: str, by: str) -> list[str]:
    """Make the bullets in use those of the copy; gives those that are new.

    Counters are evidence of what really happened: only a bullet that is new here brings its own.
    What a person switched off stays off.
    """
    last = {row["bullet"]: row for row in playbook.history()}
    is_free = {i: row["source"] in BY_ITSELF or PURGED in row["reason"] for i, row in last.items()}
    added, kept = [], {}
    with playbook.writing() as writer:
        for bullet in [b for b in copy if b.status in ("active", "candidate")]:
            known = sorted(_same(playbook, bullet), key=lambda b: b.status == bullet.status)
            if known:
                kept[known[-1].id] = bullet
                continue
            new = _add(playbook, bullet, f"learned anew without {why}")
            kept[new] = bullet
            added.append(new)
            counts = (bullet.helpful_count, bullet.harmful_count, bullet.times_selected)
            deltas = {playbook.get_bullet(new).number: counts}
            playbook.adjust(writer, deltas, f"learned anew without {why}")
            playbook.add_to_counters(deltas)
        for bullet in list(playbook):
            status = kept[bullet.id].status if bullet.id in kept else "retired"
            if bullet.status != status and is_free.get(bullet.id, True):
                playbook.set_status(bullet.id, status, f"as it would be without {why}", by)
        playbook.set_weights({i: b.weight for i, b in kept.items()})
    return added
