"""How much memory 100,000 bullets take, and how much is copied to add one."""

import tracemalloc
from typing import Any

import numpy as np
from common import DIMENSIONS, Embedded, bullets_of, table

from acegraph.state.playbook.index import BulletIndex

SIZE = 100_000
MORE = 10_000
NODE = "bench"


def main() -> dict[str, Any]:
    """Fill the index of a playbook one bullet after the other, and print what it holds."""
    rng = np.random.default_rng(0)
    raw = copied = 0
    tracemalloc.start()
    roster = BulletIndex()
    node_bullets = roster.of_node(NODE)
    matrix = None
    for bullet in bullets_of(SIZE + MORE):
        roster[bullet.number] = bullet
        vector = rng.standard_normal(DIMENSIONS, dtype=np.float32)
        node_bullets.put_vectors(Embedded.model, [(bullet.number, vector)])
        grown = node_bullets.matrix(Embedded.model)
        assert grown is not None
        if bullet.number > SIZE and grown.rows is not matrix:
            copied += bullet.number - 1
        matrix = grown.rows
        if bullet.number <= SIZE:
            raw += vector.nbytes + len(bullet.content.encode())
        if bullet.number == SIZE:
            held = tracemalloc.get_traced_memory()[0]
    tracemalloc.stop()
    figures = {
        "bytes held / raw bytes of vectors and text": held / raw,
        "bytes held per bullet": held / SIZE,
        "rows copied per bullet added": copied / MORE,
    }
    table(f"Memory at {SIZE:,} bullets", [[name, f"{f:,.2f}"] for name, f in figures.items()])
    return figures


if __name__ == "__main__":
    main()
