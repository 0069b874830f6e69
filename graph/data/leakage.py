"""Fields that look like a leak: they may be known only after the right answer was.

A field is suspected if it is filled for one label only, if it tells the labels apart almost alone,
if it is named like an outcome and goes along with one, or if its dates lie after the payment. A
strong honest field leaves some cases on the wrong side; a copy of the label does not. Each test
counts its errors on rows that it was not made from, and needs enough rows of both labels.
"""

import math
import re
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Final

import numpy as np
from numpy.typing import NDArray

from acegraph.graph.data.files import Dataset, time_of
from acegraph.nodes.evidence.backtest import wilson_interval
from acegraph.nodes.evidence.columns.learnable_fields import MAX_CATEGORIES
from acegraph.state import APPROVE, DECLINE
from acegraph.state.values.notation import is_number
from acegraph.state.values.transaction import is_derived

Mask = NDArray[np.bool_]
ENOUGH: Final = 20
"""So many rows of each label are needed before a field is suspected."""
_LOOKED_AT: Final = 10_000
"""So many rows of each label are looked at."""
_BY_CHANCE: Final = 14
"""Of so many expected rows none is missing by chance once in a million times."""
_COPY_OF_WORDS: Final = 0.92
_COPY_OF_NUMBERS: Final = 0.94
"""Share of fraud found minus share of honest payments hit, from which a field is too good: words
and flags of an honest field rarely come near it, the tail of a strong measure may."""
_SURELY: Final = 0.75
_NAMED: Final = 0.3
_PURE: Final = 0.5
_FEW_NUMBERS: Final = 12
_OFTEN: Final = 0.3
_OUTCOME: Final = frozenset(
    "chargeback chargebacks dispute disputed refund refunded reversal reversed investigation "
    "investigated confirmed reported resolution resolved outcome verdict label recovered recovery "
    "writeoff loss fraud fraudulent flagged review reviewed decision action alert blocked "
    "betrug rueckbuchung".split()
)
_HISTORY: Final = frozenset(
    "previous prior past last history historical count num number rate ratio avg mean days d h "
    "before since score risk per ever".split()
)
"""With one of these words a name speaks of what was known before: `past_disputes`."""
_LATER: Final = frozenset(
    "expiry expiration expires expire valid until due end delivery departure arrival".split()
)
"""Dates that may lie after a payment and be known before it."""


def has_enough(dataset: Dataset) -> bool:
    """Whether there are enough rows of each label to find leaks; texts have none."""
    counts = Counter(item["answer"] for item in dataset.items)
    is_texts = any(isinstance(item["query"], str) for item in dataset.items)
    return is_texts or min(counts[APPROVE], counts[DECLINE]) >= ENOUGH


def find_leaks(dataset: Dataset) -> dict[str, str]:
    """The fields that look like a leak, each with the reason; those to keep are not looked at."""
    fraud = np.array([item["answer"] == DECLINE for item in dataset.items])
    rng = np.random.default_rng(0)
    chosen = [rng.permutation(np.flatnonzero(mask))[:_LOOKED_AT] for mask in (fraud, ~fraud)]
    items = [dataset.items[i] for i in np.sort(np.concatenate(chosen))]
    rows = [item["query"] for item in items if isinstance(item["query"], Mapping)]
    fraud = np.array([item["answer"] == DECLINE for item in items])
    if len(rows) < len(fraud) or min(fraud.sum(), (~fraud).sum()) < ENOUGH:
        return {}
    names = dict.fromkeys(str(name) for row in rows for name in row)
    moments = [item.get("time") for item in items]
    times = {one.field.name for one in dataset.guesses if one.field.kind == "time"}
    leaks = {}
    for name in names:
        given = [row.get(name) for row in rows]
        # What is nested in JSON is not looked at.
        values = [value if isinstance(value, str | int | float) else None for value in given]
        # Derived fields come from earlier payments only.
        if name in dataset.declared or name == dataset.time or is_derived(name):
            continue
        is_dated = name in times
        reason = _filled_for_one_label(values, fraud) or (
            _after_the_payment(name, values, moments)
            if is_dated
            else _tells_too_much(name, values, fraud)
        )
        if reason:
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


def _after_the_payment(name: str, values: Sequence[object], times: Sequence[str | None]) -> str:
    if _LATER & _words_of(name):
        return ""
    pairs = [(time_of(v), time) for v, time in zip(values, times, strict=True) if v and time]
    later = [moment > time for moment, time in pairs if moment and time]
    if len(later) >= ENOUGH and np.mean(later) > 0.95:
        return "its dates lie after the payment"
    return ""


def _tells_too_much(name: str, values: Sequence[object], fraud: Mask) -> str:
    """Why a field tells the labels apart too well, if it does."""
    numbers = list(filter(is_number, values))
    is_numeric = 2 * len(numbers) > sum(value is not None for value in values)
    guesses = []
    if is_numeric:
        guesses.append((_by_threshold(values, fraud), _COPY_OF_NUMBERS))
        [(usual, count)] = Counter(numbers).most_common(1)
        if count > _OFTEN * len(values):  # a loss is 0 unless there was fraud
            guesses.append((_by_value([v == usual for v in values], fraud), _COPY_OF_WORDS))
    # Of very many words, each is hardly more than a name.
    if len(set(map(str, values))) <= (_FEW_NUMBERS if is_numeric else MAX_CATEGORIES):
        guesses.append((_by_value(values, fraud), _COPY_OF_WORDS))
    frauds, honest = int(fraud.sum()), int((~fraud).sum())
    for guess, too_good in guesses:
        found, hit = int((guess & fraud).sum()), int((guess & ~fraud).sum())
        caught, declined = found / frauds, hit / honest
        surely = wilson_interval(found, frauds)[0] - wilson_interval(hit, honest)[1]
        if caught - declined >= too_good and surely >= _SURELY:
            right = (found + honest - hit) / len(fraud)
            return f"alone it tells the labels apart in {_percent(right)} of the rows"
        is_pure = caught >= _PURE and hit <= found / 500 and honest >= 200
        if is_pure and too_good == _COPY_OF_WORDS:
            return f"its values mark {_percent(caught)} of the fraud and nothing else"
        words = _words_of(name)
        is_outcome = bool(words & _OUTCOME) and not words & _HISTORY
        if is_outcome and caught >= _NAMED and declined <= caught / 10:
            return "it is named like an outcome and goes along with the label"
    return ""


def _by_value(values: Sequence[object], fraud: Mask) -> Mask:
    """For each row whether its value is one of fraud, judged by the other half of the rows."""
    numbered: dict[tuple[bool, object], int] = {}
    codes = np.array([numbered.setdefault((isinstance(v, bool), v), len(numbered)) for v in values])
    guess = np.zeros(len(fraud), dtype=bool)
    for learned in _halves(len(fraud)):
        seen = np.bincount(codes[learned], minlength=len(numbered))
        frauds = np.bincount(codes[learned & fraud], minlength=len(numbered))
        risky = frauds > fraud[learned].mean() * seen
        guess[~learned] = risky[codes[~learned]]
    return guess


def _by_threshold(values: Sequence[object], fraud: Mask) -> Mask:
    """For each row whether its number is on the side of fraud, judged by the other half."""
    numbers = np.array([_number(value) for value in values])
    known = ~np.isnan(numbers)
    guess = np.zeros(len(fraud), dtype=bool)
    for learned in _halves(len(fraud)):
        rows = learned & known
        order = np.argsort(numbers[rows], kind="stable")
        sorted_numbers, labels = numbers[rows][order], fraud[rows][order]
        if not 0 < labels.sum() < len(labels):
            continue
        excess = np.cumsum(~labels) / (~labels).sum() - np.cumsum(labels) / labels.sum()
        ends = np.append(sorted_numbers[1:] > sorted_numbers[:-1], False)  # cut between two values
        best = int(np.argmax(np.abs(np.where(ends, excess, 0.0))))
        cut = sorted_numbers[best]
        above = numbers > cut if excess[best] > 0 else numbers <= cut
        missing = learned & ~known
        is_risky = missing.any() and fraud[missing].mean() > fraud[learned].mean()
        guess[~learned] = np.where(known, above, is_risky)[~learned]
    return guess


def _halves(n: int) -> tuple[Mask, Mask]:
    first = np.random.default_rng(0).permutation(n) < n // 2
    return first, ~first


def _number(value: object) -> float:
    return float(value) if isinstance(value, int | float) else math.nan


def _percent(share: float) -> str:
    return f"{100 * share:.0f} %"


def _words_of(name: str) -> set[str]:
    """The words of a column's name: a hint, never more."""
    return set(re.findall(r"[a-z]+", re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "_", name).lower()))
