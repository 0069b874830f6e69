"""Labels dealt out at random: a generated stream in which nothing can be learned."""

from pathlib import Path

from demo_runs import balanced, demo


def test_shuffled_labels_teach_nothing(tmp_path: Path) -> None:
    noise = demo(tmp_path, "--shuffle-labels", "--train", "100", "--test", "120")
    assert noise["bullets"] == []
    for mode in ("offline", "offline_online", "online"):
        test = noise["modes"][mode]["against_vanilla"]
        assert test["gained"] <= test["lost"] or test["p_value"] > 0.05
        assert abs(balanced(noise, mode) - 0.5) < 0.08
