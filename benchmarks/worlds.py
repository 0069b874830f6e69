"""Learning on made-up data of nine kinds, beside the baselines: no kind may be favoured.

It runs the reflector's and the curator's parts in a loop without the graph, which is fast enough to
compare gate levels. *false*: active bullets of all seeds that use a field without any influence.
"""

import argparse
import sys
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from acegraph.graph.experiments.baselines import run_baselines
from acegraph.graph.metrics.rates import balanced_accuracy
from acegraph.graph.metrics.run import Run
from acegraph.nodes import Curator
from acegraph.nodes.agent.analyst import analyse
from acegraph.nodes.evidence.proof_levels import GATES, gate_of
from acegraph.nodes.evidence.scorecard import log_odds_over
from acegraph.nodes.reflector.reflector import induce_bullet
from acegraph.nodes.text.reader import read_fields
from acegraph.state import BulletPlaybook, Case, CaseTable, Condition, Transaction

NODE = "fraud_detection"
Rows = list[dict[str, Any]]
World = Callable[[np.random.Generator, int], tuple[Rows, NDArray[np.bool_]]]


def _named(letter: str, table: NDArray[Any]) -> Rows:
    return [{f"{letter}{j}": x for j, x in enumerate(row)} for row in table.tolist()]


def numeric(rng: np.random.Generator, n: int) -> tuple[Rows, NDArray[np.bool_]]:
    """Two causes over three of twelve numbers, 8 % of labels wrong."""
    x = rng.normal(size=(n, 12)).round(3)
    cause = ((x[:, 0] > 0.3) & (x[:, 1] < 0.2)) | (x[:, 2] > 1.2)
    return _named("v", x), cause ^ (rng.random(n) < 0.08)


def categorical(rng: np.random.Generator, n: int) -> tuple[Rows, NDArray[np.bool_]]:
    """Thirty-two categories of 2 to 12 levels; three matter, weakly."""
    levels = [2, 3, 4, 5, 6, 7, 8, 9, 10, 12, 3, 4, 2, 2, 3, 5, 7, 4, 6, 8, 12, 2, 3, 3, 4, 5, 4]
    levels += [9, 7, 6, 2, 3]
    shares = [1 / np.arange(1, level + 1) for level in levels]
    x = np.stack([rng.choice(len(p), n, p=p / p.sum()) for p in shares], axis=1)
    chance = np.where((x[:, 0] == 0) & (x[:, 2] != 1), 0.5, 0.05) + 0.15 * (x[:, 3] == 2)
    return _named("c", np.char.add("L", x.astype(str))), rng.random(n) < chance


def mixed(rng: np.random.Generator, n: int) -> tuple[Rows, NDArray[np.bool_]]:
    """Amounts, hours and categories with three causes; a name of forty states; an identifier."""
    kind = rng.choice(["shop", "food", "fuel", "net", "travel"], n)
    amount, hour = rng.lognormal(3.5, 1, n).round(2), rng.integers(0, 24, n)
    cause = ((kind == "net") & (amount > 60)) | ((kind == "fuel") & (amount < 15) & (hour < 9))
    cause |= ((hour >= 22) | (hour < 4)) & (amount > 40)
    state, user = rng.integers(0, 40, n), rng.integers(0, 1_000_000, n)
    rows = [
        {"kind": k, "paid": a, "hour_x": h, "state": f"S{s}", "user_id": u, "age": g}
        for k, a, h, s, u, g in zip(
            kind.tolist(), amount.tolist(), hour.tolist(), state.tolist(), user.tolist(),
            rng.integers(18, 90, n).tolist(), strict=True,
        )
    ]  # fmt: skip
    return rows, cause ^ (rng.random(n) < 0.04)


def xor(rng: np.random.Generator, n: int) -> tuple[Rows, NDArray[np.bool_]]:
    """Neither of two fields says anything alone."""
    x, flag = rng.random((n, 8)).round(3), rng.random(n) < 0.5
    rows = [{**row, "flag": f} for row, f in zip(_named("x", x), flag.tolist(), strict=True)]
    return rows, ((x[:, 0] > 0.5) ^ flag) ^ (rng.random(n) < 0.1)


def linear(rng: np.random.Generator, n: int) -> tuple[Rows, NDArray[np.bool_]]:
    """A sum of six numbers: the home ground of logistic regression."""
    x = rng.normal(size=(n, 10)).round(3)
    score = 1.5 * x[:, :6] @ np.array([1.2, 1, 0.8, 0.8, 0.6, 0.6])
    return _named("z", x), rng.random(n) < 1 / (1 + np.exp(-score))


def rare(rng: np.random.Generator, n: int) -> tuple[Rows, NDArray[np.bool_]]:
    """Two causes, taken at 5 % fraud."""
    x = rng.normal(size=(n, 12)).round(3)
    cause = ((x[:, 0] > 0.8) & (x[:, 1] > 0.5)) | (x[:, 2] > 2)
    return _named("v", x), (cause & (rng.random(n) < 0.8)) | (rng.random(n) < 0.005)


def wide(rng: np.random.Generator, n: int) -> tuple[Rows, NDArray[np.bool_]]:
    """One number matters, 39 numbers and 20 categories do not, 15 % of labels wrong."""
    x, k = rng.normal(size=(n, 40)).round(3), rng.integers(0, 6, (n, 20))
    words = _named("k", np.char.add("L", k.astype(str)))
    rows = [{**a, **b} for a, b in zip(_named("x", x), words, strict=True)]
    return rows, (x[:, 0] > 0.2) ^ (rng.random(n) < 0.15)


def control(rng: np.random.Generator, n: int) -> tuple[Rows, NDArray[np.bool_]]:
    """One threshold explains two thirds of the fraud, nothing the rest; eleven fields are noise."""
    x, k = rng.normal(size=(n, 7)).round(3), rng.integers(0, 8, (n, 5))
    x[:, 0] = rng.uniform(0, 100, n).round(2)
    words = _named("k", np.char.add("L", k.astype(str)))
    rows = [{**a, **b} for a, b in zip(_named("x", x), words, strict=True)]
    return rows, (x[:, 0] > 90) | (rng.random(n) < 0.06)


WORLDS: dict[str, tuple[World, int, float, set[str]]] = {
    "numeric": (numeric, 300, 0.5, {"v0", "v1", "v2"}),
    "categorical": (categorical, 300, 0.5, {"c0", "c2", "c3"}),
    "mixed": (mixed, 300, 0.5, {"kind", "paid", "hour_x"}),
    "mixed, N = 100": (mixed, 100, 0.5, {"kind", "paid", "hour_x"}),
    "mixed, N = 50": (mixed, 50, 0.5, {"kind", "paid", "hour_x"}),
    "numeric, N = 50": (numeric, 50, 0.5, {"v0", "v1", "v2"}),
    "categ., N = 100": (categorical, 100, 0.5, {"c0", "c2", "c3"}),
    "xor, N = 100": (xor, 100, 0.5, {"x0", "flag"}),
    "linear, N = 100": (linear, 100, 0.5, {f"z{j}" for j in range(6)}),
    "xor": (xor, 300, 0.5, {"x0", "flag"}),
    "linear score": (linear, 300, 0.5, {f"z{j}" for j in range(6)}),
    "rare, 5 %": (rare, 1000, 0.05, {"v0", "v1", "v2"}),
    "wide noise": (wide, 300, 0.5, {"x0"}),
    "control": (control, 500, 0.5, {"x0"}),
}
"""Kind, training rows, share of fraud, fields that matter."""


def draw(world: World, n: int, rate: float, rng: np.random.Generator) -> list[dict[str, Any]]:
    """Items of one world at a wanted share of fraud."""
    rows, fraud = world(rng, 8 * n)
    frauds, honests = np.flatnonzero(fraud), np.flatnonzero(~fraud)
    wanted = round(n * rate)
    chosen = np.concatenate(
        [rng.permutation(frauds)[:wanted], rng.permutation(honests)[: n - wanted]]
    )
    return [
        {"id": str(i), "query": rows[i], "answer": "DECLINE" if fraud[i] else "APPROVE"}
        for i in rng.permutation(chosen)
    ]


def learn(items: list[dict[str, Any]], level: str) -> BulletPlaybook:
    """One pass over labelled history: decide, and learn from each mistake."""
    playbook, curator = BulletPlaybook(), Curator(gate=level)  # type: ignore[arg-type]
    labelled = [(Transaction.of(item["query"]), item["answer"]) for item in items]
    cases = [Case(str(i), read_fields(t), label, t.text) for i, (t, label) in enumerate(labelled)]
    playbook.remember(cases, NODE)
    table = playbook.cases(NODE)
    for (transaction, label), case in zip(labelled, cases, strict=True):
        bullets = playbook.get_bullets_for_node(NODE)
        if analyse(case.fields, bullets).decision == label:
            continue
        used = frozenset(name for b in bullets if b.condition for name in b.condition.fields)
        log_odds = log_odds_over(table, bullets)
        bullet = induce_bullet(transaction, label, table, log_odds, used, gate_of(level))
        if bullet is None:
            curator.tend(NODE, playbook)
        else:
            condition = Condition.from_json(bullet["condition"] or {})
            curator.curate(bullet["new_bullet"], NODE, playbook, condition=condition)
    return playbook


def decide(playbook: BulletPlaybook, items: list[dict[str, Any]]) -> Run:
    """The decisions of the frozen playbook."""
    table = CaseTable(
        Case(str(i), read_fields(Transaction.of(item["query"])), item["answer"])
        for i, item in enumerate(items)
    )
    declined = log_odds_over(table, playbook.get_bullets_for_node(NODE)) > 0
    decisions = ["DECLINE" if d else "APPROVE" for d in declined]
    return Run([item["answer"] for item in items], decisions, [None] * len(items))


def main(words: list[str] | None = None) -> int:
    """Print one line per world."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seeds", type=int, default=4)
    parser.add_argument("--gate", default="standard")
    parser.add_argument("--no-baselines", action="store_true")
    parser.add_argument("--no-signal", action="store_true", help="every rule stands alone")
    chosen = parser.parse_args(words)
    level = GATES[chosen.gate]
    if chosen.no_signal and level:
        GATES[chosen.gate] = replace(level, signal=0.0)
    out = sys.stdout.write
    out(f"{'world':15s} playbook     lr   tree     gb  bullets  false\n")
    means = []
    for name, (world, n, rate, causes) in WORLDS.items():
        ours, baselines, active, false = [], [], [], 0
        for seed in range(chosen.seeds):
            train = draw(world, n, rate, np.random.default_rng([seed, 7]))
            test = draw(world, 1000, rate, np.random.default_rng([seed, 8]))
            playbook = learn(train, chosen.gate)
            bullets = playbook.get_bullets_for_node(NODE)
            active.append(len(bullets))
            false += sum(bool(set(b.condition.fields) - causes) for b in bullets if b.condition)
            ours.append(balanced_accuracy(decide(playbook, test)))
            runs = {} if chosen.no_baselines else run_baselines(train, test, seed)
            baselines.append([balanced_accuracy(run) for run in runs.values()])
        cells = "".join(f" {x:6.3f}" for x in np.mean(baselines, axis=0))
        out(f"{name:15s}    {np.mean(ours):.3f}{cells}  {np.mean(active):7.1f}  {false:5d}\n")
        means.append(np.mean(ours))
    out(f"mean {np.mean(means):.3f} at gate {chosen.gate}\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
