"""The fixed scorecard, and the log-odds that scorecard and bullets give to the cases of a table.

nodes/agent/analyst.py uses both to decide a single case.
"""

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Final

import numpy as np
from numpy.typing import NDArray

from acegraph.nodes.text.currencies import amount_fields
from acegraph.nodes.text.field_patterns import OTHER_NAMES
from acegraph.state import Bullet
from acegraph.state.values.cases import CaseTable
from acegraph.state.values.condition import Comparison
from acegraph.state.values.notation import is_number
from acegraph.state.values.transaction import Scalar
from acegraph.state.values.verdict import sign_of

NO_LANGUAGE_MODEL: Final = "embedded analyst: scorecard and checkable bullets, no language model"
UNFITTED_WEIGHT: Final = 2.0
"""The log-odds of a bullet without a fitted weight and without a record: enough to change the
decision on an ordinary case."""
UNIT: Final = 10_000
"""Points that make 1 of log-odds. Points are whole numbers: their sum is the same in any order and
on any engine, ties included."""
START: Final = -8000
"""The points of a payment of which nothing else is known."""


@dataclass(frozen=True)
class ScorecardLine:
    """One line of the scorecard: a test, and the points that it adds if it holds."""

    test: Comparison
    points: int


SCORECARD: Final = (
    ScorecardLine(Comparison("amount", ">=", 500), 5000),
    ScorecardLine(Comparison("amount", ">=", 2000), 4000),
    ScorecardLine(Comparison("amount_ratio", ">=", 4), 4000),
    ScorecardLine(Comparison("hour", "<", 6), 4000),
    ScorecardLine(Comparison("account_age_days", "<", 30), 8000),
    ScorecardLine(Comparison("new_account", "is", True), 6000),
    ScorecardLine(Comparison("vpn", "is", True), 6000),
    ScorecardLine(Comparison("new_device", "is", True), 6000),
    ScorecardLine(Comparison("country_changed", "is", True), 7000),
    ScorecardLine(Comparison("address_mismatch", "is", True), 4000),
    ScorecardLine(Comparison("failed_check", "is", True), 8000),
    ScorecardLine(Comparison("disposable_email", "is", True), 7000),
    ScorecardLine(Comparison("tx_last_hour", ">=", 6), 6000),
    ScorecardLine(Comparison("failed_attempts", ">=", 3), 6000),
    ScorecardLine(Comparison("past_disputes", ">=", 1), 6000),
    ScorecardLine(Comparison("merchant_rating", "<", 2.5), 6000),
    ScorecardLine(Comparison("distance_km", ">=", 1000), 3000),
    ScorecardLine(Comparison("merchant_category", "is", "crypto"), 4000),
    ScorecardLine(Comparison("merchant_category", "is", "gift_cards"), 4000),
    ScorecardLine(Comparison("merchant_category", "is", "money_transfer"), 4000),
    ScorecardLine(Comparison("verified", "is", True), -5000),
    ScorecardLine(Comparison("travel_notice", "is", True), -4000),
    ScorecardLine(Comparison("recurring", "is", True), -5000),
    ScorecardLine(Comparison("account_age_days", ">=", 1000), -3000),
)


def scorecard_on(fields: Mapping[str, Scalar]) -> tuple[int, list[str]]:
    """The points of the scorecard for a transaction, and the tests that hold on it, in words."""
    holding = [line for line in _lines_on(tuple(fields)) if line[0].holds(fields)]
    return START + sum(points for _, points, _ in holding), [words for _, _, words in holding]


@lru_cache(maxsize=256)  # payments of one system have the same fields
def _lines_on(names: tuple[str, ...]) -> tuple[tuple[Comparison, int, str], ...]:
    """The tests of fields that are among these names, their points, and the tests in words."""
    given = dict.fromkeys(names)
    tests = ((resolved(line.test, given), line.points) for line in SCORECARD)
    return tuple((test, points, test.render()) for test, points in tests if test.field in given)


def names_of(test: Comparison) -> tuple[str, ...]:
    """The names under which a test of the scorecard looks for its field, in their order."""
    return (test.field, *OTHER_NAMES.get(test.field, ()))


SCORECARD_FIELDS: Final = frozenset(name for line in SCORECARD for name in names_of(line.test))
"""Every name under which the scorecard finds a field."""


def amount_of(fields: Mapping[str, Scalar], named: str | None = None) -> float | None:
    """The amount of a transaction, under the name given for it or whatever name means it."""
    for name in amount_fields(tuple(fields), named):
        value = fields[name]
        if is_number(value):
            return float(value)
    return None


def weight_of(bullet: Bullet) -> float:
    """What a bullet adds to the log-odds of fraud when it fires; negative for APPROVE.

    The weight is fitted on labelled cases if there are any. Otherwise it follows from the record of
    the bullet, so that an APPROVE bullet with a better record overrules a DECLINE bullet.
    """
    if bullet.weight is not None:
        return bullet.weight
    sign = sign_of(bullet.verdict)
    helpful, harmful = bullet.helpful_count, bullet.harmful_count
    prior = math.exp(UNFITTED_WEIGHT)  # as if it had been helpful e^w times and harmful once
    strength = math.log((helpful + prior) / (harmful + 1.0))
    return sign * max(strength, 0.0)


def points_of(bullet: Bullet) -> int:
    """The weight of a bullet in points."""
    return round(weight_of(bullet) * UNIT)


def scorecard_over(table: CaseTable) -> NDArray[np.float64]:
    """The log-odds that the scorecard gives to every case of a table."""
    return _scorecard_points(table) / UNIT


def start_over(table: CaseTable) -> NDArray[np.float64]:
    """The log-odds from which bullets start: the scorecard's, and what the agent made of it.

    A language model may depart from the playbook. What it gets wrong by that, rules must explain.
    """
    return scorecard_over(table) + table.departures


def log_odds_over(table: CaseTable, bullets: Iterable[Bullet]) -> NDArray[np.float64]:
    """The log-odds that scorecard, agent and bullets together give to every case of a table."""
    points = _scorecard_points(table)
    for bullet in bullets:
        if bullet.condition is not None:
            points += points_of(bullet) * bullet.condition.holds_over(table)
    return np.asarray(points / UNIT + table.departures)


def _scorecard_points(table: CaseTable) -> NDArray[np.int64]:
    points = np.full(len(table), START)
    names = dict.fromkeys(table.field_names)
    for line in SCORECARD:
        points += line.points * resolved(line.test, names).holds_over(table)
    return points


def resolved(test: Comparison, fields: Mapping[str, object]) -> Comparison:
    """The test, with the alias under which its field is present."""
    if test.field in fields:
        return test
    name = next((name for name in OTHER_NAMES.get(test.field, ()) if name in fields), None)
    return test if name is None else Comparison(name, test.op, test.value)
