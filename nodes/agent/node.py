"""The agent as a graph node: decide with the bullets that were shown.

Here stands what an agent is asked, what it decides, and what keeps a decision from standing.

When a model fails, the decision is UNDECIDED with the reason: a failure approves no payment.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from operator import itemgetter
from typing import TYPE_CHECKING, Protocol

from acegraph.nodes.rules.points import NO_LANGUAGE_MODEL, points_of
from acegraph.nodes.rules.ruleset import Ruleset
from acegraph.nodes.rules.undecided import could_not_be_tested, not_understood
from acegraph.nodes.runtime.sync_async import Wait
from acegraph.state import AceState, ModelError
from acegraph.state.run.schema import CaseData, RunSettings, Update
from acegraph.state.values import (
    APPROVE,
    DECLINE,
    SENTENCE,
    UNDECIDED,
    Bullet,
    Fields,
    Transaction,
    Verdict,
    is_in_share,
)

if TYPE_CHECKING:
    from acegraph.nodes.agent.challenger import Challenger
    from acegraph.state.playbook.playbook import BulletPlaybook

logger = logging.getLogger(__name__)
HIDDEN = "a memo, a quotation or another amount hides what would have declined it"


@dataclass(frozen=True)
class Question:
    """A case with what is shown beside it."""

    transaction: Transaction
    fields: Fields
    """What rules test."""
    shown: tuple[Bullet, ...]
    ruleset: Ruleset
    doubts: Mapping[str, str] | None = None
    """Why fields are in doubt, by their names; None: the fields count as they stand."""
    decision_id: str = ""


@dataclass(frozen=True)
class Decision:
    """A decision of the agent with what led to it."""

    decision: Verdict
    risk_score: float | None = None
    reasons: tuple[str, ...] = ()
    bullets_used: tuple[str, ...] | None = ()
    """Ids of the bullets that had a part in the decision; None where that is unknown."""
    model: str = ""
    """The language model that decided; empty for the embedded analyst and a custom agent."""
    prompt: str = ""
    """The version of its prompt."""
    departure: float = 0.0
    """By how much it departed from the playbook's opinion, in log-odds."""
    undecided: str = ""
    """Why the decision does not stand; empty where nothing speaks against it."""


class Agent(Protocol):
    """What the agent node calls."""

    async def decide_on(self, asked: Question, wait: Wait, name: str | None = None) -> Decision:
        """Decide on a case; `name` is a model other than the default one."""


def what_hides(asked: Question) -> str:
    """Why the approval of a sentence does not stand: what a remark hides would decline it."""
    if asked.doubts is None or asked.transaction.fields:
        return ""
    from acegraph.nodes.text.reader import read_exposed_fields

    text = asked.transaction.text
    exposed = {**read_exposed_fields(text), SENTENCE: text}
    declines = exposed != asked.fields and asked.ruleset.weigh(exposed).decision == DECLINE
    return HIDDEN if declines else ""


def unless_untested(decision: Decision, asked: Question) -> Decision:
    """The decision of a reader; its approval falls with a rule that could not be tested."""
    if decision.decision != APPROVE or not asked.doubts:
        return decision
    untested = asked.ruleset.open_rules(asked.fields, asked.doubts)
    raising = [bullet for bullet in untested if points_of(bullet) > 0]
    why = not_understood(asked.doubts) + could_not_be_tested(raising) if raising else ""
    return replace(decision, undecided=why)


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
        asked = await wait.work(self._question, state)
        try:
            if asked.ruleset.task.entities and settings["selects"]:
                decision = await self._under_lists(asked, settings, wait)
            else:
                decision = await self.agent.decide_on(asked, wait, settings["agent_model"])
        except ModelError as error:
            logger.warning("agent undecided: %s", type(error).__name__)
            return {"decision": UNDECIDED, "undecided": f"agent: {error}"}
        reasons = list(decision.reasons)
        if decision.undecided:
            return {"decision": UNDECIDED, "undecided": decision.undecided, "reasons": reasons}
        if asked.doubts:
            reasons.append(f"{not_understood(asked.doubts)}; the decision stands without it")
        if decision.decision == DECLINE and settings["explore"] and _is_explored(case, settings):
            settings["let_through"] = True
            share = 100 * settings["explore"]
            reasons.append(f"let through for review, as {share:g} % of such are")
        _note(settings, decision, case, asked.ruleset)
        if settings["selects"] and settings["challenger"] is not None:
            challenger = self.challenger()
            settings["shadow"] = await wait.work(challenger.decide, state, settings)
        update: Update = {
            "decision": decision.decision,
            "risk_score": decision.risk_score,
            "reasons": reasons,
            "bullets_used": list(_had_a_part(decision, asked)),
        }
        if settings != state["settings"]:
            update["settings"] = settings
        if settings.get("review"):
            from acegraph.nodes.runtime.ask import held_for_review

            update |= held_for_review(decision.decision, decision.risk_score, settings)
        return update

    async def _under_lists(self, asked: Question, settings: RunSettings, wait: Wait) -> Decision:
        """What a list says of whom a payment names, else what the agent says."""
        from acegraph.nodes.agent.listed import entries_of, told, under, watched

        entries = await wait.work(entries_of, self.playbook, asked, settings["node"])
        if entries:
            settings["listed"] = [entry.number for entry in entries]
        if entries and entries[0].list == "block":
            return Decision(DECLINE, 1.0, (told(entries[0]),))  # nobody is asked any more
        decision = await self.agent.decide_on(asked, wait, settings["agent_model"])
        if why := watched(entries):
            settings["watched"] = why
        return under(entries, decision)

    def _question(self, state: AceState) -> Question:
        """What the agent is asked: the case, the bullets that were shown, and the ruleset."""
        case, settings, book = state["case"], state["settings"], self.playbook
        if self.ruleset is None:
            book = book.frozen(settings["node"])
        return Question(
            Transaction(case["text"], case["given_fields"]),
            case["fields"],
            tuple(book.get_bullets(map(itemgetter("id"), state["bullets"]))),
            self.ruleset or Ruleset.of(book, settings),
            dict(map(itemgetter("field", "why"), state["doubts"])),
            case["id"],
        )


def _is_explored(case: CaseData, settings: RunSettings) -> bool:
    """Whether a would-be decline is let through, to learn whether it was fraud: a declined payment
    never gets a label. Only a run that learns does so, and only where no label is known yet.

    The risk plays no part: the share must be random for its figures to hold. Keep the seed secret
    where customers choose the ids.
    """
    is_open = settings["learn"] and case["ground_truth"] is None
    return is_open and is_in_share(f"explore:{settings['seed']}:{case['id']}", settings["explore"])


def _note(settings: RunSettings, decision: Decision, case: CaseData, ruleset: Ruleset) -> None:
    """Note with a decision who made it, and whether it pays to ask a person."""
    costs = ruleset.scale.costs
    if costs and costs.has_review and decision.risk_score is not None:
        amount = ruleset.scale.amount(case["fields"])
        settings["review_pays"] = costs.wants_review(decision.risk_score, amount)
    if decision.model:
        settings["decided_by"], settings["prompt"] = decision.model, decision.prompt
    if decision.departure:
        settings["departure"] = decision.departure


def _had_a_part(decision: Decision, asked: Question) -> Iterator[str]:
    """The bullets that the agent cited, that hold, or whose prose it may have read."""
    used = decision.bullets_used
    names_all = NO_LANGUAGE_MODEL in decision.reasons  # of the rules that act
    for bullet in {b.id: b for b in (*asked.shown, *asked.ruleset.rules)}.values():
        if used is not None and bullet.id in used:
            yield bullet.id
        elif bullet.condition:
            is_known = names_all and bullet.status == "active"
            if not is_known and bullet.condition.holds(asked.fields):
                yield bullet.id
        elif used is None:
            yield bullet.id
