"""An experiment: train and test over several seeds, with every way of deciding on the same cases.

It gathers runs and computes figures. The tables are in cli/tables.py, the pictures in pictures.py.
"""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import asdict, dataclass, field, replace

import numpy as np

from acegraph.graph.build import Collaborators
from acegraph.graph.data.files import Item, as_items
from acegraph.graph.data.splits import Split, moments_of
from acegraph.graph.data.synthetic import generate_transactions
from acegraph.graph.experiments.baselines import run_baselines
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
    """What is changed in the data and the learner before the training, and what mistakes cost."""

    gate: GateLevel = "standard"
    label_noise: float = 0.0
    shuffle_labels: bool = False
    delay_days: float | None = None
    """If given, the stream is also decided with labels that come this many days later."""
    time: str | None = None
    """The field that says when a case happened; without a name it is looked for."""
    costs: CostMatrix = field(default_factory=CostMatrix)

    def prepared(self, split: Split | tuple[list[Item], list[Item]], seed: int) -> Split:
        """The split as the experiment uses it: no duplicates, labels changed, in order of time."""
        split = (split if isinstance(split, Split) else Split(*split)).without_duplicates()
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
    """The runs of all modes and baselines, by seed, and the bullets of the last training."""

    modes: dict[str, list[Run]] = field(default_factory=dict)
    baselines: dict[str, list[Run]] = field(default_factory=dict)
    training: list[TrainingReport] = field(default_factory=list)
    bullets: list[Bullet] = field(default_factory=list)
    records: list[BulletRecord] = field(default_factory=list)
    """What these bullets did on the test cases of the last seed."""
    duplicates: int = 0
    """Test rows of all seeds that were left out because a training row is the same."""
    copies: int = 0
    """Test rows of all seeds that stayed although a training row is the same."""
    plan: Plan = field(default_factory=Plan)

    @property
    def learned(self) -> bool:
        """Whether the training of any seed left an active bullet."""
        return any(report.bullets_active for report in self.training)

    @property
    def fraud_rate(self) -> float:
        """The share of fraud among the test cases."""
        truths = [truth for run in self.modes["vanilla"] for truth in run.truths]
        return float(np.mean(np.array(truths) == DECLINE))

    def add_seed(self, modes: dict[str, Run], baselines: dict[str, Run], test: list[Item]) -> None:
        """Add the runs of one more seed on its test cases."""
        amounts = [amount_of(read_fields(Transaction.of(item["query"]))) for item in test]
        for runs, gathered in ((modes, self.modes), (baselines, self.baselines)):
            for name, run in runs.items():
                run.amounts = amounts
                gathered.setdefault(name, []).append(run)

    def add_second_half(self) -> None:
        """Add the second half of the online stream, and vanilla on the same cases, as modes."""
        for name in ("vanilla", "online"):
            self.modes[f"{name}_second_half"] = [run.second_half() for run in self.modes[name]]

    def vanilla_beside(self, mode: str) -> list[Run]:
        """The vanilla runs on the same cases as those of a mode."""
        return self.modes["vanilla_second_half" if mode.endswith("second_half") else "vanilla"]

    def to_json(self) -> dict[str, object]:
        """One object with every figure, for machines."""
        vanilla = self.modes["vanilla"]
        by_bullet = {record.bullet.id: record.to_json() for record in self.records}
        return {
            "seeds": len(vanilla),
            "test_cases": sum(len(run.truths) for run in vanilla),
            "distinct_test_cases": row_numbers(vanilla)[1],
            "duplicates_left_out": self.duplicates,
            "duplicates_kept": self.copies,
            "fraud_rate": round(self.fraud_rate, 4),
            "approve_all_accuracy": round(1 - self.fraud_rate, 4),
            "learned": self.learned,
            "seeds_that_learned": sum(bool(r.bullets_active) for r in self.training),
            "active_bullets": [report.bullets_active for report in self.training],
            "plan": asdict(self.plan),
            "modes": {name: self._mode_json(name, runs) for name, runs in self.modes.items()},
            "challengers": {name: self._figures(runs) for name, runs in self.baselines.items()},
            "bullets": [
                {**bullet_json(b), "on_test_cases": by_bullet.get(b.id)} for b in self.bullets
            ],
        }

    def _mode_json(self, name: str, runs: list[Run]) -> dict[str, object]:
        vanilla = self.vanilla_beside(name)
        gain = paired_difference(runs, vanilla).to_json()
        paired = {**asdict(mcnemar(runs, vanilla)), "balanced_accuracy": gain}
        return {**self._figures(runs), "against_vanilla": paired}

    def _figures(self, runs: list[Run]) -> dict[str, object]:
        undecided = float(np.mean([run.undecided_rate for run in runs]))
        in_money = asdict(money(runs, self.plan.costs))
        return {
            **{name: estimate.to_json() for name, estimate in estimates(runs).items()},
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
    """Train and compare on each split; `progress` gives the callback of a seed."""
    plan, context = plan or Plan(), context or AceContext()
    experiment = Experiment(plan=plan)
    for seed, raw_split in enumerate(splits):
        split = plan.prepared(raw_split, seed)
        split.check_labels()
        experiment.duplicates += split.duplicates
        experiment.copies += split.copies
        settings = context.with_changes(seed=seed)
        curator, reflector = Curator(gate=plan.gate), Reflector(gate=plan.gate)
        learners: Collaborators = {"curator": curator, "reflector": reflector}
        report = progress(seed) if progress else None
        pipeline = TrainingPipeline(
            BulletPlaybook(), context=settings, progress=report, concurrency=concurrency, **learners
        )
        experiment.training.append(pipeline.train_offline(split.train))
        by_mode = pipeline.compare(split.test)
        if plan.delay_days is not None:
            by_mode |= _delayed(pipeline, split.test, plan, learners)
        by_baseline = run_baselines(split.train, split.test, seed) if baselines else {}
        experiment.add_seed(by_mode, by_baseline, split.test)
        experiment.bullets = pipeline.playbook.get_bullets_for_node(settings.node, status=None)
        experiment.records = report_bullets(experiment.bullets, split.test)
    experiment.add_second_half()
    return experiment


def _delayed(
    pipeline: TrainingPipeline, test: list[Item], plan: Plan, learners: Collaborators
) -> dict[str, Run]:
    """Runs of the modes that learn from the stream, with labels that come later."""
    moments, delay = moments_of(test, plan.time), plan.delay_days or 0.0
    runs = {}
    for mode in ("offline_online", "online"):
        starts_trained = mode == "offline_online"
        with pipeline.playbook.fork() if starts_trained else BulletPlaybook() as playbook:
            settings = pipeline.context.with_changes(mode=mode)
            runs[f"{mode}_delayed"] = decide_delayed(
                playbook, test, moments, delay, settings, **learners
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
    """An experiment on generated transactions, and the best accuracy that can be attained on them.

    The best decisions follow the causes by which the labels were generated; shuffled labels have no
    cause, so their best accuracy is None.
    """
    worlds = [
        [
            generate_transactions(n, seed=first + seed, shuffle_labels=shuffle_labels)
            for n, first in ((train, 1000), (test, 2000))
        ]
        for seed in range(seeds)
    ]
    splits = [Split(as_items(past), as_items(stream)) for past, stream in worlds]
    experiment = run_experiment(splits, context=context, progress=progress, concurrency=concurrency)
    if shuffle_labels:
        return experiment, None
    best = [
        Run(
            [e.answer for e in stream],
            [e.best_decision for e in stream],
            [None] * len(stream),
            run.amounts,
            run.rows,
        )
        for (_, stream), run in zip(worlds, experiment.modes["vanilla"], strict=True)
    ]
    experiment.baselines["best_attainable"] = best
    return experiment, float(np.mean([accuracy(run) for run in best]))


def _wilson(runs: Sequence[Run]) -> dict[str, dict[str, float]]:
    """Intervals of the plain rates over all rows together (Wilson 1927).

    A row that several seeds tested counts once, by its mean.
    """
    rows, size = row_numbers(runs)
    decided = np.concatenate([r[run.is_decided] for r, run in zip(rows, runs, strict=True)])
    fraud = np.concatenate([run.fraud for run in runs])
    declined = np.concatenate([run.declined for run in runs])
    counts = {
        "accuracy": (fraud == declined, np.ones(len(decided), bool)),
        "false_decline_rate": (declined & ~fraud, ~fraud),
        "missed_fraud_rate": (fraud & ~declined, fraud),
    }
    intervals = {}
    for name, (counted, relevant) in counts.items():
        times = np.bincount(decided, relevant, minlength=size)
        tested = times > 0
        share = (np.bincount(decided, counted, minlength=size)[tested] / times[tested]).sum()
        low, high = wilson_interval(float(share), int(tested.sum()))
        intervals[name] = {"low": round(low, 4), "high": round(high, 4)}
    return intervals
