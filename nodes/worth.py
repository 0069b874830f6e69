"""What active bullets are worth by the labelled cases of today, and which earn their place."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Final

import numpy as np
from numpy.typing import NDArray

from acegraph.nodes.analyst import scorecard_over, weight_of
from acegraph.nodes.evidence import Mask, Numbers, chance, fit_weights, marginal_gain
from acegraph.state import DECLINE, Bullet, CaseTable

_FIRES_TO_FIT: Final = 3
_FIRES_TO_RETIRE: Final = 10
_FIRES_TO_TELL: Final = 30
_LIKELY_CHANCE: Final = 0.2


def fired_over(bullets: Sequence[Bullet], table: CaseTable) -> NDArray[np.bool_]:
    """Which of the checkable bullets fires on which case: a row for each bullet."""
    return np.array([b.condition.holds_over(table) for b in bullets if b.condition])


def fitted_weights(table: CaseTable, bullets: Sequence[Bullet]) -> list[float | None]:
    """The weights of checkable bullets that fit the labelled cases best."""
    return weights_of(bullets, fired_over(bullets, table), table, scorecard_over(table))


def weights_of(
    bullets: Sequence[Bullet], fired: NDArray[np.bool_], table: CaseTable, start: Numbers
) -> list[float | None]:
    """The same, where it is known what fires and what the scorecard says.

    None for a bullet that hardly fires: no cases are no evidence against it.
    """
    tells = fired.sum(axis=1) >= _FIRES_TO_FIT
    fitted = [b for b, told in zip(bullets, tells, strict=True) if told]
    for bullet, own, told in zip(bullets, fired, tells, strict=True):
        if not told:
            start = start + weight_of(replace(bullet, weight=None)) * own
    signs = np.array([1.0 if b.verdict == DECLINE else -1.0 for b in fitted])
    guess = np.array([b.weight or 0.0 for b in fitted])
    found = iter(fit_weights(fired[tells], signs, table.fraud, start, guess) if fitted else ())
    return [round(float(next(found)), 4) if told else None for told in tells]


def worn_out(bullet: Bullet, fired: Mask, table: CaseTable, log_odds: Numbers) -> str:
    """Why a bullet no longer earns its place, or nothing."""
    weight = weight_of(bullet)
    wanted = table.fraud if bullet.verdict == DECLINE else ~table.fraud
    fires, right, total = int(fired.sum()), int((fired & wanted).sum()), int(wanted.sum())
    if fires < _FIRES_TO_RETIRE:
        return ""
    record = f"right on {right} of {fires} labelled cases"
    if right * len(table) <= total * fires:
        return f"{record}: no better than chance"
    if weight == 0:
        return f"no weight left: on its {fires} labelled cases the other bullets say it all"
    if fires >= _FIRES_TO_TELL and chance(right, fires, total, len(table)) > _LIKELY_CHANCE:
        # An exception may be right no more often than chance and still mend what others say.
        brings = marginal_gain(fired, table.fraud, log_odds - weight * fired)
        if brings * (1 if bullet.verdict == DECLINE else -1) < 1:
            return f"{record}: hardly better than chance, and the others do without it"
    return ""
