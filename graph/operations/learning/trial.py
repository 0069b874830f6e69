"""The trial of a bullet in prose: whether the agent decides labelled cases better with it.

No backtest can test prose, but an agent that reads it can: it decides the cases that are nearest to
the bullet with it and without it. A test that may be looked at after every pair
(nodes/evidence/paired_bets.py) ends the trial early.
"""

from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, field, replace
from typing import Final, Literal, Unpack

import numpy as np

from acegraph.graph.build import Collaborators, Parts, gather_parts
from acegraph.nodes.agent.agent import SimpleFraudAgent
from acegraph.nodes.agent.node import Question
from acegraph.nodes.curator.screening import proposal_of
from acegraph.nodes.evidence.paired_bets import multiplied
from acegraph.nodes.models.embedding_models import EMBEDDED
from acegraph.nodes.rules.ruleset import Ruleset
from acegraph.nodes.runtime.sync_async import BLOCKING, finish
from acegraph.nodes.runtime.usage import Budget, metered
from acegraph.nodes.text.understand import fields_to_test
from acegraph.state import AceContext, BudgetSpent, BulletPlaybook, InvalidSettings, ModelError
from acegraph.state.playbook.index import unit
from acegraph.state.run.context import settle
from acegraph.state.run.schema import RunSettings
from acegraph.state.values import DECLINE, WAITS_FOR, Bullet, Case, Transaction, facts_text

BORNE_OUT: Final = 1_000.0
"""Bets on the bullet must have multiplied their amount by this: a bullet that does not help gets
that far in at most one of a thousand trials, whenever they are stopped."""
REFUTED: Final = 20.0
"""The same for bets against it: to let a bullet go costs less than to let one in."""
_MOST_COMPARED: Final = 2_000
"""So many labelled cases, the newest, are looked at for those nearest to the bullet."""

Outcome = Literal["borne out", "refuted", "open"]


@dataclass(frozen=True)
class Trial:
    """What came of a trial."""

    bullet_id: str
    outcome: Outcome
    reason: str
    status: str
    """The status of the bullet after the trial."""
    model: str
    """Who decided, with the version of its prompt."""
    cases: int = 0
    """Labelled cases that were decided with the bullet and without it."""
    gained: int = 0
    """Cases that were right only with the bullet."""
    lost: int = 0
    """Cases that were right only without it."""
    evidence: float = 1.0
    """By how much bets on the bullet have multiplied their amount."""
    calls: int = 0
    """How often a model was asked."""

    def to_json(self) -> dict[str, object]:
        """One object for machines."""
        return asdict(self) | {"evidence": round(self.evidence, 3)}


def try_bullet(
    playbook: BulletPlaybook,
    bullet_id: str,
    *,
    max_calls: int = 200,
    context: AceContext | None = None,
    progress: Callable[[str, int, int], None] = lambda what, done, total: None,
    **collaborators: Unpack[Collaborators],
) -> Trial:
    """Let the agent decide labelled cases with a bullet in prose and without it.

    A candidate that is borne out acts from now on, with the trial as its evidence; one that is
    refuted is retired, active or not. The collaborators are those of `create_ace_graph`.
    """
    parts = gather_parts(playbook, context=context, **collaborators)
    bullet = playbook.get_bullet(bullet_id)
    settings = settle(playbook, parts.context.model_copy(update={"node": bullet.node}))
    pairs = _Pairs(parts, bullet, settings, Ruleset.of(playbook, settings))
    reader = _reader(parts, bullet)
    if bullet.status == "candidate":
        reason = "" if WAITS_FOR in bullet.evidence else "waits for the approval of a person"
        screen = parts.curator.screen
        if screen and (objection := screen(proposal_of(bullet, parts.playbook))):
            reason = f"waits for a person: {objection.reason}"
        if reason:
            return Trial(bullet_id, "open", reason, bullet.status, reader)
    with metered(Budget(max_calls)) as budget:
        outcome, reason = pairs.told_by(pairs.nearest_cases()[: max_calls // 2], progress)
    gains = pairs.gains
    trial = Trial(
        *(bullet_id, outcome, reason, bullet.status, reader),
        cases=len(gains),
        gained=sum(gain > 0 for gain in gains),
        lost=sum(gain < 0 for gain in gains),
        evidence=multiplied(gains),
        calls=max(2 * len(gains), budget.total.calls),
    )
    return _concluded(trial, parts)


def _reader(parts: Parts, bullet: Bullet) -> str:
    """Who reads the bullet; what cannot be tried is refused."""
    if bullet.condition is not None:
        raise InvalidSettings(f"{bullet.id} has a condition: a backtest tests it, not a trial")
    if bullet.status not in ("candidate", "active"):
        raise InvalidSettings(f"{bullet.id} is {bullet.status}; restore it before a trial")
    if not isinstance(parts.agent, SimpleFraudAgent):
        return "custom agent"
    reader = parts.agent.reader(parts.context.agent_model)
    if not reader:
        raise InvalidSettings(
            f"{bullet.id} is prose, which the embedded analyst cannot read: name the model that "
            "decides (--model or ACE_AGENT_MODEL)"
        )
    return reader


def _concluded(trial: Trial, parts: Parts) -> Trial:
    """Do with the bullet what its trial says."""
    told = (
        f"of {trial.cases} labelled cases {trial.gained} were right only with it and {trial.lost} "
        f"only without it ({trial.model})"
    )
    if trial.outcome == "refuted":
        trial = replace(trial, status="retired", reason=f"a trial refuted it: {told}")
        parts.playbook.set_status(trial.bullet_id, "retired", trial.reason, "curator")
    elif trial.outcome == "borne out" and trial.status == "candidate":
        trial = replace(trial, status="active", reason=f"a trial bore it out: {told}")
        evidence = {
            "right": trial.gained,
            "fires": trial.gained + trial.lost,
            "cases": trial.cases,
            "evidence": round(trial.evidence, 1),
            "model": trial.model,
        }
        parts.curator.bear_out(trial.bullet_id, parts.playbook, evidence, trial.reason)
    return trial


@dataclass
class _Pairs:
    """Labelled cases that are decided with a bullet and without it."""

    parts: Parts
    bullet: Bullet
    settings: RunSettings
    ruleset: Ruleset
    gains: list[float] = field(default_factory=list)
    """What the bullet gained on each case, between -1 and 1."""

    def told_by(
        self, cases: Sequence[Case], progress: Callable[[str, int, int], None]
    ) -> tuple[Outcome, str]:
        """Decide case after case, until the pairs tell enough or no call is left."""
        for number, case in enumerate(cases):
            progress("trial", number, len(cases))
            try:
                self.gains.append(self.gain(case))
            except BudgetSpent:
                break
            except ModelError as error:  # the client has asked several times
                return "open", f"the model fails: {error}"
            if multiplied(self.gains) >= BORNE_OUT:
                return "borne out", "it helps"
            if multiplied([-gain for gain in self.gains]) >= REFUTED:
                return "refuted", "it harms"
        return "open", "the cases and calls do not tell yet"

    def nearest_cases(self) -> list[Case]:
        """Labelled cases, the nearest to the bullet first.

        The order follows from what the cases are about, never from their labels.
        """
        source = self.bullet.origin.get("decision")
        known = self.parts.playbook.cases(self.bullet.node)
        cases = [case for case in known if case.id != source][-_MOST_COMPARED:]
        texts = [self.bullet.content, *(facts_text(_transaction(case)) for case in cases)]
        rows = unit(np.stack(finish(EMBEDDED.vectors(texts, BLOCKING))))
        return [cases[i] for i in np.argsort(-(rows[1:] @ rows[0]), kind="stable")]

    def gain(self, case: Case) -> float:
        """What the bullet gains on a case, by what the mistake would cost there."""
        transaction, selectors = _transaction(case), self.parts.selectors
        selection = finish(
            selectors.select(transaction, self.settings, self.parts.playbook, case.id, BLOCKING)
        )
        others = [b for b in selection.bullets if b.id != self.bullet.id]
        fields, name = fields_to_test(transaction), self.settings["agent_model"]
        without_it, with_it = (
            finish(self.parts.agent.decide_on(asked, BLOCKING, name)).decision
            for asked in (
                Question(transaction, fields, tuple(shown), self.ruleset)
                for shown in (others, [*others, self.bullet])
            )
        )
        limit = self.ruleset.scale.decline_from(case.fields)
        cost = 1 - limit if case.label == DECLINE else limit
        return ((with_it == case.label) - (without_it == case.label)) * cost / max(limit, 1 - limit)


def _transaction(case: Case) -> Transaction:
    return Transaction(case.text, dict(case.fields))
