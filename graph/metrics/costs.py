"""Decisions in money: what outcomes cost, by a matrix that the caller sets."""

import math
from collections.abc import Sequence
from dataclasses import dataclass, fields, replace

import numpy as np
from numpy.typing import NDArray

from acegraph.graph.metrics.run import Run
from acegraph.state import InvalidSettings


@dataclass(frozen=True)
class CostMatrix:
    """What each outcome costs, as a share of what is at stake: the amount, or 1 without an amount.

    The defaults are those of `compare`; a duel has its own (graph/experiments/duel.py).
    """

    missed_fraud: float = 1.0
    false_decline: float = 0.1
    caught_fraud: float = 0.0
    approved_honest: float = 0.0

    @classmethod
    def parse(
        cls, text: str, default: "CostMatrix | None" = None, names: Sequence[str] = ()
    ) -> "CostMatrix":
        """Read `missed_fraud=1,false_decline=0.2`; a cost that is not named keeps its default.

        `names` are the costs that the text may name; without `names` it may name all four.

        >>> CostMatrix.parse("false_decline=0.3")
        CostMatrix(missed_fraud=1.0, false_decline=0.3, caught_fraud=0.0, approved_honest=0.0)
        """
        names = names or [f.name for f in fields(cls)]
        costs: dict[str, float] = {}
        for part in filter(None, text.replace(" ", "").split(",")):
            name, _, value = part.partition("=")
            try:
                costs[name] = float(value)
                if not math.isfinite(costs[name]):
                    raise ValueError
            except ValueError:
                raise InvalidSettings(f"a cost is NAME=NUMBER, not {part!r}") from None
            if name not in names:
                raise InvalidSettings(f"costs are of {', '.join(names)}, not of {name!r}")
        return replace(default or cls(), **costs)

    def shares(self, fraud: NDArray[np.bool_], declined: NDArray[np.bool_]) -> NDArray[np.float64]:
        """The cost of each decision, as a share of what is at stake in it."""
        return np.select(
            [fraud & ~declined, ~fraud & declined, fraud & declined],
            [self.missed_fraud, self.false_decline, self.caught_fraud],
            self.approved_honest,
        )


@dataclass(frozen=True)
class Money:
    """What the decisions of some runs came to in money."""

    value_caught: float
    """Share of the fraudulent amounts that was declined."""
    cost_per_case: float
    cost_if_all_approved: float
    """What approving everything would cost per case."""
    declined_per_fraud: float | None
    """Honest cases declined for each fraud caught; None where no fraud was caught."""


def money(runs: list[Run], costs: CostMatrix) -> Money:
    """The figures over all decided cases of several runs."""
    fraud = np.concatenate([run.fraud for run in runs])
    if not len(fraud):  # nothing was decided
        return Money(math.nan, math.nan, math.nan, None)
    declined = np.concatenate([run.declined for run in runs])
    amounts = np.concatenate([run.values for run in runs])
    nothing_declined = np.zeros(len(fraud), bool)
    caught, at_stake = float(amounts[fraud & declined].sum()), float(amounts[fraud].sum())
    caught_cases = int((fraud & declined).sum())
    return Money(
        value_caught=caught / at_stake if at_stake else 0.0,
        cost_per_case=float(np.mean(costs.shares(fraud, declined) * amounts)),
        cost_if_all_approved=float(np.mean(costs.shares(fraud, nothing_declined) * amounts)),
        declined_per_fraud=int((~fraud & declined).sum()) / caught_cases if caught_cases else None,
    )
