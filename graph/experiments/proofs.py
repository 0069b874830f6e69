"""Proofs of learning that take minutes: noise, shuffles, drift, growth, late labels, credit.

Each gives lines of figures. They run on generated transactions, or on any labelled items.
"""

import time
from collections.abc import Callable, Iterator, Sequence
from typing import Final

import numpy as np

from acegraph.graph.data.files import Item, as_items
from acegraph.graph.data.splits import Split, moments_of
from acegraph.graph.data.synthetic import generate_transactions
from acegraph.graph.experiments.delayed_labels import decide_delayed
from acegraph.graph.metrics.intervals import estimate
from acegraph.graph.metrics.paired import paired_difference
from acegraph.graph.metrics.rates import accuracy
from acegraph.graph.metrics.run import Run
from acegraph.graph.training.pipeline import TrainingPipeline
from acegraph.state import AceContext, BulletPlaybook, InvalidDataset

NOISE: Final = (0.0, 0.1, 0.2, 0.3)
_SHUFFLES: Final = 20
_EMBEDDED: Final = AceContext(
    agent_model="embedded",
    judge_model="embedded",
    reflector_model="embedded",
    embedding_model="embedded",
)


def generated_splits(train: int, test: int, seeds: int) -> list[Split]:
    """One generated world per seed."""
    return [
        Split(
            as_items(generate_transactions(train, seed=1000 + seed)),
            as_items(generate_transactions(test, seed=2000 + seed)),
        )
        for seed in range(seeds)
    ]


def noise_curve(splits: Sequence[Split]) -> Iterator[str]:
    """What wrong training labels cost; the test labels are clean."""
    clean = 0.0
    for share in NOISE:
        runs = [_frozen(s.with_label_noise(share, i), i)[0] for i, s in enumerate(splits)]
        found = estimate("balanced_accuracy", runs)
        clean = clean or found.mean
        yield (
            f"label noise {100 * share:3.0f} %: balanced accuracy {found.mean:.3f} "
            f"[{found.low:.3f}, {found.high:.3f}], lost {100 * (clean - found.mean):.1f} points"
        )


def shuffles(splits: Sequence[Split]) -> Iterator[str]:
    """What is learned where nothing can be: labels dealt out at random."""
    results = [_frozen(s.with_shuffled_labels(i), i) for i, s in enumerate(splits)]
    active = sum(bullets > 0 for _, bullets in results)
    found = estimate("balanced_accuracy", [run for run, _ in results])
    yield (
        f"shuffled labels: {active} of {len(results)} trainings activated a bullet; "
        f"balanced accuracy {found.mean:.3f} [{found.low:.3f}, {found.high:.3f}]"
    )


def _frozen(split: Split, seed: int) -> tuple[Run, int]:
    """Decisions of the trained and frozen playbook, and how many bullets it holds."""
    pipeline = TrainingPipeline(context=_EMBEDDED.with_changes(seed=seed))
    report = pipeline.train_offline(split.train)
    run = pipeline.evaluate(split.test, learn=False, source="offline")
    return run, report.bullets_active


def flipping_stream(n: int, seed: int) -> list[Item]:
    """Payments whose cause of fraud turns round in the middle; one label in twelve is wrong."""
    rng = np.random.default_rng([seed, 41])
    items = []
    for i in range(n):
        amount, kind = float(rng.integers(1, 200)), str(rng.choice(["shop", "fuel", "web"]))
        is_fraud = ((amount >= 100) == (i < n // 2)) != (rng.random() < 1 / 12)
        items.append(
            {
                "id": str(i),
                "query": {"size": amount, "kind": kind, "noise": float(rng.normal())},
                "answer": "DECLINE" if is_fraud else "APPROVE",
            }
        )
    return items


def drift(seeds: int, n: int = 1200) -> Iterator[str]:
    """A stream whose cause flips in the middle, learned online."""
    before, after, retired, half = [], [], 0, n // 2
    for seed in range(seeds):
        pipeline = TrainingPipeline(context=_EMBEDDED.with_changes(seed=seed))
        playbook, node, items = pipeline.playbook, pipeline.context.node, flipping_stream(n, seed)
        earlier = pipeline.train_online(items[:half]).run
        old = {b.id for b in playbook.get_bullets_for_node(node)}
        later = pipeline.train_online(items[half:]).run
        retired += not old & {b.id for b in playbook.get_bullets_for_node(node)}
        before.append(float(np.mean(earlier.right[half // 2 :])))
        after.append(float(np.mean(later.right[half // 2 :])))
    yield (
        f"drift: accuracy {np.mean(before):.3f} on the {half // 2} cases before the flip, "
        f"{np.mean(after):.3f} on cases {half // 2} to {half} after it; "
        f"all old bullets retired in {retired} of {seeds} seeds"
    )


def growth(n: int = 10_000, early: int = 1_000, seed: int = 0) -> Iterator[str]:
    """A long stream: the playbook stays bounded and good, a decision stays cheap."""
    stream = as_items(generate_transactions(n, seed=3000 + seed))
    test = as_items(generate_transactions(1000, seed=4000 + seed))
    pipeline = TrainingPipeline(context=_EMBEDDED)
    runs: list[Run] = []
    for part in (stream[:early], stream[early:]):
        started = time.process_time()
        report = pipeline.train_online(part)
        spent = 1000 * (time.process_time() - started) / len(part)
        started = time.process_time()
        runs.append(pipeline.evaluate(test, "online", learn=False))
        cost = 1000 * (time.process_time() - started) / len(test)
        yield (
            f"growth: up to case {early if len(runs) == 1 else n}: {report.bullets_active} active "
            f"bullets, accuracy {accuracy(runs[-1]):.3f} on held-out cases, {cost:.1f} ms CPU a "
            f"decision, {spent:.1f} ms with learning"
        )
    gain = paired_difference([runs[1]], [runs[0]])
    yield f"growth: difference {gain.mean:+.3f} [{gain.low:+.3f}, {gain.high:+.3f}]"


def late_labels(items: Sequence[Item], days: float, time_field: str | None) -> Iterator[str]:
    """The same stream with labels at once and with labels that come later."""
    moments = moments_of(items, time_field)
    for delay in (0.0, days):
        run = decide_delayed(
            BulletPlaybook(), items, moments, delay, _EMBEDDED.with_changes(mode="online")
        )
        found = estimate("balanced_accuracy", [run])
        yield (
            f"labels after {delay:g} days: balanced accuracy {found.mean:.3f} "
            f"[{found.low:.3f}, {found.high:.3f}]"
        )


def dated_stream(n: int, seed: int, days: float = 60) -> list[Item]:
    """Generated transactions with a moment each, evenly over so many days."""
    dated = []
    for i, example in enumerate(generate_transactions(n, seed=5000 + seed)):
        moment = np.datetime64("2026-01-01T00:00:00") + np.timedelta64(
            int(i * days * 86400 / n), "s"
        )
        fields = {**example.fields, "at": str(moment)}
        dated.append({"id": example.id, "query": fields, "answer": example.answer})
    return dated


def credit(splits: Sequence[Split]) -> Iterator[str]:
    """Credit for what fired against the first description's credit for all that was shown."""
    by_rule: dict[str, list[Run]] = {}
    for rule in ("part", "selected"):
        for seed, split in enumerate(splits):
            context = _EMBEDDED.with_changes(seed=seed, credit=rule)
            pipeline = TrainingPipeline(context=context)
            pipeline.train_offline(split.train)
            by_rule.setdefault(rule, []).append(pipeline.evaluate(split.test))
        found = estimate("balanced_accuracy", by_rule[rule])
        interval = f"[{found.low:.3f}, {found.high:.3f}]"
        yield f"credit {rule}: balanced accuracy {found.mean:.3f} {interval}"
    gain = paired_difference(by_rule["part"], by_rule["selected"])
    yield f"credit part over selected: {gain.mean:+.3f} [{gain.low:+.3f}, {gain.high:+.3f}]"


def left_out(items: Sequence[Item] | None) -> dict[str, str]:
    """The proofs that these items cannot give, and why."""
    try:
        if items:
            moments_of(items, None)
    except InvalidDataset:  # says how to name the field, which is for `compare` only
        return {"delay": "it wants one field with a date (ISO 8601) in every row"}
    return {}


def proofs(
    splits: Sequence[Split] | None,
    items: Sequence[Item] | None,
    train: int,
    test: int,
    seeds: int,
) -> dict[str, Callable[[], Iterator[str]]]:
    """All proofs by name; without splits and items of somebody's own they are generated."""
    many = splits or generated_splits(train, test, max(seeds, _SHUFFLES))
    few = many[:seeds]
    return {
        "noise": lambda: noise_curve(few),
        "shuffles": lambda: shuffles(many[:_SHUFFLES]),
        "credit": lambda: credit(few),
        "drift": lambda: drift(seeds),
        "growth": growth,
        "delay": lambda: late_labels(items or dated_stream(train + test, 0), 7.0, None),
    }
