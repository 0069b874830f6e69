"""The other learners: those that can be read need an extra, and learn from rare fraud too."""

import runpy
import sys
from pathlib import Path

import numpy as np
import pytest
from command_line import run
from project_paths import ROOT

from acegraph.graph.data.files import Item
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
    run_rivals = runpy.run_path(str(ROOT / "benchmarks" / "rivals.py"))["run_rivals"]
    runs = run_rivals(rows(60, frauds, 1), rows(100, 50, 2))
    assert runs.keys() >= READABLE
    for name, decided in runs.items():
        assert balanced_accuracy(decided) > (0.8 if frauds > 1 else 0.49), name


def test_a_missing_package_is_one_line_before_any_work(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "sklearn", None)  # as if it were not installed
    said = run(tmp_path, "compare", "no.csv", code=2).stderr
    assert "(--baselines none does without)" in " ".join(said.split())


def test_no_other_baselines_than_the_known_are_taken(tmp_path: Path) -> None:
    said = run(tmp_path, "compare", "no.csv", "--baselines", "all", code=2).stderr
    assert "none or plain, not 'all'" in said
    assert "no.csv" in run(tmp_path, "compare", "no.csv", "--baselines", "none", code=2).stderr
