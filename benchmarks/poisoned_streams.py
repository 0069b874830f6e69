"""Poisoned streams: what the turned labels of a few customers do to what is learned.

Generated payments with known causes come as a stream, and their labels are learned from. Beside
them come true frauds of an attacker, who has them labelled as honest. Two things are measured:

    one customer    the share of further such frauds that is approved, against the same stream
                    without the customer
    colluders       decisions that differ from that stream after a purge of all of them at once

    python benchmarks/poisoned_streams.py --seeds 5
"""

import argparse
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final

import numpy as np

from acegraph.graph import create_ace_graph, generate_transactions
from acegraph.graph.operations.learning.purge import purge
from acegraph.state import AceContext, BulletPlaybook, verify

CUSTOMERS: Final = 300
MOST_APPROVED: Final = 0.05
"""How much more of the attack may be approved because one customer turned labels."""


@dataclass(frozen=True)
class Payment:
    """One payment of a stream, with the label that is given for it."""

    id: str
    fields: dict[str, Any]
    label: str


def honest_payments(n: int, seed: int) -> list[Payment]:
    """Payments of many customers with true labels."""
    rng = np.random.default_rng([seed, 1])
    return [
        Payment(e.id, {**e.fields, "customer_id": f"C{rng.integers(CUSTOMERS)}"}, e.answer)
        for e in generate_transactions(n, seed=seed)
    ]


def attacks(n: int, seed: int, customers: Sequence[str], label: str) -> list[Payment]:
    """Frauds of one kind: money moved out of unverified accounts, more than is usual there."""
    rng, found = np.random.default_rng([seed, 2]), []
    for number, e in enumerate(generate_transactions(n, seed=seed + 500)):
        usual = e.fields["usual_amount"]
        changed = {
            "merchant_category": "crypto",
            "verified": False,
            "amount": round(usual * rng.uniform(2.1, 5.0), 2),
            "customer_id": customers[number % len(customers)],
        }
        found.append(Payment(f"attack-{seed}-{number}", {**e.fields, **changed}, label))
    return found


def mixed(honest: Sequence[Payment], poison: Sequence[Payment], seed: int) -> list[Payment]:
    """The poison at random places of the honest stream, whose order stays."""
    places = np.random.default_rng([seed, 3]).integers(0, len(honest), len(poison))
    before: dict[int, list[Payment]] = {}
    for place, payment in zip(places.tolist(), poison, strict=True):
        before.setdefault(place, []).append(payment)
    return [p for i, one in enumerate(honest) for p in (*before.get(i, ()), one)]


def learned_from(stream: Sequence[Payment]) -> BulletPlaybook:
    """The playbook that learns from a stream, label by label."""
    playbook = BulletPlaybook()
    graph = create_ace_graph(playbook=playbook).compile()
    for payment in stream:
        given: Any = {"transaction": payment.fields, "decision_id": payment.id}
        graph.invoke({**given, "ground_truth": payment.label})
    return playbook


def decisions(playbook: BulletPlaybook, payments: Sequence[Payment]) -> list[tuple[str, float]]:
    """What the frozen playbook decides, with its risk scores."""
    context = AceContext(learn=False)
    graph = create_ace_graph(playbook=playbook.fork(), context=context).compile()
    results = [graph.invoke({"transaction": p.fields, "decision_id": p.id}) for p in payments]
    return [(r["decision"], r["risk_score"]) for r in results]


def approved(playbook: BulletPlaybook, seed: int, n: int = 150) -> float:
    """The share of further frauds of the attack that passes."""
    others = [f"N{i}" for i in range(n)]
    decided = decisions(playbook, attacks(n, seed + 900, others, "DECLINE"))
    return float(np.mean([decision == "APPROVE" for decision, _ in decided]))


def accuracy(playbook: BulletPlaybook, seed: int, n: int = 300) -> float:
    """The share of right decisions on honest customers' payments, half of them fraud."""
    payments = honest_payments(n, seed + 700)
    decided = decisions(playbook, payments)
    return float(np.mean([d == p.label for (d, _), p in zip(decided, payments, strict=True)]))


def one_customer(seeds: int, cases: int, share: float) -> bool:
    """Print the attack's approval with one poisoning customer, and without; whether it holds."""
    rows = []
    for seed in range(seeds):
        honest = honest_payments(cases, seed)
        lies = attacks(round(cases * share), seed, ["A0"], "APPROVE")
        clean, poisoned = learned_from(honest), learned_from(mixed(honest, lies, seed))
        rows.append([f(book, seed) for f in (approved, accuracy) for book in (clean, poisoned)])
    never, saw, right, right_saw = np.mean(rows, axis=0)
    differences = np.array(rows)[:, 1] - np.array(rows)[:, 0]
    error = differences.std(ddof=1) / len(rows) ** 0.5 if len(rows) > 1 else float("nan")
    print(
        f"one customer, {share:.0%} turned labels in {cases}, {seeds} seed(s): attack approved "
        f"{saw:.3f}, never saw the customer {never:.3f} (difference {saw - never:+.3f}, standard "
        f"error {error:.3f}); right on honest payments {right_saw:.3f}, {right:.3f}",
        flush=True,
    )
    return bool(saw - never <= MOST_APPROVED)


def colluders(cases: int, share: float, number: int, tested: int) -> bool:
    """Print how many decisions differ after a purge of all colluders at once; whether none does."""
    names, seed = [f"A{i}" for i in range(number)], 0
    honest = honest_payments(cases, seed)
    lies = attacks(round(cases * share), seed, names, "APPROVE")
    clean, poisoned = learned_from(honest), learned_from(mixed(honest, lies, seed))
    asked = honest_payments(tested // 3 * 2, seed + 700)
    asked += attacks(tested - len(asked), seed + 900, ["N0"], "DECLINE")
    wanted, before = decisions(clean, asked), decisions(poisoned, asked)
    purged = purge(poisoned, entities=[("customer_id", name) for name in names])
    after, problems = decisions(poisoned, asked), verify(poisoned)
    print(
        f"{number} colluders, {share:.0%} turned labels in {cases}: {_differ(before, wanted)} of "
        f"{tested} decisions differ from a playbook that never saw them; after a purge of all at "
        f"once {_differ(after, wanted)}; verify {problems or 'clean'}; note {purged.note!r}",
        flush=True,
    )
    return not _differ(after, wanted) and not problems and not purged.note


def _differ(left: Sequence[tuple[str, float]], right: Sequence[tuple[str, float]]) -> int:
    return sum(a != b for a, b in zip(left, right, strict=True))


def main(words: list[str] | None = None) -> int:
    """Print both figures; 1 if one of them does not hold."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--cases", type=int, default=400)
    parser.add_argument("--share", type=float, default=0.05)
    parser.add_argument(
        "--tested", type=int, default=450, help="decisions compared after the purge"
    )
    chosen = parser.parse_args(words)
    holds = [
        one_customer(chosen.seeds, chosen.cases, chosen.share) if chosen.seeds else True,
        colluders(chosen.cases, 0.2, 20, chosen.tested),
    ]
    return 0 if all(holds) else 1


if __name__ == "__main__":
    sys.exit(main())
