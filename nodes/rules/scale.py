"""The risk of a payment at the natural rate of fraud, and the risk from which on it is declined.

Bullets and scorecard add up to log-odds. They say how payments compare, not how frequent fraud is:
the labelled cases tell that. `RiskScale` shifts the log-odds so that the risks of the labelled
cases add up to their frauds. Then costs decide: a payment is declined where approving it would cost
more on average (Elkan 2001). docs/learning.md derives the rule that counts without costs.

Rules are found where fraud was seen, so a payment on which many of them hold looks surer than it
is: from a hundred frauds in 100,000 payments a sum of rules may promise a risk of 0.9 where one
payment in five is fraud. Cases that had no part in finding the rules tell (`HighestRisk`): log-odds
x mean the risk h / (1 + e^-x), so small risks stay as they are, and none is above h. Where no set
of rules was held out, as from a few frauds, no risk is above what ten labelled cases or more were
seen to have.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from operator import attrgetter
from typing import TYPE_CHECKING, Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from acegraph.nodes.rules.points import NO_LANGUAGE_MODEL, UNIT, amount_of, log_odds_over
from acegraph.state.run.schema import RunSettings
from acegraph.state.values import (
    Bullet,
    CaseTable,
    CostMatrix,
    Scalar,
    log_odds_of,
    newest_set,
    of_source,
    stepped,
)

if TYPE_CHECKING:
    from acegraph.nodes.evidence.residuals import Mask, Numbers

MOST_DECLINED_PER_FRAUD: Final = 10.0
"""Without costs a missed fraud counts as much as the honest payments that come to one fraud, but
never as more than ten of them."""
_AMOUNTS: Final = (1.0, 1e9)
"""From the least amount to the largest."""
TIE: Final = 1e-6
"""Of so little more than the limit of log-odds nothing follows: it is a tie."""
HIGHEST_RISK: Final = "highest_risk"
"""In the origin of a bullet: the highest risk that held-out cases bear out for its set of rules."""
_TRIED: Final = (1, 0.9, 0.8, 0.7, 0.6, 0.5, 0.4, 0.3, 0.25, 0.2, 0.15, 0.12, 0.1, 0.08, 0.06, 0.05)
_AS_WELL: Final = 0.5
"""A difference of log-likelihood within one standard error."""
_SUREST: Final = 0.98
"""Of so many labels some are wrong: one of them must not tell what all others are worth."""
_LEAST_LIFT: Final = 4.0
"""A highest risk is at least so many times the rate of fraud."""
RARE: Final = 0.2
"""Below this share of fraud payments are ranked by their risk."""
_RISKIEST: Final = 10
"""Of so many cases or more the share of fraud is looked at."""
_CACHED: Final = "risk_scale"


@dataclass(frozen=True)
class HighestRisk:
    """The highest risk of a set of rules where fraud has some rate."""

    risk: float = 1.0
    rate: float = 0.5
    cases: int = 0
    """How many labelled cases the set was found on."""

    def at(self, rate: float) -> float:
        """The same where fraud has another rate, by Bayes' rule.

        >>> HighestRisk(0.2, rate=0.001).at(0.001), HighestRisk().at(0.001)
        (0.2, 1.0)
        >>> round(HighestRisk(0.2, rate=0.001).at(0.01), 2)
        0.72
        """
        if self.risk >= 1:
            return 1.0
        log_odds = log_odds_of(self.risk) + log_odds_of(rate) - log_odds_of(self.rate)
        return round(1 / (1 + math.exp(-log_odds)), 12)

    @classmethod
    def of(cls, fraud: Mask, log_odds: Numbers, shares: Numbers, cases: int) -> HighestRisk:
        """What held-out cases bear out: the highest one that explains their labels about as well as
        the best. Where no risk is high, that is 1.
        """
        rate = float(np.average(fraud, weights=shares))
        tried = np.array([h for h in _TRIED if h == 1 or h >= _LEAST_LIFT * rate])
        likelihood = np.array([_log_likelihood(fraud, log_odds, shares, h) for h in tried])
        as_well = tried[likelihood >= likelihood.max() - _AS_WELL]
        return cls(float(as_well.max()), round(rate, 6), cases)

    @classmethod
    def seen(cls, fraud: Mask, log_odds: Numbers, shares: Numbers) -> HighestRisk:
        """What the labelled cases themselves bear out: of the riskiest, ten or more, the share of
        fraud at the lower end of its interval.
        """
        from acegraph.nodes.evidence.backtest import wilson_interval

        rate, ranked = float(np.average(fraud, weights=shares)), np.argsort(-log_odds)
        cases, frauds = np.cumsum(shares[ranked]), np.cumsum((shares * fraud)[ranked])
        levels = np.unique(log_odds[fraud])  # each of them with the cases that are as risky
        last = np.searchsorted(-log_odds[ranked], -levels, side="right") - 1
        low = [
            wilson_interval(float(frauds[i]), round(float(cases[i])))[0]
            for i in last[cases[last] >= _RISKIEST]
        ]
        return cls(min(max([_LEAST_LIFT * rate, *low]), 1.0), rate)

    @classmethod
    def behind(cls, bullets: Sequence[Bullet]) -> HighestRisk | None:
        """The one of the newest set of rules among these; None if no set was held out.

        A rule that somebody wrote, after it or without it, or that came of later cases, may know
        better: with it no risk is limited.
        """
        rules = [b for b in bullets if b.condition]
        is_found = [b.origin.get("author") == NO_LANGUAGE_MODEL and b.evidence for b in rules]
        refined = newest_set(bullets)
        if not refined:
            return None if all(is_found) else cls()
        given = refined[0].origin.get(HIGHEST_RISK)
        if not isinstance(given, Mapping):
            return cls()
        found, last = cls(**given), max(b.number for b in refined)
        is_of_same_cases = [
            found_itself and b.evidence.get("cases", math.inf) <= found.cases
            for b, found_itself in zip(rules, is_found, strict=True)
            if b.number > last
        ]
        return found if all(is_of_same_cases) else cls()


class _Found(NamedTuple):
    """What labelled cases say of the risks that bullets state."""

    shift: float
    share: float
    """The share of fraud."""
    highest: HighestRisk
    riskiest: int

    @classmethod
    def of(cls, table: CaseTable, bullets: Sequence[Bullet]) -> _Found | None:
        """What the cases tell; None where they are too few.

        In steps, so that it is not computed with every case; the same cases give the same scale.
        """
        size = stepped(len(table), digits=7)
        key = (size, tuple(map(attrgetter("id", "weight"), bullets)))
        cached = table.shared.get(_CACHED)
        if isinstance(cached, tuple) and cached[0] == key:
            return cls(*cached[1:])
        first = table.first(size)
        if not first.fraud.any():
            return None
        from acegraph.nodes.evidence.backtest import can_prove
        from acegraph.nodes.evidence.columns.entities import case_shares
        from acegraph.nodes.evidence.residuals import best_shift

        if not can_prove(first):
            return None
        newest = first.newest()
        shares = case_shares(newest) * newest.weights
        opinions = log_odds_over(newest, bullets) - newest.departures
        share = float(np.average(newest.fraud, weights=shares))
        highest = HighestRisk.behind(bullets)
        if highest is None and any(b.condition for b in bullets) and share < RARE:
            highest = HighestRisk.seen(newest.fraud, opinions, shares)
        highest = highest or HighestRisk()
        shift = best_shift(newest.fraud, opinions, shares, highest.at(share))
        found = cls(shift, share, highest, round(float(opinions.max()) * UNIT))
        table.shared[_CACHED] = (key, *found)
        return found


@dataclass(frozen=True)
class RiskScale:
    """How log-odds become a risk, and what the labelled cases say about the rate of fraud."""

    shift: float = 0.0
    """What is added to the log-odds of scorecard and bullets."""
    highest: float = 1.0
    """No risk is above it: labelled cases bear out no higher one."""
    base_rate: float = 0.5
    """The share of fraud."""
    costs: CostMatrix | None = None
    amount_name: str | None = None
    """The field of the amount, where the task has one."""
    riskiest: int | None = None
    """The points of the labelled case that has most; None where too few are known."""
    knows_rate: bool = True
    """Whether somebody said, or labelled cases tell, how frequent fraud is."""
    fixed: float | None = None
    """The risk above which is declined, if somebody said it."""

    @classmethod
    def of(
        cls,
        table: CaseTable,
        bullets: Sequence[Bullet],
        costs: CostMatrix | None = None,
        base_rate: float | None = None,
        fixed: float | None = None,
    ) -> RiskScale:
        """The scale on which these bullets fit the labelled cases.

        `base_rate` is the share of fraud among the payments to be decided, where the cases are a
        sample with another share.
        """
        if not (found := _Found.of(table, bullets)):
            amount = table.amount_name
            if base_rate is None:  # then no risk can be weighed against its costs
                return cls(amount_name=amount, knows_rate=False, fixed=fixed)
            shift = log_odds_of(base_rate)
            return cls(shift, 1.0, base_rate, costs, amount, fixed=fixed)
        shift, share, highest = found.shift, found.share, found.highest
        if base_rate:
            shift += log_odds_of(base_rate) - log_odds_of(share)
            shift += math.log(highest.at(share) / highest.at(base_rate))
            share = base_rate
        amount, riskiest = table.amount_name, found.riskiest
        return cls(shift, highest.at(share), share, costs, amount, riskiest, fixed=fixed)

    def risk(self, points: int) -> float:
        """The probability of fraud that belongs to points of scorecard and bullets."""
        return stated_risk(points / UNIT + self.shift, self.highest)

    def risks(self, log_odds: Numbers) -> Numbers:
        """The probabilities of fraud that belong to log-odds of scorecard and bullets."""
        from acegraph.nodes.evidence.residuals import sigmoid

        return self.highest * sigmoid(log_odds + self.shift)

    def amount(self, fields: Mapping[str, Scalar]) -> float | None:
        """The amount that the costs are a share of."""
        return amount_of(fields, self.amount_name)

    def decline_from(self, fields: Mapping[str, Scalar]) -> float:
        """The risk above which a payment is declined."""
        if self.fixed is not None:
            return self.fixed
        if self.costs is not None:
            return self.costs.break_even(self.amount(fields))
        odds = (1 - self.base_rate) / self.base_rate
        return 1 / (1 + min(max(odds, 1 / MOST_DECLINED_PER_FRAUD), MOST_DECLINED_PER_FRAUD))

    def in_words(self, fields: Mapping[str, Scalar]) -> str:
        """From which risk on a payment is declined, and why."""
        why = "by the costs" if self.costs else f"at a base rate of {self.base_rate:.2%}"
        if self.fixed is not None:
            why = "by the policy"
        elif not self.knows_rate:
            why = "as long as too few labels tell how frequent DECLINE is"
        limit = self.decline_from(fields)
        words = f"DECLINE above a risk of {limit:.2g}, {why}"
        if self.highest <= limit:
            words += f"; labelled cases bear out no risk above {self.highest:.2g}"
        return words

    def limit(self, fields: Mapping[str, Scalar]) -> int:
        """The points of scorecard and bullets above which a payment is declined."""
        # Of a payment like any other nothing is known that speaks for declining it: a tie.
        share = self.decline_from(fields) / self.highest
        return math.floor((log_odds_of(share) - self.shift + TIE) * UNIT)

    def limits_in_doubt(
        self, fields: Mapping[str, Scalar], doubts: Collection[str]
    ) -> tuple[int, int]:
        """The lowest and the highest limit that the fields in doubt allow."""
        limit = self.limit(fields)
        if not (self.costs and self.amount_name in doubts):
            return limit, limit
        return self.limits_of_all

    @cached_property
    def limits_of_all(self) -> tuple[int, int]:
        """The lowest and the highest limit of payments, by their amounts."""
        name = self.amount_name or ""
        limits = [self.limit({name: amount}) for amount in (None, *_AMOUNTS)]
        return min(limits), max(limits)

    @property
    def can_decline(self) -> bool:
        """Whether the riskiest labelled case would be declined; true where too few are known."""
        return self.riskiest is None or self.riskiest > self.limits_of_all[0]

    def declines(
        self, log_odds: NDArray[np.float64], fields: Mapping[str, Scalar]
    ) -> NDArray[np.bool_]:
        """Whether payments like these, with these log-odds, are declined."""
        return np.asarray(np.rint(log_odds * UNIT) > self.limit(fields))

    def limits(self, amounts: NDArray[np.float64]) -> NDArray[np.int64]:
        """The limits of payments with these amounts; NaN stands for none."""
        if self.costs is None:
            return np.full(len(amounts), self.limit({}))
        shares = np.clip(self.costs.break_even_over(amounts) / self.highest, 1e-9, 1 - 1e-9)
        limits = (np.log(shares / (1 - shares)) - self.shift + TIE) * UNIT
        return np.asarray(np.floor(limits).astype(np.int64))


def stated_risk(log_odds: float, highest: float = 1.0) -> float:
    """The probability of some log-odds, in four digits that count: where fraud is rare, a risk of
    0.00035 is not one of 0.0004. No risk is above the `highest`.

    >>> stated_risk(0.4), stated_risk(-8.0)
    (0.5987, 0.0003354)
    """
    return float(f"{highest / (1 + math.exp(-max(-30.0, min(30.0, log_odds)))):.4g}")


def _log_likelihood(fraud: Mask, log_odds: Numbers, shares: Numbers, highest: float) -> float:
    from acegraph.nodes.evidence.residuals import best_shift, sigmoid

    risks = highest * sigmoid(log_odds + best_shift(fraud, log_odds, shares, highest))
    risks = np.minimum(risks, _SUREST)
    return float(shares @ np.where(fraud, np.log(risks), np.log1p(-risks)))


def scale_for(bullets: Iterable[Bullet], cases: CaseTable, settings: RunSettings) -> RiskScale:
    """The scale of a run with these bullets; ledgers of old lack its costs and limits."""
    costs = settings.get("costs")
    return RiskScale.of(
        cases,
        of_source(bullets, settings["source"]),
        CostMatrix.parse(costs) if costs else None,
        settings.get("base_rate"),
        settings.get("limit"),
    )
