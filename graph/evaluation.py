"""Measures of decisions: rates, intervals, paired tests. Plain numbers in and out.

Undecided cases are counted and left out of the rates: a failure is not a score. River's order holds
for whoever fills a `Run`: predict, score, then learn.
"""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Final

import numpy as np
from numpy.typing import NDArray

from acegraph.graph import ranking
from acegraph.state import DECLINE

_BOOTSTRAPS: Final = 2000
_AT_ONCE: Final = 1_000_000
"""Weights that memory holds together."""
_RANKING_BOOTSTRAPS: Final = 100


@dataclass(frozen=True)
class Estimate:
    """A figure with its 95 % interval."""

    mean: float
    low: float
    high: float

    def to_json(self) -> dict[str, float | None]:
        """Rounded for reading; None where there is no such figure."""
        return {name: rounded(value) for name, value in vars(self).items()}


def rounded(figure: float) -> float | None:
    """A figure as JSON holds it."""
    return None if math.isnan(figure) else round(figure, 4)


@dataclass
class Run:
    """The decisions of one mode on one stream, in order."""

    truths: list[str] = field(default_factory=list)
    decisions: list[str] = field(default_factory=list)
    risks: list[float | None] = field(default_factory=list)
    amounts: list[float | None] = field(default_factory=list)
    """What was at stake in each case, where that is known."""
    rows: list[str] = field(default_factory=list)
    """Which row of the data each case is: several seeds may test the same one. Without names each
    case is its own."""

    def add(self, truth: str, decision: str, risk: float | None, row: str | None = None) -> None:
        """One more decision; with a row each has to have one."""
        self.truths.append(truth)
        self.decisions.append(decision)
        self.risks.append(risk)
        if row is not None:
            self.rows.append(row)

    def second_half(self) -> "Run":
        """What came after the middle of the stream."""
        start = len(self.truths) // 2
        return Run(
            self.truths[start:],
            self.decisions[start:],
            self.risks[start:],
            self.amounts[start:],
            self.rows[start:],
        )

    @property
    def fraud(self) -> NDArray[np.bool_]:
        """Where the right answer is DECLINE, among the decided cases."""
        return np.asarray(np.array(self.truths)[self.is_decided] == DECLINE)

    @property
    def declined(self) -> NDArray[np.bool_]:
        """Where the decision was DECLINE, among the decided cases."""
        return np.asarray(np.array(self.decisions)[self.is_decided] == DECLINE)

    @property
    def scores(self) -> NDArray[np.float64]:
        """Risk scores of the decided cases; a decision without one counts as 0 or 1."""
        given = [
            (1.0 if d == DECLINE else 0.0) if r is None else r
            for d, r in zip(self.decisions, self.risks, strict=True)
        ]
        return np.array(given)[self.is_decided]

    @property
    def values(self) -> NDArray[np.float64]:
        """What was at stake in the decided cases: the amount, or 1 where none is known."""
        amounts = self.amounts or [None] * len(self.truths)
        return np.array([1.0 if a is None else a for a in amounts])[self.is_decided]

    @property
    def right(self) -> NDArray[np.bool_]:
        """Case by case: was it right? An undecided case was not."""
        return np.asarray(np.array(self.truths) == np.array(self.decisions))

    @property
    def undecided_rate(self) -> float:
        """Share of cases without a decision."""
        return 1 - float(np.mean(self.is_decided)) if self.truths else 0.0

    @property
    def is_decided(self) -> NDArray[np.bool_]:
        """Where there is a decision."""
        return np.isin(self.decisions, ("APPROVE", "DECLINE"))


def accuracy(run: Run) -> float:
    """Share of decided cases that were right."""
    return float(np.mean(run.fraud == run.declined)) if len(run.fraud) else math.nan


def balanced_accuracy(run: Run) -> float:
    """Mean of the shares of fraud declined and of honest cases approved."""
    return 1 - (missed_fraud_rate(run) + false_decline_rate(run)) / 2


def false_decline_rate(run: Run) -> float:
    """Share of honest transactions that were declined."""
    honest = ~run.fraud
    return float(np.mean(run.declined[honest])) if honest.any() else 0.0


def missed_fraud_rate(run: Run) -> float:
    """Share of fraudulent transactions that were approved."""
    return float(np.mean(~run.declined[run.fraud])) if run.fraud.any() else 0.0


RATES: Final = {
    "accuracy": accuracy,
    "balanced_accuracy": balanced_accuracy,
    "false_decline_rate": false_decline_rate,
    "missed_fraud_rate": missed_fraud_rate,
}
RANKINGS: Final[dict[str, Callable[[ranking.Labels, ranking.Scores], float]]] = {
    "average_precision": ranking.average_precision,
    "roc_auc": ranking.roc_auc,
    "recall_at_1_percent": partial(ranking.recall_at, false_positive_rate=0.01),
    "recall_at_5_percent": partial(ranking.recall_at, false_positive_rate=0.05),
    "calibration_error": ranking.calibration_error,
}
METRICS: Final[dict[str, Callable[[Run], float]]] = {
    **RATES,
    **{
        name: partial(lambda run, of: of(run.fraud, run.scores), of=of)
        for name, of in RANKINGS.items()
    },
}


def estimate(metric: str, runs: Sequence[Run], rng: np.random.Generator | None = None) -> Estimate:
    """A metric's mean over runs, with an interval by resampling the runs and the rows of the data.

    A row that several runs have tested is drawn for all of them or for none: testing it again adds
    no evidence.
    """
    rng = rng or np.random.default_rng(0)
    if metric in RANKINGS:
        draws = _ranking_draws([metric], runs, rng)[metric]
    else:
        draws = _rate_draws(metric, runs, rng)
    return _between(metric, runs, draws)


def estimates(runs: Sequence[Run]) -> dict[str, Estimate]:
    """Every metric; the rankings share their draws."""
    ranked = _ranking_draws(list(RANKINGS), runs, np.random.default_rng(0))
    return {name: estimate(name, runs) for name in RATES} | {
        name: _between(name, runs, draws) for name, draws in ranked.items()
    }


def is_void(metric: str, run: Run) -> bool:
    """Whether nothing was decided that a figure could be of."""
    has_fraud, has_honest = bool(run.fraud.any()), bool((~run.fraud).any())
    wanted = {
        "accuracy": has_fraud or has_honest,
        "false_decline_rate": has_honest,
        "missed_fraud_rate": has_fraud,
    }
    return not wanted.get(metric, has_fraud and has_honest)


def _between(metric: str, runs: Sequence[Run], draws: NDArray[np.float64]) -> Estimate:
    if any(is_void(metric, run) for run in runs):
        return Estimate(math.nan, math.nan, math.nan)
    low, high = np.quantile(draws, [0.025, 0.975])
    mean = float(np.mean([METRICS[metric](run) for run in runs]))
    return Estimate(mean, min(float(low), mean), max(float(high), mean))


def row_numbers(runs: Sequence[Run]) -> tuple[list[NDArray[np.intp]], int]:
    """Per run and case the number of its row, counted from 0 over all runs; and how many rows."""
    numbers: dict[object, int] = {}
    found = []
    for i, run in enumerate(runs):
        names: Sequence[object] = run.rows or [(i, n) for n in range(len(run.truths))]
        own = [numbers.setdefault(name, len(numbers)) for name in names]
        found.append(np.array(own, dtype=np.intp))
    return found, len(numbers)


def _ranking_draws(
    metrics: Sequence[str], runs: Sequence[Run], rng: np.random.Generator
) -> dict[str, NDArray[np.float64]]:
    rows, size = row_numbers(runs)
    known = [
        (run.fraud, run.scores, own[run.is_decided]) for run, own in zip(runs, rows, strict=True)
    ]
    draws = {name: np.zeros(_RANKING_BOOTSTRAPS) for name in metrics}
    for draw in range(_RANKING_BOOTSTRAPS):
        times = np.bincount(rng.integers(0, max(size, 1), size), minlength=size)
        for run in rng.integers(0, len(runs), len(runs)):
            fraud, scores, own = known[run]
            drawn = np.repeat(np.arange(len(own)), times[own])
            for name in metrics:
                draws[name][draw] += RANKINGS[name](fraud[drawn], scores[drawn]) / len(runs)
    return draws


def _rate_draws(metric: str, runs: Sequence[Run], rng: np.random.Generator) -> NDArray[np.float64]:
    columns = []
    for run in runs:
        fraud, declined = np.zeros((2, len(run.truths)))
        fraud[run.is_decided], declined[run.is_decided] = run.fraud, run.declined
        honest = run.is_decided - fraud
        columns.append(np.stack([fraud, fraud * (1 - declined), honest, honest * declined]))
    sums, weights = _resampled(runs, columns, rng)
    for i, found in enumerate(columns):
        for whole, part in ((0, 1), (2, 3)):
            if found[part].sum() in (0, found[whole].sum()):
                # All or none: half a case more says otherwise, or there would be no doubt left.
                doubt = rng.standard_exponential(_BOOTSTRAPS)
                sums[:, i, whole] += doubt
                sums[:, i, part] += doubt / 2
    frauds, missed, honests, false = np.moveaxis(sums, 2, 0)
    miss_rate, false_rate = missed / frauds, false / honests
    draws = {
        "accuracy": 1 - (missed + false) / (frauds + honests),
        "balanced_accuracy": 1 - (miss_rate + false_rate) / 2,
        "false_decline_rate": false_rate,
        "missed_fraud_rate": miss_rate,
    }[metric]
    return np.asarray((draws * weights).sum(axis=1))


def _resampled(
    runs: Sequence[Run], columns: Sequence[NDArray[np.float64]], rng: np.random.Generator
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Sums over the cases of each run, per draw, run and column, with rows weighed at random; and
    what each run weighs in each draw.

    Rows by the Bayesian bootstrap (Rubin 1981), and runs besides: resampling both errs on the side
    of too wide an interval, never of too narrow a one (Owen 2007).
    """
    (rows, size), width = row_numbers(runs), len(columns[0])
    table = np.zeros((size, len(runs) * width), np.float32)
    for i, (own, found) in enumerate(zip(rows, columns, strict=True)):
        np.add.at(table[:, i * width : (i + 1) * width], own, found.T)
    sums, at_once = np.empty((_BOOTSTRAPS, len(runs) * width)), _AT_ONCE // max(size, 1) + 1
    for start in range(0, _BOOTSTRAPS, at_once):
        part = sums[start : start + at_once]
        part[:] = rng.standard_exponential((len(part), size), np.float32) @ table
    picked = rng.multinomial(len(runs), [1 / len(runs)] * len(runs), _BOOTSTRAPS)
    return sums.reshape(_BOOTSTRAPS, len(runs), width), picked / len(runs)


@dataclass(frozen=True)
class PairedTest:
    """Two ways of deciding on the same cases."""

    gained: int
    """Rows that only the first got right, or in more seeds than the second."""
    lost: int
    """Rows that only the second got right, or in more seeds."""
    p_value: float
    """McNemar's exact test, two-sided."""


def p_words(p: float) -> str:
    """A p-value as reports write it.

    >>> p_words(0.0123), p_words(1e-9)
    ('p = .0123', 'p < .0001')
    """
    return "p < .0001" if p < 1e-4 else f"p = {p:.4f}".replace("0.", ".")


def mcnemar(ours: Sequence[Run], theirs: Sequence[Run]) -> PairedTest:
    """McNemar's exact test on the cases of several runs, paired one to one (McNemar 1947).

    A row that several seeds have tested counts once, for whom it was right more often.
    """
    from scipy.stats import binomtest  # a second to import: only a report pays for it

    rows = np.concatenate(row_numbers(ours)[0])
    balance = np.bincount(rows, np.concatenate(_differences(ours, theirs)))
    gained, lost = int((balance > 0).sum()), int((balance < 0).sum())
    p = binomtest(gained, gained + lost, 0.5).pvalue if gained + lost else 1.0
    return PairedTest(gained, lost, float(p))


def accuracy_gained(ours: Sequence[Run], theirs: Sequence[Run]) -> float:
    """Accuracy gained over all cases; an undecided one is not right."""
    means = [found.mean() for found in _differences(ours, theirs) if len(found)]
    return float(np.mean(means)) if means else math.nan


def paired_difference(ours: Sequence[Run], theirs: Sequence[Run]) -> Estimate:
    """Balanced accuracy gained, with an interval by resampling seeds and pairs of decisions."""
    fraud = [np.array(run.truths) == DECLINE for run in ours]
    if not all(found.any() and not found.all() for found in fraud):
        return Estimate(math.nan, math.nan, math.nan)
    columns = [
        np.stack([here, here * difference, 1 - here, (1 - here) * difference])
        for here, difference in zip(
            (found.astype(float) for found in fraud), _differences(ours, theirs), strict=True
        )
    ]
    sums, weights = _resampled(ours, columns, np.random.default_rng(0))
    frauds, of_fraud, honests, of_honest = np.moveaxis(sums, 2, 0)
    draws = ((of_fraud / frauds + of_honest / honests) / 2 * weights).sum(axis=1)
    low, high = np.quantile(draws, [0.025, 0.975])
    means = [(c[1].sum() / c[0].sum() + c[3].sum() / c[2].sum()) / 2 for c in columns]
    return Estimate(float(np.mean(means)), float(low), float(high))


def _differences(ours: Sequence[Run], theirs: Sequence[Run]) -> list[NDArray[np.float64]]:
    """Per run and case: 1 where only ours was right, -1 where only theirs."""
    return [a.right.astype(float) - b.right for a, b in zip(ours, theirs, strict=True)]


def rolling_accuracy(runs: Sequence[Run], window: int = 100) -> NDArray[np.float64]:
    """Mean over runs of the share right among the last `window` cases, along the stream."""
    length = min(len(run.truths) for run in runs)
    right = np.mean([run.right[:length] for run in runs], axis=0)
    sums = np.cumsum(np.insert(right.astype(float), 0, 0.0))
    ends = np.arange(1, length + 1)
    starts = np.maximum(ends - window, 0)
    return np.asarray((sums[ends] - sums[starts]) / (ends - starts))
