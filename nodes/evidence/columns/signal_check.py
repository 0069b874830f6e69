"""The signal check: one test over all fields together of whether there is anything to learn.

From fifty cases hardly any rule is better than what a search finds by chance. Few cases answer a
simpler question: do the fields tell the labels apart at all? If many fields do so a little, cases
with similar fields have similar residuals (what the playbook leaves unexplained); similarity counts
single fields or pairs (the score test of a kernel machine: Liu, Lin and Ghosh 2007). If one field
does so, one comparison stands out. Simulated labels, drawn as if the playbook were the whole truth,
show how much of this is chance; the best of the three tests counts, for them too.
"""

import math
from collections.abc import Sequence
from typing import Final

import numpy as np
from numpy.typing import NDArray

from acegraph.nodes.evidence.columns.cut_points import Grid, grid_of, marked
from acegraph.nodes.evidence.columns.entities import case_shares
from acegraph.nodes.evidence.residuals import (
    Numbers,
    rescaled_log_odds,
    residuals,
    simulated_residuals,
)
from acegraph.nodes.runtime.blas import one_blas_thread
from acegraph.state.values.cases import CaseTable

Singles = NDArray[np.float32]

_DRAWS: Final = 399
_FINEST: Final = 1 / (_DRAWS + 1)
"""The smallest probability that this test can give."""
_TOO_FEW: Final = 40
_FEW: Final = 50
"""With fewer cases than `_TOO_FEW` there is no check; beyond `_FEW` it gets stricter."""
_STEP: Final = 1.5
_IN_A_STREAM: Final = 0.4
"""This part of the chance the first look at a stream has, because others come after it."""
_NEWEST: Final = 250
"""How many of the newest cases are tested: with more, rules prove themselves."""
_LEAST_SPREAD: Final = 4.0
"""A comparison stands out by chance if it holds, or does not hold, for fewer than about four."""


def has_signal(table: CaseTable, log_odds: Numbers, chance: float) -> bool:
    """Whether the fields tell apart what the log-odds leave unexplained, however often it is asked.

    Cases that come all at once are tested once, with the whole `chance`. If labels come one by one,
    the first 40, 60, 90 ... of them are tested. Between these sizes the answer stays the same, so
    it is one look at each size, with its part of the chance.
    """
    if len(table) < _TOO_FEW:
        return False
    size, looks = float(_TOO_FEW), 1
    if table.times_grown > 1:
        while size * _STEP <= len(table):
            size, looks = size * _STEP, looks + 1
        log_odds, chance = log_odds[: int(size)], _IN_A_STREAM * chance
    allowed = chance * min(1 / looks, _FEW / len(log_odds), 1.0)
    return allowed >= _FINEST and _kept_chance(table, log_odds) <= allowed


def _kept_chance(table: CaseTable, log_odds: Numbers) -> float:
    """The chance of no signal in the first cases; every mistake asks until a rule is learned."""
    kept = table.shared.get("chance of no signal")
    if not isinstance(kept, tuple) or not np.array_equal(kept[0], log_odds):
        first = table.first(len(log_odds))
        kept = (log_odds.copy(), chance_of_no_signal(first, grid_of(first), log_odds))
        table.shared["chance of no signal"] = kept
    return float(kept[1])


@one_blas_thread
def chance_of_no_signal(table: CaseTable, grid: Grid, log_odds: Numbers) -> float:
    """The probability that chance alone explains the residuals that the log-odds leave."""
    table, log_odds = table.since(max(len(table) - _NEWEST, 0)), log_odds[-_NEWEST:]
    if table.fraud.all() or not table.fraud.any():
        return 1.0
    # A score that is too extreme as a whole, as on random labels, is no pattern in the fields.
    shares = case_shares(table)
    log_odds = rescaled_log_odds(table.fraud, log_odds, shares)
    rng = np.random.default_rng(len(table))  # the same cases always give the same answer
    drawn = simulated_residuals(table.fraud, log_odds, _DRAWS, rng, shares)
    rests = np.vstack([residuals(table.fraud, log_odds, shares).gradient, drawn]).astype(np.float32)
    coded = _coded_fields(table, grid)
    similarity = _similarity(coded)
    found = [_agreement(_centred(kernel), rests) for kernel in (similarity, similarity**2)]
    best = np.minimum.reduce([_chances(by_rest) for by_rest in (*found, _strongest(coded, rests))])
    return float(np.mean(best <= best[0]))


def _coded_fields(table: CaseTable, grid: Grid) -> list[Singles]:
    """For each field its comparisons, as numbers by case whose mean is 0."""
    fields = []
    for name, marks in grid.items():
        column = table.column(name)
        assert column is not None
        if column.is_numeric:
            masks = [column.numbers >= mark for mark in marks if isinstance(mark, int | float)]
        else:
            masks = [marked(name, mark, table) for mark in marks]
        coded = np.array(masks, np.float32).reshape(len(masks), len(table))
        fields.append(coded - coded.mean(axis=1, keepdims=True))
    return fields or [np.zeros((1, len(table)), np.float32)]


def _similarity(fields: Sequence[Singles]) -> Singles:
    """How similar each pair of cases is; every field counts the same."""
    spreads = [float((coded**2).mean(axis=1).sum()) for coded in fields]
    scaled = [
        coded / np.float32(math.sqrt(spread * len(fields)))
        for coded, spread in zip(fields, spreads, strict=True)
        if spread > 0
    ]
    together = np.vstack(scaled or [np.zeros_like(fields[0])])
    return np.asarray(together.T @ together)


def _centred(kernel: Singles) -> Singles:
    mean = kernel.mean(axis=0)
    centred = kernel - mean - mean[:, None] + mean.mean()
    np.fill_diagonal(centred, 0.0)  # the similarity of a case to itself says nothing
    return np.asarray(centred)


def _agreement(kernel: Singles, rests: Singles) -> Numbers:
    """For each row of residuals how much similar cases agree."""
    return np.asarray(np.einsum("ij,ij->i", rests @ kernel, rests))


def _strongest(fields: Sequence[Singles], rests: Singles) -> Numbers:
    """For each row of residuals how much the comparison stands out that tells them apart best."""
    coded = np.vstack(fields)
    spread = (coded**2).sum(axis=1)
    is_told = spread >= _LEAST_SPREAD
    units = coded[is_told] / np.sqrt(spread[is_told])[:, None]
    return np.asarray(np.abs(rests @ units.T).max(axis=1, initial=0.0))


def _chances(found: Numbers) -> Numbers:
    """For each number the share of all that are at least as large."""
    ordered = np.sort(found)
    return np.asarray((len(ordered) - np.searchsorted(ordered, found)) / len(ordered))
