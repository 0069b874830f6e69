"""A new kind of fraud in a stream whose labels come six weeks late, and only for what was approved.

Generated payments are the history; in the 16 weeks after it 15 payments a week are of a kind that
was not known. Every week labels come in, then 500 payments are decided. Beside the playbook stand
logistic regression and LightGBM, refitted every week on the labels that they have themselves. All
decide by the same costs: the amount of a missed fraud, a tenth of an honest payment declined.

    pip install -r benchmarks/requirements.txt
    python benchmarks/planted_fraud.py --seeds 3
"""

import argparse
import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from functools import cache
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from acegraph.graph import TrainingPipeline, generate_transactions
from acegraph.graph.data.files import Item, as_items
from acegraph.graph.operations.decide import decide_many
from acegraph.graph.operations.feedback import feedback
from acegraph.graph.tables.ruleset import TableRules
from acegraph.state import APPROVE, DECLINE, AceContext, BulletPlaybook
from acegraph.state.values.costs import CostMatrix

WEEKS: Final = 16
A_WEEK: Final = 500
PLANTED: Final = 15
LATE: Final = 6
HISTORY: Final = 8_000
RATE: Final = 0.005
LAST: Final = 8
START: Final = datetime(2025, 1, 6, tzinfo=UTC)
STREAM: Final = START + timedelta(weeks=WEEKS)
COSTS: Final = {"missed_fraud": 1.0, "false_decline": 0.1}
CONTEXT: Final = AceContext(policy={"costs": COSTS})
MATRIX: Final = CostMatrix(**COSTS)


@dataclass
class Decided:
    """What somebody decided in the stream."""

    declined: list[bool] = field(default_factory=list)
    found_after: int | None = None
    """How many of the new frauds had a label when most of them began to be declined."""
    notes: list[str] = field(default_factory=list)


def history(seed: int) -> list[Item]:
    """Payments of the 16 weeks before, without the new kind."""
    return _in_time(generate_transactions(HISTORY, seed=seed, fraud_rate=RATE), START, "past", seed)


@cache
def week(number: int, seed: int) -> list[Item]:
    """The payments of one week of the stream; those of the new kind are `planted`."""
    rng = np.random.default_rng([seed, number, 71])
    usual = generate_transactions(A_WEEK, seed=1_000 * (seed + 1) + number, fraud_rate=RATE)
    begin = STREAM + timedelta(weeks=number)
    items = _in_time(usual, begin, f"w{number}", seed)
    for item in rng.choice([i for i in items if i["answer"] == APPROVE], PLANTED, replace=False):
        item["query"] |= planted(rng)
        item |= {"answer": DECLINE, "id": f"planted-{item['id']}"}
    return items


def planted(rng: np.random.Generator) -> dict[str, Any]:
    """What the new frauds have in common; of the honest payments one in 700 is such."""
    return {
        "merchant_category": "digital_services",
        "new_device": True,
        "amount": round(float(rng.uniform(90, 250)), 2),
    }


def _in_time(examples: Sequence[Any], begin: datetime, name: str, seed: int) -> list[Item]:
    """Examples as items with their time, evenly over the weeks that they take."""
    step = timedelta(weeks=1) / A_WEEK
    items: list[dict[str, Any]] = []
    for number, example in enumerate(examples):
        moment = (begin + number * step).replace(hour=example.fields["hour"])
        query = {**example.fields, "time": moment.isoformat()}
        del query["hour"]
        items.append({"id": f"{name}-{number}", "query": query, "answer": example.answer})
    return as_items(sorted(items, key=lambda item: str(item["query"]["time"])))


def by_playbook(playbook: BulletPlaybook, seed: int) -> Decided:
    """The stream as a playbook decides it that was trained on the history and learns on."""
    decided, trained = Decided(), {b.id for b in playbook}
    weeks = [week(number, seed) for number in range(WEEKS)]
    approved: list[list[Item]] = []
    for number, items in enumerate(weeks):
        if number >= LATE:
            _labelled(playbook, approved[number - LATE], decided)
        asked = [{"transaction": i["query"], "decision_id": i["id"]} for i in items]
        answers = decide_many(playbook, asked, CONTEXT)  # type: ignore[arg-type]
        verdicts = [answer["decision"] == DECLINE for answer in answers]  # type: ignore[index]
        decided.declined += verdicts
        approved.append([i for i, no in zip(items, verdicts, strict=True) if not no])
    new = [b for b in playbook if b.id not in trained]
    decided.notes += [f"{b.id} {b.status}: {b.content}" for b in new]
    return decided


def frozen(playbook: BulletPlaybook, seed: int) -> Decided:
    """The stream as a playbook decides it that learns nothing more."""
    rules = TableRules.of(playbook, CONTEXT)
    items = [item for number in range(WEEKS) for item in week(number, seed)]
    return Decided([rules.decide(item["query"]).decision == DECLINE for item in items])


def _labelled(playbook: BulletPlaybook, items: Sequence[Item], decided: Decided) -> None:
    """Give the labels of approved payments, and look whether the new kind is found."""
    for item in items:
        feedback(playbook, item["id"], item["answer"])
        if item["id"].startswith("planted") and not _is_found(decided):
            decided.notes.append(item["id"])
            if declines_new(playbook) > 0.5:
                decided.found_after = len(decided.notes)
                decided.notes.clear()


def _is_found(decided: Decided) -> bool:
    return decided.found_after is not None


def declines_new(playbook: BulletPlaybook) -> float:
    """The share of further payments of the new kind that a playbook declines."""
    rules = TableRules.of(playbook, CONTEXT)
    return float(np.mean([rules.decide(query).decision == DECLINE for query in probes()]))


@cache
def probes() -> list[dict[str, Any]]:
    """Further payments of the new kind."""
    return [i["query"] for i in week(WEEKS, 99) if i["id"].startswith("planted")]


def by_learner(make: Callable[[], Any], seed: int) -> Decided:
    """The stream as a learner decides it that is refitted every week on the labels it has."""
    known, decided = history(seed), Decided()
    weeks = [week(number, seed) for number in range(WEEKS)]
    approved: list[list[Item]] = []
    for number, items in enumerate(weeks):
        if number >= LATE:
            known += approved[number - LATE]
        seen, unseen = matrices(known, items)
        labels = np.array([item["answer"] == DECLINE for item in known])
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            risks = make().fit(seen, labels).predict_proba(unseen)[:, 1]
        limits = MATRIX.break_even_over(amounts(items))
        verdicts = (risks > limits).tolist()
        decided.declined += verdicts
        approved.append([i for i, no in zip(items, verdicts, strict=True) if not no])
    return decided


def matrices(known: Sequence[Item], items: Sequence[Item]) -> tuple[Any, Any]:
    """Rows to learn from and to decide; the hour for the time, a column for each word."""
    from sklearn.feature_extraction import DictVectorizer

    rows = [
        {**item["query"], "time": float(item["query"]["time"][11:13])} for item in (*known, *items)
    ]
    matrix = DictVectorizer(sparse=False).fit_transform(rows)
    return matrix[: len(known)], matrix[len(known) :]


def learners() -> dict[str, Callable[[], Any]]:
    """The rivals."""
    from lightgbm import LGBMClassifier
    from sklearn.linear_model import LogisticRegression
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import StandardScaler

    return {
        "logistic regression": lambda: make_pipeline(
            StandardScaler(), LogisticRegression(max_iter=3000)
        ),
        "LightGBM": lambda: LGBMClassifier(n_jobs=1, random_state=0, verbose=-1),
    }


def amounts(items: Sequence[Item]) -> NDArray[np.float64]:
    """What the payments are worth."""
    return np.array([float(item["query"]["amount"]) for item in items])


def figures(decided: Decided, seed: int) -> NDArray[np.float64]:
    """Cost per 1,000; shares of new frauds caught, of honest declined before, and in the end."""
    items = [item for number in range(WEEKS) for item in week(number, seed)]
    declined, fraud = np.array(decided.declined), np.array([i["answer"] == DECLINE for i in items])
    is_new = np.array([i["id"].startswith("planted") for i in items])
    last = np.arange(len(items)) >= (WEEKS - LAST) * A_WEEK
    cost = MATRIX.of(fraud, declined, amounts(items)).sum() / len(items) * 1000
    return np.array(
        [
            cost,
            declined[is_new & last].mean(),
            declined[~fraud & ~last].mean(),
            declined[~fraud & last].mean(),
        ]
    )


def line(name: str, found: Sequence[float], more: str = "") -> str:
    """One row of the table."""
    cost, caught, before, declined = found
    return (
        f"{name:22} cost/1000 {cost:8.1f}   new frauds caught, last {LAST} weeks {caught:.3f}   "
        f"honest declined {before:.4f}, last {LAST} weeks {declined:.4f}{more}"
    )


def main() -> None:
    """Print a row for each seed, and the mean."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seed", type=int, default=0, help="the first seed")
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--rivals", action=argparse.BooleanOptionalAction, default=True)
    parser.add_argument("--rules", action="store_true", help="print the rules of the stream")
    given = parser.parse_args()
    rows: dict[str, list[NDArray[np.float64]]] = {}
    for seed in range(given.seed, given.seed + given.seeds):
        playbook = BulletPlaybook()
        TrainingPipeline(playbook, context=CONTEXT).train_offline(history(seed))
        everybody = {"frozen playbook": frozen(playbook, seed)}
        ours = everybody["playbook"] = by_playbook(playbook, seed)
        if given.rivals:
            everybody |= {name: by_learner(make, seed) for name, make in learners().items()}
        for name, decided in everybody.items():
            found = figures(decided, seed)
            rows.setdefault(name, []).append(found)
            more = f"   found after {decided.found_after}" if decided is ours else ""
            print(line(f"seed {seed} {name}", found.tolist(), more), flush=True)
        if given.rules:
            print(*ours.notes, sep="\n", flush=True)
    for name, of_one in rows.items():
        print(line(f"mean {name}", np.mean(of_one, axis=0).tolist()))


if __name__ == "__main__":
    main()
