"""Leaks, identifiers, calendar artefacts and constants are named; strong honest fields are not."""

import json
from pathlib import Path

import numpy as np
import planted_files
import pytest
from typer.testing import CliRunner

from acegraph.graph.cli.main import app
from acegraph.graph.data.declare import fields_of
from acegraph.graph.data.explain import explain_dataset
from acegraph.graph.data.files import read_dataset
from acegraph.graph.data.leakage import find_leaks
from acegraph.nodes.evidence.columns.learnable_fields import learnable_fields
from acegraph.state import BulletPlaybook, Case, InvalidDataset
from acegraph.state.values.cases import CaseTable

MANY = pytest.param(8, marks=pytest.mark.slow)  # `make soak` writes twenty of each kind


@pytest.mark.parametrize("files", [1, MANY])
@pytest.mark.parametrize("kind", planted_files.KINDS)
def test_a_planted_column_is_named_for_what_it_is(tmp_path: Path, kind: str, files: int) -> None:
    right = unused = 0
    for seed in range(files):
        file, name = planted_files.write(tmp_path, kind, seed)
        said, dataset = planted_files.report(file)
        right += planted_files.is_right(kind, name, said)
        assert dataset.task is not None
        rows = fields_of(dataset.items, dataset.task)
        table = CaseTable(Case(str(i), row, "APPROVE") for i, row in enumerate(rows))
        table.task = dataset.task
        values = {str(row.get(name)) for row in rows}
        unused += name not in learnable_fields(table) or len(values) == 1
    assert right >= 0.95 * files
    assert unused >= 0.95 * files if kind != "honest" else unused == 0


@pytest.mark.slow
def test_train_leaves_a_leak_out_says_so_and_keeps_it_if_told(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    file, name = planted_files.write(tmp_path, "leak", 0)
    file.write_text("\n".join(file.read_text().splitlines()[:161]))
    for words, is_used in (([], False), (["--as", f"{name}=category"], True)):
        url = f"sqlite:///{len(words)}.db"
        options = ["train", file.name, "--label", "is_fraud", "--playbook", url, *words]
        done = CliRunner().invoke(app, options)
        assert done.exit_code == 0, done.output
        sentence = (
            f"{name} left out: filled only where the label is fraud; --as {name}=KIND uses it"
        )
        assert (sentence in done.stderr) is not is_used
        with BulletPlaybook(url) as playbook:
            bullets = playbook.get_bullets_for_node("fraud_detection", status=None)
        used = {field for b in bullets if b.condition for field in b.condition.fields}
        assert bullets
        assert (name in used) is is_used
        assert "time.month" not in used


def test_few_rows_accuse_nobody(tmp_path: Path) -> None:
    file = tmp_path / "few.csv"
    file.write_text("flag,is_fraud\n" + "1,1\n0,0\n" * 15)
    assert not [text for text in planted_files.report(file)[0].ignored if "leak" in text]


def test_a_field_that_is_nearly_always_filled_is_not_accused_where_fraud_is_rare(
    tmp_path: Path,
) -> None:
    rng = np.random.default_rng(3)
    usual = ["" if rng.random() < 0.03 else int(rng.integers(50)) for _ in range(3000)]
    rows = [f"{value},{i % 7},{int(i % 100 == 0)}" for i, value in enumerate(usual)]
    file = tmp_path / "rare.csv"
    file.write_text("\n".join(["usual,tries,is_fraud", *rows]))
    assert not [text for text in planted_files.report(file)[0].ignored if "leak" in text]


def test_rows_that_differed_in_a_leak_alone_stay_different_rows(tmp_path: Path) -> None:
    file = tmp_path / "equal.csv"
    file.write_text("sum,amount,is_fraud\n" + "0,5,0\n" * 30 + "7,5,1\n" * 30)
    said, dataset = planted_files.report(file)
    assert "amount (the same in all rows)" in said.ignored
    assert said.read == []
    assert [item["copy"] for item in dataset.items] == list(range(1, 61))


def test_a_file_with_a_leak_alone_is_read_and_not_learned_from(tmp_path: Path) -> None:
    file = tmp_path / "alone.csv"
    file.write_text("sum,is_fraud\n" + "0,0\n" * 30 + "7,1\n" * 30)
    leaks = find_leaks(dataset := read_dataset(file, planted_files.LAYOUT)) or {}
    assert "sum (looks like a leak" in explain_dataset(dataset, leaks).ignored[0]
    with pytest.raises(InvalidDataset, match="row 1"):
        dataset.without(leaks.keys())


def test_nested_fields_are_no_trouble(tmp_path: Path) -> None:
    rows = [
        {"card": {"age": i}, "tags": ["a"], "amount": i % 7, "is_fraud": i % 2} for i in range(60)
    ]
    file = tmp_path / "nested.json"
    file.write_text(json.dumps(rows))
    said, _ = planted_files.report(file)
    assert [reading.field for reading in said.read] == ["card.age", "amount"]
