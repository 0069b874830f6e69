"""A challenger: another version of the playbook that decides beside the live one.

What it decides is called the shadow of a decision. It moves no counter; it is stored with the
decision, and graph/experiments/duel.py compares the two when labels are known.
"""

from __future__ import annotations

import logging
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Protocol

from acegraph.nodes.agent.custom import Agent
from acegraph.nodes.evidence.backtest import can_prove
from acegraph.nodes.rules.ruleset import Ruleset
from acegraph.nodes.rules.scale import scale_for
from acegraph.nodes.rules.weights import fitted_weights
from acegraph.nodes.runtime.sync_async import Wait
from acegraph.nodes.text.field_contract import FieldContract
from acegraph.state import Bullet, ModelError, Transaction
from acegraph.state.ledger.row_mapping import to_row
from acegraph.state.run.schema import CaseData, ChallengerDecision, RunSettings
from acegraph.state.values.cases import CaseTable

if TYPE_CHECKING:
    from acegraph.state import BulletPlaybook

logger = logging.getLogger(__name__)


class _HasBullets(Protocol):
    @property
    def bullets(self) -> tuple[Bullet, ...]: ...


SelectBullets = Callable[
    [Transaction, RunSettings, "BulletPlaybook", str, Wait], Awaitable[_HasBullets]
]
"""The selector's `select`: transaction, settings, playbook, decision id, way of waiting."""


@dataclass(frozen=True)
class Challenger:
    """Decides with the bullets of another version of a playbook."""

    playbook: BulletPlaybook
    agent: Agent
    select: SelectBullets
    versions: dict[tuple[int, str], BulletPlaybook] = field(default_factory=dict)
    """Copies of versions of the playbook by number and node, each made when first needed."""

    async def decide(self, case: CaseData, settings: RunSettings, wait: Wait) -> ChallengerDecision:
        """What the version named in the settings decides on the transaction of a run."""
        version, node = settings["challenger"], settings["node"]
        assert version is not None
        if (version, node) not in self.versions:
            copy = await wait.work(version_of, self.playbook, version, node)
            self.versions.setdefault((version, node), copy)
        playbook = self.versions[version, node]
        transaction = Transaction(case["text"], case["given_fields"])
        try:
            selection = await self.select(transaction, settings, playbook, case["id"], wait)
            ruleset = await wait.work(self._ruleset, playbook, settings)
            decision = await self.agent.decide_with(
                transaction,
                selection.bullets,
                wait,
                settings["agent_model"],
                ruleset=ruleset,
            )
        except ModelError as error:
            logger.warning("challenger undecided: %s", type(error).__name__)
            failed: ChallengerDecision = {"version": version, "decision": None, "risk_score": None}
            return {**failed, "undecided": str(error)}
        return {
            "version": version,
            "decision": decision.decision,
            "risk_score": decision.risk_score,
            "bullets": [b.id for b in selection.bullets],
        }

    def _ruleset(self, version: BulletPlaybook, settings: RunSettings) -> Ruleset:
        """The rules of the version, on the scale on which they fit the cases of today."""
        node = settings["node"]
        bullets = version.get_bullets_for_node(node)
        scale = scale_for(bullets, self.playbook.cases(node), settings)
        return replace(Ruleset.of(version, settings), scale=scale)


def version_of(playbook: BulletPlaybook, version: int, node: str) -> BulletPlaybook:
    """The bullets of a version as a separate playbook in memory, with today's counters.

    The weight of a bullet depends on the bullets active with it. Where those differ from today's,
    the weights are fitted again on today's labelled cases.
    """
    from acegraph.state import BulletPlaybook
    from acegraph.state.maintenance.versions import bullets_at

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
    copy.keep_file_form(node, FieldContract.of(playbook.cases(node)).form)
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
