"""The other learners: those that can be read need an extra, and learn from rare fraud too."""

import sys
from pathlib import Path

import numpy as np
import pytest
from command_line import run

from acegraph.graph.data.files import Item
from acegraph.graph.experiments.baselines import run_baselines
from acegraph.graph.metrics.rates import balanced_accuracy

READABLE = {"ebm", "figs", "rulefit", "boosted_rules"}


def rows(n: int, frauds: int, seed: int) -> list[Item]:
    """Rows whose frauds are larger."""
    rng = np.random.default_rng(seed)
    return [
        {
            "id": f"{seed}-{i}",
            "query": {"size": float(rng.normal(4 * (i < frauds))), "other": float(rng.normal())},
            "answer": "DECLINE" if i < frauds else "APPROVE",
        }
        for i in rng.permutation(n)
    ]


@pytest.mark.parametrize("frauds", [1, 5])  # one cannot be held out
def test_every_learner_finds_a_clear_cause_of_rare_fraud(frauds: int) -> None:
    pytest.importorskip("imodels")
    pytest.importorskip("interpret")
    runs = run_baselines(rows(60, frauds, 1), rows(100, 50, 2), which="all")
    assert runs.keys() >= READABLE
    for name, decided in runs.items():
        assert balanced_accuracy(decided) > (0.8 if frauds > 1 else 0.49), name


def test_a_missing_package_is_one_line_before_any_work(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("imodels", "interpret"):
        monkeypatch.setitem(sys.modules, name, None)  # as if it were not installed
    said = run(tmp_path, "compare", "no.csv", "--baselines", "all", code=2).stderr
    assert "need interpret and imodels" in " ".join(said.split())
    assert "pip install 'acegraph[rivals]'" in " ".join(said.split())


def test_no_other_baselines_than_the_known_are_taken(tmp_path: Path) -> None:
    said = run(tmp_path, "compare", "no.csv", "--baselines", "best", code=2).stderr
    assert "none, plain or all, not 'best'" in said
    for words in (["--baselines", "none"], ["--baselines", "none"]):
        assert "no.csv" in run(tmp_path, "compare", "no.csv", *words, code=2).stderr


def test_none_are_run_if_none_are_wanted() -> None:
    assert run_baselines(rows(20, 10, 1), rows(20, 10, 2), which="none") == {}
