"""What keeps a payment from being approved: something that was not understood.

A decision to approve stands only if nothing that is in doubt could have changed it. Doubts come
from nodes/text/field_contract.py.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Final

from acegraph.nodes.agent.analyst import analyse
from acegraph.nodes.rules.points import (
    SCORECARD,
    SCORECARD_FIELDS,
    START,
    points_of,
    resolved,
    weight_of,
)
from acegraph.nodes.rules.scale import RiskScale
from acegraph.nodes.text.currencies import amount_fields
from acegraph.nodes.text.field_contract import date_of_part
from acegraph.nodes.text.reader import read_exposed_fields
from acegraph.state import DECLINE, Bullet, Condition
from acegraph.state.run.schema import CaseData, DoubtData
from acegraph.state.values.memos import SENTENCE
from acegraph.state.values.transaction import Scalar

_NAMED: Final = 8
"""So many doubts and rules are named in a reason."""


def unasked_rules(
    fields: Mapping[str, Scalar], doubts: Sequence[DoubtData], rules: Sequence[Bullet]
) -> list[Bullet]:
    """The rules that a field in doubt keeps from being tested, and that may hold."""
    if not doubts:
        return []
    in_doubt = {doubt["field"] for doubt in doubts}
    certain = {name: value for name, value in fields.items() if name not in in_doubt}
    return [b for b in rules if b.condition and _may_hold(b.condition, certain, in_doubt)]


def reason_not_to_approve(
    case: CaseData,
    doubts: Sequence[DoubtData],
    rules: Sequence[Bullet],
    scale: RiskScale,
    *,
    is_embedded: bool,
) -> str:
    """Why a payment that the agent would approve is not approved; empty where nothing speaks
    against it.

    `rules` are all active bullets. The scorecard and the reader decide only for the embedded
    analyst: a language model reads the transaction itself.
    """
    fields = case["fields"]
    if is_embedded and not case["given_fields"]:
        exposed = {**read_exposed_fields(case["text"]), SENTENCE: case["text"]}
        alone = replace(scale, unshown=())  # they are among the rules
        if exposed != fields and analyse(exposed, rules, alone).decision == DECLINE:
            return "a memo, a quotation or another amount hides what would have declined it"
    if not doubts:
        return ""
    unasked = [b for b in unasked_rules(fields, doubts, rules) if weight_of(b) > 0]
    if not is_embedded:
        return describe(doubts, unasked) if unasked else ""
    if any(doubt["field"] == "transaction" for doubt in doubts):
        return describe(doubts, [])
    if scale.can_decline:
        is_safe = _most_points(fields, doubts, rules) <= _lowest_limit(fields, doubts, scale)
    else:  # nothing declines any payment: that nothing declines this one does not make it safe
        is_safe = not telling_fields((doubt["field"] for doubt in doubts), rules, scale)
    return "" if is_safe else describe(doubts, unasked)


def telling_fields(names: Iterable[str], rules: Sequence[Bullet], scale: RiskScale) -> set[str]:
    """Those of the fields that could raise the risk of a payment, and those of its amount."""
    names = tuple(names)
    raising = [b.condition for b in rules if b.condition and weight_of(b) > 0]
    tested = SCORECARD_FIELDS.union(*(condition.fields for condition in raising))
    return {*tested.intersection(names), *amount_fields(names, scale.amount_name)}


def _lowest_limit(
    fields: Mapping[str, Scalar], doubts: Sequence[DoubtData], scale: RiskScale
) -> int:
    """The fewest points above which the payment could be declined."""
    in_doubt = tuple(doubt["field"] for doubt in doubts)
    is_amount_in_doubt = scale.costs and amount_fields(in_doubt, scale.amount_name)
    limit = scale.limit(fields)
    return min(limit, scale.lowest_limit) if is_amount_in_doubt else limit


def describe(doubts: Sequence[DoubtData], unasked: Sequence[Bullet]) -> str:
    """The doubts in words, and the rules that could not be tested."""
    in_doubt = {doubt["field"] for doubt in doubts}
    named = [doubt for doubt in doubts if date_of_part(doubt["field"]) not in in_doubt]
    alike: dict[str, list[str]] = {}
    for doubt in named[:_NAMED]:
        alike.setdefault(doubt["why"], []).append(doubt["field"])
    whole = "; ".join(f"{', '.join(fields)} {why}" for why, fields in alike.items())
    if len(named) > _NAMED:
        whole += f"; and {len(named) - _NAMED} more"
    names = ", ".join(bullet.id for bullet in unasked[:_NAMED])
    return f"not understood: {whole}" + (f" (could not be tested: {names})" if names else "")


def _most_points(
    fields: Mapping[str, Scalar], doubts: Sequence[DoubtData], rules: Sequence[Bullet]
) -> int:
    """The most points that values for the fields in doubt could give.

    Bullets that lower risk do not count: which of them are shown depends on all fields.
    """
    in_doubt = {doubt["field"] for doubt in doubts}
    certain = {name: value for name, value in fields.items() if name not in in_doubt}
    points = START
    for line in SCORECARD:
        test = resolved(line.test, dict.fromkeys([*certain, *in_doubt]))
        if test.field in in_doubt:
            points += max(line.points, 0)
        elif test.holds(certain):
            points += line.points
    for bullet in rules:
        condition = bullet.condition
        if condition and (condition.holds(certain) or _may_hold(condition, certain, in_doubt)):
            points += max(points_of(bullet), 0)
    return points


def _may_hold(condition: Condition, certain: Mapping[str, Scalar], in_doubt: set[str]) -> bool:
    """Whether a condition tests a field in doubt, and no certain field speaks against it."""
    if in_doubt.isdisjoint(condition.fields):
        return False
    return all(c.field in in_doubt or c.holds(certain) is True for c in condition.comparisons)
