"""Stakes: how much each labelled case matters by the costs, when a set of rules is fitted.

Where most of the money is at stake a set of rules should be most exact (example-dependent costs:
Zadrozny, Langford and Abe 2003). The weight of a case depends on its amount alone and never on its
label, so the risks stay calibrated.
"""

from collections.abc import Iterable
from typing import Final

import numpy as np
from numpy.typing import NDArray

from acegraph.state.values import Bullet, CaseTable, CostMatrix, newest_set

COSTS: Final = "costs"
"""In the origin of a bullet: the costs by which its set of rules was fitted."""
_LEAST, _MOST = 0.2, 8.0
_HUGE: Final = 1e15


def stakes_over(table: CaseTable, costs: CostMatrix) -> NDArray[np.float64]:
    """How much each case of a table matters by the costs; 1 on average.

    A few large payments must not be all the evidence: the root is taken, and bounded.
    """
    stakes = np.minimum(costs.at_stake(amounts_over(table)), _HUGE)
    stakes = np.clip(np.sqrt(stakes / max(float(np.median(stakes)), 1e-12)), _LEAST, _MOST)
    return np.asarray(stakes / stakes.mean())


def costs_behind(bullets: Iterable[Bullet]) -> CostMatrix | None:
    """The costs by which the newest set of rules among these was fitted; None if by none."""
    newest = newest_set(bullets)
    costs = newest[0].origin.get(COSTS) if newest else None
    return CostMatrix.parse(costs) if isinstance(costs, str) and costs else None


def amounts_over(table: CaseTable) -> NDArray[np.float64]:
    """The amounts of the cases; not a number where there is none."""
    column = table.column(table.amount_name or "")
    return np.full(len(table), np.nan) if column is None else column.numbers
