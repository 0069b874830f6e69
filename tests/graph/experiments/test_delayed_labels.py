"""Labels that come later: nothing may use a label before its time."""

import runpy
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from project_paths import ROOT

from acegraph.state import AceContext, BulletPlaybook

NODE = "fraud_detection"
decide_delayed = runpy.run_path(str(ROOT / "benchmarks" / "delayed_labels.py"))["decide_delayed"]


def test_a_model_that_fails_costs_its_case_and_not_the_stream() -> None:
    def busy_once(given: dict[str, Any]) -> str:
        if given["fields"]["n"] == 1:
            raise TimeoutError("busy")
        return "APPROVE"

    def busy(given: dict[str, Any]) -> None:
        raise TimeoutError("busy")

    playbook, context = BulletPlaybook(), AceContext(mode="online")
    items = [{"id": str(n), "query": {"n": n}, "answer": "DECLINE"} for n in range(4)]
    moments = [0.0, 1.0, 2.0, 3.0]
    run = decide_delayed(playbook, items, moments, 1.0, context, agent=busy_once, reflector=busy)
    assert run.decisions == ["APPROVE", "UNDECIDED", "APPROVE", "APPROVE"]
    assert [case.id for case in playbook.cases(NODE)] == [f"delayed:{n}" for n in range(3)]


@pytest.mark.slow
@settings(max_examples=12, deadline=None)
@given(
    steps=st.lists(st.sampled_from([0.0, 0.5, 1.0, 3.0]), min_size=5, max_size=25),
    delay=st.sampled_from([0.0, 0.7, 2.0, 7.0]),
)
def test_no_statistic_uses_a_label_before_its_time(steps: list[float], delay: float) -> None:
    moments = [sum(steps[: i + 1]) for i in range(len(steps))]
    items = [
        {"id": str(i), "query": {"n": i}, "answer": "DECLINE" if i % 2 else "APPROVE"}
        for i in range(len(steps))
    ]
    playbook = BulletPlaybook()
    playbook.add_bullet("DECLINE when n >= 0", NODE, "online")
    seen: list[int] = []

    def probe(given: dict[str, Any]) -> str:
        """Looks at every statistic at the moment of each decision."""
        now = moments[int(given["fields"]["n"])]
        due = sum(moment + delay <= now for moment in moments[: len(seen)])
        known = [int(case.fields["n"] or 0) for case in playbook.cases(NODE)]
        assert all(moments[n] + delay <= now for n in known)
        bullet = playbook.get_bullet("b1")
        assert bullet.helpful_count + bullet.harmful_count <= due
        seen.append(len(known))
        return "DECLINE"

    context = AceContext(mode="online")
    decide_delayed(playbook, items, moments, delay, context, agent=probe)
    assert len(seen) == len(items)
    if delay == 0.0:
        assert seen == list(range(len(items)))
