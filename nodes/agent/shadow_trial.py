"""A bullet in prose on trial beside live decisions: the agent decides with it and without it.

Only one of the two decisions counts; both are stored, and graph/operations/learning/trial.py
compares them when labels are known.
"""

from __future__ import annotations

import logging
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from acegraph.nodes.agent.challenger import SelectBullets
from acegraph.nodes.agent.custom import Agent
from acegraph.nodes.agent.decision import Decision
from acegraph.nodes.rules.scale import RiskScale
from acegraph.nodes.runtime.sync_async import Wait
from acegraph.state import AceState, Bullet, ModelError, Transaction
from acegraph.state.ledger.row_mapping import to_row
from acegraph.state.run.schema import TriedDecisions

if TYPE_CHECKING:
    from acegraph.state import BulletPlaybook

logger = logging.getLogger(__name__)


@dataclass(frozen=True)
class ShadowTrial:
    """Lets the agent decide once more: with a candidate that is near, or without a shown bullet."""

    playbook: BulletPlaybook
    agent: Agent
    select: SelectBullets
    alone: dict[str, BulletPlaybook] = field(default_factory=dict)
    """By bullet a playbook with it alone: what is selected from it tells whether it is near."""

    async def decide(
        self,
        state: AceState,
        shown: Sequence[Bullet],
        decision: Decision,
        scale: RiskScale,
        wait: Wait,
    ) -> TriedDecisions | None:
        """What is decided with the bullet on trial, and without it; None where it is not near."""
        case, settings = state["case"], state["settings"]
        bullet_id = settings.get("trial") or ""
        bullet = await wait.work(self.playbook.get_bullet, bullet_id)
        transaction = Transaction(case["text"], case["given_fields"])
        others = [b for b in shown if b.id != bullet_id]
        is_shown = len(others) < len(shown)
        if bullet.condition or (bullet.status != "candidate" and not is_shown):
            return None
        try:
            if not is_shown:
                alone = await wait.work(self._alone, bullet)
                near = await self.select(transaction, settings, alone, case["id"], wait)
                if not near.bullets:
                    return None
                others.append(bullet)
            name = settings["agent_model"]
            other = await self.agent.decide_with(transaction, others, wait, name, scale=scale)
        except ModelError as error:
            logger.warning("trial of %s undecided: %s", bullet_id, type(error).__name__)
            return None
        with_it, without_it = (decision, other) if is_shown else (other, decision)
        return {
            "bullet": bullet_id,
            "with_it": with_it.decision,
            "without_it": without_it.decision,
        }

    def _alone(self, bullet: Bullet) -> BulletPlaybook:
        from acegraph.state import BulletPlaybook

        if bullet.id not in self.alone:
            playbook = BulletPlaybook()
            with playbook.writing() as writer:
                writer.add_bullet(to_row(replace(bullet, status="active")))
            playbook.invalidate()
            playbook.share_vectors(self.playbook)
            self.alone[bullet.id] = playbook
        return self.alone[bullet.id]
