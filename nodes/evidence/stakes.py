"""Stakes: how much each labelled case matters by the costs, when a set of rules is fitted.

Where most of the money is at stake a set of rules should be most exact (example-dependent costs:
Zadrozny, Langford and Abe 2003). The weight of a case depends on its amount alone and never on its
label, so the risks stay calibrated.

And beside a refined set the reflector searches for a rule when mistakes have cost enough: most
further rules are chance, and most mistakes cost little.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Final

import numpy as np
from numpy.typing import NDArray

from acegraph.nodes.evidence.residuals import Mask, Numbers
from acegraph.nodes.text.understand import read_fields
from acegraph.state.values import (
    DECLINE,
    Bullet,
    CaseTable,
    CostMatrix,
    is_number,
    newest_set,
    other,
)

if TYPE_CHECKING:
    from acegraph.state import BulletPlaybook
    from acegraph.state.run.lesson import Lesson

COSTS: Final = "costs"
"""In the origin of a bullet: the costs by which its set of rules was fitted."""
_LEAST, _MOST = 0.2, 8.0
_HUGE: Final = 1e15
_ENOUGH: Final = 4.0
"""Beside a refined set a rule is sought after so many missed frauds, or what costs as much."""


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


def prices_of(costs: CostMatrix, fraud: Mask, amounts: Numbers) -> Numbers:
    """What it costs to be wrong about cases."""
    of_honest = costs.break_even_over(amounts)
    return costs.at_stake(amounts) * np.where(fraud, 1 - of_honest, of_honest)


def cost_of_mistakes(lesson: Lesson, playbook: BulletPlaybook) -> float:
    """What the mistakes since the last search for a rule have cost, with the one of a lesson: in
    missed frauds of the usual amount, and 1 each where nobody says what they cost.
    """
    given, table = lesson.settings.get("costs"), playbook.cases(lesson.settings["node"])
    before, frauds = playbook.unsearched(lesson.settings["node"]), amounts_over(table)[table.fraud]
    if not given or not len(frauds) or lesson.decision != other(lesson.correct):
        return before + 1.0
    costs = CostMatrix.parse(given)
    amount = read_fields(lesson.transaction).get(table.amount_name or "")
    own = np.array([amount if is_number(amount) else np.nan])
    (cost,) = prices_of(costs, np.array([lesson.correct == DECLINE]), own)
    missed = float(np.median(prices_of(costs, np.ones(len(frauds), bool), frauds)))
    return round(before + float(cost) / (missed or 1.0), 4)


def not_yet(cost: float, bullets: Iterable[Bullet]) -> str:
    """How far it is to the next search for a rule beside these bullets; empty where it is due."""
    if cost >= _ENOUGH or not newest_set(bullets):
        return ""
    return f"not yet: mistakes since the last search cost {cost:.1f} of {_ENOUGH:g}"
