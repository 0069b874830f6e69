"""What would have been learned without some labels: the stream once more, without them.

Honest labels that came between lies were learned from beside the lies: other rules were found, or
none, than without. Only living it again tells. The copy starts empty and is told everything that
the ledger holds but the suspect's labels; up to the first of them it must decide as was decided
then, or it is no copy. Nothing is written to the playbook itself until the end.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

from acegraph.graph.ace import create_ace_graph
from acegraph.graph.late_labels import feedback
from acegraph.nodes.analyst import NO_LANGUAGE_MODEL
from acegraph.nodes.curator import Curator
from acegraph.nodes.providers import EMBEDDED_NAME
from acegraph.state import AceContext, Bullet, BulletPlaybook, Case, PlaybookError
from acegraph.state.rows import has_value
from acegraph.state.stream import Changed, Decided, Event, Labelled, is_whole, stream
from acegraph.state.versions import Suspect

Progress = Callable[[str, int, int], None]
_BY_ITSELF = ("curator", "offline", "online")
"""Who changes bullets without a person: it happens again by itself."""


class CannotRelearn(PlaybookError):
    """The stream cannot be lived again."""


def relearn(
    playbook: BulletPlaybook,
    suspect: Suspect,
    curator: Curator | None = None,
    progress: Progress = lambda what, done, total: None,
) -> Life | None:
    """The life of the playbook had the suspect never said anything.

    None where no other label came after the suspect's first: then taking back is enough.
    """
    events = list(stream(playbook.database))
    first = next((i for i, event in enumerate(events) if _is_said(suspect, event)), len(events))
    others = (e for e in events[first:] if not isinstance(e, Changed) and e.label)
    if all(_is_said(suspect, event) for event in others):
        return None
    if not is_whole(playbook.database):
        raise CannotRelearn("a part of its decisions was pruned or erased")
    if any(b.origin.get("author", NO_LANGUAGE_MODEL) != NO_LANGUAGE_MODEL for b in playbook):
        raise CannotRelearn("language models wrote bullets of it")
    life = Life(BulletPlaybook(), suspect, curator or Curator(), events[first].position)
    life.catch_up(events, progress)
    return life


def _is_said(suspect: Suspect, event: Event) -> bool:
    """Whether an event is the suspect's doing."""
    if isinstance(event, Changed):
        row = event.row
        return row["change"] == "added" and suspect.is_behind(row["origin"], row["at"])
    if event.label is None or not suspect.said(event.label):
        return False
    return suspect.entity is None or has_value(event.transaction.fields, *suspect.entity)


def _without(suspect: Suspect, event: Event) -> Event | None:
    """What is left of an event: a decision was asked for, whoever labelled it."""
    if not _is_said(suspect, event):
        return event
    return replace(event, label=None) if isinstance(event, Decided) else None


@dataclass
class Life:
    """A playbook to which everything happens again, but for what the suspect said."""

    playbook: BulletPlaybook
    suspect: Suspect
    curator: Curator
    first: int
    """Where the suspect had his first say."""
    position: int = -1
    """How far it has come."""

    def __post_init__(self) -> None:
        self.graph = create_ace_graph(
            playbook=self.playbook,
            agent=EMBEDDED_NAME,
            reflector=EMBEDDED_NAME,
            curator=self.curator,
        ).compile()

    def catch_up(
        self, events: Sequence[Event], progress: Progress = lambda what, done, total: None
    ) -> None:
        """Live what has not been lived yet."""
        for number, event in enumerate(events):
            if event.position > self.position:
                self._live(event)
                self.position = event.position
            progress("learning anew", number + 1, len(events))

    def _live(self, event: Event) -> None:
        left = _without(self.suspect, event)
        if isinstance(left, Decided):
            told = self._decide(left)
            if event.position < self.first and told != left.decision:
                raise CannotRelearn(
                    f"decision {left.id!r} was {left.decision} and now comes out as {told}: "
                    "another agent made it, or with settings that the ledger does not tell"
                )
        elif isinstance(left, Labelled):
            self._label(left)
        elif left:
            self._change(left)

    def _decide(self, event: Decided) -> str | None:
        if event.settings.get("review"):
            raise CannotRelearn("its bullets waited for a person's approval")
        given = {k: v for k, v in event.settings.items() if k in AceContext.model_fields}
        context = AceContext(**{**given, "challenger": None, "embedding_model": EMBEDDED_NAME})
        truth = event.label.value if event.label else None
        # The transaction as it was read then, not as it was given.
        asked: Any = {
            "transaction": event.transaction,
            "ground_truth": truth,
            "decision_id": event.id,
        }
        self.graph.invoke(asked, context=context)
        return str(self.playbook.decision(event.id)["decision"])

    def _label(self, event: Labelled) -> None:
        label, given = event.label, event.transaction
        if label is None:
            if self.playbook.decision(event.id)["label"] is not None:
                self.playbook.withdraw(event.id, event.by)
        elif event.is_history:
            case = Case(event.id, given.fields, label.value, given.text, given.digest())
            self.playbook.remember([case], event.node, label.source)
        else:
            feedback(
                self.playbook,
                event.id,
                label.value,
                source=label.source,
                at=label.known_at,
                reflector=EMBEDDED_NAME,
                curator=self.curator,
            )

    def _change(self, event: Changed) -> None:
        """What people did."""
        row = event.row
        if row["change"] == "added" and "decision" not in row["origin"]:
            self.playbook.add_bullet(
                row["content"],
                row["node"],
                row["source"],
                condition=row["condition"],
                problem_types=row["problem_types"],
                confidence=row["confidence"],
                status=row["status"],
                reason=row["reason"],
                proof=row["proof"],
                evidence=row["evidence"],
                origin=row["origin"],
            )
        elif row["source"] not in _BY_ITSELF and row["status"] != "removed":
            for bullet in _same(self.playbook, row["content"], row["condition"], row["node"]):
                self.playbook.set_status(bullet.id, row["status"], row["reason"], row["source"])


def _same(playbook: BulletPlaybook, content: str, condition: object, node: str) -> Sequence[Bullet]:
    return [
        b
        for b in playbook.get_bullets_for_node(node, status=None)
        if b.content == content and b.condition == condition
    ]


def adopt(playbook: BulletPlaybook, copy: BulletPlaybook, why: str, by: str) -> list[str]:
    """Make the bullets in use those of a copy that lived without the suspect; gives the new ones.

    Counters are evidence of what really happened: only a bullet that is new here brings its own.
    """
    added, here = [], {}
    with playbook.writing() as page:
        wanted = [b for b in copy if b.status in ("active", "candidate")]
        for bullet in wanted:
            known = _same(playbook, bullet.content, bullet.condition, bullet.node)
            if known:
                here[bullet.id] = known[-1].id
                continue
            new = playbook.add_bullet(
                bullet.content,
                bullet.node,
                bullet.source,
                condition=bullet.condition,
                problem_types=bullet.problem_types,
                confidence=bullet.confidence,
                status=bullet.status,
                reason=f"learned anew without {why}",
                proof=bullet.proof,
                evidence=bullet.evidence,
                origin=bullet.origin,
            )
            here[bullet.id] = new
            added.append(new)
            counts = (bullet.helpful_count, bullet.harmful_count, bullet.times_selected)
            moved = {int(new[1:]): counts}
            playbook.adjust(page, moved, f"learned anew without {why}")
            playbook.move(moved)
        kept = {here[b.id]: b for b in wanted}
        for bullet in list(playbook):
            twin = kept.get(bullet.id)
            status = twin.status if twin else "retired"
            if bullet.status != status and (twin or bullet.status != "removed"):
                playbook.set_status(bullet.id, status, f"as it would be without {why}", by)
        weights = {i: b.weight for i, b in kept.items() if b.weight is not None}
        playbook.set_weights(weights)
    return added
