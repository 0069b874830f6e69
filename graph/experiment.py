"""An experiment: train and test over several seeds, every way of deciding on the same cases.

It gathers runs and gives figures; how they look is for report.py and pictures.py.
"""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from acegraph.graph.challengers import run_challengers
from acegraph.graph.dataset import Item, as_items
from acegraph.graph.evaluation import METRICS, Run, accuracy, estimate, mcnemar
from acegraph.graph.generator import generate_transactions
from acegraph.graph.training import Progress, TrainingPipeline, TrainingReport
from acegraph.state import APPROVE, DECLINE, AceContext, Bullet, BulletPlaybook, InvalidDataset

Split = tuple[list[Item], list[Item]]
"""Training and test items."""


@dataclass
class Experiment:
    """The runs of all modes and rivals, by seed, and the bullets that the last training left."""

    modes: dict[str, list[Run]] = field(default_factory=dict)
    challengers: dict[str, list[Run]] = field(default_factory=dict)
    training: list[TrainingReport] = field(default_factory=list)
    bullets: list[Bullet] = field(default_factory=list)

    def add_second_half(self) -> None:
        """Add the second half of the online stream, and vanilla on the same cases, as rows."""
        for name in ("vanilla", "online"):
            self.modes[f"{name}_second_half"] = [run.second_half() for run in self.modes[name]]

    def rival_of(self, mode: str) -> list[Run]:
        """The vanilla runs on the same cases."""
        return self.modes["vanilla_second_half" if mode.endswith("second_half") else "vanilla"]

    def to_json(self) -> dict[str, Any]:
        """One object with every figure, for machines."""
        first = next(iter(self.modes.values()))
        fraud = float(np.mean(np.concatenate([run.fraud for run in first])))
        return {
            "seeds": len(first),
            "test_cases": sum(len(run.truths) for run in first),
            "fraud_rate": round(fraud, 4),
            "approve_all_accuracy": round(1 - fraud, 4),
            "learned": any(report.bullets_active for report in self.training),
            "modes": {name: self._mode_json(name, runs) for name, runs in self.modes.items()},
            "challengers": {name: _figures(runs) for name, runs in self.challengers.items()},
            "bullets": [bullet_json(b) for b in self.bullets],
        }

    def _mode_json(self, name: str, runs: list[Run]) -> dict[str, Any]:
        paired = mcnemar(runs, self.rival_of(name))
        undecided = float(np.mean([run.undecided_rate for run in runs]))
        return {
            **_figures(runs),
            "undecided_rate": round(undecided, 4),
            "against_vanilla": {
                "gained": paired.gained,
                "lost": paired.lost,
                "p_value": paired.p_value,
            },
        }


def run_experiment(
    splits: Iterable[Split],
    *,
    context: AceContext | None = None,
    progress: Callable[[int], Progress] | None = None,
    baselines: bool = True,
    concurrency: int = 1,
) -> Experiment:
    """Train and compare on each split; `progress` gives the reporter of a seed."""
    found = Experiment()
    for seed, (train, test) in enumerate(splits):
        settings = (context or AceContext()).with_changes(seed=seed)
        playbook = BulletPlaybook()
        told = progress(seed) if progress else None
        pipeline = TrainingPipeline(
            playbook, context=settings, progress=told, concurrency=concurrency
        )
        found.training.append(pipeline.train_offline(train))
        for name, run in pipeline.compare(test).items():
            found.modes.setdefault(name, []).append(run)
        if baselines:
            for name, run in run_challengers(train, test, seed).items():
                found.challengers.setdefault(name, []).append(run)
        found.bullets = playbook.get_bullets_for_node(settings.node, status=None)
    found.add_second_half()
    return found


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
    splits = [(as_items(past), as_items(stream)) for past, stream in worlds]
    found = run_experiment(splits, context=context, progress=progress, concurrency=concurrency)
    if shuffle_labels:
        return found, None
    best = [
        Run([e.answer for e in stream], [e.best_decision for e in stream], [None] * len(stream))
        for _, stream in worlds
    ]
    found.challengers["best_attainable"] = best
    return found, float(np.mean([accuracy(run) for run in best]))


def random_splits(
    items: Sequence[Item], train: int | None, test: int | None, seeds: int
) -> Iterable[Split]:
    """Random training and test rows, the same share of fraud in both, no row in both."""
    train = train or round(0.4 * len(items))
    test = test or len(items) - train
    fraud = [item for item in items if item["answer"] == DECLINE]
    honest = [item for item in items if item["answer"] == APPROVE]
    if train + test > len(items) or not fraud or not honest:
        raise InvalidDataset(
            f"{train} training and {test} test rows wanted; the file has {len(items)}, "
            f"{len(fraud)} of them fraud: choose --train and --test to fit"
        )
    learned = round(train * len(fraud) / len(items))
    tested = min(round(test * len(fraud) / len(items)), len(fraud) - learned)
    sizes = {"fraud": (learned, tested), "honest": (train - learned, test - tested)}
    for seed in range(seeds):
        rng = np.random.default_rng(seed)
        chosen: Split = ([], [])
        for pool, kind in ((fraud, "fraud"), (honest, "honest")):
            order = rng.permutation(len(pool))
            first, second = sizes[kind]
            chosen[0].extend(pool[i] for i in order[:first])
            chosen[1].extend(pool[i] for i in order[first : first + second])
        yield tuple([part[i] for i in rng.permutation(len(part))] for part in chosen)  # type: ignore[misc]


def bullet_json(bullet: Bullet) -> dict[str, Any]:
    """A bullet with its record and its backtest."""
    return {
        "id": bullet.id,
        "content": bullet.content,
        "status": bullet.status,
        "proof": bullet.proof,
        "source": bullet.source,
        "fires": bullet.evidence.get("fires"),
        "precision": bullet.evidence.get("precision"),
        "helpful_count": bullet.helpful_count,
        "harmful_count": bullet.harmful_count,
        "times_selected": bullet.times_selected,
        "success_rate": round(bullet.get_success_rate(), 4),
        "weight": bullet.weight,
        "problem_types": list(bullet.problem_types),
    }


def _figures(runs: list[Run]) -> dict[str, Any]:
    return {metric: estimate(metric, runs).to_json() for metric in METRICS}
