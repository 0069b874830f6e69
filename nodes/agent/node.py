"""The agent as a graph node: decide with the bullets that were shown.

When a model fails, the decision is UNDECIDED with the reason: a failure approves no payment.
"""

from __future__ import annotations

import logging
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from acegraph.nodes.agent.custom import Agent
from acegraph.nodes.agent.exploration import is_explored
from acegraph.nodes.agent.fail_closed import Decision, by_field, settled
from acegraph.nodes.rules.ruleset import Ruleset
from acegraph.nodes.rules.words import not_understood
from acegraph.nodes.runtime.ask import held_for_review
from acegraph.nodes.runtime.sync_async import Wait
from acegraph.state import DECLINE, AceState, Bullet, ModelError, Transaction
from acegraph.state.run.schema import Update
from acegraph.state.values.verdict import UNDECIDED

if TYPE_CHECKING:
    from collections.abc import Callable

    from acegraph.nodes.agent.challenger import Challenger
    from acegraph.state.playbook.playbook import BulletPlaybook

logger = logging.getLogger(__name__)


@dataclass(frozen=True)
class AgentNode:
    """Decides on the transaction of a run, and lets the challenger decide in shadow."""

    playbook: BulletPlaybook
    agent: Agent
    challenger: Callable[[], Challenger]
    ruleset: Ruleset | None = None
    """What decides in all runs, where the playbook does not change between them."""

    async def __call__(self, state: AceState, wait: Wait) -> Update:
        """Decide with the bullets that were shown."""
        case, settings = state["case"], state["settings"].copy()
        bullets, ruleset = await wait.work(self._knowledge, state)
        transaction = Transaction(case["text"], case["given_fields"])
        try:
            decision = await self.agent.decide_with(
                transaction, bullets, wait, settings["agent_model"], case["id"], ruleset
            )
        except ModelError as error:
            logger.warning("agent undecided: %s", type(error).__name__)
            return {"decision": UNDECIDED, "undecided": f"agent: {error}"}
        reasons = list(decision.reasons)
        if case["ground_truth"] is None:
            decision, refusal = await wait.work(settled, decision, case, state["doubts"], ruleset)
            if refusal:
                return {"decision": UNDECIDED, "undecided": refusal, "reasons": reasons}
            if state["doubts"]:
                doubts = not_understood(by_field(state["doubts"]))
                reasons.append(f"{doubts}; the decision stands without it")
        scale = ruleset.scale
        if decision.decision == DECLINE and settings["explore"] and is_explored(case, settings):
            settings["let_through"] = True
            share = 100 * settings["explore"]
            reasons.append(f"let through for review, as {share:g} % of declines are")
        if scale.costs and scale.costs.has_review and decision.risk_score is not None:
            amount = scale.amount(case["fields"])
            settings["review_pays"] = scale.costs.wants_review(decision.risk_score, amount)
        if decision.model:
            settings["decided_by"], settings["prompt"] = decision.model, decision.prompt
        if decision.departure:
            settings["departure"] = decision.departure
        if settings["selects"] and settings["challenger"] is not None:
            challenger = self.challenger()
            settings["shadow"] = await wait.work(challenger.decide, state, settings)
        return {
            "decision": decision.decision,
            "risk_score": decision.risk_score,
            "reasons": reasons,
            "bullets_used": [
                b.id for b in _all_of(bullets, ruleset) if _had_a_part(b, state, decision)
            ],
            "settings": settings,
            **held_for_review(decision.decision, decision.risk_score, settings),
        }

    def _knowledge(self, state: AceState) -> tuple[list[Bullet], Ruleset]:
        """The bullets that were shown, and the ruleset of the run."""
        bullets = self.playbook.get_bullets(bullet["id"] for bullet in state["bullets"])
        return bullets, self.ruleset or Ruleset.of(self.playbook, state["settings"])


def _all_of(shown: Sequence[Bullet], ruleset: Ruleset) -> list[Bullet]:
    """The bullets that may have had a part in a decision."""
    ids = {bullet.id for bullet in shown}
    return [*shown, *(bullet for bullet in ruleset.rules if bullet.id not in ids)]


def _had_a_part(bullet: Bullet, state: AceState, decision: Decision) -> bool:
    """Whether the agent cited it, its condition holds, or the agent may have read its prose."""
    if decision.bullets_used is not None and bullet.id in decision.bullets_used:
        return True
    if bullet.condition:
        return bool(bullet.condition.holds(state["case"]["fields"]))
    return decision.bullets_used is None
