"""The same payment written in other words: names, flags, amounts, and one field left out.

`python tests/support/rewordings.py` trains a playbook, takes every payment of 300 that it declines,
writes it in each way, and prints how many declines became approvals (none may).
"""

from collections import Counter
from collections.abc import Callable, Iterator
from functools import cache

from acegraph.graph import TrainingPipeline, create_ace_graph, generate_transactions
from acegraph.graph.data.synthetic import Example
from acegraph.state import AceContext, BulletPlaybook, InvalidTransaction

Payment = dict[str, object]
Rewording = Callable[[Payment], Payment]

NAMES: dict[str, Callable[[str], str]] = {
    "upper": str.upper,
    "title": str.title,
    "camel": lambda name: "".join([name[:1], name.title().replace("_", "")[1:]]),
    "pascal": lambda name: name.title().replace("_", ""),
    "kebab": lambda name: name.replace("_", "-"),
    "spaces": lambda name: name.replace("_", " "),
    "dots": lambda name: name.replace("_", "."),
    "blank behind": lambda name: name + " ",
    "zero width": lambda name: name[:2] + "\u200b" + name[2:],
    "full width": lambda name: "".join(chr(ord(c) + 0xFEE0) if c.isalpha() else c for c in name),
    "prefix tx": lambda name: f"tx_{name}",
    "prefix payment": lambda name: f"payment.{name}",
    "unknown": lambda name: f"q{name}z",
}
YES: tuple[object, ...] = (
    "Y", "y", "yes", "YES", "on", "On", "enabled", "detected", "true", "T", "1", 1, "ja",
    "oui", "x", [True], {"value": True}, 2, "perhaps",
)  # fmt: skip
AMOUNTS: tuple[Callable[[float], object], ...] = (
    lambda x: f"{x:.2f} USD",
    lambda x: f"USD {x:.2f}",
    lambda x: f"CHF {x:.2f}",
    lambda x: f"₹{x:.2f}",
    lambda x: f"${x:,.2f}",
    lambda x: f"{x:,.2f}".translate(str.maketrans(",.", ".,")),
    lambda x: f"{x:,.2f}".replace(",", "'"),
    lambda x: f"+{x:.2f}",
    lambda x: f"{x / 1000:.5f}k",
    lambda x: f"{x:.4e}",
    lambda x: f"{x:.2f}".translate({ord("0") + i: 0xFF10 + i for i in range(10)}),
    lambda x: {"value": x, "currency": "EUR"},
    lambda x: [x],
    lambda x: f"({x})",
    lambda x: f"{x}%",
    lambda x: float("nan"),
    lambda x: "a lot",
    lambda x: -x,
    lambda x: None,
)


def rewordings(fields: list[str]) -> Iterator[tuple[str, Rewording]]:
    """Every way to write a payment, by name."""
    for name, rename in NAMES.items():
        yield f"names: {name}", lambda p, r=rename: {r(n): v for n, v in p.items()}
    yield "one level deeper", lambda p: {"payload": p}
    for number, yes in enumerate(YES):
        yield f"yes {number}", lambda p, y=yes: {n: y if v is True else v for n, v in p.items()}
    for number, write in enumerate(AMOUNTS):
        yield f"amount {number}", lambda p, w=write: {**p, "amount": w(float(str(p["amount"])))}
    for field in fields:
        yield f"without {field}", lambda p, f=field: {n: v for n, v in p.items() if n != f}
        yield f"{field} is null", lambda p, f=field: {**p, f: None}
    yield (
        "category in capitals",
        lambda p: {**p, "merchant_category": str(p["merchant_category"]).upper()},
    )
    yield "category unknown", lambda p: {**p, "merchant_category": "something else"}
    yield "colliding key", lambda p: {**p, "amount ": 1.0}
    yield "colliding case", lambda p: {**p, "AMOUNT": 1.0}
    yield "only the amount", lambda p: {"amount": p["amount"]}
    yield "nothing known", lambda p: {"foo": 12.5}


@cache
def trained_playbook(cases: int = 150) -> BulletPlaybook:
    """A playbook that learned from generated payments with their fields, once for all tests of a
    process: `fork` it to change it.
    """
    playbook = BulletPlaybook()
    rows = [
        {"id": e.id, "query": dict(e.fields), "answer": e.answer}
        for e in generate_transactions(cases, seed=1)
    ]
    TrainingPipeline(playbook).train_offline(rows)
    return playbook


def decisions(playbook: BulletPlaybook, payments: list[Payment]) -> list[str]:
    """What a frozen playbook decides on each payment; a refused one is INVALID."""
    graph, context = create_ace_graph(playbook=playbook).compile(), AceContext(learn=False)
    answers = []
    for payment in payments:
        try:
            answers.append(graph.invoke({"transaction": payment}, context=context)["decision"])
        except InvalidTransaction:
            answers.append("INVALID")
    return answers


def reworded_decisions(
    playbook: BulletPlaybook, examples: list[Example], most: int
) -> dict[str, Counter[str]]:
    """By rewording, what becomes of at most so many payments that are declined as they are."""
    payments: list[Payment] = [dict(e.fields) for e in examples]
    usual = decisions(playbook, payments)
    declined = [p for p, d in zip(payments, usual, strict=True) if d == "DECLINE"][:most]
    return {
        name: Counter(decisions(playbook, [reword(dict(p)) for p in declined]))
        for name, reword in rewordings(list(declined[0]))
    }


if __name__ == "__main__":
    found = reworded_decisions(trained_playbook(600), generate_transactions(300, seed=99), 300)
    total: Counter[str] = sum(found.values(), Counter())
    for name, counts in found.items():
        if counts["APPROVE"]:
            print(name, dict(counts))
    print(f"{len(found)} rewordings: {dict(total)}")
