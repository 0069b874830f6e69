"""Fields that look like a leak: they may be known only after the right answer was.

The data tell, no name does: a field is suspected if it is filled for one label only, if it tells
the labels apart almost alone, if its values mark fraud and nothing else, or if its dates lie after
the payment. A strong honest field leaves some cases on the wrong side; a copy does not.
"""

from collections.abc import Mapping, Sequence
from typing import Final

import numpy as np
from numpy.typing import NDArray

from acegraph.graph.data.files import Dataset, time_of
from acegraph.nodes.evidence.backtest import wilson_interval
from acegraph.nodes.evidence.columns.learnable_fields import MAX_CATEGORIES
from acegraph.state.values import DECLINE, is_derived, is_number

Mask = NDArray[np.bool_]
ENOUGH: Final = 20
"""So many rows of each label are needed before a field is suspected."""
_LOOKED_AT: Final = 10_000
"""So many rows of each label are looked at."""
_BY_CHANCE: Final = 14
"""Of so many expected rows none is missing by chance once in a million times."""
_COPY: Final = 0.93
"""Share of fraud found minus share of honest payments hit, from which a field is too good."""
_SURELY: Final = 0.75
_PURE: Final = 0.5
_PARTS: Final = 20
"""Numbers are looked at in so many parts of equally many rows."""


def find_leaks(dataset: Dataset) -> dict[str, str] | None:
    """The fields that look like a leak, each with the reason; those to keep are not looked at.
    None where too few rows have one of the labels; texts have no leaks.
    """
    fraud = np.array([item["answer"] == DECLINE for item in dataset.items])
    rng = np.random.default_rng(0)
    chosen = [rng.permutation(np.flatnonzero(mask))[:_LOOKED_AT] for mask in (fraud, ~fraud)]
    items = [dataset.items[i] for i in np.sort(np.concatenate(chosen))]
    rows = [item["query"] for item in items if isinstance(item["query"], Mapping)]
    fraud = np.array([item["answer"] == DECLINE for item in items])
    if len(rows) < len(fraud):
        return {}
    if min(fraud.sum(), (~fraud).sum()) < ENOUGH:
        return None
    names = dict.fromkeys(str(name) for row in rows for name in row)
    moments = [item.get("time") for item in items]
    dates = {one.field.name for one in dataset.guesses if one.field.kind == "time"}
    leaks = {}
    for name in names:
        # Derived fields come from earlier payments only.
        if name in dataset.layout.declared or name == dataset.time or is_derived(name):
            continue
        # What is nested in JSON is not looked at.
        values = [v if isinstance(v := row.get(name), str | int | float) else None for row in rows]
        tells = _after_the_payment(values, moments) if name in dates else _tells(values, fraud)
        if reason := _filled_for_one_label(values, fraud) or tells:
            leaks[name] = reason
    return leaks


def _filled_for_one_label(values: Sequence[object], fraud: Mask) -> str:
    known = np.array([value is not None for value in values])
    filled = int(known.sum())
    if filled == len(known) or filled < ENOUGH:
        return ""
    for label, mask, least in (("fraud", fraud, 0.2), ("honest", ~fraud, 0.5)):
        inside, outside = int((known & mask).sum()), int((known & ~mask).sum())
        expected = filled * (~mask).mean()  # rows of the other label, if filling went by chance
        is_one_sided = expected > _BY_CHANCE and outside <= 0.02 * expected
        if is_one_sided and inside >= least * mask.sum():
            return f"filled only where the label is {label}"
    return ""


def _after_the_payment(values: Sequence[object], times: Sequence[str | None]) -> str:
    pairs = [(time_of(v), time) for v, time in zip(values, times, strict=True) if v and time]
    later = [moment > time for moment, time in pairs if moment and time]
    is_later = len(later) >= ENOUGH and np.mean(later) > 0.95
    return "its dates lie after the payment" if is_later else ""


def _tells(values: Sequence[object], fraud: Mask) -> str:
    """Why a field tells the labels apart too well, if it does."""
    codes = _codes(values)
    if codes is None:
        return ""
    guess = _guessed(codes, fraud)
    frauds, honest = int(fraud.sum()), int((~fraud).sum())
    found, hit = int((guess & fraud).sum()), int((guess & ~fraud).sum())
    surely = wilson_interval(found, frauds)[0] - wilson_interval(hit, honest)[1]
    if found / frauds - hit / honest >= _COPY and surely >= _SURELY:
        right = (found + honest - hit) / len(fraud)
        return f"alone it tells the labels apart in {100 * right:.0f} % of the rows"
    if found >= _PURE * frauds and hit <= found / 500 and honest >= 200:
        return f"its values mark {100 * found / frauds:.0f} % of the fraud and nothing else"
    return ""


def _codes(values: Sequence[object]) -> NDArray[np.int64] | None:
    """A code for each value, or for a part of many numbers; None if the words are hardly more than
    names.
    """
    numbers = np.array([float(v) if is_number(v) else np.nan for v in values])
    known = ~np.isnan(numbers)
    if 2 * known.sum() > sum(value is not None for value in values):
        cuts = np.unique(np.quantile(numbers[known], np.linspace(0, 1, _PARTS + 1)))
        return np.where(known, 1 + cuts.searchsorted(numbers), 0)
    numbered: dict[tuple[bool, object], int] = {}
    codes = [numbered.setdefault((isinstance(v, bool), v), len(numbered)) for v in values]
    return np.array(codes) if len(numbered) <= MAX_CATEGORIES else None


def _guessed(codes: NDArray[np.int64], fraud: Mask) -> Mask:
    """For each row whether its code is one of fraud, judged by the other half of the rows."""
    guess = np.zeros(len(fraud), dtype=bool)
    half = np.random.default_rng(0).permutation(len(fraud)) < len(fraud) // 2
    for learned in (half, ~half):
        seen = np.bincount(codes[learned], minlength=codes.max() + 1)
        frauds = np.bincount(codes[learned & fraud], minlength=codes.max() + 1)
        risky = frauds > fraud[learned].mean() * seen
        guess[~learned] = risky[codes[~learned]]
    return guess
