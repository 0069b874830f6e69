"""Decisions in money: what outcomes cost, by a matrix that the caller sets."""

import math
from dataclasses import dataclass

import numpy as np

from acegraph.graph.metrics.run import Run
from acegraph.state.run.costs import CostMatrix


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
        cost_per_case=float(np.mean(costs.of(fraud, declined, amounts))),
        cost_if_all_approved=float(np.mean(costs.of(fraud, nothing_declined, amounts))),
        declined_per_fraud=int((~fraud & declined).sum()) / caught_cases if caught_cases else None,
    )
