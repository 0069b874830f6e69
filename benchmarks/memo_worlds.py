"""Payments whose only cause of fraud is a phrase in the memo, and memos that say nothing.

The playbook is trained offline, frozen, and decides 1,000 other payments, half of them fraud,
beside a logistic regression on all words and pairs of words (scikit-learn). With `--noise` the
labels are shuffled: then no bullet should become active.

    python benchmarks/memo_worlds.py --seeds 5
    python benchmarks/memo_worlds.py --noise 40
    python benchmarks/memo_worlds.py --denials
"""

import argparse
import re
import sys
from collections.abc import Sequence

import numpy as np
from sklearn.feature_extraction.text import CountVectorizer
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from world_tables import run_of
from worlds import EMBEDDED, TEST, Learned, table_of

from acegraph.graph import TrainingPipeline
from acegraph.graph.data.files import Item
from acegraph.graph.metrics.rates import balanced_accuracy

SIZES = (100, 200, 500)
_SUBJECTS = "rent invoice groceries dinner flowers tickets books shoes repair lesson taxi medicine"
_ENDINGS = "as agreed|for the weekend|thank you|see you soon|second part|for the kids|for April"
_NAMES = "Anna Ben Carla Dmitri Eva Farid Greta Hugo Ines Jonas".split()
RISKY = ("gift card", "release fee", "crypto wallet")
_HARMLESS = ("gift for my sister", "birthday card", "school fee", "lost wallet")


def memo_items(n: int, seed: int, *, honest: float = 0.0, lying: float = 0.0) -> list[Item]:
    """Payments, half of them fraud; 5 % of the labels are wrong.

    A share of the honest memos, and one of the `lying` ones, deny: "this is not a gift card".
    """
    rng = np.random.default_rng([seed, n])
    denied = (honest, lying)
    return [_item(i, bool(rng.random() < 0.5), rng, denied) for i in range(n)]


def _item(number: int, fraud: bool, rng: np.random.Generator, denied: tuple[float, float]) -> Item:
    def one_of(words: Sequence[str]) -> str:
        return str(words[rng.integers(len(words))])

    about = one_of([*_SUBJECTS.split(), *_HARMLESS])
    denies = bool(denied[fraud]) and bool(rng.random() < denied[fraud])
    if fraud or denies:
        about = f"this is not a {one_of(RISKY)}" if denies else one_of(RISKY)
    parts = [about, one_of(_ENDINGS.split("|"))]
    if rng.random() < 0.3:
        parts.append(f"from {one_of(_NAMES)}")
    is_fraud = fraud ^ bool(rng.random() < 0.05)
    fields = {
        "paid": round(float(rng.lognormal(3.5, 1)), 2),
        "hour_x": int(rng.integers(24)),
        "customer_id": f"c{rng.integers(400)}",
        "memo": " ".join(parts),
    }
    answer = "DECLINE" if is_fraud else "APPROVE"
    return {"id": str(number), "query": fields, "answer": answer}


def trained(items: Sequence[Item], seed: int) -> TrainingPipeline:
    """A pipeline that has learned from these items."""
    pipeline = TrainingPipeline(context=EMBEDDED.with_changes(seed=seed))
    pipeline.train_offline(list(items))
    return pipeline


def by_playbook(train: Sequence[Item], test: Sequence[Item], seed: int) -> tuple[float, list[str]]:
    """The balanced accuracy of the playbook on payments that it has not seen, and its bullets."""
    learned = Learned.by(trained(train, seed).playbook)
    rules = [bullet.content for bullet in learned.active]
    return balanced_accuracy(learned.decide(table_of(test))), rules


def by_words(train: Sequence[Item], test: Sequence[Item]) -> float:
    """The same of a logistic regression on words and pairs of words."""
    texts = [[str(item["query"]["memo"]) for item in items] for items in (train, test)]  # type: ignore[index]
    fraud = [np.array([item["answer"] == "DECLINE" for item in items]) for items in (train, test)]
    model = make_pipeline(
        CountVectorizer(ngram_range=(1, 2), min_df=2), LogisticRegression(max_iter=2000)
    )
    return balanced_accuracy(run_of(fraud[1], model.fit(texts[0], fraud[0]).predict(texts[1])))


def noise(trainings: int, n: int) -> int:
    """How many trainings on shuffled labels activate a bullet."""
    active = 0
    for seed in range(trainings):
        items = memo_items(n, seed)
        answers = np.random.default_rng(seed).permutation([item["answer"] for item in items])
        shuffled = [{**item, "answer": str(a)} for item, a in zip(items, answers, strict=True)]
        learned = Learned.by(trained(shuffled, seed).playbook)  # type: ignore[arg-type]
        active += bool(learned.active)
        for bullet in learned.active:
            print(f"seed {seed}: {bullet.content}")
    return active


def denials() -> None:
    """What it would bring to leave out mentions that the text denies."""
    print("denied by honest, by fraudsters: as it is, denials left out")
    phrases = [re.compile(rf"(not a )?{phrase}") for phrase in RISKY]
    for honest, lying in ((0.0, 0.0), (0.2, 0.0), (0.2, 0.2), (0.0, 0.2), (0.0, 1.0)):
        items = memo_items(4_000, 0, honest=honest, lying=lying)
        fraud = np.array([item["answer"] == "DECLINE" for item in items])
        memos = [str(item["query"]["memo"]) for item in items]  # type: ignore[index]
        found = [[m for p in phrases if (m := p.search(memo))] for memo in memos]
        plain = np.array([bool(ms) for ms in found])
        meant = np.array([any(not m[1] for m in ms) for ms in found])
        figures = (balanced_accuracy(run_of(fraud, declined)) for declined in (plain, meant))
        print(f"{honest:.0%}, {lying:.0%}: {', '.join(f'{figure:.3f}' for figure in figures)}")


def main(words: list[str] | None = None) -> int:
    """Print what was measured."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--denials", action="store_true", help="whether denials should count")
    parser.add_argument("--noise", type=int, default=0, help="so many trainings on shuffled labels")
    chosen = parser.parse_args(words)
    if chosen.denials:
        denials()
        return 0
    if chosen.noise:
        print(f"{noise(chosen.noise, 500)} of {chosen.noise} shuffled trainings activate a bullet")
        return 0
    print("balanced accuracy, mean of the seeds\nrows  playbook  words")
    rules: list[str] = []
    for n in SIZES:
        ours, theirs = [], []
        for seed in range(chosen.seeds):
            train, test = memo_items(n, seed), memo_items(TEST, 1000 + seed)
            figure, rules = by_playbook(train, test, seed)
            ours.append(figure)
            theirs.append(by_words(train, test))
        print(f"{n:4}  {np.mean(ours):8.3f}  {np.mean(theirs):5.3f}", flush=True)
    print("\n".join(rules))
    return 0


if __name__ == "__main__":
    sys.exit(main())
