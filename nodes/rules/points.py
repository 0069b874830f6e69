"""What a rule is worth in points, and the log-odds that prior and rules give to labelled cases.

Points are whole numbers: their sum is the same in any order and on any engine, ties included.
"""

import math
from collections.abc import Iterable, Mapping
from typing import Final

import numpy as np
from numpy.typing import NDArray

from acegraph.state.task.card_payments import CARD_PAYMENTS
from acegraph.state.task.task import PriorRule
from acegraph.state.values import (
    MENTIONS,
    POINTS,
    Bullet,
    CaseTable,
    Columns,
    Condition,
    Scalar,
    is_number,
    sign_of,
)

NO_LANGUAGE_MODEL: Final = "embedded analyst: scorecard and checkable bullets, no language model"
UNFITTED_WEIGHT: Final = 2.0
"""The log-odds of a bullet without a fitted weight and without a record: enough to change the
decision on an ordinary case."""
UNIT: Final = 10_000
"""Points that make 1 of log-odds."""


def amount_of(fields: Mapping[str, Scalar], named: str | None) -> float | None:
    """The amount of a transaction, in the field that is one."""
    value = fields.get(named or "")
    return float(value) if is_number(value) else None


def prior_of(table: CaseTable) -> tuple[PriorRule, ...]:
    """The prior of the task that labelled cases have; the shipped one where they have none."""
    return table.task.prior if table.task else CARD_PAYMENTS.prior


def weight_of(bullet: Bullet) -> float:
    """What a bullet adds to the log-odds of fraud when it fires; negative for APPROVE.

    The weight is fitted on labelled cases if there are any. Otherwise it follows from the record of
    the bullet, so that an APPROVE bullet with a better record overrules a DECLINE bullet. A graded
    rule says itself what it adds; this is the most.
    """
    if bullet.weight is not None:
        return bullet.weight
    sign = sign_of(bullet.verdict)
    if bullet.condition and (graded := bullet.condition.graded) and graded.steps:
        return sign * graded.steps.most / POINTS
    helpful, harmful = bullet.helpful_count, bullet.harmful_count
    prior = math.exp(UNFITTED_WEIGHT)  # as if it had been helpful e^w times and harmful once
    strength = math.log((helpful + prior) / (harmful + 1.0))
    return sign * max(strength, 0.0)


def points_of(bullet: Bullet) -> int:
    """The weight of a bullet in points."""
    return round(weight_of(bullet) * UNIT)


def points_here(bullet: Bullet, fields: Mapping[str, Scalar]) -> int:
    """The points that a rule gives to a case."""
    condition = bullet.condition
    if condition and condition.graded:
        value, steps = fields.get(condition.graded.field), condition.graded.steps
        return int(sign_of(condition.verdict)) * (steps.of(value) if steps else 0) * UNIT // POINTS
    return points_of(bullet) if condition and condition.holds(fields) else 0


def graded_over(rules: Iterable[Condition], table: CaseTable) -> NDArray[np.float64]:
    """The log-odds that the graded ones among some rules add to every case."""
    log_odds = np.zeros(len(table))
    for rule in rules:
        if rule.graded:
            log_odds += sign_of(rule.verdict) * rule.graded.points_over(table) / POINTS
    return log_odds


def points_over(table: Columns, bullet: Bullet) -> NDArray[np.int64]:
    """The points that a rule gives to every case."""
    condition = bullet.condition
    if condition is None:
        return np.zeros(len(table), np.int64)
    if condition.graded:
        worth = int(sign_of(condition.verdict)) * (UNIT // POINTS)
        return worth * condition.graded.points_over(table)
    return np.asarray(points_of(bullet) * condition.holds_over(table))


def scorecard_over(table: CaseTable) -> NDArray[np.float64]:
    """The log-odds that the prior gives to every case of a table."""
    return prior_points(table, prior_of(table)) / UNIT


def start_over(table: CaseTable) -> NDArray[np.float64]:
    """The log-odds from which bullets start: the prior's, and what the agent made of it.

    A language model may depart from the playbook. What it gets wrong by that, rules must explain.
    """
    return scorecard_over(table) + table.departures


def log_odds_over(table: CaseTable, bullets: Iterable[Bullet]) -> NDArray[np.float64]:
    """The log-odds that prior, agent and bullets together give to every case of a table."""
    points = prior_points(table, prior_of(table))
    for bullet in bullets:
        points += points_over(table, bullet)
    return np.asarray(points / UNIT + table.departures)


def prior_points(table: Columns, prior: Iterable[PriorRule]) -> NDArray[np.int64]:
    """The points that a prior gives to every case."""
    points = np.full(len(table), 0)
    for rule in prior:
        points += rule.points * (True if rule.test is None else rule.test.holds_over(table))
    return points


def bullet_reason(bullet: Bullet, fields: Mapping[str, Scalar]) -> str:
    """A rule that holds, with the values that it tested and its weight."""
    assert bullet.condition is not None
    said: dict[str, str] = {}
    for test in bullet.condition.comparisons:
        if test.op != MENTIONS:  # what it mentions stands in the rule; the text may say anything
            said[test.field] = f"{test.field}={fields.get(test.field)}"
    values = ", ".join(said.values())
    name, weight = f"{bullet.id}: " if bullet.id else "", weight_of(bullet)
    if bullet.condition.graded:
        weight = points_here(bullet, fields) / UNIT
    return f"{name}{bullet.content} [{f'{values}; ' * bool(values)}{weight:+.2f}]"
