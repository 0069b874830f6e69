"""Proofs of learning that take minutes: noise, shuffles, streams, credit, drift, growth, delay.

They run on generated transactions; all but drift and growth also run on a labelled file.

    python benchmarks/proofs.py                                     # all of them
    python benchmarks/proofs.py cards.csv --label is_fraud --only noise,delay
"""

import argparse
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Final

import numpy as np
from delayed_labels import decide_delayed
from joblib import parallel_config
from side_by_side import side_by_side

from acegraph.graph import TrainingPipeline, generate_transactions
from acegraph.graph.cli.files import Columns
from acegraph.graph.data.files import Item, as_items
from acegraph.graph.data.splits import Split, moments_of, random_splits
from acegraph.graph.metrics.intervals import estimate
from acegraph.graph.metrics.paired import paired_difference
from acegraph.graph.metrics.rates import accuracy
from acegraph.graph.metrics.run import Run
from acegraph.nodes.evidence.backtest import wilson_interval
from acegraph.state import AceContext, AceError, BulletPlaybook, InvalidDataset
from acegraph.state.values.verdict import other

PROOFS: Final = ("noise", "shuffles", "streams", "credit", "drift", "growth", "delay")
NOISE: Final = (0.0, 0.1, 0.2, 0.3)
SHUFFLES: Final = 40
STREAMS: Final = 200
STREAM_LENGTHS: Final = (80, 500)
STREAM_WORLDS: Final = ("payments", "noise", "mixed", "categorical", "numeric", "text")
DELAY_DAYS: Final = 7.0
EMBEDDED: Final = AceContext(
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


def balanced(runs: Sequence[Run]) -> tuple[float, str]:
    """The balanced accuracy of some runs, and the same in words with its interval."""
    figure = estimate("balanced_accuracy", runs)
    interval = f"[{figure.low:.3f}, {figure.high:.3f}]"
    return figure.mean, f"balanced accuracy {figure.mean:.3f} {interval}"


def with_label_noise(split: Split, share: float, seed: int) -> Split:
    """The split with this share of its training labels wrong; test labels stay right."""
    rng = np.random.default_rng([seed, 31])
    is_wrong = rng.permutation(len(split.train)) < round(share * len(split.train))
    train: list[Item] = [
        {**item, "answer": other(item["answer"])} if wrong else item
        for item, wrong in zip(split.train, is_wrong, strict=True)
    ]
    return replace(split, train=train)


def with_shuffled_labels(split: Split, seed: int) -> Split:
    """The split with all labels assigned at random: then there is nothing to learn."""
    rng = np.random.default_rng([seed, 32])
    return replace(split, train=shuffled(split.train, rng), test=shuffled(split.test, rng))


def shuffled(items: Sequence[Item], rng: np.random.Generator) -> list[Item]:
    """The items with each other's labels."""
    labels = [items[i]["answer"] for i in rng.permutation(len(items))]
    return [{**item, "answer": label} for item, label in zip(items, labels, strict=True)]


def noise_curve(splits: Sequence[Split]) -> Iterator[str]:
    """What wrong training labels cost; the test labels are right."""
    clean = 0.0
    for share in NOISE:
        noisy = ((with_label_noise(s, share, i), i) for i, s in enumerate(splits))
        mean, words = balanced([run for run, _ in side_by_side(decided_frozen, noisy)])
        clean = clean or mean
        yield f"label noise {100 * share:3.0f} %: {words}, lost {100 * (clean - mean):.1f} points"


def shuffles(splits: Sequence[Split]) -> Iterator[str]:
    """What is learned from labels that are dealt out at random: it should be nothing."""
    shuffled = ((with_shuffled_labels(s, i), i) for i, s in enumerate(splits))
    results = list(side_by_side(decided_frozen, shuffled))
    active = sum(bullets > 0 for _, bullets in results)
    words = balanced([run for run, _ in results])[1]
    yield f"shuffled labels: {active} of {len(results)} trainings activated a bullet; {words}"


def streams(items: Sequence[Item] | None, count: int) -> Iterator[str]:
    """What is ever learned from streams whose labels are dealt out at random, learned online."""
    active: dict[str, list[bool]] = {}
    for name, ever in side_by_side(partial(learned_from_noise, items), range(count)):
        active.setdefault(name, []).append(ever)
    every = [ever for found in active.values() for ever in found]
    low, high = wilson_interval(sum(every), len(every))
    yield (
        f"streams of {STREAM_LENGTHS[0]} to {STREAM_LENGTHS[1]} cases of noise: {sum(every)} of "
        f"{len(every)} ever activated a bullet ({np.mean(every):.1%}, interval {low:.1%} to "
        f"{high:.1%}; at most 5 %)"
    )
    parts = [f"{name} {sum(found)} of {len(found)}" for name, found in active.items()]
    yield f"streams by kind of rows: {', '.join(parts)}"


def learned_from_noise(items: Sequence[Item] | None, seed: int) -> tuple[str, bool]:
    """The kind of rows of one stream, and whether a bullet was ever active."""
    from world_kinds import WORLDS  # a script beside this one

    rng = np.random.default_rng([seed, 53])
    n = int(rng.integers(STREAM_LENGTHS[0], STREAM_LENGTHS[1] + 1))
    name = "the file" if items else STREAM_WORLDS[seed % len(STREAM_WORLDS)]
    chosen = rng.permutation(len(items or ()))[:n]
    rows = [items[i] for i in chosen] if items else WORLDS[name].train(n, seed)
    pipeline = TrainingPipeline(context=EMBEDDED.with_changes(seed=seed))
    pipeline.train_online(with_shuffled_labels(Split(rows, []), seed).train)
    changes = pipeline.playbook.history()
    return name, any(row["status"] == "active" for row in changes)


def decided_frozen(seeded: tuple[Split, int]) -> tuple[Run, int]:
    """Decisions of the trained and frozen playbook, and how many active bullets it holds."""
    split, seed = seeded
    pipeline = TrainingPipeline(context=EMBEDDED.with_changes(seed=seed))
    report = pipeline.train_offline(split.train)
    run = pipeline.evaluate(split.test, learn=False, source="offline")
    return run, report.bullets_active


def credit(splits: Sequence[Split]) -> Iterator[str]:
    """Credit for the bullets that fired, against credit for all bullets that were shown."""
    by_rule: dict[str, list[Run]] = {}
    for rule in ("part", "selected"):
        by_rule[rule] = list(side_by_side(partial(decided_by_credit, rule), enumerate(splits)))
        yield f"credit {rule}: {balanced(by_rule[rule])[1]}"
    gain = paired_difference(by_rule["part"], by_rule["selected"])
    yield f"credit part over selected: {gain.mean:+.3f} [{gain.low:+.3f}, {gain.high:+.3f}]"


def decided_by_credit(rule: str, numbered: tuple[int, Split]) -> Run:
    """Decisions of a trained playbook that goes on learning, with credit by this rule."""
    seed, split = numbered
    pipeline = TrainingPipeline(context=EMBEDDED.with_changes(seed=seed, credit=rule))
    pipeline.train_offline(split.train)
    return pipeline.evaluate(split.test)


def flipping_stream(n: int, seed: int) -> list[Item]:
    """Payments whose cause of fraud is reversed in the middle; one label in twelve is wrong."""
    rng = np.random.default_rng([seed, 41])
    items: list[Item] = []
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
    """A stream whose cause of fraud is reversed in the middle, learned online."""
    half = n // 2
    results = list(side_by_side(partial(learned_drift, n), range(seeds)))
    before, after = np.mean([(earlier, later) for earlier, later, _ in results], axis=0)
    retired = sum(are_retired for *_, are_retired in results)
    yield (
        f"drift: accuracy {before:.3f} on the {half // 2} cases before the flip, "
        f"{after:.3f} on cases {half // 2} to {half} after it; "
        f"all old bullets retired in {retired} of {seeds} seeds"
    )


def learned_drift(n: int, seed: int) -> tuple[float, float, bool]:
    """Accuracy before and long after the flip, and whether all old bullets were retired."""
    half = n // 2
    pipeline = TrainingPipeline(context=EMBEDDED.with_changes(seed=seed))
    playbook, node, items = pipeline.playbook, pipeline.context.node, flipping_stream(n, seed)
    earlier = pipeline.train_online(items[:half]).run
    old = {b.id for b in playbook.get_bullets_for_node(node)}
    later = pipeline.train_online(items[half:]).run
    are_retired = not old & {b.id for b in playbook.get_bullets_for_node(node)}
    shares = [float(np.mean(run.right[half // 2 :])) for run in (earlier, later)]
    return shares[0], shares[1], are_retired


def growth(n: int = 10_000, early: int = 1_000) -> Iterator[str]:
    """A long stream: the playbook stays bounded and good, a decision stays cheap."""
    stream = as_items(generate_transactions(n, seed=3000))
    test = as_items(generate_transactions(1000, seed=4000))
    pipeline = TrainingPipeline(context=EMBEDDED)
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


def dated_stream(n: int, days: float = 60) -> list[Item]:
    """Generated transactions with a moment each, evenly over so many days."""
    dated: list[Item] = []
    for i, example in enumerate(generate_transactions(n, seed=5000)):
        moment = np.datetime64("2026-01-01T00:00:00") + np.timedelta64(
            int(i * days * 86400 / n), "s"
        )
        query, answer = dict(example.fields), example.answer
        dated.append({"id": example.id, "query": query, "answer": answer, "time": str(moment)})
    return dated


def late_labels(items: Sequence[Item]) -> Iterator[str]:
    """The same stream with labels at once, and with labels that come a week later."""
    moments, context = moments_of(items), EMBEDDED.with_changes(mode="online")
    for delay in (0.0, DELAY_DAYS):
        run = decide_delayed(BulletPlaybook(), items, moments, delay, context)
        yield f"labels after {delay:g} days: {balanced([run])[1]}"


def left_out(items: Sequence[Item] | None) -> dict[str, str]:
    """The proofs that these items cannot give, and why."""
    try:
        if items:
            moments_of(items)
    except InvalidDataset:  # its text names an option that only `acegraph compare` has
        return {"delay": "it wants one field with a date (ISO 8601) in every row"}
    return {}


def proofs(
    items: Sequence[Item] | None, train: int, test: int, seeds: int, count: int = STREAMS
) -> dict[str, Callable[[], Iterator[str]]]:
    """All proofs by name, on these items or on generated ones."""
    many = max(seeds, SHUFFLES)
    splits = (
        list(random_splits(items, train, test, many))
        if items
        else generated_splits(train, test, many)
    )
    return {
        "noise": lambda: noise_curve(splits[:seeds]),
        "shuffles": lambda: shuffles(splits[:SHUFFLES]),
        "streams": lambda: streams(items, count),
        "credit": lambda: credit(splits[:seeds]),
        "drift": lambda: drift(seeds),
        "growth": growth,
        "delay": lambda: late_labels(items or dated_stream(train + test)),
    }


def at_least(least: int) -> Callable[[str], int]:
    """The parser of a whole number that is not below a bound."""

    def number(text: str) -> int:
        if int(text) < least:
            raise argparse.ArgumentTypeError(f"{text} is less than {least}")
        return int(text)

    return number


def main(words: list[str] | None = None) -> int:
    """Run the proofs and print their lines."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("file", nargs="?", type=Path, help="labelled cases; else generated ones")
    parser.add_argument("--label", help="column or key of the right answer (else: answer)")
    parser.add_argument("--text", help="column or key of the transaction's text")
    parser.add_argument("--positive", help="the label that means fraud")
    parser.add_argument("--train", type=at_least(20), default=500, help="training rows per seed")
    parser.add_argument("--test", type=at_least(20), default=1000, help="test rows per seed")
    parser.add_argument("--seeds", type=at_least(1), default=10, help="how many splits")
    parser.add_argument("--streams", type=at_least(1), default=STREAMS, help="streams of noise")
    parser.add_argument("--jobs", type=at_least(1), default=1, help="seeds that run at once")
    parser.add_argument("--only", default="", help="names of proofs, with commas; else all")
    chosen = parser.parse_args(words)
    wanted = chosen.only.split(",") if chosen.only else list(PROOFS)
    for name in wanted:
        if name not in PROOFS:
            parser.error(f"a proof is one of {', '.join(PROOFS)}, not {name!r}")
    columns = Columns(chosen.label, chosen.text, chosen.positive)
    try:
        items = columns.load(chosen.file) if chosen.file else None
        available = proofs(items, chosen.train, chosen.test, chosen.seeds, chosen.streams)
    except AceError as error:
        parser.error(str(error))
    for name, why in left_out(items).items():
        if chosen.only and name in wanted:
            parser.error(f"{chosen.file}: no proof of {name}: {why}")
        if name in wanted:
            print(f"{name} is left out: {why}", flush=True)
            wanted.remove(name)
    with parallel_config(n_jobs=chosen.jobs):
        for name in wanted:
            for line in available[name]():
                print(line, flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
