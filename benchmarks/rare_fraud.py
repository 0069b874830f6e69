"""Rare fraud: what learning brings at natural rates, beside plain learners and vanilla.

    python benchmarks/rare_fraud.py                        # generated payments at 2, 0.5, 0.1 %
    python benchmarks/rare_fraud.py --rows 200000 --rates 0.02
    python benchmarks/rare_fraud.py --rates 0.001 --seeds 8     # ten frauds each; taken together
    python benchmarks/rare_fraud.py --shuffled 40          # payments with nothing to learn
    python benchmarks/rare_fraud.py --file cards.csv --label is_fraud
    python benchmarks/rare_fraud.py --file cards.csv --as cc_num=card tx_last_24h=ignored

Of generated payments the first half is learned and the second half decided. A file is learned in
windows that grow in time: the first fifth, then two fifths and so on, each deciding the next fifth;
what the first fifth teaches also decides all the others. Everybody is given the same costs, those
of `acegraph compare`: the amount of a missed fraud, a tenth of an honest payment declined.
"""

import argparse
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Final

import numpy as np

from acegraph.graph import TrainingPipeline, generate_transactions
from acegraph.graph.data.files import Item, as_items, load_dataset
from acegraph.graph.data.splits import moments_of
from acegraph.graph.experiments.baselines import _matrices
from acegraph.graph.metrics.costs import cost_difference, cost_estimates
from acegraph.graph.metrics.ranking import average_precision
from acegraph.graph.metrics.run import Run
from acegraph.nodes.rules.points import amount_of
from acegraph.nodes.text.understand import read_fields
from acegraph.state import APPROVE, DECLINE, AceContext, Transaction
from acegraph.state.values.costs import CostMatrix

GIVEN: Final = {"missed_fraud": 1.0, "false_decline": 0.1}
COSTS: Final = CostMatrix(**GIVEN)


def amount(item: Item) -> float | None:
    """What a payment is worth."""
    return amount_of(read_fields(Transaction.of(item["query"])), "amount")


def with_amounts(run: Run, items: Sequence[Item]) -> Run:
    """The run with the amounts at stake, which costs are shares of."""
    run.amounts = [amount(item) for item in items]
    return run


def calibration(run: Run) -> tuple[float, float, float]:
    """Fraud seen over fraud expected, overall and in the top decile of risk; Brier skill."""
    risk, fraud = run.scores, run.fraud
    top = np.argsort(-risk, kind="stable")[: max(len(risk) // 10, 1)]
    plain = float(np.mean((fraud - fraud.mean()) ** 2))
    skill = 1 - float(np.mean((fraud - risk) ** 2)) / plain
    return float(fraud.sum() / risk.sum()), float(fraud[top].sum() / risk[top].sum()), skill


def line(name: str, runs: Sequence[Run]) -> str:
    """One row of the table."""
    cost = cost_estimates(runs, COSTS)["cost_per_1000"]
    fraud = np.concatenate([run.fraud for run in runs])
    declined = np.concatenate([run.declined for run in runs])
    scores = np.concatenate([run.scores for run in runs])
    return (
        f"{name:22} cost/1000 {cost.mean:8.1f} [{cost.low:.1f}, {cost.high:.1f}]  average "
        f"precision {average_precision(fraud, scores):.3f}  missed {np.mean(~declined[fraud]):.3f}"
        f"  false declines {np.mean(declined[~fraud]):.4f}"
    )


def generated(rows: int, rates: Sequence[float], seeds: Sequence[int]) -> Iterator[str]:
    """Learn the first half of generated payments, decide the second half; then all seeds as one."""
    for rate in rates:
        runs: dict[str, list[Run]] = {"vanilla": [], "trained": []}
        for seed in seeds:
            vanilla, trained, bullets = decided_half(rows, rate, seed)
            yield f"{rate:.2%} fraud, {rows} payments, seed {seed}, {bullets} active bullets"
            yield from summary([vanilla], [trained])
            runs["vanilla"].append(vanilla)
            runs["trained"].append(trained)
        if len(seeds) > 1:
            yield f"{rate:.2%} fraud, all seeds"
            yield from summary(runs["vanilla"], runs["trained"])


def decided_half(rows: int, rate: float, seed: int) -> tuple[Run, Run, int]:
    """What vanilla and the trained playbook decide on the second half, and how many bullets act."""
    items = as_items(
        {"id": e.id, "query": dict(e.fields), "answer": e.answer}
        for e in generate_transactions(rows, seed=seed, fraud_rate=rate)
    )
    past, stream = items[: rows // 2], items[rows // 2 :]
    pipeline = TrainingPipeline(context=AceContext(policy={"costs": GIVEN}))
    report = pipeline.train_offline(past)
    ours = with_amounts(pipeline.evaluate(stream, learn=False), stream)
    vanilla = with_amounts(pipeline.evaluate(stream, "vanilla"), stream)
    return vanilla, ours, report.bullets_active


def summary(vanilla: Sequence[Run], trained: Sequence[Run]) -> Iterator[str]:
    """Both in the table, and how the risks of the trained playbook fit what was seen."""
    gain = cost_difference(trained, vanilla, COSTS)
    overall, top, skill = calibration(Run.together(trained))
    yield line("  vanilla", vanilla)
    yield line("  trained", trained)
    yield (
        f"  cost difference {gain.mean:+.1f} [{gain.low:+.1f}, {gain.high:+.1f}], p = "
        f"{gain.p_value:.4f}; seen/expected {overall:.2f}, top decile {top:.2f}; Brier skill "
        f"{skill:.4f}"
    )


def shuffled(streams: int, rows: int, rates: Sequence[float]) -> Iterator[str]:
    """How many trainings on labels without meaning end with an active bullet."""
    for rate in rates:
        active = 0
        for seed in range(streams):
            examples = generate_transactions(rows, seed=seed, fraud_rate=rate, shuffle_labels=True)
            items = [{"id": e.id, "query": dict(e.fields), "answer": e.answer} for e in examples]
            active += TrainingPipeline().train_offline(items).bullets_active > 0
        yield f"{rate:.2%} fraud, {rows} shuffled payments: {active} of {streams} learned a bullet"


def rivals() -> dict[str, Any]:
    """Plain learners; EBM only where `interpret` is installed."""
    from sklearn.ensemble import GradientBoostingClassifier
    from sklearn.linear_model import LogisticRegression
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import StandardScaler
    from sklearn.tree import DecisionTreeClassifier

    found: dict[str, Any] = {
        "logistic regression": make_pipeline(StandardScaler(), LogisticRegression(max_iter=3000)),
        "depth-3 tree": DecisionTreeClassifier(max_depth=3, random_state=0),
        "gradient boosting": GradientBoostingClassifier(random_state=0),
    }
    try:
        from interpret.glassbox import ExplainableBoostingClassifier
    except ImportError:
        return found
    return found | {"EBM": ExplainableBoostingClassifier(random_state=0, n_jobs=1)}


def windows(file: Path, label: str, declared: Mapping[str, str]) -> Iterator[str]:
    """Learn growing parts of a file, decide the fifth after each, pooled."""
    items = load_dataset(file, query=None, answer=label, declared=declared)
    items = [items[i] for i in np.argsort(moments_of(items), kind="stable")]
    fifth = len(items) // 5
    runs: dict[str, list[Run]] = {}
    for part in range(1, 5):
        past, stream = items[: part * fifth], items[part * fifth : (part + 1) * fifth]
        pipeline = TrainingPipeline(context=AceContext(policy={"costs": GIVEN}))
        pipeline.train_offline(past)
        if part == 1:
            later = items[fifth:]
            yield line(
                "first fifth decides all",
                [with_amounts(pipeline.evaluate(later, learn=False), later)],
            )
        ours = pipeline.evaluate(stream, learn=False)
        decided = {"vanilla": pipeline.evaluate(stream, "vanilla"), "trained": ours}
        seen, unseen = _matrices(past, stream)
        labels = np.array([item["answer"] == DECLINE for item in past])
        for name, learner in rivals().items():
            risks = learner.fit(seen, labels).predict_proba(unseen)[:, 1]
            decided[name] = Run()
            for item, risk in zip(stream, risks, strict=True):
                limit = COSTS.break_even(amount(item))
                decision = DECLINE if risk > limit else APPROVE
                decided[name].add(item["answer"], decision, float(risk))
        for name, run in decided.items():
            runs.setdefault(name, []).append(with_amounts(run, stream))
    for name, of_one in runs.items():
        yield line(name, of_one)
    overall, top, skill = calibration(Run.together(runs["trained"]))
    yield f"trained: seen/expected {overall:.2f}, top decile {top:.2f}; Brier skill {skill:.4f}"


def main() -> None:
    """Print what was asked for."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, default=20_000)
    parser.add_argument("--rates", type=float, nargs="+", default=[0.02, 0.005, 0.001])
    parser.add_argument("--seed", type=int, default=7, help="the first seed")
    parser.add_argument("--seeds", type=int, default=1, help="how many seeds")
    parser.add_argument("--shuffled", type=int, default=0, help="how many shuffled streams")
    parser.add_argument("--file", type=Path)
    parser.add_argument("--label", default="is_fraud")
    parser.add_argument("--as", nargs="*", default=[], dest="declared", metavar="NAME=WHAT")
    given = parser.parse_args()
    if given.file:
        lines = windows(given.file, given.label, dict(one.split("=") for one in given.declared))
    elif given.shuffled:
        lines = shuffled(given.shuffled, given.rows, given.rates)
    else:
        seeds = range(given.seed, given.seed + given.seeds)
        lines = generated(given.rows, given.rates, seeds)
    for text in lines:
        print(text, flush=True)


if __name__ == "__main__":
    main()
