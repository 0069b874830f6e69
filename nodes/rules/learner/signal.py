"""The signal check: one test over all fields together of whether there is anything to learn.

From fifty cases hardly any rule is better than what a search finds by chance. Few cases answer a
simpler question: do the fields tell the labels apart at all? If many fields do so a little, cases
with similar fields have similar residuals (what the playbook leaves unexplained); similarity counts
single fields or pairs (the score test of a kernel machine: Liu, Lin and Ghosh 2007). If one field
does so, one literal stands out. Simulated labels, drawn as if the playbook were the whole truth,
show how much of this is chance; the best of the three tests counts, for them too.
"""

from collections.abc import Sequence
from typing import Final

import numpy as np

from acegraph.nodes.evidence.columns.entities import case_shares
from acegraph.nodes.evidence.residuals import (
    Numbers,
    rescaled_log_odds,
    residuals,
    simulated_residuals,
)
from acegraph.nodes.rules.learner.literals import Literals, Singles
from acegraph.nodes.rules.learner.search import Rows
from acegraph.nodes.runtime.blas import one_blas_thread
from acegraph.state.values import CaseTable

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
"""A literal stands out by chance if it holds, or does not hold, for fewer than about four."""


def rows_of(table: CaseTable, log_odds: Numbers) -> Rows:
    """The cases of a table for a search, to which the playbook already gives these log-odds."""
    shares = case_shares(table)
    kept = table.shared.get("literals")
    if not isinstance(kept, Literals) or kept.masks.shape[1] != len(table):
        kept = table.shared["literals"] = Literals.of(table, shares)
    return Rows(kept, table.fraud, log_odds, shares)


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
        first = rows_of(table.first(len(log_odds)), log_odds)
        kept = table.shared["chance of no signal"] = (log_odds.copy(), chance_of_no_signal(first))
    return float(kept[1])


@one_blas_thread
def chance_of_no_signal(rows: Rows) -> float:
    """The chance that labels without a cause would look as patterned as these."""
    newest = rows.part(np.arange(len(rows.fraud)) >= len(rows.fraud) - _NEWEST)
    fraud, shares = newest.fraud, newest.shares
    if fraud.all() or not fraud.any():
        return 1.0
    # A score that is too extreme as a whole, as on random labels, is no pattern in the fields.
    log_odds = rescaled_log_odds(fraud, newest.start, shares)
    rng = np.random.default_rng(len(fraud))  # the same cases always give the same answer
    drawn = simulated_residuals(fraud, log_odds, _DRAWS, rng, shares)
    rests = np.vstack([residuals(fraud, log_odds, shares).gradient, drawn]).astype(np.float32)
    literals = newest.literals.some(newest.literals.narrow.nonzero()[0].tolist())
    coded = literals.numbers - literals.numbers.mean(axis=1, keepdims=True)
    similarity = _similarity(coded, literals.fields)
    found = [_agreement(_centred(kernel), rests) for kernel in (similarity, similarity**2)]
    best = np.minimum.reduce([_chances(by_rest) for by_rest in (*found, _strongest(coded, rests))])
    return float(np.mean(best <= best[0]))


def _similarity(coded: Singles, fields: Sequence[str]) -> Singles:
    """How similar each pair of cases is; every field counts the same."""
    names, number = np.unique(fields, return_inverse=True)
    spread = np.bincount(number, (coded**2).mean(axis=1), minlength=len(names))
    scaled = coded / np.sqrt(np.maximum(spread[number], 1e-12) * len(names))[:, None]
    return np.asarray(scaled.T @ scaled, np.float32)


def _centred(kernel: Singles) -> Singles:
    mean = kernel.mean(axis=0)
    centred = kernel - mean - mean[:, None] + mean.mean()
    np.fill_diagonal(centred, 0.0)  # the similarity of a case to itself says nothing
    return np.asarray(centred)


def _agreement(kernel: Singles, rests: Singles) -> Numbers:
    """For each row of residuals how much similar cases agree."""
    return np.asarray(np.einsum("ij,ij->i", rests @ kernel, rests))


def _strongest(coded: Singles, rests: Singles) -> Numbers:
    """For each row of residuals how much the literal stands out that tells them apart best."""
    spread = (coded**2).sum(axis=1)
    is_told = spread >= _LEAST_SPREAD
    units = coded[is_told] / np.sqrt(spread[is_told])[:, None]
    return np.asarray(np.abs(rests @ units.T).max(axis=1, initial=0.0))


def _chances(found: Numbers) -> Numbers:
    """For each number the share of all that are at least as large."""
    ordered = np.sort(found)
    return np.asarray((len(ordered) - np.searchsorted(ordered, found)) / len(ordered))
