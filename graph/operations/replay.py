"""Replay a past decision: whether the same bullets are selected again.

The playbook is rebuilt as the decision saw it, and the selection runs again with its settings and
its seed.
"""

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any, cast

from langchain_core.embeddings import Embeddings

from acegraph.nodes.runtime.sync_async import BLOCKING, finish
from acegraph.nodes.selector.selector import Selectors
from acegraph.nodes.selector.stages import Selection
from acegraph.state import BulletPlaybook, as_of
from acegraph.state.errors import PlaybookError
from acegraph.state.run.schema import RunSettings
from acegraph.state.values import Transaction, Verdict, is_named


@dataclass(frozen=True)
class Replay:
    """A past decision beside its repetition."""

    decision_id: str
    decision: Verdict
    label: Verdict | None
    playbook_version: int
    shown: tuple[str, ...]
    """The bullets that were shown, as the ledger has them; where nobody reads, all that counted."""
    replayed: tuple[str, ...]
    """The bullets that the same selection gives now."""
    funnel: dict[str, int]
    """How many bullets each stage of that selection left."""
    scores: dict[str, dict[str, float]]
    """By bullet, every component of its score in that selection."""

    @property
    def is_reproduced(self) -> bool:
        """Whether the same bullets came out in the same order."""
        return self.shown == self.replayed

    def to_json(self) -> dict[str, object]:
        """All fields, and `is_reproduced`."""
        return {**asdict(self), "is_reproduced": self.is_reproduced}


def replay(
    playbook: BulletPlaybook, decision_id: str, *, embeddings: Embeddings | None = None
) -> Replay:
    """Select again for a stored decision; nothing is counted.

    Pass the embeddings that the graph was made with, if it was given any.
    """
    stored = playbook.decision(decision_id)
    why = ""
    if stored["decision"] is None:
        why = "is a labelled case that was never decided"
    elif not stored["text"]:
        why = "cannot be repeated: what it was about was erased"
    elif stored["seen"] < 0:
        why = "was made before the ledger kept what a replay needs"
    if why:
        raise PlaybookError(f"decision {decision_id!r} {why}")
    settings, shown = cast(RunSettings, stored["settings"]), tuple(stored["bullets"])
    with as_of(playbook, int(stored["seen"])) as past:
        repeated = selection_for(past, stored, embeddings)
        # Where nobody reads, all rules that count were shown.
        is_listed = bool(settings.get("listed")) and not shown  # then nobody was asked
        asked = () if is_listed else repeated.bullets or repeated.unshown
        replayed = tuple(b.id for b in asked)
        bullets = past.get_bullets_for_node(settings["node"]) if settings["selects"] else ()
        tested = {name for b in bullets if b.condition for name in b.condition.fields}
    redact = settings.get("redact") or ()
    hidden = {name for name in tested if any(is_named(name, one) for one in redact)}
    if hidden or (redact and replayed != shown):
        raise PlaybookError(
            f"what decision {decision_id!r} saw in {', '.join(sorted(hidden or redact))} was not "
            "stored: whether the same bullets come out cannot be told"
        )
    return Replay(
        decision_id=decision_id,
        decision=stored["decision"],
        label=stored["label"],
        playbook_version=stored["playbook_version"],
        shown=shown,
        replayed=replayed,
        funnel=repeated.funnel,
        scores=repeated.scores,
    )


def selection_for(
    playbook: BulletPlaybook, stored: Mapping[str, Any], embeddings: Embeddings | None = None
) -> Selection:
    """The bullets that a playbook shows for a stored decision, with its settings and its seed."""
    transaction = Transaction(stored["text"], stored["fields"])
    chosen = Selectors(embeddings).select(
        transaction, stored["settings"], playbook, stored["id"], BLOCKING
    )
    return finish(chosen)
