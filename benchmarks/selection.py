"""Selection of 5 bullets, beside the bare product `E @ q` of the same matrix and a naive loop."""

import math
from typing import Any

import naive
import numpy as np
from common import (
    DIMENSIONS,
    NODE,
    Embedded,
    around,
    bullets_of,
    compare,
    embedded,
    playbook_of,
    table,
)

from acegraph.nodes import HybridSelector
from acegraph.nodes.selector.stages import decision_rng

SIZES = (100, 1_000, 10_000, 100_000)
SHARES = {"5 %": 0.86, "50 %": 0.5, "all": -1.0}
"""How many survive stage 3, by threshold: the cosines are spread evenly from 0.1 to 0.9."""
IN_A_ROW = 20
"""Selections per turn beside the naive loop, so that both take about as long. The first one after
the loop finds the matrix out of the processor's cache; it is timed by itself too, as `cold`."""
QUERY = "query"
FIELDS = {"amount": 50, "hour": 1, "vpn": True}


def measure(size: int) -> dict[str, float]:
    """All figures at one size, in CPU milliseconds and as ratios."""
    rng = np.random.default_rng(size)
    query = rng.standard_normal(DIMENSIONS).astype(np.float32)
    query /= np.linalg.norm(query)
    vectors, bullets = around(query, size, size), list(bullets_of(size, size))
    playbook = playbook_of(bullets, vectors)
    matrix = playbook.view(NODE).matrix(Embedded.model)
    assert matrix is not None
    rows = matrix.rows[:size]
    embeddings = embedded({QUERY: query})

    def selector(threshold: float) -> HybridSelector:
        return HybridSelector(semantic_threshold=threshold, embeddings=embeddings)

    def selecting(threshold: float) -> Any:
        chosen = selector(threshold)
        return lambda: chosen.select_bullets(QUERY, NODE, playbook, 5, decision_id="d")

    works = [lambda: rows @ query, *(selecting(t) for t in SHARES.values())]
    bare, *selections = compare(*works)
    figures = {"bare ms": 1e3 * bare}
    for share, seconds in zip(SHARES, selections, strict=True):
        figures[f"{share} ms"], figures[f"{share} / bare"] = 1e3 * seconds, seconds / bare
    if size <= 10_000:
        threshold = SHARES["5 %"]

        def loop() -> list[str]:
            return naive.select(bullets, vectors, query, threshold, 5, decision_rng(0, "d"))

        select_once = selecting(threshold)

        def in_a_row() -> None:
            for _ in range(IN_A_ROW):
                select_once()

        assert loop() == [b.id for b in select_once()[0]]
        slow, cold, fast = compare(loop, select_once, in_a_row)
        figures["naive / 5 %"] = slow / (fast / IN_A_ROW)
        figures["naive / 5 %, cold"] = slow / cold
    return figures | measure_rules(size, vectors, query)


def measure_rules(size: int, vectors: Any, query: Any) -> dict[str, float]:
    """The figures for bullets with a condition of three comparisons; one in twenty holds."""
    playbook = playbook_of(bullets_of(size, size, rules=True), vectors)
    matrix = playbook.view(NODE).matrix(Embedded.model)
    assert matrix is not None
    rows = matrix.rows[:size]
    text = "amount: 50; hour: 1; vpn: true"
    selector = HybridSelector(embeddings=embedded({text: query}))
    bare, rules = compare(
        lambda: rows @ query,
        lambda: selector.select_bullets(FIELDS, NODE, playbook, 5, decision_id="d"),
    )
    return {"rules ms": 1e3 * rules, "rules / bare": rules / bare}


def main() -> dict[str, Any]:
    """Measure at all sizes and print the table."""
    by_size = {size: measure(size) for size in SIZES}
    names = list(by_size[10_000])
    rows = [["CPU, 1536 dimensions", *(f"{size:,}" for size in SIZES)]]
    for name in names:
        figures = [by_size[size].get(name) for size in SIZES]
        rows.append([name, *("" if f is None else f"{f:.2f}" for f in figures)])
    table("Selection of 5", rows)
    exponents = {
        name: math.log10(by_size[100_000][name] / by_size[1_000][name]) / 2
        for name in names
        if name.endswith(" ms")
    }
    table("Growth exponent, 1,000 to 100,000", [[n, f"{e:.2f}"] for n, e in exponents.items()])
    return {"sizes": {str(size): some for size, some in by_size.items()}, "growth": exponents}


if __name__ == "__main__":
    main()
