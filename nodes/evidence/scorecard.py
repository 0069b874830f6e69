"""The fixed scorecard, and the log-odds that scorecard and bullets give to the cases of a table.

nodes/agent/analyst.py uses both to decide a single case.
"""

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

from acegraph.nodes.text.currencies import AMOUNT_NAMES, amount_fields
from acegraph.nodes.text.field_contract import read_flag, read_number
from acegraph.state import DECLINE, Bullet, CaseTable, Comparison, Scalar

NO_LANGUAGE_MODEL: Final = "embedded analyst: scorecard and checkable bullets, no language model"
UNFITTED_WEIGHT: Final = 2.0
"""The log-odds of a bullet without a fitted weight and without a record: enough to change the
decision on an ordinary case."""
START: Final = -0.8
"""The log-odds of a payment of which nothing else is known."""


@dataclass(frozen=True)
class ScorecardLine:
    """One line of the scorecard: a test, and what it adds to the log-odds of fraud if it holds."""

    test: Comparison
    points: float


_ALIASES: Final[dict[str, tuple[str, ...]]] = {
    "amount": AMOUNT_NAMES[1:],
    "hour": ("hour_of_day", "time.hour", "timestamp.hour", "datetime.hour", "date.hour"),
    "tx_last_hour": ("velocity_1h", "transactions_last_hour"),
    "distance_km": ("distance", "distance_from_home"),
}
"""Other names under which the scorecard finds its fields."""
SCORECARD: Final = (
    ScorecardLine(Comparison("amount", ">=", 500), 0.5),
    ScorecardLine(Comparison("amount", ">=", 2000), 0.4),
    ScorecardLine(Comparison("amount_ratio", ">=", 4), 0.4),
    ScorecardLine(Comparison("hour", "<", 6), 0.4),
    ScorecardLine(Comparison("account_age_days", "<", 30), 0.8),
    ScorecardLine(Comparison("new_account", "is", True), 0.6),
    ScorecardLine(Comparison("vpn", "is", True), 0.6),
    ScorecardLine(Comparison("new_device", "is", True), 0.6),
    ScorecardLine(Comparison("country_changed", "is", True), 0.7),
    ScorecardLine(Comparison("address_mismatch", "is", True), 0.4),
    ScorecardLine(Comparison("failed_check", "is", True), 0.8),
    ScorecardLine(Comparison("disposable_email", "is", True), 0.7),
    ScorecardLine(Comparison("tx_last_hour", ">=", 6), 0.6),
    ScorecardLine(Comparison("failed_attempts", ">=", 3), 0.6),
    ScorecardLine(Comparison("past_disputes", ">=", 1), 0.6),
    ScorecardLine(Comparison("merchant_rating", "<", 2.5), 0.6),
    ScorecardLine(Comparison("distance_km", ">=", 1000), 0.3),
    ScorecardLine(Comparison("merchant_category", "is", "crypto"), 0.4),
    ScorecardLine(Comparison("merchant_category", "is", "gift_cards"), 0.4),
    ScorecardLine(Comparison("merchant_category", "is", "money_transfer"), 0.4),
    ScorecardLine(Comparison("verified", "is", True), -0.5),
    ScorecardLine(Comparison("travel_notice", "is", True), -0.4),
    ScorecardLine(Comparison("recurring", "is", True), -0.5),
    ScorecardLine(Comparison("account_age_days", ">=", 1000), -0.3),
)


SCORECARD_FIELDS: Final = frozenset(
    name for line in SCORECARD for name in (line.test.field, *_ALIASES.get(line.test.field, ()))
)
"""Every name under which the scorecard finds a field."""


def amount_of(fields: Mapping[str, Scalar], named: str | None = None) -> float | None:
    """The amount of a transaction, under the name given for it or whatever name means it."""
    for name in amount_fields(tuple(fields), named):
        value = fields[name]
        if isinstance(value, int | float) and not isinstance(value, bool):
            return float(value)
    return None


def unreadable(fields: Mapping[str, Scalar]) -> dict[str, str]:
    """The fields of the scorecard that are not of their kind, and why."""
    doubts = {}
    for line in SCORECARD:
        name = resolved(line.test, fields).field
        value = fields.get(name)
        if value is None:
            continue
        if line.test.op in ("<", ">=") and read_number(value) is None:
            doubts[name] = "is not a number"
        elif isinstance(line.test.value, bool) and read_flag(value) is None:
            doubts[name] = "is neither yes nor no"
    return doubts


def weight_of(bullet: Bullet) -> float:
    """What a bullet adds to the log-odds of fraud when it fires; negative for APPROVE.

    The weight is fitted on labelled cases if there are any. Otherwise it follows from the record of
    the bullet, so that an APPROVE bullet with a better record overrules a DECLINE bullet.
    """
    if bullet.weight is not None:
        return bullet.weight
    sign = 1.0 if bullet.verdict == DECLINE else -1.0
    helpful, harmful = bullet.helpful_count, bullet.harmful_count
    prior = math.exp(UNFITTED_WEIGHT)  # as if it had been helpful e^w times and harmful once
    strength = math.log((helpful + prior) / (harmful + 1.0))
    return sign * max(strength, 0.0)


def scorecard_over(table: CaseTable) -> NDArray[np.float64]:
    """The log-odds that the scorecard gives to every case of a table."""
    score = np.full(len(table), START)
    names = dict.fromkeys(table.field_names)
    for line in SCORECARD:
        score += line.points * resolved(line.test, names).holds_over(table)
    return score


def start_over(table: CaseTable) -> NDArray[np.float64]:
    """The log-odds from which bullets start: the scorecard's, and what the agent made of it.

    A language model may depart from the playbook. What it gets wrong by that, rules must explain.
    """
    return scorecard_over(table) + table.departures


def log_odds_over(table: CaseTable, bullets: Iterable[Bullet]) -> NDArray[np.float64]:
    """The log-odds that scorecard, agent and bullets together give to every case of a table."""
    log_odds = start_over(table)
    for bullet in bullets:
        if bullet.condition is not None:
            log_odds += weight_of(bullet) * bullet.condition.holds_over(table)
    return log_odds


def resolved(test: Comparison, fields: Mapping[str, object]) -> Comparison:
    """The test, with the alias under which its field is present."""
    if test.field in fields:
        return test
    alias = next((name for name in _ALIASES.get(test.field, ()) if name in fields), None)
    return Comparison(alias, test.op, test.value) if alias else test
