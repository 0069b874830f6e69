"""The trial of a bullet in prose: whether the agent decides labelled cases better with it.

No backtest can test prose, but an agent that reads it can: it decides the cases that are nearest to
the bullet with it and without it. A test that may be looked at after every pair
(nodes/evidence/paired_bets.py) ends the trial early.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, replace
from typing import TYPE_CHECKING, Final, Literal, Unpack

import numpy as np

from acegraph.graph.build import Collaborators, gather_parts
from acegraph.nodes.agent.agent import SimpleFraudAgent
from acegraph.nodes.agent.decision import Question
from acegraph.nodes.curator.screening import proposal_of
from acegraph.nodes.evidence.paired_bets import multiplied
from acegraph.nodes.models.embedding_models import EMBEDDED
from acegraph.nodes.rules.ruleset import Ruleset
from acegraph.nodes.runtime.sync_async import BLOCKING, finish
from acegraph.nodes.runtime.usage import Budget, metered
from acegraph.nodes.text.reader import fields_to_test
from acegraph.state import (
    DECLINE,
    AceContext,
    BudgetSpent,
    Bullet,
    Case,
    InvalidSettings,
    ModelError,
    Transaction,
)
from acegraph.state.database.encoding import text_hash
from acegraph.state.playbook.vector_matrix import unit
from acegraph.state.run.modes import settle
from acegraph.state.values.bullet import WAITS_FOR
from acegraph.state.values.texts import facts_text
from acegraph.state.values.verdict import Verdict

if TYPE_CHECKING:
    from acegraph.graph.build import Parts
    from acegraph.state import BulletPlaybook

BORNE_OUT: Final = 1_000.0
"""Bets on the bullet must have multiplied their amount by this: a bullet that does not help gets
that far in at most one of a thousand trials, whenever they are stopped."""
REFUTED: Final = 20.0
"""The same for bets against it: to let a bullet go costs less than to let one in."""
_MOST_COMPARED: Final = 2_000
"""So many labelled cases are looked at for those that are nearest to the bullet."""
_FAILURES: Final = 3
"""A trial ends after so many failures in a row: each of them may have cost a call."""

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
    reader = _reader(parts, bullet)
    trial = _RunningTrial(parts, bullet, reader, max_calls)
    if bullet.status == "candidate" and (reason := trial.reason_to_wait()):
        return Trial(bullet_id, "open", reason, bullet.status, reader)
    with metered(Budget(max_calls)) as budget:
        ended = trial.run(progress)
    return replace(ended, calls=max(trial.asked, budget.total.calls))


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


class _RunningTrial:
    def __init__(self, parts: Parts, bullet: Bullet, reader: str, max_calls: int) -> None:
        self.parts, self.bullet, self.reader = parts, bullet, reader
        self.playbook, self.max_calls = parts.playbook, max_calls
        context = parts.context.model_copy(update={"node": bullet.node})
        self.settings = settle(self.playbook, context)
        self.ruleset = Ruleset.of(self.playbook, self.settings)
        self.gains: list[float] = []
        """What the bullet gained on each case, between -1 and 1."""
        self.asked = 0
        """How often an agent was asked; a custom one is counted by nobody else."""

    def reason_to_wait(self) -> str:
        """Why no trial may let the candidate act; empty if one may."""
        curator = self.parts.curator
        objection = (
            curator.screen(proposal_of(self.bullet, self.playbook)) if curator.screen else None
        )
        if objection:
            return f"waits for a person: {objection.reason}"
        return "" if WAITS_FOR in self.bullet.evidence else "waits for the approval of a person"

    def run(self, progress: Callable[[str, int, int], None]) -> Trial:
        """Decide case after case, until the pairs tell enough or no call is left."""
        cases, failures = self._nearest_cases(), 0
        for number, case in enumerate(cases):
            left = min(len(cases) - number, self.max_calls - self.asked)
            if ended := self._told(left):
                return ended
            progress("trial", number, len(cases))
            try:
                self.gains.append(self._gain(case))
                failures = 0
            except BudgetSpent:
                break
            except ModelError as error:  # a case that stays undecided tells nothing
                failures += 1
                if failures == _FAILURES:
                    return self._ended("open", f"the model fails: {error}")
        return self._told(0) or self._ended("open", "the cases and calls do not tell yet")

    def _told(self, left: int) -> Trial | None:
        """The end of the trial, if the pairs tell enough, or if no `left` pairs could."""
        if multiplied(self.gains) >= BORNE_OUT:
            return self._borne_out()
        if multiplied([-gain for gain in self.gains]) >= REFUTED:
            return self._refuted()
        can_act = multiplied([*self.gains, *[1.0] * left]) >= BORNE_OUT
        if not can_act and self.bullet.status == "candidate":
            return self._ended("open", "what is left of cases and calls could not bear it out")
        return None

    def _borne_out(self) -> Trial:
        if self.bullet.status == "active":
            return self._ended("borne out", "it helps")
        proof = self._ended("borne out", "")
        evidence = {
            "right": proof.gained,
            "fires": proof.gained + proof.lost,
            "cases": proof.cases,
            "evidence": round(proof.evidence, 1),
            "model": self.reader,
        }
        reason = f"a trial bore it out: {_in_words(proof)}"
        self.parts.curator.bear_out(self.bullet.id, self.playbook, evidence, reason)
        return self._ended("borne out", reason)

    def _refuted(self) -> Trial:
        reason = f"a trial refuted it: {_in_words(self._ended('refuted', ''))}"
        self.playbook.set_status(self.bullet.id, "retired", reason, "curator")
        return self._ended("refuted", reason)

    def _ended(self, outcome: Outcome, reason: str) -> Trial:
        return Trial(
            self.bullet.id,
            outcome,
            reason,
            self.playbook.get_bullet(self.bullet.id).status,
            self.reader,
            cases=len(self.gains),
            gained=sum(gain > 0 for gain in self.gains),
            lost=sum(gain < 0 for gain in self.gains),
            evidence=multiplied(self.gains),
        )

    def _nearest_cases(self) -> list[Case]:
        """Labelled cases, the nearest to the bullet first.

        The order follows from what the cases are about, never from their labels.
        """
        source = self.bullet.origin.get("decision")
        cases = [case for case in self.playbook.cases(self.bullet.node) if case.id != source]
        cases.sort(key=lambda case: text_hash(case.id))
        cases = cases[:_MOST_COMPARED]
        if not cases:
            return []
        model = self.parts.selectors.embedding(self.settings)
        texts = [facts_text(_transaction(case)) for case in cases]
        try:
            kept_in = self.playbook if not self.settings["redact"] else None
            vectors = finish(model.vectors([self.bullet.content, *texts], BLOCKING, kept_in))
        except ModelError:
            vectors = finish(EMBEDDED.vectors([self.bullet.content, *texts], BLOCKING))
        rows = unit(np.stack(vectors))
        return [cases[i] for i in np.argsort(-(rows[1:] @ rows[0]), kind="stable")]

    def _gain(self, case: Case) -> float:
        """What the bullet gains on a case, by what the mistake would cost there."""
        transaction = _transaction(case)
        selection = finish(
            self.parts.selectors.select(
                transaction, self.settings, self.playbook, case.id, BLOCKING
            )
        )
        others = [b for b in selection.bullets if b.id != self.bullet.id]
        without_it, with_it = (
            self._decision(transaction, shown) for shown in (others, [*others, self.bullet])
        )
        limit = self.ruleset.scale.decline_from(case.fields)
        cost = 1 - limit if case.label == DECLINE else limit
        return ((with_it == case.label) - (without_it == case.label)) * cost / max(limit, 1 - limit)

    def _decision(self, transaction: Transaction, shown: Sequence[Bullet]) -> Verdict:
        """What the agent decides with these bullets."""
        if self.asked >= self.max_calls:
            raise BudgetSpent(f"the budget of {self.max_calls} calls is spent")
        self.asked += 1
        name = self.settings["agent_model"]
        fields = fields_to_test(transaction)
        asked = Question(transaction, fields, tuple(shown), self.ruleset)
        return finish(self.parts.agent.decide_on(asked, BLOCKING, name)).decision


def _transaction(case: Case) -> Transaction:
    return Transaction(case.text, dict(case.fields))


def _in_words(trial: Trial) -> str:
    return (
        f"of {trial.cases} labelled cases {trial.gained} were right only with it and {trial.lost} "
        f"only without it ({trial.model})"
    )
