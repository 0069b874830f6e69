"""False declines and missed fraud by group of customers."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Final

import numpy as np
from numpy.typing import NDArray

from acegraph.graph.metrics.intervals import Estimate, of_share, row_numbers, share_of_rows
from acegraph.graph.metrics.run import Run
from acegraph.state.values import Scalar, is_number

_GROUPS: Final = 8
"""The most groups of a field; what is rarer is one group, `other`."""
_BANDS: Final = 4
"""Numbers of more values than this are cut into so many bands of about the same size."""


@dataclass(frozen=True)
class GroupRates:
    """How one group of customers fared. A row that several seeds tested counts once."""

    group: str
    honest: int
    """Honest payments of the group."""
    false_decline_rate: Estimate
    """The share of them that was declined, with its Wilson interval."""
    fraud: int
    missed_fraud_rate: Estimate

    def to_json(self) -> dict[str, object]:
        """The figures for machines."""
        rates = {"false_decline_rate": self.false_decline_rate.to_json()}
        return {**vars(self), **rates, "missed_fraud_rate": self.missed_fraud_rate.to_json()}


def rates_by_group(
    runs: Sequence[Run], values: Sequence[Sequence[Scalar | None]]
) -> list[GroupRates]:
    """The rates of each group of a field, whose values are given by run and case."""
    rows, run = np.concatenate(row_numbers(runs)[0]), Run.together(runs)
    groups: list[GroupRates] = []
    for name, inside in groups_of([value for of_run in values for value in of_run]).items():
        false, honest = share_of_rows(rows, run.declined, inside & ~run.fraud)
        missed, frauds = share_of_rows(rows, ~run.declined, inside & run.fraud)
        rates = of_share(false, honest), frauds, of_share(missed, frauds)
        groups.append(GroupRates(name, honest, *rates))
    return groups


def groups_of(values: Sequence[Scalar | None]) -> dict[str, NDArray[np.bool_]]:
    """Which of the values are in which group: a band of numbers, a frequent value, or `other`.

    >>> {name: inside.nonzero()[0].tolist() for name, inside in groups_of(["F", None, "F"]).items()}
    {'F': [0, 2], 'missing': [1]}
    >>> list(groups_of([18, 25, 31, 40, 47, 52, 66, 71]))
    ['under 29.5', '29.5 to 43.5', '43.5 to 55.5', '55.5 and over']
    """
    numbers = [value for value in values if is_number(value)]
    bands, edges = [], np.empty(0)
    if len(set(numbers)) > _BANDS:
        quantiles = np.quantile(np.array(numbers, float), np.arange(1, _BANDS) / _BANDS)
        edges = np.unique([float(f"{edge:.4g}") for edge in quantiles])
        bands = [f"under {edges[0]:g}", *(f"{a:g} to {b:g}" for a, b in pairwise(edges))]
        bands.append(f"{edges[-1]:g} and over")
    names = [
        bands[np.searchsorted(edges, value, "right")]
        if bands and is_number(value)
        else _word(value)
        for value in values
    ]
    frequent = [name for name, _ in Counter(names).most_common() if name not in bands]
    order = [*bands, *frequent[:_GROUPS]]
    together = np.array([name if name in order else "other" for name in names])
    return {name: together == name for name in dict.fromkeys((*order, "other")) if name in together}


def _word(value: Scalar | None) -> str:
    if value is None or isinstance(value, bool):
        return {None: "missing", True: "yes", False: "no"}[value]
    return f"{value:g}" if isinstance(value, float) else str(value)
