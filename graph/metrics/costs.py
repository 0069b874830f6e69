"""Decisions in money: what mistakes cost by a matrix that the caller sets."""

import math
from collections.abc import Sequence
from dataclasses import dataclass, fields

import numpy as np

from acegraph.graph.metrics.run import Run
from acegraph.state import InvalidSettings


@dataclass(frozen=True)
class CostMatrix:
    """What each outcome costs, as a share of the amount (of 1 where no amount is known)."""

    missed_fraud: float = 1.0
    false_decline: float = 0.1
    caught_fraud: float = 0.0
    approved_honest: float = 0.0

    @classmethod
    def parse(cls, text: str) -> "CostMatrix":
        """Read `missed_fraud=1,false_decline=0.2`; what is not named keeps its default.

        >>> CostMatrix.parse("false_decline=0.3").false_decline
        0.3
        """
        return cls(**parse_prices(text, [f.name for f in fields(cls)]))


def parse_prices(text: str, names: Sequence[str]) -> dict[str, float]:
    """Read `NAME=NUMBER,...`, each name one of these."""
    given: dict[str, float] = {}
    for part in filter(None, text.replace(" ", "").split(",")):
        name, _, value = part.partition("=")
        try:
            given[name] = float(value)
            if not math.isfinite(given[name]):
                raise ValueError
        except ValueError:
            raise InvalidSettings(f"a cost is NAME=NUMBER, not {part!r}") from None
        if name not in names:
            raise InvalidSettings(f"costs are of {', '.join(names)}, not of {name!r}")
    return given


@dataclass(frozen=True)
class Money:
    """What decisions came to."""

    value_caught: float
    """Share of the fraudulent amounts that was declined."""
    cost_per_case: float
    cost_if_all_approved: float
    """Per case too: what doing nothing would cost."""
    declined_per_fraud: float | None
    """Good customers declined for each fraud caught; None where none was caught."""


def money(runs: list[Run], matrix: CostMatrix) -> Money:
    """The figures over all cases of several runs."""
    fraud = np.concatenate([run.fraud for run in runs])
    if not len(fraud):  # nothing was decided
        return Money(math.nan, math.nan, math.nan, None)
    declined = np.concatenate([run.declined for run in runs])
    amounts = np.concatenate([run.values for run in runs])
    shares = np.select(
        [fraud & ~declined, ~fraud & declined, fraud & declined],
        [matrix.missed_fraud, matrix.false_decline, matrix.caught_fraud],
        matrix.approved_honest,
    )
    approved = np.where(fraud, matrix.missed_fraud, matrix.approved_honest)
    caught, at_stake = float(amounts[fraud & declined].sum()), float(amounts[fraud].sum())
    caught_cases = int((fraud & declined).sum())
    return Money(
        value_caught=caught / at_stake if at_stake else 0.0,
        cost_per_case=float(np.mean(shares * amounts)),
        cost_if_all_approved=float(np.mean(approved * amounts)),
        declined_per_fraud=int((~fraud & declined).sum()) / caught_cases if caught_cases else None,
    )
