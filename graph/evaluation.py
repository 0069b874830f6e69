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

    def add(self, truth: str, decision: str, risk: float | None) -> None:
        """One more decision."""
        self.truths.append(truth)
        self.decisions.append(decision)
        self.risks.append(risk)

    def second_half(self) -> "Run":
        """What came after the middle of the stream."""
        start = len(self.truths) // 2
        return Run(
            self.truths[start:], self.decisions[start:], self.risks[start:], self.amounts[start:]
        )

    @property
    def fraud(self) -> NDArray[np.bool_]:
        """Where the right answer is DECLINE, among the decided cases."""
        return np.asarray(np.array(self.truths)[self._decided()] == DECLINE)

    @property
    def declined(self) -> NDArray[np.bool_]:
        """Where the decision was DECLINE, among the decided cases."""
        return np.asarray(np.array(self.decisions)[self._decided()] == DECLINE)

    @property
    def scores(self) -> NDArray[np.float64]:
        """Risk scores of the decided cases; a decision without one counts as 0 or 1."""
        given = [
            (1.0 if d == DECLINE else 0.0) if r is None else r
            for d, r in zip(self.decisions, self.risks, strict=True)
        ]
        return np.array(given)[self._decided()]

    @property
    def values(self) -> NDArray[np.float64]:
        """What was at stake in the decided cases: the amount, or 1 where none is known."""
        amounts = self.amounts or [None] * len(self.truths)
        return np.array([1.0 if a is None else a for a in amounts])[self._decided()]

    @property
    def right(self) -> NDArray[np.bool_]:
        """Case by case: was it right? An undecided case was not."""
        return np.asarray(np.array(self.truths) == np.array(self.decisions))

    @property
    def undecided_rate(self) -> float:
        """Share of cases without a decision."""
        return 1 - float(np.mean(self._decided())) if self.truths else 0.0

    def _decided(self) -> NDArray[np.bool_]:
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
    """A metric's mean over runs, with an interval by resampling the runs and the cases within
    each.
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


def _is_void(metric: str, run: Run) -> bool:
    """Whether nothing was decided that a figure could be of."""
    has_fraud, has_honest = bool(run.fraud.any()), bool((~run.fraud).any())
    wanted = {
        "accuracy": has_fraud or has_honest,
        "false_decline_rate": has_honest,
        "missed_fraud_rate": has_fraud,
    }
    return not wanted.get(metric, has_fraud and has_honest)


def _between(metric: str, runs: Sequence[Run], draws: NDArray[np.float64]) -> Estimate:
    if any(_is_void(metric, run) for run in runs):
        return Estimate(math.nan, math.nan, math.nan)
    low, high = np.quantile(draws, [0.025, 0.975])
    mean = float(np.mean([METRICS[metric](run) for run in runs]))
    return Estimate(mean, float(low), float(high))


def _ranking_draws(
    metrics: Sequence[str], runs: Sequence[Run], rng: np.random.Generator
) -> dict[str, NDArray[np.float64]]:
    known = [(run.fraud, run.scores) for run in runs]
    draws = {name: np.zeros(_RANKING_BOOTSTRAPS) for name in metrics}
    for draw in range(_RANKING_BOOTSTRAPS):
        for run in rng.integers(0, len(runs), len(runs)):
            fraud, scores = known[run]
            rows = rng.integers(0, max(len(fraud), 1), len(fraud))
            for name in metrics:
                draws[name][draw] += RANKINGS[name](fraud[rows], scores[rows]) / len(runs)
    return draws


def _rate_draws(metric: str, runs: Sequence[Run], rng: np.random.Generator) -> NDArray[np.float64]:
    """Resampling cases within a class changes a count of errors as a binomial draw does."""
    draws = np.zeros(_BOOTSTRAPS)
    for picks in rng.integers(0, len(runs), (len(runs), _BOOTSTRAPS)):
        missed, false = np.zeros(_BOOTSTRAPS), np.zeros(_BOOTSTRAPS)
        frauds, honests = np.zeros(_BOOTSTRAPS), np.zeros(_BOOTSTRAPS)
        for i, run in enumerate(runs):
            here = picks == i
            n_fraud, n_honest = int(run.fraud.sum()), int((~run.fraud).sum())
            missed[here] = rng.binomial(n_fraud, missed_fraud_rate(run), int(here.sum()))
            false[here] = rng.binomial(n_honest, false_decline_rate(run), int(here.sum()))
            frauds[here], honests[here] = n_fraud, n_honest
        miss_rate, false_rate = missed / np.maximum(frauds, 1), false / np.maximum(honests, 1)
        draws += {
            "accuracy": 1 - (missed + false) / np.maximum(frauds + honests, 1),
            "balanced_accuracy": 1 - (miss_rate + false_rate) / 2,
            "false_decline_rate": false_rate,
            "missed_fraud_rate": miss_rate,
        }[metric]
    return draws / len(runs)


@dataclass(frozen=True)
class PairedTest:
    """Two ways of deciding on the same cases."""

    gained: int
    """Cases that only the first got right."""
    lost: int
    """Cases that only the second got right."""
    p_value: float
    """McNemar's exact test, two-sided."""


def p_words(p: float) -> str:
    """A p-value as reports write it.

    >>> p_words(0.0123), p_words(1e-9)
    ('p = .0123', 'p < .0001')
    """
    return "p < .0001" if p < 1e-4 else f"p = {p:.4f}".replace("0.", ".")


def mcnemar(ours: Sequence[Run], theirs: Sequence[Run]) -> PairedTest:
    """McNemar's exact test on the cases of several runs, paired one to one (McNemar 1947)."""
    from scipy.stats import binomtest  # a second to import: only a report pays for it

    a = np.concatenate([run.right for run in ours])
    b = np.concatenate([run.right for run in theirs])
    gained, lost = int((a & ~b).sum()), int((b & ~a).sum())
    p = binomtest(gained, gained + lost, 0.5).pvalue if gained + lost else 1.0
    return PairedTest(gained, lost, float(p))


def paired_difference(ours: Sequence[Run], theirs: Sequence[Run]) -> Estimate:
    """Balanced accuracy gained, with an interval by resampling seeds and pairs of decisions."""
    rng = np.random.default_rng(0)
    pairs = [_class_differences(a, b) for a, b in zip(ours, theirs, strict=True)]
    draws = np.zeros(_BOOTSTRAPS)
    for picks in rng.integers(0, len(pairs), (len(pairs), _BOOTSTRAPS)):
        for i, classes in enumerate(pairs):
            here = picks == i
            for differences in classes:
                n = max(len(differences), 1)
                shares = np.bincount(differences + 1, minlength=3) / n
                drawn = rng.multinomial(n, shares / max(shares.sum(), 1e-12), int(here.sum()))
                draws[here] += (drawn[:, 2] - drawn[:, 0]) / n / 2
    low, high = np.quantile(draws / len(pairs), [0.025, 0.975])
    mean = np.mean([sum(float(np.mean(d)) if len(d) else 0.0 for d in c) / 2 for c in pairs])
    return Estimate(float(mean), float(low), float(high))


def _class_differences(ours: Run, theirs: Run) -> list[NDArray[np.int64]]:
    """Per label and case: 1 where only ours was right, -1 where only theirs."""
    difference = ours.right.astype(np.int64) - theirs.right.astype(np.int64)
    fraud = np.array(ours.truths) == DECLINE
    return [difference[fraud], difference[~fraud]]


def rolling_accuracy(runs: Sequence[Run], window: int = 100) -> NDArray[np.float64]:
    """Mean over runs of the share right among the last `window` cases, along the stream."""
    length = min(len(run.truths) for run in runs)
    right = np.mean([run.right[:length] for run in runs], axis=0)
    sums = np.cumsum(np.insert(right.astype(float), 0, 0.0))
    ends = np.arange(1, length + 1)
    starts = np.maximum(ends - window, 0)
    return np.asarray((sums[ends] - sums[starts]) / (ends - starts))
