"""An experiment: train and test over several seeds, every way of deciding on the same cases.

It gathers runs and gives figures; how they look is for report.py and pictures.py.
"""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import asdict, dataclass, field, replace
from typing import Any

import numpy as np

from acegraph.graph.data.files import Item, as_items
from acegraph.graph.data.splits import Split, moments_of
from acegraph.graph.data.synthetic import generate_transactions
from acegraph.graph.experiments.baselines import run_challengers
from acegraph.graph.experiments.bullet_report import BulletRecord, bullet_json, report_bullets
from acegraph.graph.experiments.delayed_labels import decide_delayed
from acegraph.graph.metrics.costs import CostMatrix, money
from acegraph.graph.metrics.intervals import estimates, rounded, row_numbers
from acegraph.graph.metrics.paired import mcnemar, paired_difference
from acegraph.graph.metrics.rates import accuracy
from acegraph.graph.metrics.run import Run
from acegraph.graph.training.pipeline import Progress, TrainingPipeline, TrainingReport
from acegraph.nodes.curator.curator import Curator
from acegraph.nodes.evidence.backtest import wilson_interval
from acegraph.nodes.evidence.proof_levels import GateLevel
from acegraph.nodes.evidence.scorecard import amount_of
from acegraph.nodes.reflector.reflector import Reflector
from acegraph.nodes.text.reader import read_fields
from acegraph.state import DECLINE, AceContext, Bullet, BulletPlaybook, Transaction


@dataclass(frozen=True)
class Plan:
    """What is done to the data and the learner before they meet."""

    gate: GateLevel = "standard"
    label_noise: float = 0.0
    shuffle_labels: bool = False
    delay_days: float | None = None
    """Also decide with labels that come so many days later."""
    time: str | None = None
    """The field that says when a case happened; found where it is not named."""
    costs: CostMatrix = field(default_factory=CostMatrix)

    def prepared(self, given: Split | tuple[list[Item], list[Item]], seed: int) -> Split:
        """A split as the experiment uses it."""
        split = (given if isinstance(given, Split) else Split(*given)).without_duplicates()
        if self.shuffle_labels:
            split = split.with_shuffled_labels(seed)
        if self.label_noise:
            split = split.with_label_noise(self.label_noise, seed)
        if self.delay_days is None:
            return split
        order = np.argsort(moments_of(split.test, self.time), kind="stable")
        return replace(split, test=[split.test[i] for i in order])


@dataclass
class Experiment:
    """The runs of all modes and rivals, by seed, and the bullets that the last training left."""

    modes: dict[str, list[Run]] = field(default_factory=dict)
    challengers: dict[str, list[Run]] = field(default_factory=dict)
    training: list[TrainingReport] = field(default_factory=list)
    bullets: list[Bullet] = field(default_factory=list)
    records: list[BulletRecord] = field(default_factory=list)
    """What these bullets did on the test cases of that seed."""
    duplicates: int = 0
    """Test rows left out because a training row is the same, over all seeds."""
    copies: int = 0
    """Such test rows that stayed."""
    plan: Plan = field(default_factory=Plan)

    @property
    def learned(self) -> bool:
        """Whether any bullet became active in any seed."""
        return any(report.bullets_active for report in self.training)

    @property
    def fraud_rate(self) -> float:
        """The share of fraud among the test cases."""
        truths = [truth for run in self.modes["vanilla"] for truth in run.truths]
        return float(np.mean(np.array(truths) == DECLINE))

    def add_second_half(self) -> None:
        """Add the second half of the online stream, and vanilla on the same cases, as rows."""
        for name in ("vanilla", "online"):
            self.modes[f"{name}_second_half"] = [run.second_half() for run in self.modes[name]]

    def rival_of(self, mode: str) -> list[Run]:
        """The vanilla runs on the same cases."""
        return self.modes["vanilla_second_half" if mode.endswith("second_half") else "vanilla"]

    def to_json(self) -> dict[str, Any]:
        """One object with every figure, for machines."""
        first = self.modes["vanilla"]
        by_bullet = {record.bullet.id: record.to_json() for record in self.records}
        return {
            "seeds": len(first),
            "test_cases": sum(len(run.truths) for run in first),
            "distinct_test_cases": row_numbers(first)[1],
            "duplicates_left_out": self.duplicates,
            "duplicates_kept": self.copies,
            "fraud_rate": round(self.fraud_rate, 4),
            "approve_all_accuracy": round(1 - self.fraud_rate, 4),
            "learned": self.learned,
            "seeds_that_learned": sum(bool(r.bullets_active) for r in self.training),
            "active_bullets": [report.bullets_active for report in self.training],
            "plan": asdict(self.plan),
            "modes": {name: self._mode_json(name, runs) for name, runs in self.modes.items()},
            "challengers": {name: self._figures(runs) for name, runs in self.challengers.items()},
            "bullets": [
                {**bullet_json(b), "on_test_cases": by_bullet.get(b.id)} for b in self.bullets
            ],
        }

    def _mode_json(self, name: str, runs: list[Run]) -> dict[str, Any]:
        rival = self.rival_of(name)
        paired = mcnemar(runs, rival)
        return {
            **self._figures(runs),
            "against_vanilla": {
                "gained": paired.gained,
                "lost": paired.lost,
                "p_value": paired.p_value,
                "balanced_accuracy": paired_difference(runs, rival).to_json(),
            },
        }

    def _figures(self, runs: list[Run]) -> dict[str, Any]:
        undecided = float(np.mean([run.undecided_rate for run in runs]))
        found = {metric: estimate.to_json() for metric, estimate in estimates(runs).items()}
        in_money = asdict(money(runs, self.plan.costs))
        return {
            **found,
            "undecided_rate": round(undecided, 4),
            "wilson": _wilson(runs),
            **{name: None if x is None else rounded(x) for name, x in in_money.items()},
        }


def run_experiment(
    splits: Iterable[Split | tuple[list[Item], list[Item]]],
    *,
    context: AceContext | None = None,
    progress: Callable[[int], Progress] | None = None,
    baselines: bool = True,
    plan: Plan | None = None,
    concurrency: int = 1,
) -> Experiment:
    """Train and compare on each split; `progress` gives the reporter of a seed."""
    plan = plan or Plan()
    found = Experiment(plan=plan)
    for seed, given in enumerate(splits):
        split = plan.prepared(given, seed)
        split.check_labels()
        found.duplicates += split.duplicates
        found.copies += split.copies
        settings = (context or AceContext()).with_changes(seed=seed)
        parts: dict[str, Any] = {
            "curator": Curator(gate=plan.gate),
            "reflector": Reflector(gate=plan.gate),
        }
        told = progress(seed) if progress else None
        pipeline = TrainingPipeline(
            BulletPlaybook(), context=settings, progress=told, concurrency=concurrency, **parts
        )
        found.training.append(pipeline.train_offline(split.train))
        runs = pipeline.compare(split.test)
        if plan.delay_days is not None:
            runs |= _delayed(pipeline.playbook, split.test, plan, settings, parts)
        rivals = run_challengers(split.train, split.test, seed) if baselines else {}
        amounts = [amount_of(read_fields(Transaction.of(item["query"]))) for item in split.test]
        for runs_by_name, gathered in ((runs, found.modes), (rivals, found.challengers)):
            for name, run in runs_by_name.items():
                run.amounts = amounts
                gathered.setdefault(name, []).append(run)
        found.bullets = pipeline.playbook.get_bullets_for_node(settings.node, status=None)
        found.records = report_bullets(found.bullets, split.test)
    found.add_second_half()
    return found


def _delayed(
    trained: BulletPlaybook, test: list[Item], plan: Plan, context: AceContext, parts: Any
) -> dict[str, Run]:
    """The modes that learn from the stream, with labels that come later."""
    moments, delay = moments_of(test, plan.time), plan.delay_days or 0.0
    runs = {}
    for mode in ("offline_online", "online"):
        with trained.fork() if mode == "offline_online" else BulletPlaybook() as playbook:
            settings = context.with_changes(mode=mode)
            runs[f"{mode}_delayed"] = decide_delayed(
                playbook, test, moments, delay, settings, **parts
            )
    return runs


def run_demonstration(
    seeds: int,
    train: int,
    test: int,
    *,
    shuffle_labels: bool,
    context: AceContext,
    progress: Callable[[int], Progress] | None = None,
    concurrency: int = 1,
) -> tuple[Experiment, float | None]:
    """An experiment on generated transactions, and the accuracy of whoever knows their causes.

    With shuffled labels there is no such accuracy: nobody can know them.
    """
    worlds = [
        [
            generate_transactions(n, seed=first + seed, shuffle_labels=shuffle_labels)
            for n, first in ((train, 1000), (test, 2000))
        ]
        for seed in range(seeds)
    ]
    splits = [Split(as_items(past), as_items(stream)) for past, stream in worlds]
    found = run_experiment(splits, context=context, progress=progress, concurrency=concurrency)
    if shuffle_labels:
        return found, None
    best = [
        Run(
            [e.answer for e in stream],
            [e.best_decision for e in stream],
            [None] * len(stream),
            run.amounts,
            run.rows,
        )
        for (_, stream), run in zip(worlds, found.modes["vanilla"], strict=True)
    ]
    found.challengers["best_attainable"] = best
    return found, float(np.mean([accuracy(run) for run in best]))


def _wilson(runs: Sequence[Run]) -> dict[str, dict[str, float]]:
    """Intervals of the plain rates over all rows together (Wilson 1927); a row that several seeds
    tested counts once, by its mean.
    """
    rows, size = row_numbers(runs)
    own = np.concatenate([r[run.is_decided] for r, run in zip(rows, runs, strict=True)])
    fraud = np.concatenate([run.fraud for run in runs])
    declined = np.concatenate([run.declined for run in runs])
    counts = {
        "accuracy": (fraud == declined, np.ones(len(own), bool)),
        "false_decline_rate": (declined & ~fraud, ~fraud),
        "missed_fraud_rate": (fraud & ~declined, fraud),
    }
    found = {}
    for name, (some, everyone) in counts.items():
        times = np.bincount(own, everyone, minlength=size)
        tested = times > 0
        share = (np.bincount(own, some, minlength=size)[tested] / times[tested]).sum()
        low, high = wilson_interval(float(share), int(tested.sum()))
        found[name] = {"low": round(low, 4), "high": round(high, 4)}
    return found
