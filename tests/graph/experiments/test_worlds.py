"""The script that compares all learners on made-up data, as far as seconds allow."""

import json
from pathlib import Path
from types import ModuleType

import numpy as np
import pytest
from project_paths import ROOT

from acegraph.graph.metrics.run import Run
from acegraph.state import Bullet, Case, Condition
from acegraph.state.values.cases import CaseTable


@pytest.fixture
def worlds(monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    monkeypatch.syspath_prepend(str(ROOT / "benchmarks"))
    import worlds

    return worlds


@pytest.mark.slow
def test_what_is_known_is_not_run_again(
    worlds: ModuleType, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "worlds.jsonl"
    words = ["--worlds", "control", "--sizes", "50", "--seeds", "1", "--baselines", "plain"]
    assert worlds.main([*words, "--out", str(out)]) == 0
    said, records = capsys.readouterr().out, out.read_text().splitlines()
    learners = {json.loads(line)["learner"] for line in records}
    assert learners == {"playbook", "unrefined", "vanilla", *worlds.PLAIN}
    for line in ("opposites: 0", "twins: 0", "below the unrefined playbook (Bonferroni)"):
        assert line in said
    assert worlds.main([*words, "--out", str(out)]) == 0
    assert (capsys.readouterr().out, out.read_text().splitlines()) == (said, records)


def test_every_world_gives_the_rows_that_are_asked_for(worlds: ModuleType) -> None:
    assert len(worlds.WORLDS) >= 16
    for name, world in worlds.WORLDS.items():
        train, again, test = world.train(50, 3), world.train(50, 3), world.test(40, 3)
        frauds = sum(item["answer"] == "DECLINE" for item in train)
        assert (len(train), frauds) == (50, max(round(50 * world.fraud), 1)), name
        assert [item["answer"] for item in test].count("DECLINE") == 20, name
        assert train == again, name


def test_opposites_and_twins_are_counted(worlds: ModuleType) -> None:
    table = CaseTable(Case(str(i), {"x": float(i)}, "APPROVE") for i in range(100))
    texts = ("DECLINE when x >= 50", "APPROVE when x < 50", "DECLINE when x >= 52")
    bullets = [Bullet(t, t, "n", "offline", condition=Condition.parse(t)) for t in texts]
    assert worlds.pairs_alike(bullets, table) == {"opposites": 2, "twins": 1}


def test_losing_with_more_labels_is_told_and_noise_is_not(worlds: ModuleType) -> None:
    import world_tables

    rng, fraud = np.random.default_rng(0), np.arange(worlds.TEST) % 2 == 0
    records = {}
    for name, shares in {"xor": (0.1, 0.3), "text": (0.2, 0.2)}.items():
        for n, wrong in zip((50, 100), shares, strict=True):
            declined = fraud ^ (rng.random(worlds.TEST) < wrong)
            bits = {"fraud": world_tables.packed(fraud), "declined": world_tables.packed(declined)}
            for learner in ("playbook", "unrefined"):
                records[name, n, 0, learner] = {"balanced_accuracy": 1 - wrong, **bits}
    said = list(world_tables.Results(records, (50, 100)).verdicts())
    assert any(line.startswith("FAIL significantly worse with more labels") for line in said)
    assert sum("50 to 100" in line for line in said) == 1
    run: Run = world_tables.run_of(fraud, world_tables.unpacked(world_tables.packed(~fraud)))
    assert not run.right.any()


@pytest.mark.slow
def test_the_luck_of_the_training_rows_is_no_loss(worlds: ModuleType) -> None:
    import world_tables

    rng, fraud = np.random.default_rng(0), np.arange(worlds.TEST) % 2 == 0
    losses = {"xor": [0.3, *[0.0] * 9], "text": [0.02] * 10}
    records = {}
    for name, by_seed in losses.items():
        for seed, loss in enumerate(by_seed):
            wrong = rng.random(worlds.TEST)
            for learner, share in (("playbook", 0.1 + loss), ("unrefined", 0.1)):
                bits = {"fraud": fraud, "declined": fraud ^ (wrong < share)}
                record = {key: world_tables.packed(values) for key, values in bits.items()}
                records[name, 50, seed, learner] = {"balanced_accuracy": 1 - share, **record}
    by_few = {key: record for key, record in records.items() if key[2] < 4}
    for known, worse in ((records, ["text"]), (by_few, ["xor", "text"])):
        said = "\n".join(world_tables.Results(known, (50,)).verdicts())
        assert [name for name in ("xor", "text") if f"{name}: -" in said] == worse
