"""An experiment: train and test over several seeds, with every way of deciding on the same cases.

It gathers runs and computes figures. The tables are in cli/tables.py, the pictures in pictures.py.
"""

import math
from collections.abc import Callable, Iterable
from dataclasses import asdict, dataclass, field, replace
from typing import Final

import numpy as np

from acegraph.graph.build import Collaborators
from acegraph.graph.data.declare import fields_of, task_of
from acegraph.graph.data.files import Item, as_items
from acegraph.graph.data.rows import Progress
from acegraph.graph.data.splits import Split, moments_of
from acegraph.graph.data.synthetic import generate_transactions
from acegraph.graph.experiments.baselines import Baselines, run_baselines
from acegraph.graph.experiments.bullet_report import BulletRecord, bullet_json, report_bullets
from acegraph.graph.experiments.delayed_labels import decide_delayed
from acegraph.graph.experiments.jobs import job_count, side_by_side
from acegraph.graph.metrics.costs import (
    cost_difference,
    cost_estimates,
    cost_if_all_approved,
)
from acegraph.graph.metrics.groups import GroupRates, rates_by_group
from acegraph.graph.metrics.intervals import estimates, rounded, row_numbers
from acegraph.graph.metrics.paired import mcnemar, paired_difference
from acegraph.graph.metrics.rates import balanced_accuracy
from acegraph.graph.metrics.run import Run
from acegraph.graph.training.pipeline import TrainingPipeline, TrainingReport
from acegraph.nodes.curator.curator import Curator
from acegraph.nodes.evidence.proof_levels import GateLevel
from acegraph.nodes.models.named import model_name
from acegraph.nodes.reflector.reflector import Reflector
from acegraph.nodes.rules.points import amount_of
from acegraph.nodes.rules.scale import limits_of
from acegraph.nodes.runtime.usage import Meter, metered
from acegraph.state import DECLINE, AceContext, Bullet, BulletPlaybook, InvalidSettings
from acegraph.state.run.modes import settle
from acegraph.state.task.task import Task
from acegraph.state.values.costs import CostMatrix
from acegraph.state.values.transaction import Scalar

RARE_FRAUD: Final = 0.2
"""Below this share of fraud, accuracy says little: approving everything has a high one."""


@dataclass(frozen=True)
class Plan:
    """What is changed in the data and the learner before the training, and what mistakes cost."""

    gate: GateLevel = "standard"
    label_noise: float = 0.0
    shuffle_labels: bool = False
    delay_days: float | None = None
    """If given, the stream is also decided with labels that come this many days later."""
    costs: CostMatrix = field(default_factory=CostMatrix)
    by: tuple[str, ...] = ()
    """Fields by whose groups false declines are reported."""

    def prepared(self, split: Split | tuple[list[Item], list[Item]], seed: int) -> Split:
        """The split as the experiment uses it: no duplicates, labels changed, in order of time."""
        split = (split if isinstance(split, Split) else Split(*split)).without_duplicates()
        if self.shuffle_labels:
            split = split.with_shuffled_labels(seed)
        if self.label_noise:
            split = split.with_label_noise(self.label_noise, seed)
        if self.delay_days is None:
            return split
        order = np.argsort(moments_of(split.test, None), kind="stable")
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
    data: str = ""
    """The name of the data, for pictures and reports."""
    split: str = ""
    """How training and test rows were told apart, in words, for reports."""
    model: str | None = None
    """The language model that decided; None is the embedded analyst."""
    asked: dict[str, str] = field(default_factory=dict)
    """The options that were given, for reports."""
    notes: list[str] = field(default_factory=list)
    """What was said while the data was read, for reports."""
    group_values: dict[str, list[list[Scalar | None]]] = field(default_factory=dict)
    """The values of each field of `plan.by`, by seed and test case."""
    meter: Meter = field(default_factory=Meter)
    """What language models were asked for in training and deciding."""

    @property
    def learned(self) -> bool:
        """Whether the training of any seed left an active bullet."""
        return any(report.bullets_active for report in self.training)

    @property
    def fraud_rate(self) -> float:
        """The share of fraud among the test cases."""
        truths = [truth for run in self.modes["vanilla"] for truth in run.truths]
        return truths.count(DECLINE) / len(truths) if truths else math.nan

    def add_test(self, test: list[Item], task: Task | None) -> list[float | None]:
        """Note the groups of one more seed's test cases, and give their amounts."""
        task = task or task_of(test)
        rows, amount = fields_of(test, task), task.of_role("amount")
        names = dict.fromkeys(name for row in rows for name in row)
        for name in self.plan.by:
            if name not in names:
                known = ", ".join(sorted(names)) or "none"
                raise InvalidSettings(f"no test row has a field {name!r}; the fields are: {known}")
            self.group_values.setdefault(name, []).append([row.get(name) for row in rows])
        return [amount_of(row, amount.name) if amount else None for row in rows]

    def add_seed(
        self, modes: dict[str, Run], baselines: dict[str, Run], amounts: list[float | None]
    ) -> None:
        """Add the runs of one more seed on its test cases."""
        for runs, gathered in ((modes, self.modes), (baselines, self.baselines)):
            for name, run in runs.items():
                run.amounts = amounts
                gathered.setdefault(name, []).append(run)

    def decide(self, pipeline: TrainingPipeline, split: Split) -> dict[str, Run]:
        """Train on one split and decide its test cases in every mode."""
        with metered(self.meter):
            self.training.append(pipeline.train_offline(split.train, split.task))
            return pipeline.compare(split.test)

    def add(self, other: "Experiment") -> None:
        """Add the seeds of another experiment of the same plan, which come after these."""
        for name in ("modes", "baselines", "group_values"):
            for key, of_seeds in getattr(other, name).items():
                getattr(self, name).setdefault(key, []).extend(of_seeds)
        self.training += other.training
        self.duplicates += other.duplicates
        self.copies += other.copies
        self.meter.absorb(other.meter)
        self.bullets, self.records = other.bullets, other.records

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
            "evidence": [report.evidence for report in self.training],
            "since_change": [report.since_change for report in self.training],
            "plan": asdict(self.plan),
            "modes": {name: self._compared(name, runs) for name, runs in self.modes.items()},
            "challengers": {
                name: self._compared(name, runs) for name, runs in self.baselines.items()
            },
            "groups": {
                name: {field: [group.to_json() for group in groups] for field, groups in by.items()}
                for name in self.modes | self.baselines
                if (by := self.groups(name))
            },
            "bullets": [
                {**bullet_json(b), "on_test_cases": by_bullet.get(b.id)} for b in self.bullets
            ],
        }

    def groups(self, name: str) -> dict[str, list[GroupRates]]:
        """How the groups of each field of `plan.by` fared with a mode or a baseline."""
        runs = (self.modes | self.baselines)[name]
        half = name.endswith("second_half")  # its cases are not all test cases
        return {} if half else rates_by_group(runs, self.group_values)

    def _compared(self, name: str, runs: list[Run]) -> dict[str, object]:
        vanilla = self.vanilla_beside(name)
        gain = paired_difference(runs, vanilla).to_json()
        paired = {
            **asdict(mcnemar(runs, vanilla)),
            "p_value": gain["p_value"],
            "balanced_accuracy": gain,
            "cost_per_1000": cost_difference(runs, vanilla, self.plan.costs).to_json(),
        }
        return {**self._figures(runs), "against_vanilla": paired}

    def _figures(self, runs: list[Run]) -> dict[str, object]:
        costs = self.plan.costs
        with_interval = estimates(runs) | cost_estimates(runs, costs)
        return {
            **{name: estimate.to_json() for name, estimate in with_interval.items()},
            "undecided_rate": round(float(np.mean([run.undecided_rate for run in runs])), 4),
            "cost_if_all_approved": rounded(cost_if_all_approved(runs, costs)),
        }


def run_experiment(
    splits: Iterable[Split | tuple[list[Item], list[Item]]],
    *,
    context: AceContext | None = None,
    progress: Callable[[int | None], Progress] | None = None,
    baselines: Baselines | bool = "plain",
    plan: Plan | None = None,
    concurrency: int = 1,
    jobs: int | None = None,
) -> Experiment:
    """Train and compare on each split; `progress` gives the callback of a seed, or of all (None).

    So many `jobs` run side by side, each a seed in a process of its own; without a number as
    `joblib.parallel_config` says. The figures are the same whatever their number is.
    """
    plan, context = plan or Plan(), context or AceContext()
    which = baselines if isinstance(baselines, str) else "plain" if baselines else "none"
    seeds = [
        _Seed(seed, split, plan, context, which, concurrency) for seed, split in enumerate(splits)
    ]
    experiment = Experiment(plan=plan, model=model_name("agent", context.agent_model))
    if job_count(jobs) == 1:
        for seed in seeds:
            experiment.add(seed.run(progress(seed.number) if progress else None))
    else:
        report = progress(None) if progress else lambda *_: None
        report("seeds", 0, len(seeds))
        for done, one in enumerate(side_by_side(_Seed.run, seeds, jobs), start=1):
            experiment.add(one)
            report("seeds", done, len(seeds))
    experiment.add_second_half()
    return experiment


@dataclass(frozen=True)
class _Seed:
    """One seed of an experiment, and all that it needs."""

    number: int
    split: Split | tuple[list[Item], list[Item]]
    plan: Plan
    context: AceContext
    baselines: str
    concurrency: int

    def run(self, progress: Progress | None = None) -> Experiment:
        """The experiment with this seed alone."""
        plan, split = self.plan, self.plan.prepared(self.split, self.number)
        split.check_labels()
        experiment = Experiment(plan=plan, duplicates=split.duplicates, copies=split.copies)
        amounts = experiment.add_test(split.test, split.task)
        settings = self.context.with_changes(seed=self.number)
        curator, reflector = Curator(gate=plan.gate), Reflector(gate=plan.gate)
        learners: Collaborators = {"curator": curator, "reflector": reflector}
        pipeline = TrainingPipeline(
            BulletPlaybook(),
            context=settings,
            progress=progress,
            concurrency=self.concurrency,
            **learners,
        )
        by_mode = experiment.decide(pipeline, split)
        if plan.delay_days is not None:
            by_mode |= _delayed(pipeline, split.test, plan, learners)
        costs, *_ = limits_of(settle(pipeline.playbook, settings))
        by_baseline = run_baselines(split.train, split.test, self.number, costs, self.baselines)
        experiment.add_seed(by_mode, by_baseline, amounts)
        experiment.bullets = pipeline.playbook.get_bullets_for_node(settings.node, status=None)
        experiment.records = report_bullets(experiment.bullets, split.test)
        return experiment


def _delayed(
    pipeline: TrainingPipeline, test: list[Item], plan: Plan, learners: Collaborators
) -> dict[str, Run]:
    """Runs of the modes that learn from the stream, with labels that come later."""
    moments, delay = moments_of(test, None), plan.delay_days or 0.0
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
    progress: Callable[[int | None], Progress] | None = None,
    baselines: bool = True,
    concurrency: int = 1,
    jobs: int | None = None,
) -> tuple[Experiment, float | None]:
    """An experiment on generated transactions, and the best balanced accuracy attainable on them.

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
    experiment = run_experiment(
        splits,
        context=context,
        progress=progress,
        baselines=baselines,
        concurrency=concurrency,
        jobs=jobs,
    )
    experiment.data = "generated payments"
    experiment.split = "generated apart"
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
    return experiment, float(np.mean([balanced_accuracy(run) for run in best]))
