"""Replaying a past decision: whether what was shown then comes out again.

The playbook is rebuilt as the decision saw it, and the selection runs again with its settings and
its seed. What would be decided today is told beside it.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

from acegraph.nodes.agent.custom import as_agent
from acegraph.nodes.runtime.sync_async import BLOCKING, finish
from acegraph.nodes.selector.factory import Selectors
from acegraph.state import Bullet, ModelError, PlaybookError, Transaction, Verdict
from acegraph.state.ledger.redaction import Redaction
from acegraph.state.values.memos import is_memo
from acegraph.state.values.verdict import UNDECIDED

if TYPE_CHECKING:
    from acegraph.state import BulletPlaybook


@dataclass(frozen=True)
class Replay:
    """A past decision beside its repetition."""

    decision_id: str
    decision: Verdict
    label: Verdict | None
    playbook_version: int
    shown: tuple[str, ...]
    """The bullets that were shown, as the ledger has them."""
    replayed: tuple[str, ...]
    """The bullets that the same selection gives again."""
    decision_today: str
    shown_today: tuple[str, ...]

    @property
    def is_reproduced(self) -> bool:
        """Whether the same bullets came out in the same order."""
        return self.shown == self.replayed

    def to_json(self) -> dict[str, Any]:
        """For machines."""
        return {**asdict(self), "is_reproduced": self.is_reproduced}


def replay(
    playbook: BulletPlaybook, decision_id: str, *, agent: Any = None, embeddings: Any = None
) -> Replay:
    """Select again for a stored decision, and decide with today's playbook. Counts nothing.

    Give the agent and the embeddings that the graph was made with, where it was given any.
    """
    from acegraph.state import as_of

    stored = playbook.decision(decision_id)
    if stored["decision"] is None:
        raise PlaybookError(f"{decision_id!r} is a labelled case that was never decided")
    if not stored["text"]:
        raise PlaybookError(f"what decision {decision_id!r} was about was erased")
    if stored["seen"] < 0:
        raise PlaybookError(
            f"decision {decision_id!r} was made before the ledger kept what a replay needs"
        )
    transaction = Transaction(stored["text"], stored["fields"])
    with as_of(playbook, int(stored["seen"])) as past:
        replayed = tuple(b.id for b in _select(past, transaction, stored, embeddings))
        looked_at = _looked_at(past, stored) | _looked_at(playbook, stored)
    shown, hidden = tuple(stored["bullets"]), _hidden(stored)
    if hidden & looked_at or (hidden and replayed != shown):
        raise PlaybookError(
            f"what decision {decision_id!r} saw in {', '.join(sorted(hidden))} was redacted: "
            "whether the same bullets come out cannot be told"
        )
    today = _select(playbook, transaction, stored, embeddings)
    return Replay(
        decision_id=decision_id,
        decision=stored["decision"],
        label=stored["label"],
        playbook_version=stored["playbook_version"],
        shown=shown,
        replayed=replayed,
        decision_today=_decide(transaction, today, stored["settings"], agent),
        shown_today=tuple(b.id for b in today),
    )


def _hidden(stored: Mapping[str, Any]) -> set[str]:
    """The fields whose values were not stored, but for remarks, which select nothing."""
    redacted = Redaction.of(stored["fields"], stored["settings"].get("redact") or ())
    return {name for name in redacted.hidden if not is_memo(name)}


def _looked_at(playbook: BulletPlaybook, stored: Mapping[str, Any]) -> set[str]:
    """The fields that rules look at, where any were to be selected."""
    settings = stored["settings"]
    bullets = playbook.get_bullets_for_node(settings["node"]) if settings["selects"] else ()
    return {name for b in bullets if b.condition for name in b.condition.fields}


def _select(
    playbook: BulletPlaybook, transaction: Transaction, stored: Mapping[str, Any], embeddings: Any
) -> tuple[Bullet, ...]:
    selecting = Selectors(embeddings).select(
        transaction, stored["settings"], playbook, stored["id"], BLOCKING
    )
    return finish(selecting).bullets


def _decide(
    transaction: Transaction, bullets: tuple[Bullet, ...], settings: Mapping[str, Any], agent: Any
) -> str:
    try:
        found = as_agent(agent).decide_with(transaction, bullets, BLOCKING, settings["agent_model"])
        return finish(found).decision
    except ModelError as error:
        return f"{UNDECIDED}: {error}"
