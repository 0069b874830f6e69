"""An experiment: train and test over several seeds, with every way of deciding on the same cases;
or a duel of two versions of a playbook, by their rulesets now or in shadow on the live stream.

It gathers runs and computes figures. The tables are in cli/tables.py, the pictures in pictures.py.
"""

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import asdict, dataclass, field, replace
from typing import Final

from acegraph.graph.data.declare import fields_of, task_of
from acegraph.graph.data.files import Item, as_items, row_name
from acegraph.graph.data.rows import Progress
from acegraph.graph.data.splits import Split
from acegraph.graph.data.synthetic import generate_transactions
from acegraph.graph.experiments.baselines import run_baselines
from acegraph.graph.metrics.costs import cost_difference, cost_estimates, cost_if_all_approved
from acegraph.graph.metrics.groups import GroupRates, rates_by_group
from acegraph.graph.metrics.intervals import Estimate, band, estimates, rounded, row_numbers
from acegraph.graph.metrics.paired import Difference, paired_difference
from acegraph.graph.metrics.records import Cases, Record
from acegraph.graph.metrics.run import Run
from acegraph.graph.operations.transfer import bullet_to_json
from acegraph.graph.tables.ruleset import TableRules
from acegraph.graph.training.pipeline import LabelledCases, TrainingPipeline
from acegraph.graph.training.report import TrainingReport
from acegraph.nodes.models.named import model_name
from acegraph.nodes.rules.points import amount_of
from acegraph.nodes.rules.ruleset import Ruleset
from acegraph.nodes.runtime.usage import Meter, metered
from acegraph.state import AceContext, BulletPlaybook, InvalidDataset
from acegraph.state.ledger.lookups import labelled_with
from acegraph.state.task.task import Task
from acegraph.state.values import UNDECIDED, Bullet, Case, CaseTable, CostMatrix, Fields, Scalar

IN_FORCE: Final = "in force"
"""The side that decides today, or in a live duel the version that decided then."""


@dataclass(frozen=True)
class Compared:
    """The figures of a mode or a learner, and how it did against the first mode."""

    figures: dict[str, Estimate]
    undecided_rate: float
    cost_if_all_approved: float
    gain: Difference
    """In balanced accuracy."""
    cost: Difference
    """Of 1,000 payments."""

    @classmethod
    def of(cls, runs: list[Run], first: list[Run], costs: CostMatrix) -> "Compared":
        """The figures of some runs beside those of the first mode on the same cases."""
        sides, approved = [(runs, first)], cost_if_all_approved(runs, costs)
        if "" in runs[0].truths:
            truths, approved = runs[0].possible_truths(), math.nan
            sides = [([replace(runs[0], truths=t)], [replace(first[0], truths=t)]) for t in truths]
        figures = [estimates(ours) | cost_estimates(ours, costs) for ours, _ in sides]
        return cls(
            {name: band([one[name] for one in figures]) for name in figures[0]},
            Run.together(runs).undecided_rate,
            approved,
            band([paired_difference(*both) for both in sides]),
            band([cost_difference(*both, costs) for both in sides]),
        )

    def to_json(self) -> dict[str, object]:
        """Every figure by name."""
        gain, cost = self.gain.to_json(), self.cost.to_json()
        return {
            **{name: figure.to_json() for name, figure in self.figures.items()},
            "undecided_rate": round(self.undecided_rate, 4),
            "cost_if_all_approved": rounded(self.cost_if_all_approved),
            "against": {"balanced_accuracy": gain, "cost_per_1000": cost},
        }


@dataclass
class Experiment:
    """The runs of all modes and baselines, by seed, and the bullets of the last training."""

    modes: dict[str, list[Run]] = field(default_factory=dict)
    baselines: dict[str, list[Run]] = field(default_factory=dict)
    training: list[TrainingReport] = field(default_factory=list)
    bullets: list[Bullet] = field(default_factory=list)
    records: dict[str, Record] = field(default_factory=dict)
    """By id what these bullets did on the test cases of the last seed; prose has no record."""
    duplicates: int = 0
    """Test rows of all seeds that were left out because a training row is the same."""
    copies: int = 0
    """Test rows of all seeds that stayed although a training row is the same."""
    costs: CostMatrix = field(default_factory=CostMatrix)
    data: str = ""
    """The name of the data, for pictures and reports."""
    split: str = ""
    """How training and test rows were told apart, in words, for reports."""
    model: str | None = None
    """The language model that decided; None is the embedded analyst."""
    notes: list[str] = field(default_factory=list)
    """What was said while the data was read, for reports."""
    group_values: dict[str, list[list[Scalar | None]]] = field(default_factory=dict)
    """The values of each protected field, by seed and test case."""
    meter: Meter = field(default_factory=Meter)
    """What language models were asked for in training and deciding."""
    _compared: dict[str, Compared] = field(default_factory=dict, repr=False)

    @property
    def learned(self) -> bool:
        """Whether the training of any seed left an active bullet."""
        return any(report.bullets_active for report in self.training)

    @property
    def first(self) -> list[Run]:
        """The runs of the mode with which all others are compared."""
        return next(iter(self.modes.values()))

    @property
    def fraud_rate(self) -> float:
        """The share of fraud among the test cases whose labels are known."""
        run = Run.together(self.first)
        known = len(run.truths) - run.truths.count("")
        return float(run.fraud.sum()) / known if known else math.nan

    def add_seed(
        self,
        modes: dict[str, Run],
        rows: Sequence[Fields],
        task: Task,
        baselines: dict[str, Run] | None = None,
    ) -> None:
        """Add the runs of one more seed, with the groups and the amounts of its test cases."""
        amount = task.of_role("amount")
        for name in (one.name for one in task.fields if one.role == "protected"):
            self.group_values.setdefault(name, []).append([row.get(name) for row in rows])
        amounts = [amount_of(row, amount.name) if amount else None for row in rows]
        for runs, gathered in ((modes, self.modes), (baselines or {}, self.baselines)):
            for name, run in runs.items():
                run.amounts = amounts
                gathered.setdefault(name, []).append(run)

    def compared(self, name: str) -> Compared:
        """The figures of a mode or a learner, against the first mode on the same cases."""
        if name not in self._compared:
            runs = (self.modes | self.baselines)[name]
            self._compared[name] = Compared.of(runs, self.first, self.costs)
        return self._compared[name]

    def to_json(self) -> dict[str, object]:
        """One object with every figure, for machines."""
        vanilla = self.first
        tested = {name: record.to_json() for name, record in self.records.items()}
        return {
            "seeds": len(vanilla),
            "test_cases": sum(len(run.truths) for run in vanilla),
            "distinct_test_cases": row_numbers(vanilla)[1],
            "duplicates_left_out": self.duplicates,
            "duplicates_kept": self.copies,
            "labels_missing": Run.together(vanilla).truths.count(""),
            "fraud_rate": round(self.fraud_rate, 4),
            "active_bullets": [report.bullets_active for report in self.training],
            "evidence": [report.evidence for report in self.training],
            "since_change": [report.since_change for report in self.training],
            "costs": asdict(self.costs),
            "modes": {name: self.compared(name).to_json() for name in self.modes},
            "challengers": {name: self.compared(name).to_json() for name in self.baselines},
            "groups": {
                name: {field: [group.to_json() for group in groups] for field, groups in by.items()}
                for name in self.modes | self.baselines
                if (by := self.groups(name))
            },
            "bullets": [
                {**bullet_to_json(b), "on_test_cases": tested.get(b.id)} for b in self.bullets
            ],
        }

    def groups(self, name: str) -> dict[str, list[GroupRates]]:
        """How the groups of each protected field fared; none are told where labels are missing."""
        runs = (self.modes | self.baselines)[name]
        if "" in runs[0].truths:
            return {}
        return {field: rates_by_group(runs, given) for field, given in self.group_values.items()}


def run_experiment(
    splits: Iterable[Split | tuple[list[Item], list[Item]]],
    *,
    context: AceContext | None = None,
    progress: Callable[[int], Progress] | None = None,
    baselines: bool = True,
) -> Experiment:
    """Train and compare on each split; `progress` gives the callback of a seed."""
    context = context or AceContext()
    given = (context.policy or {}).get("costs")
    costs = CostMatrix(**given) if given else None
    experiment = Experiment(
        costs=costs or CostMatrix(), model=model_name("agent", context.agent_model)
    )
    for seed, given in enumerate(splits):
        split = (given if isinstance(given, Split) else Split(*given)).without_duplicates()
        split.check_labels()
        settings = context.with_changes(seed=seed)
        told = progress(seed) if progress else None
        pipeline = TrainingPipeline(context=settings, progress=told)
        with metered(experiment.meter):
            experiment.training.append(pipeline.train_offline(split.train, split.task))
            modes = pipeline.compare(split.test)
        others = run_baselines(split.train, split.test, seed, costs) if baselines else {}
        task = split.task or task_of(split.test)
        rows = fields_of(split.test, task)
        experiment.add_seed(modes, rows, task, others)
        experiment.duplicates += split.duplicates
        experiment.copies += split.copies
        experiment.bullets = pipeline.playbook.get_bullets_for_node(settings.node, status=None)
        experiment.records = _records(pipeline.playbook, experiment.bullets, split.test, rows)
    return experiment


def _records(
    playbook: BulletPlaybook, bullets: list[Bullet], items: list[Item], rows: Sequence[Fields]
) -> dict[str, Record]:
    pairs = zip(items, rows, strict=True)
    cases = Cases(CaseTable(Case(one["id"], row, one["answer"]) for one, row in pairs))
    ruleset = Ruleset.of(playbook)
    records = ((b.id, cases.record_of(b, ruleset)) for b in bullets)
    return {name: record for name, record in records if record}


def run_demonstration(
    seeds: int,
    train: int,
    test: int,
    *,
    context: AceContext,
    progress: Callable[[int], Progress] | None = None,
    baselines: bool = True,
) -> Experiment:
    """An experiment on generated transactions; the best attainable decisions on them follow the
    causes by which their labels were generated.
    """
    worlds = [
        (generate_transactions(train, seed=1000 + s), generate_transactions(test, seed=2000 + s))
        for s in range(seeds)
    ]
    splits = [Split(as_items(past), as_items(stream)) for past, stream in worlds]
    experiment = run_experiment(splits, context=context, progress=progress, baselines=baselines)
    experiment.data, experiment.split = "generated payments", "generated apart"
    experiment.baselines["best_attainable"] = [
        replace(run, decisions=[one.best_decision for one in stream], risks=[None] * len(stream))
        for (_, stream), run in zip(worlds, experiment.modes["vanilla"], strict=True)
    ]
    return experiment


def duel(
    playbook: BulletPlaybook,
    version: int,
    dataset: LabelledCases,
    *,
    context: AceContext | None = None,
    progress: Progress | None = None,
) -> Experiment:
    """Decide labelled cases by today's rules and by those of another version.

    Neither version learns, and nothing is stored.
    """
    items, runs = as_items(dataset), (Run(), Run())
    today = TableRules.of(playbook, context)
    rows = fields_of(items, today.task)
    sides = (today, TableRules.of_version(playbook, version, context))
    for run, rules in zip(runs, sides, strict=True):
        for item, row in zip(items, rows, strict=True):
            decided = rules.decide(row)
            run.add(item["answer"], decided.decision, decided.risk, row_name(item))
            if progress:
                progress("cases", len(run.truths), len(items))
    return _duel(playbook, version, runs, rows)


def live_duel(playbook: BulletPlaybook, version: int) -> Experiment:
    """Compare what a version decided in shadow with what was decided, on the labelled cases and on
    those without a label because they were declined.
    """
    shadowed = labelled_with(playbook.database, "shadow")
    cases = [one for one in shadowed if one.settings["challenger"] == version]
    if not any(case.label for case in cases):
        raise InvalidDataset(
            f"no labelled decision with version {version} in shadow; run with "
            f"AceContext(policy={{'shadow': {version}}}), or give a file of labelled cases"
        )
    champion, challenger = Run(), Run()
    for case in cases:
        champion.add(case.label or "", case.decision, case.risk_score)
        shadow = case.settings["shadow"]
        challenger.add(case.label or "", shadow["decision"] or UNDECIDED, shadow["risk_score"])
    return _duel(playbook, version, (champion, challenger), [case.fields for case in cases])


def _duel(
    playbook: BulletPlaybook, version: int, runs: tuple[Run, Run], rows: Sequence[Fields]
) -> Experiment:
    """Both sides with the costs of the policy, and the amounts and groups of the task."""
    node = AceContext().node
    experiment = Experiment(costs=CostMatrix(**(playbook.policy(node).costs or {})))
    sides = dict(zip((IN_FORCE, f"version {version}"), runs, strict=True))
    experiment.add_seed(sides, rows, playbook.task(node))
    return experiment
