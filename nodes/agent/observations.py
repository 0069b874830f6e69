"""What a language model reads in a text beyond the transaction's fields, as fields of the case.

An observation is a stranger's word: whoever writes the text may try to talk the model into one. So
it counts only under a gate, it is marked by its name (`observed.urgency`), and a rule over it must
be proven on other cases. Even then it can only raise risk, never turn a decline into an approval.
"""

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Final

from acegraph.nodes.agent.decision import Decision
from acegraph.nodes.evidence.residuals import log_odds_of
from acegraph.nodes.rules.points import weight_of
from acegraph.nodes.rules.scale import RiskScale, stated_risk
from acegraph.nodes.text.category_words import is_category, is_field_name
from acegraph.state import DECLINE, Bullet
from acegraph.state.run.model_forms import ObservationForm
from acegraph.state.values.transaction import OBSERVED, Fields, Scalar, is_observed

_SHORTEST_QUOTE: Final = 3
_NAME: Final = re.compile(r"[a-z]+(?:_[a-z]+){0,3}")


def observed_fields(
    observations: Sequence[ObservationForm], text: str, fields: Mapping[str, Scalar]
) -> Fields:
    """The observations that pass the gate, as fields under marked names.

    The name is plain, has no digits and is no field that was given; the quote is in the text; the
    value is a flag, a number that the quote states, or a category without digits.

    >>> form = ObservationForm(name="urgency", value=True, quote="pay  NOW")
    >>> observed_fields([form], "Please pay now", {"amount": 20})
    {'observed.urgency': True}
    >>> observed_fields([form], "Please pay later", {})
    {}
    """
    observed: Fields = {}
    for one in observations:
        name, quote = OBSERVED + one.name, _folded(one.quote)
        is_new = one.name not in fields and name not in fields
        is_quoted = len(quote) >= _SHORTEST_QUOTE and quote in _folded(text)
        if is_new and is_quoted and _is_name(one.name) and _is_typed(one.value, quote):
            observed.setdefault(name, one.value)
    return observed


def with_observed_rules(
    decision: Decision, rules: Iterable[Bullet], fields: Mapping[str, Scalar], scale: RiskScale
) -> tuple[Decision, list[Bullet]]:
    """The decision after the proven rules over what its model observed, and those that hold.

    They add their weights to the model's own risk; rules that lower risk do not act here.
    """
    known = {**fields, **decision.observed}
    fired = [
        b
        for b in rules
        if b.condition
        and b.condition.verdict == DECLINE
        and b.proof == "proven"
        and any(name in decision.observed for name in b.condition.fields)
        and b.condition.holds(known)
    ]
    if not fired or decision.risk_score is None:
        return decision, []
    raised = sum(max(weight_of(b), 0.0) for b in fired)
    risk = stated_risk(log_odds_of(decision.risk_score) + raised)
    declines = decision.decision == DECLINE or risk > scale.decline_from(fields)
    reasons = (*decision.reasons, *(f"{b.id}: {b.content} [{weight_of(b):+.2f}]" for b in fired))
    verdict = DECLINE if declines else decision.decision
    return replace(decision, decision=verdict, risk_score=risk, reasons=reasons), fired


def rules_over_observations(rules: Iterable[Bullet]) -> list[Bullet]:
    """The rules that test something only a reader sees."""
    return [b for b in rules if b.condition and any(map(is_observed, b.condition.fields))]


def _is_name(name: str) -> bool:
    return _NAME.fullmatch(name) is not None and is_field_name(name)


def _is_typed(value: str | bool | float, quote: str) -> bool:
    """Whether a value is of a kind that a rule can test, and nobody's identifier."""
    if isinstance(value, bool):
        return True
    if isinstance(value, str):
        return is_category(value) and not any(c.isdigit() for c in value)
    return f"{value:.6g}" in quote.replace(",", "")


def _folded(text: str) -> str:
    return " ".join(text.casefold().split())
