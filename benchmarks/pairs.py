"""Precision and recall of the curator's `merge_bullet` on labelled pairs of heuristics."""

import sys
from collections import Counter
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parents[1] / "tests" / "support"))

from build_pairs import build
from common import NODE, table

from acegraph.nodes import Curator
from acegraph.state import BulletPlaybook

KINDS = ("duplicate", "paraphrase", "contradiction", "threshold", "unrelated")


def is_refused(left: str, right: str) -> bool:
    """Whether the second heuristic is refused after the first."""
    with BulletPlaybook() as playbook:
        curator = Curator()
        curator.merge_bullet(left, NODE, playbook)
        return curator.merge_bullet(right, NODE, playbook) is None


def measure(half: str) -> dict[str, Any]:
    """How many pairs of each kind are called duplicates."""
    every, called = Counter[str](), Counter[str]()
    for pair in build():
        if pair["half"] == half:
            every[pair["kind"]] += 1
            called[pair["kind"]] += is_refused(pair["left"], pair["right"])
    different = called["contradiction"] + called["threshold"]
    return {
        **{f"{kind} called duplicate": f"{called[kind]}/{every[kind]}" for kind in KINDS},
        "precision": called["duplicate"] / max(1, sum(called.values()) - called["paraphrase"]),
        "recall": called["duplicate"] / every["duplicate"],
        "different called duplicate": different / (every["contradiction"] + every["threshold"]),
    }


def main() -> dict[str, Any]:
    """Measure both halves and print the table."""
    halves = {half: measure(half) for half in ("tune", "held out")}
    rows = [["", *halves]]
    for name, value in halves["tune"].items():
        figures = (value, halves["held out"][name])
        rows.append([name, *(f if isinstance(f, str) else f"{f:.3f}" for f in figures)])
    table("Labelled pairs", rows)
    return halves


if __name__ == "__main__":
    main()
