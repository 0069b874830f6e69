"""The reflector: from one judged decision to one heuristic, or to nothing.

A language model writes prose, perhaps with a condition; the embedded one induces a condition from
the labelled cases it is given, or, used alone, from those it has seen. It proposes; what may act is
for the curator to say.
"""

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from acegraph.nodes.evidence.proof_levels import Gate, GateLevel, gate_of
from acegraph.nodes.evidence.residuals import Numbers
from acegraph.nodes.evidence.scorecard import NO_LANGUAGE_MODEL, log_odds_over, scorecard_over
from acegraph.nodes.evidence.weights import fit_weights
from acegraph.nodes.models.language_model import LanguageModel
from acegraph.nodes.models.providers import resolve_model
from acegraph.nodes.reflector.induction import induce
from acegraph.nodes.reflector.prompt import VERSION, Mistake, reflector_messages
from acegraph.nodes.reflector.similar_cases import similar_cases
from acegraph.nodes.runtime.sync_async import AWAITING, Wait
from acegraph.nodes.text.reader import read_fields
from acegraph.state import (
    DECLINE,
    Bullet,
    Case,
    CaseTable,
    Condition,
    Fields,
    InvalidCondition,
    ReflectionForm,
    Transaction,
    Verdict,
    parse_verdict,
)
from acegraph.state.run.schema import Reflection
from acegraph.state.values.condition import ConditionData

if TYPE_CHECKING:
    from langchain_core.language_models import BaseChatModel


_PROBLEMS: Final[dict[str, str]] = {
    "location_fraud": "country vpn distance ip city state lat lng region travel address",
    "merchant_risk": "merchant category rating store shop",
    "velocity": "tx last count minutes attempts frequency",
    "account_risk": "account age verified disputes email customer",
    "device_risk": "device browser channel",
    "amount_anomaly": "amount amt usual price value ratio",
    "timing": "hour weekday month time date day",
}
"""Kinds of problem, and the words in the names of the fields that they are about."""


@dataclass(frozen=True)
class Judged:
    """One judged decision, and what is known beside it."""

    transaction: Transaction
    predicted: Verdict
    correct: Verdict
    reasoning: str = ""
    table: CaseTable = field(default_factory=CaseTable)
    """The labelled cases known at this time."""
    bullets: Sequence[Bullet] = ()
    """What the playbook already says."""
    decision_id: str = ""


class Reflector:
    """Writes heuristics. Used alone it remembers the cases it was given.

    `gate` says how much proof the embedded one wants before it proposes (nodes/gate.py).
    """

    def __init__(
        self,
        model: "BaseChatModel | LanguageModel | str | None" = None,
        *,
        gate: GateLevel = "standard",
    ) -> None:
        self._model = model
        self._gate = gate_of(gate)
        self._memory: dict[str, CaseTable] = {}
        self._proposed: dict[str, list[Condition]] = {}

    async def reflect(
        self,
        query: str | Mapping[str, Any],
        predicted: str,
        correct: str,
        node: str,
        agent_reasoning: str = "",
    ) -> Reflection | None:
        """One heuristic from one judged decision, or None where there is nothing to learn."""
        transaction, label = Transaction.of(query), parse_verdict(correct)
        model = resolve_model("reflector", self._model, None)
        if model is not None:
            said = parse_verdict(predicted)
            return await self._ask(
                model, Judged(transaction, said, label, agent_reasoning), AWAITING
            )
        table = self._memory.setdefault(node, CaseTable())
        fields = read_fields(transaction)
        table.add(Case(str(len(table)), fields, label, transaction.text))
        known = self._proposed.setdefault(node, [])
        if any(c.verdict == label and c.holds(fields) for c in known):
            return None
        log_odds = _with_rules(table, known)
        found = induce_bullet(transaction, label, table, log_odds, _fields_of(known), self._gate)
        if found:
            known.append(Condition.from_json(found["condition"] or {}))
        return found

    async def reflect_with(
        self, judged: Judged, wait: Wait, name: str | None = None
    ) -> Reflection | None:
        """Reflect with a playbook's evidence; the graph's node runs this."""
        model = resolve_model("reflector", self._model, name)
        if model is not None:
            return await self._ask(model, judged, wait)
        return await wait.work(_induce_beside, judged, self._gate)

    async def _ask(self, model: LanguageModel, judged: Judged, wait: Wait) -> Reflection | None:
        fields = read_fields(judged.transaction)
        told = Mistake(
            judged.transaction.text,
            judged.predicted,
            judged.correct,
            judged.reasoning,
            sorted(fields),
            similar_cases(fields, judged.transaction.text, judged.table),
        )
        fence = model.fence("reflector", judged.decision_id or judged.transaction.digest())
        form = await model.fill(ReflectionForm, reflector_messages(told, fence), wait)
        if not form.new_bullet.strip():
            return None
        return Reflection(
            new_bullet=form.new_bullet.strip(),
            problem_types=form.problem_types,
            confidence=form.confidence,
            condition=_checked_condition(form, fields, judged.correct),
            author=model.name,
            prompt=VERSION,
        )


def _induce_beside(judged: Judged, gate: Gate | None) -> Reflection | None:
    """What a playbook's bullets leave unexplained, explained."""
    proven = [b.condition for b in judged.bullets if b.proof == "proven" and b.condition]
    log_odds = log_odds_over(judged.table, judged.bullets)
    return induce_bullet(
        judged.transaction, judged.correct, judged.table, log_odds, _fields_of(proven), gate
    )


def _fields_of(rules: Iterable[Condition]) -> frozenset[str]:
    return frozenset(name for rule in rules for name in rule.fields)


def induce_bullet(
    transaction: Transaction,
    label: Verdict,
    table: CaseTable,
    log_odds: Numbers,
    known: frozenset[str],
    gate: Gate | None,
) -> Reflection | None:
    """The embedded reflector: the condition that best explains this case, where one is proven."""
    found = induce(read_fields(transaction), label, table, log_odds, known=known, gate=gate)
    if found is None:
        return None
    return Reflection(
        new_bullet=found.condition.render(),
        problem_types=problem_types(found.condition.fields),
        confidence=round(found.evidence.precision_low, 4),
        condition=found.condition.to_json(),
        author=NO_LANGUAGE_MODEL,
    )


def problem_types(fields: Iterable[str]) -> list[str]:
    """The kinds of problem that some fields are about.

    >>> problem_types(["country_changed", "amount"])
    ['location_fraud', 'amount_anomaly']
    """
    words = {word for name in fields for word in re.split(r"[^a-z]+", name.lower())}
    found = [kind for kind, about in _PROBLEMS.items() if words & set(about.split())]
    return found or ["pattern"]


def _with_rules(table: CaseTable, rules: Sequence[Condition]) -> Numbers:
    start = scorecard_over(table)
    if not rules:
        return start
    fired = np.array([rule.holds_over(table) for rule in rules])
    signs = np.array([1.0 if rule.verdict == DECLINE else -1.0 for rule in rules])
    return np.asarray(start + fit_weights(fired, signs, table.fraud, start) @ fired)


def _checked_condition(
    form: ReflectionForm, fields: Fields, correct: Verdict
) -> ConditionData | None:
    """A model's condition is believed only if it can be read, holds on the case it came from, and
    argues for the right answer there.
    """
    if form.condition is None:
        return None
    try:
        condition = Condition.from_json(form.condition.model_dump())
    except InvalidCondition:
        return None
    return condition.to_json() if condition.verdict == correct and condition.holds(fields) else None
