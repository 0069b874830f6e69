"""Labels dealt out at random: a generated stream in which nothing can be learned."""

from typing import Any

from demo_runs import balanced

from acegraph.graph.experiments.experiment import run_demonstration
from acegraph.state import AceContext


def test_shuffled_labels_teach_nothing() -> None:
    experiment, _ = run_demonstration(1, 100, 120, shuffle_labels=True, context=AceContext())
    noise: Any = experiment.to_json()
    assert noise["bullets"] == []
    for mode in ("offline", "offline_online", "online"):
        test = noise["modes"][mode]["against_vanilla"]
        assert test["gained"] <= test["lost"] or test["p_value"] > 0.05
        assert abs(balanced(noise, mode) - 0.5) < 0.08
