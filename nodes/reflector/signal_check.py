"""Whether there is anything to learn: one test over all fields together.

A rule found by a search has to stand against all the rules that the search could have found, which
from fifty cases hardly any rule can. Whether the fields tell the labels apart at all is a single
question, and few cases answer it: cases that are alike in their fields should then be alike in what
the playbook leaves unexplained of them. How alike chance makes them is found by trying: labels are
drawn as if the playbook told the whole truth. Likeness is counted field by field, and in pairs of
fields (the score test of a kernel machine: Liu, Lin and Ghosh 2007).
"""

import math
from typing import Final

import numpy as np
from numpy.typing import NDArray

from acegraph.nodes.evidence.cut_points import Grid
from acegraph.nodes.evidence.residuals import (
    Numbers,
    rescaled_log_odds,
    residuals,
    simulated_residuals,
)
from acegraph.nodes.runtime.blas import one_blas_thread
from acegraph.state import CaseTable

Singles = NDArray[np.float32]


_DRAWS: Final = 399
FINEST: Final = 1 / (_DRAWS + 1)
"""The least chance that this can tell."""
_NEWEST: Final = 250
"""More cases than these need no such test: their rules prove themselves."""


@one_blas_thread
def chance_of_no_signal(table: CaseTable, grid: Grid, log_odds: Numbers) -> float:
    """How likely it is that the log-odds are the whole truth about these cases, and what they leave
    unexplained is chance.
    """
    table, log_odds = table.since(max(len(table) - _NEWEST, 0)), log_odds[-_NEWEST:]
    if table.fraud.all() or not table.fraud.any():
        return 1.0
    # Where the score as a whole says too much, as any does of labels dealt out at random, that is
    # no pattern in the fields.
    log_odds = rescaled_log_odds(table.fraud, log_odds)
    rng = np.random.default_rng(len(table))  # the same answer whenever it is asked
    drawn = simulated_residuals(table.fraud, log_odds, _DRAWS, rng)
    rests = np.vstack([residuals(table.fraud, log_odds).gradient, drawn]).astype(np.float32)
    alike = _likeness(table, grid)
    chances = [_chances(_centred(kernel), rests) for kernel in (alike, alike**2)]
    best = np.minimum(*chances)  # two questions are asked, of what was drawn too
    return float(np.mean(best <= best[0]))


def _likeness(table: CaseTable, grid: Grid) -> Singles:
    """How alike each two cases are; every field has the same say."""
    sides = []
    for name, marks in grid.items():
        column = table.column(name)
        assert column is not None
        if column.is_numeric:
            own = [column.numbers >= mark for mark in marks if isinstance(mark, int | float)]
        else:
            own = [column.equals(mark) for mark in marks]
        coded = np.array(own, np.float32).reshape(len(own), len(table))
        coded -= coded.mean(axis=1, keepdims=True)
        spread = float((coded**2).mean(axis=1).sum())
        if spread > 0:
            sides.append(coded / np.float32(math.sqrt(spread * len(grid))))
    together = np.vstack(sides) if sides else np.zeros((1, len(table)), np.float32)
    return np.asarray(together.T @ together)


def _centred(kernel: Singles) -> Singles:
    mean = kernel.mean(axis=0)
    own = kernel - mean - mean[:, None] + mean.mean()
    np.fill_diagonal(own, 0.0)  # that a case is like itself says nothing
    return np.asarray(own)


def _chances(kernel: Singles, rests: Singles) -> Numbers:
    """For each row the share of rows in which cases that look alike are as alike or more."""
    agreement = np.einsum("ij,ij->i", rests @ kernel, rests)
    ordered = np.sort(agreement)
    as_much = len(ordered) - np.searchsorted(ordered, agreement)
    return np.asarray(as_much / len(ordered))
