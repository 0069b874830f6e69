"""A challenger: another version of the playbook that decides beside the live one.

It counts for nothing. What it decides is stored with the decision; when the labels are there,
`graph/experiments/duel.py` compares.
"""

from __future__ import annotations

from collections.abc import Callable, Coroutine
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, Protocol

from acegraph.nodes.agent.custom import Agent
from acegraph.nodes.evidence.backtest import can_prove
from acegraph.nodes.evidence.weights import fitted_weights
from acegraph.nodes.runtime.sync_async import Wait
from acegraph.state import Bullet, CaseTable, ModelError, Transaction
from acegraph.state.ledger.row_mapping import to_row
from acegraph.state.run.schema import CaseData, ChallengerDecision, RunSettings

if TYPE_CHECKING:
    from acegraph.state import BulletPlaybook


class _HasBullets(Protocol):
    @property
    def bullets(self) -> tuple[Bullet, ...]: ...


SelectBullets = Callable[
    [Transaction, RunSettings, "BulletPlaybook", str, Wait], Coroutine[Any, Any, _HasBullets]
]


@dataclass(frozen=True)
class Challenger:
    """Decides with the bullets of another version of a playbook."""

    playbook: BulletPlaybook
    agent: Agent
    select: SelectBullets
    versions: dict[tuple[int, str], BulletPlaybook] = field(default_factory=dict)
    """Versions of the playbook by number and node, as they were when first asked for."""

    async def decide(self, case: CaseData, settings: RunSettings, wait: Wait) -> ChallengerDecision:
        """What the version in the settings decides on the transaction of a run."""
        version, node = settings["challenger"], settings["node"]
        assert version is not None
        if (version, node) not in self.versions:
            bullets = await wait.work(version_of, self.playbook, version, node)
            self.versions.setdefault((version, node), bullets)
        playbook = self.versions[version, node]
        transaction = Transaction(case["text"], case["given_fields"])
        try:
            selection = await self.select(transaction, settings, playbook, case["id"], wait)
            decision = await self.agent.decide_with(
                transaction, selection.bullets, wait, settings["agent_model"]
            )
        except ModelError as error:
            return {
                "version": version,
                "decision": None,
                "risk_score": None,
                "undecided": str(error),
            }
        return {
            "version": version,
            "decision": decision.decision,
            "risk_score": decision.risk_score,
            "bullets": [b.id for b in selection.bullets],
        }


def version_of(playbook: BulletPlaybook, version: int, node: str) -> BulletPlaybook:
    """The bullets of a version as a playbook of its own in memory, with today's counters.

    The weight of a bullet depends on the bullets beside it. Where those were others, the weights
    are fitted again on the labelled cases of today.
    """
    from acegraph.state import BulletPlaybook, bullets_at

    bullets = bullets_at(playbook, version)
    active = [b for b in bullets if b.node == node and b.status == "active"]
    if _identities(active) != _identities(playbook.get_bullets_for_node(node)):
        refitted = _refit(active, playbook.cases(node))
        bullets = [refitted.get(b.id, b) for b in bullets]
    copy = BulletPlaybook()
    with copy.writing() as writer:
        writer.version = version
        for bullet in bullets:
            writer.add_bullet(to_row(bullet))
    copy.invalidate()
    copy.share_vectors(playbook)
    return copy


def _identities(bullets: list[Bullet]) -> set[tuple[str, str]]:
    return {(b.id, b.content) for b in bullets}


def _refit(active: list[Bullet], table: CaseTable) -> dict[str, Bullet]:
    checkable = [b for b in active if b.condition]
    if not checkable or not can_prove(table):
        return {b.id: replace(b, weight=None) for b in active}
    weights = fitted_weights(table, checkable)
    return {b.id: replace(b, weight=w) for b, w in zip(checkable, weights, strict=True)}
