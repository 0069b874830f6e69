"""How much of our own code one right decision passes; whoever adds to it must look here."""

import sys
from collections import Counter
from types import FrameType
from typing import Any, Final

from acegraph.graph import create_ace_graph
from acegraph.state import BulletPlaybook

MOST: Final = {"modules": 39, "functions": 250, "calls": 500}
"""Only ever lowered."""


def test_a_right_decision_passes_few_functions() -> None:
    playbook = BulletPlaybook()
    for rule in ("DECLINE when amount >= 900", "APPROVE when verified is true"):
        playbook.add_bullet(rule, "fraud_detection")
    graph = create_ace_graph(playbook=playbook).compile()
    calls: Counter[tuple[str, str]] = Counter()

    def decide(number: int) -> Any:
        payment = {"amount": 950.0 + number, "verified": False}
        return graph.invoke({"transaction": payment, "ground_truth": "DECLINE"})

    def count(frame: FrameType, event: str, _: object) -> None:
        module = str(frame.f_globals.get("__name__"))
        if event == "call" and module.startswith("acegraph."):
            calls[module, frame.f_code.co_qualname] += 1

    for number in range(3):  # what is made once is made before
        decide(number)
    before = sys.getprofile()
    sys.setprofile(count)
    try:
        result = decide(3)
    finally:
        sys.setprofile(before)
    assert result["verdict"] == "right"
    passed = {"modules": len({m for m, _ in calls}), "functions": len(calls)}
    passed["calls"] = calls.total()
    assert all(passed[what] <= MOST[what] for what in MOST), passed
