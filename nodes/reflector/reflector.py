"""The reflector: draws one heuristic from one judged decision, or none.

A language model writes prose, perhaps with a condition. The embedded reflector induces a condition
from labelled cases (induction.py). The reflector proposes; the curator decides what may act.
"""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np

from acegraph.nodes.evidence.columns.entities import case_shares
from acegraph.nodes.evidence.proof_levels import Gate, GateLevel, gate_of
from acegraph.nodes.evidence.residuals import Numbers
from acegraph.nodes.models.answers import in_answers
from acegraph.nodes.models.named import AnyModel, resolve_model
from acegraph.nodes.reflector.induction import Induced, fields_of, induce
from acegraph.nodes.reflector.prompt import REFLECTOR, Judged, prompt_version, reflector_messages
from acegraph.nodes.reflector.similar_cases import similar_cases
from acegraph.nodes.rules.points import (
    NO_LANGUAGE_MODEL,
    graded_over,
    log_odds_over,
    scorecard_over,
)
from acegraph.nodes.rules.scale import RiskScale
from acegraph.nodes.rules.weights import fit_weights
from acegraph.nodes.runtime.sync_async import AWAITING, Wait
from acegraph.nodes.text.understand import fields_to_test, understand_alone
from acegraph.state.run.model_forms import ReflectionForm, stated_condition
from acegraph.state.run.schema import Reflection
from acegraph.state.task.card_payments import CARD_PAYMENTS
from acegraph.state.values import (
    Case,
    CaseTable,
    Condition,
    ConditionData,
    Fields,
    Transaction,
    Verdict,
    parse_verdict,
    sign_of,
)

if TYPE_CHECKING:
    from acegraph.nodes.models.language_model import LanguageModel


class Reflector:
    """Writes heuristics. Used outside the graph it remembers the cases that it was called with.

    `gate` is the level of proof that the embedded reflector needs (evidence/proof_levels.py),
    `prompt` are the instructions of a language model, if not the usual ones.
    """

    def __init__(
        self, model: AnyModel = None, *, gate: GateLevel = "standard", prompt: str | None = None
    ) -> None:
        self._model, self._prompt = model, prompt or REFLECTOR
        self._gate = gate_of(gate)
        self._memory: dict[str, CaseTable] = {}
        self._proposed: dict[str, list[Condition]] = {}

    def language_model(self, name: str | None = None) -> "LanguageModel | None":
        """The model that reflects, or `name` instead of it; None for the embedded reflector."""
        return resolve_model("reflector", self._model, name)

    async def reflect(
        self,
        query: str | Mapping[str, object],
        predicted: str,
        correct: str,
        node: str,
        agent_reasoning: str = "",
    ) -> Reflection | None:
        """One heuristic from one judged decision, or None if there is nothing to learn."""
        transaction, label = understand_alone(query), parse_verdict(correct)
        model = self.language_model()
        if model is not None:
            judged = Judged(transaction, parse_verdict(predicted), label, agent_reasoning)
            return await self._ask(model, judged, AWAITING)
        table = self._memory.setdefault(node, CaseTable())
        fields = fields_to_test(transaction)
        table.add(Case(str(len(table)), fields, label, transaction.text))
        rules = self._proposed.setdefault(node, [])
        if any(rule.verdict == label and rule.holds(fields) for rule in rules):
            return None
        log_odds = _log_odds_with(rules, table)
        reflection = induce_bullet(
            transaction, label, table, log_odds, fields_of(rules), self._gate
        )
        if reflection:
            rules.append(Condition.from_json(reflection["condition"] or {}))
        return reflection

    async def reflect_with(
        self, judged: Judged, wait: Wait, name: str | None = None
    ) -> Reflection | None:
        """Reflect with the evidence of a playbook; the graph's node calls this."""
        model = self.language_model(name)
        if model is not None:
            return await self._ask(model, judged, wait)
        return await wait.work(_induce_with_playbook, judged, self._gate)

    async def _ask(self, model: "LanguageModel", judged: Judged, wait: Wait) -> Reflection | None:
        fields = fields_to_test(judged.transaction)
        near = similar_cases(fields, judged.transaction.text, judged.table)
        scale = RiskScale.of(judged.table, judged.bullets)
        risks = scale.risks(log_odds_over(CaseTable(near), judged.bullets)).tolist()
        fence = model.fence("reflector", judged.decision_id or judged.transaction.digest())
        task = judged.table.task or CARD_PAYMENTS
        similar = zip(near, risks, strict=True)
        messages = reflector_messages(judged, similar, fence, self._prompt)
        form = await model.fill(in_answers(ReflectionForm, task.answers), messages, wait)
        if not form.new_bullet.strip():
            return None
        return Reflection(
            new_bullet=str(task.stored(form.new_bullet.strip())),
            problem_types=form.problem_types,
            confidence=form.confidence,
            condition=_checked_condition(form, fields, judged.correct),
            author=model.name,
            prompt=prompt_version(self._prompt),
        )


def _induce_with_playbook(judged: Judged, gate: Gate | None) -> Reflection | None:
    """A rule for what the bullets of a playbook leave unexplained."""
    proven = [b.condition for b in judged.bullets if b.proof == "proven" and b.condition]
    log_odds = log_odds_over(judged.table, judged.bullets)
    return induce_bullet(
        judged.transaction, judged.correct, judged.table, log_odds, fields_of(proven), gate
    )


def induce_bullet(
    transaction: Transaction,
    label: Verdict,
    table: CaseTable,
    log_odds: Numbers,
    known_fields: frozenset[str],
    gate: Gate | None,
) -> Reflection | None:
    """The proven condition that best explains a case; earlier rules use the `known_fields`."""
    fields = fields_to_test(transaction)
    induced = induce(fields, label, table, log_odds, known_fields=known_fields, gate=gate)
    return as_reflection(induced) if induced else None


def as_reflection(induced: Induced) -> Reflection:
    """A rule with its evidence as what a reflector proposes."""
    return Reflection(
        new_bullet=induced.condition.render(),
        problem_types=list(dict.fromkeys(c.field for c in induced.condition.comparisons)),
        confidence=round(induced.evidence.precision_low, 4),
        condition=induced.condition.to_json(),
        author=NO_LANGUAGE_MODEL,
    )


def _log_odds_with(rules: Sequence[Condition], table: CaseTable) -> Numbers:
    """The log-odds that scorecard and rules together give to every case."""
    start = scorecard_over(table) + graded_over(rules, table)
    rules = [rule for rule in rules if not rule.graded]
    if not rules:
        return start
    fired = np.array([rule.holds_over(table) for rule in rules])
    signs = np.array([sign_of(rule.verdict) for rule in rules])
    weights = fit_weights(fired, signs, table.fraud, start, shares=case_shares(table))
    return np.asarray(start + weights @ fired)


def _checked_condition(
    form: ReflectionForm, fields: Fields, correct: Verdict
) -> ConditionData | None:
    """A model's condition, if it can be read, holds on its own case and is right about it."""
    condition = stated_condition(form)
    is_right = condition and condition.verdict == correct and condition.holds(fields)
    return condition.to_json() if condition and is_right else None
