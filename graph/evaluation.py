"""Measures of decisions: rates, intervals, paired tests. Plain numbers in and out.

Undecided cases are counted and left out of the rates: a failure is not a score. River's order holds
for whoever fills a `Run`: predict, score, then learn.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from acegraph.state import DECLINE

_BOOTSTRAPS = 2000


@dataclass(frozen=True)
class Estimate:
    """A figure with its 95 % interval."""

    mean: float
    low: float
    high: float

    def to_json(self) -> dict[str, float]:
        """Rounded for reading."""
        return {"mean": round(self.mean, 4), "low": round(self.low, 4), "high": round(self.high, 4)}


@dataclass
class Run:
    """The decisions of one mode on one stream, in order."""

    truths: list[str] = field(default_factory=list)
    decisions: list[str] = field(default_factory=list)
    risks: list[float | None] = field(default_factory=list)

    def add(self, truth: str, decision: str, risk: float | None) -> None:
        """One more decision."""
        self.truths.append(truth)
        self.decisions.append(decision)
        self.risks.append(risk)

    def second_half(self) -> "Run":
        """What came after the middle of the stream."""
        start = len(self.truths) // 2
        return Run(self.truths[start:], self.decisions[start:], self.risks[start:])

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
    return float(np.mean(run.fraud == run.declined))


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


def average_precision(run: Run) -> float:
    """Area under the precision-recall curve as a step function; ties share a threshold."""
    order = np.argsort(-run.scores, kind="stable")
    fraud, scores = run.fraud[order], run.scores[order]
    if not fraud.any():
        return 0.0
    last_of_tie = np.append(scores[1:] != scores[:-1], True)
    caught = np.cumsum(fraud)[last_of_tie]
    shown = np.flatnonzero(last_of_tie) + 1
    recall = caught / fraud.sum()
    return float(np.sum(np.diff(recall, prepend=0.0) * caught / shown))


METRICS = {
    "accuracy": accuracy,
    "balanced_accuracy": balanced_accuracy,
    "false_decline_rate": false_decline_rate,
    "missed_fraud_rate": missed_fraud_rate,
    "average_precision": average_precision,
}


def estimate(metric: str, runs: Sequence[Run], rng: np.random.Generator | None = None) -> Estimate:
    """A metric's mean over runs, with an interval by resampling the runs and the cases within
    each.
    """
    rng = rng or np.random.default_rng(0)
    measure = METRICS[metric]
    if metric == "average_precision":
        draws = np.array(
            [
                np.mean([measure(_resampled(runs[i], rng)) for i in _drawn(runs, rng)])
                for _ in range(200)
            ]
        )
    else:
        draws = _rate_draws(metric, runs, rng)
    low, high = np.quantile(draws, [0.025, 0.975])
    return Estimate(float(np.mean([measure(run) for run in runs])), float(low), float(high))


def _drawn(runs: Sequence[Run], rng: np.random.Generator) -> NDArray[np.int64]:
    return rng.integers(0, len(runs), len(runs))


def _resampled(run: Run, rng: np.random.Generator) -> Run:
    rows = rng.integers(0, len(run.truths), len(run.truths))
    return Run(
        [run.truths[i] for i in rows],
        [run.decisions[i] for i in rows],
        [run.risks[i] for i in rows],
    )


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


def mcnemar(ours: Sequence[Run], theirs: Sequence[Run]) -> PairedTest:
    """McNemar's exact test on the cases of several runs, paired one to one (McNemar 1947)."""
    from scipy.stats import binomtest  # a second to import: only a report pays for it

    a = np.concatenate([run.right for run in ours])
    b = np.concatenate([run.right for run in theirs])
    gained, lost = int((a & ~b).sum()), int((b & ~a).sum())
    p = binomtest(gained, gained + lost, 0.5).pvalue if gained + lost else 1.0
    return PairedTest(gained, lost, float(p))


def rolling_accuracy(runs: Sequence[Run], window: int = 100) -> NDArray[np.float64]:
    """Mean over runs of the share right among the last `window` cases, along the stream."""
    length = min(len(run.truths) for run in runs)
    right = np.mean([run.right[:length] for run in runs], axis=0)
    sums = np.cumsum(np.insert(right.astype(float), 0, 0.0))
    ends = np.arange(1, length + 1)
    starts = np.maximum(ends - window, 0)
    return np.asarray((sums[ends] - sums[starts]) / (ends - starts))
