"""Labels dealt out at random: a generated stream in which nothing can be learned."""

from typing import Any

from demo_runs import balanced

from acegraph.graph import generate_transactions
from acegraph.graph.data.files import as_items
from acegraph.graph.experiments.experiment import run_experiment


def test_shuffled_labels_teach_nothing() -> None:
    past, stream = (
        as_items(generate_transactions(rows, seed=seed, shuffle_labels=True))
        for rows, seed in ((100, 1000), (120, 2000))
    )
    noise: Any = run_experiment([(past, stream)]).to_json()
    assert noise["bullets"] == []
    for mode in ("offline", "offline_online", "online"):
        gain = noise["modes"][mode]["against"]["balanced_accuracy"]
        assert gain["mean"] <= 0 or gain["p_value"] > 0.05
        assert abs(balanced(noise, mode) - 0.5) < 0.08
