"""Learning on after training: whether a trained playbook gets better by what it goes on to see.

The first half of the rows is learned at once. The second half is decided twice: by the playbook as
it was trained (frozen), and by one that learns from each label at once. A file is taken in several
random orders, of which each is another first half; generated payments have a seed each.

    python benchmarks/learning_on.py                                   # generated, four seeds
    python benchmarks/learning_on.py --file cards.csv --label is_fraud # a file in four orders
"""

import argparse
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Final

import numpy as np
from rare_fraud import COSTS, GIVEN

from acegraph.graph import TrainingPipeline, generate_transactions
from acegraph.graph.data.declare import fields_of
from acegraph.graph.data.files import Item, as_items, load_dataset
from acegraph.graph.metrics.costs import cost_difference, cost_estimates
from acegraph.graph.metrics.run import Run
from acegraph.nodes.rules.points import amount_of
from acegraph.state import AceContext, BulletPlaybook

MODES: Final = ("frozen", "learning")


def generated(rows: int, rate: float, seeds: range) -> Iterator[tuple[str, list[Item]]]:
    """Generated payments at a natural rate, one set for each seed."""
    for seed in seeds:
        examples = generate_transactions(rows, seed=seed, fraud_rate=rate)
        items = [{"id": e.id, "query": dict(e.fields), "answer": e.answer} for e in examples]
        yield f"generated {seed}", as_items(items)


def of_file(
    file: Path, label: str, declared: Mapping[str, str], seeds: range
) -> Iterator[tuple[str, list[Item]]]:
    """The rows of a file, in an order for each seed."""
    items = load_dataset(file, query=None, answer=label, declared=declared)
    for seed in seeds:
        order = np.random.default_rng([seed, 61]).permutation(len(items))
        yield f"{file.stem}, order {seed}", [items[i] for i in order]


def decided(items: list[Item], policy: Mapping[str, object]) -> dict[str, Run]:
    """What both decide on the second half."""
    half = len(items) // 2
    past, stream = items[:half], items[half:]
    runs = {}
    for mode in MODES:
        pipeline = TrainingPipeline(BulletPlaybook(), context=AceContext(policy=dict(policy)))
        pipeline.train_offline(past)
        run = runs[mode] = pipeline.evaluate(stream, learn=mode == "learning")
        task = pipeline.playbook.task()
        amount = task.of_role("amount")
        run.amounts = [
            amount_of(row, amount.name if amount else None) for row in fields_of(stream, task)
        ]
    return runs


def line(name: str, run: Run) -> str:
    """One row of the table."""
    cost = cost_estimates([run], COSTS)["cost_per_1000"]
    fraud, declined = run.fraud, run.declined
    return (
        f"{name:36} cost/1000 {cost.mean:8.1f} [{cost.low:.1f}, {cost.high:.1f}]  missed "
        f"{np.mean(~declined[fraud]):.3f}  false declines {np.mean(declined[~fraud]):.4f}"
    )


def main() -> None:
    """Print both for each set of rows, and the mean."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, default=8_000)
    parser.add_argument("--rate", type=float, default=0.02)
    parser.add_argument("--seed", type=int, default=0, help="the first seed")
    parser.add_argument("--seeds", type=int, default=4)
    parser.add_argument("--file", type=Path)
    parser.add_argument("--label", default="is_fraud")
    parser.add_argument("--as", nargs="*", default=[], dest="declared", metavar="NAME=WHAT")
    parser.add_argument("--costs", action=argparse.BooleanOptionalAction, default=True)
    given = parser.parse_args()
    seeds, policy = range(given.seed, given.seed + given.seeds), {"costs": GIVEN}
    declared = dict(one.split("=") for one in given.declared)
    sets = generated(given.rows, given.rate, seeds)
    if given.file:
        sets = of_file(given.file, given.label, declared, seeds)
    runs: dict[str, list[Run]] = {mode: [] for mode in MODES}
    for name, items in sets:
        found = decided(items, policy if given.costs else {})
        for mode, run in found.items():
            runs[mode].append(run)
            print(line(f"{name}, {mode}", run), flush=True)
    frozen, learning = (
        np.mean([cost_estimates([run], COSTS)["cost_per_1000"].mean for run in runs[mode]])
        for mode in MODES
    )
    gain = cost_difference(runs["learning"], runs["frozen"], COSTS)
    print(
        f"mean cost/1000: frozen {frozen:.1f}, learning {learning:.1f} "
        f"({learning / frozen - 1:+.2%}; difference {gain.mean:+.1f} [{gain.low:+.1f}, "
        f"{gain.high:+.1f}])"
    )


if __name__ == "__main__":
    main()
