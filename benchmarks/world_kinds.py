"""Made-up data of eighteen kinds with known causes, so that no kind of learner is favoured.

A kind is a function that draws rows and labels; `WORLDS` says at which share of fraud they are
taken and which fields matter.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from acegraph.graph import generate_transactions
from acegraph.graph.data.files import Item

Rows = list[Any]
Kind = Callable[[np.random.Generator, int], tuple[Rows, NDArray[np.bool_]]]


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


def additive(rng: np.random.Generator, n: int) -> tuple[Rows, NDArray[np.bool_]]:
    """Eight weak causes of one field each add up: five numbers beyond a cut, three categories."""
    x, k = rng.normal(size=(n, 10)).round(3), rng.integers(0, 4, (n, 6))
    cuts = np.array([0.0, 0.5, -0.5, 0.3, -0.3])
    score = 0.9 * (x[:, :5] > cuts).sum(axis=1) + 1.1 * (k[:, :3] == 1).sum(axis=1) - 3
    words = _named("k", np.char.add("L", k.astype(str)))
    rows = [{**a, **b} for a, b in zip(_named("x", x), words, strict=True)]
    return rows, rng.random(n) < 1 / (1 + np.exp(-1.5 * score))


def exceptions(rng: np.random.Generator, n: int) -> tuple[Rows, NDArray[np.bool_]]:
    """A list of rules with exceptions: the first that holds decides; 5 % of labels wrong."""
    x, flag = rng.random((n, 6)).round(3), rng.random((n, 3)) < 0.5
    kind = rng.choice(["a", "b", "c", "d"], n)
    rules = [
        (flag[:, 0] & (kind == "a"), False),
        ((kind == "a") | (x[:, 0] > 0.8), True),
        (flag[:, 1] & (x[:, 1] < 0.4), False),
        ((x[:, 1] < 0.5) & (kind != "d"), True),
    ]
    cause = np.select([holds for holds, _ in rules], [is_fraud for _, is_fraud in rules], False)
    numbers, flags = _named("x", x), _named("flag", flag)
    rows = [{**a, **b, "kind": c} for a, b, c in zip(numbers, flags, kind.tolist(), strict=True)]
    return rows, cause ^ (rng.random(n) < 0.05)


def heavy_tails(rng: np.random.Generator, n: int) -> tuple[Rows, NDArray[np.bool_]]:
    """Numbers over ten orders of magnitude and of either sign; two cuts matter."""
    x = np.exp(rng.normal(0, 4, (n, 8))) * rng.choice([-1, 1], (n, 8), p=[0.2, 0.8])
    cause = (x[:, 0] > 20) | ((x[:, 1] < 0.01) & (x[:, 2] > 0.1))
    return _named("h", x.round(6)), cause ^ (rng.random(n) < 0.07)


def missing(rng: np.random.Generator, n: int) -> tuple[Rows, NDArray[np.bool_]]:
    """As *numeric*, with a third of the cells missing, whatever they held."""
    rows, fraud = numeric(rng, n)
    kept = rng.random((n, 12)) > 1 / 3
    holes = [
        {name: value for (name, value), has in zip(row.items(), some, strict=True) if has}
        for row, some in zip(rows, kept, strict=True)
    ]
    return holes, fraud


def drifted(rng: np.random.Generator, n: int) -> tuple[Rows, NDArray[np.bool_]]:
    """What *numeric* turns into: one of its causes is gone, one is new, one stays."""
    x = rng.normal(size=(n, 12)).round(3)
    cause = ((x[:, 3] > 0.3) & (x[:, 4] < 0.2)) | (x[:, 2] > 1.2)
    return _named("v", x), cause ^ (rng.random(n) < 0.08)


def levels(rng: np.random.Generator, n: int) -> tuple[Rows, NDArray[np.bool_]]:
    """A category of 25 levels, six of them risky, beside a number; six fields are noise."""
    shop, x = rng.integers(0, 25, n), rng.normal(size=(n, 4)).round(3)
    k = rng.integers(0, 10, (n, 3))
    cause = (shop < 6) | (x[:, 0] > 1.3)
    words = _named("k", np.char.add("L", k.astype(str)))
    rows = [
        {**a, **b, "shop": f"S{s}"}
        for a, b, s in zip(_named("x", x), words, shop.tolist(), strict=True)
    ]
    return rows, cause ^ (rng.random(n) < 0.06)


def noise(rng: np.random.Generator, n: int) -> tuple[Rows, NDArray[np.bool_]]:
    """Nothing matters."""
    x, k = rng.normal(size=(n, 10)).round(3), rng.integers(0, 6, (n, 10))
    words = _named("k", np.char.add("L", k.astype(str)))
    rows = [{**a, **b} for a, b in zip(_named("x", x), words, strict=True)]
    return rows, rng.random(n) < 0.5


def payments(rng: np.random.Generator, n: int) -> tuple[Rows, NDArray[np.bool_]]:
    """The generated card payments of the demo: five causes, each with an exception."""
    made = generate_transactions(n, seed=int(rng.integers(2**31)))
    return [dict(e.fields) for e in made], np.array([e.answer == "DECLINE" for e in made])


def text(rng: np.random.Generator, n: int) -> tuple[Rows, NDArray[np.bool_]]:
    """The same payments as sentences, without fields."""
    made = generate_transactions(n, seed=int(rng.integers(2**31)))
    return [e.query for e in made], np.array([e.answer == "DECLINE" for e in made])


def control(rng: np.random.Generator, n: int) -> tuple[Rows, NDArray[np.bool_]]:
    """One threshold explains two thirds of the fraud, nothing the rest; eleven fields are noise."""
    x, k = rng.normal(size=(n, 7)).round(3), rng.integers(0, 8, (n, 5))
    x[:, 0] = rng.uniform(0, 100, n).round(2)
    words = _named("k", np.char.add("L", k.astype(str)))
    rows = [{**a, **b} for a, b in zip(_named("x", x), words, strict=True)]
    return rows, (x[:, 0] > 90) | (rng.random(n) < 0.06)


@dataclass(frozen=True)
class World:
    """A kind of data at a share of fraud."""

    kind: Kind
    causes: frozenset[str] | None = None
    """The fields that matter, where they are known by name."""
    fraud: float = 0.5
    """The share of fraud among the training rows."""
    before: Kind | None = None
    """What the first 60 % of the training rows are of instead: then the fraud changed."""

    def train(self, n: int, seed: int) -> list[Item]:
        """Training rows, in their order."""
        rng = np.random.default_rng([seed, n, 7])
        early = round(0.6 * n) if self.before else 0
        first = _draw(self.before, early, self.fraud, rng) if self.before else []
        return [*first, *_draw(self.kind, n - early, self.fraud, rng, early)]

    def test(self, n: int, seed: int) -> list[Item]:
        """Test rows, half of them fraud: what balanced accuracy averages is then best known."""
        return _draw(self.kind, n, 0.5, np.random.default_rng([seed, 8]))


def _draw(kind: Kind, n: int, share: float, rng: np.random.Generator, first: int = 0) -> list[Item]:
    """Rows of a kind with a wanted share of fraud, at least one of them fraud."""
    wanted = max(round(n * share), 1)
    rows: Rows = []
    fraud = np.zeros(0, bool)
    while fraud.sum() < wanted or (~fraud).sum() < n - wanted:
        more, also = kind(rng, 2 * n)
        rows, fraud = [*rows, *more], np.concatenate([fraud, also])
    frauds, honests = np.flatnonzero(fraud), np.flatnonzero(~fraud)
    chosen = [*rng.permutation(frauds)[:wanted], *rng.permutation(honests)[: n - wanted]]
    return [
        {
            "id": str(first + number),
            "query": rows[i],
            "answer": "DECLINE" if fraud[i] else "APPROVE",
        }
        for number, i in enumerate(rng.permutation(chosen))
    ]


def _fields(text: str) -> frozenset[str]:
    return frozenset(text.split())


WORLDS = {
    "numeric": World(numeric, _fields("v0 v1 v2")),
    "categorical": World(categorical, _fields("c0 c2 c3")),
    "mixed": World(mixed, _fields("kind paid hour_x")),
    "xor": World(xor, _fields("x0 flag")),
    "linear": World(linear, _fields("z0 z1 z2 z3 z4 z5")),
    "additive": World(additive, _fields("x0 x1 x2 x3 x4 k0 k1 k2")),
    "exceptions": World(exceptions, _fields("x0 x1 flag0 flag1 kind")),
    "heavy tails": World(heavy_tails, _fields("h0 h1 h2")),
    "missing": World(missing, _fields("v0 v1 v2")),
    "drift": World(drifted, _fields("v2 v3 v4"), before=numeric),
    "levels": World(levels, _fields("shop x0")),
    "wide": World(wide, _fields("x0")),
    "control": World(control, _fields("x0")),
    "rare 5 %": World(rare, _fields("v0 v1 v2"), fraud=0.05),
    "payments": World(payments),
    "payments 2 %": World(payments, fraud=0.02),
    "text": World(text),
    "noise": World(noise, frozenset()),
}
