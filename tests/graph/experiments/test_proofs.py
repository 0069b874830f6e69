"""The script of the long proofs, as far as it says what it can prove: the proofs take minutes."""

import json
import subprocess
import sys
from pathlib import Path

import pytest
from project_paths import ROOT

from acegraph.graph import generate_transactions

SCRIPT = [sys.executable, str(ROOT / "benchmarks" / "proofs.py")]


@pytest.fixture
def undated(tmp_path: Path) -> list[str]:
    """The command that proves learning on a labelled file in which no field is a date."""
    file = tmp_path / "cases.json"
    file.write_text(json.dumps([e.item() for e in generate_transactions(100, seed=1)]))
    return [*SCRIPT, str(file), "--train", "40", "--test", "40", "--seeds", "1"]


def test_a_proof_that_a_file_cannot_give_is_refused_at_once(undated: list[str]) -> None:
    words = [*undated, "--only", "noise,delay"]
    done = subprocess.run(words, capture_output=True, text=True, check=False)
    assert done.returncode == 2
    assert "one field with a date (ISO 8601) in every row" in done.stderr
    assert "--time" not in done.stderr  # the script has no such option
    assert done.stdout == ""


def test_without_being_named_it_is_left_out_and_that_is_said_first(undated: list[str]) -> None:
    with subprocess.Popen(undated, stdout=subprocess.PIPE, text=True) as proving:
        assert proving.stdout is not None
        first = proving.stdout.readline()
        proving.kill()  # the others take minutes
    assert first.startswith("delay is left out: it wants one field with a date")


@pytest.mark.parametrize(
    ("words", "why"),
    [
        (["nowhere.csv"], "nowhere.csv: no such file"),
        (["--only", "luck"], "a proof is one of noise, shuffles, credit, drift, growth, delay"),
        (["--seeds", "0"], "0 is less than 1"),
    ],
)
def test_what_cannot_be_proved_is_said(words: list[str], why: str, tmp_path: Path) -> None:
    done = subprocess.run(
        [*SCRIPT, *words], cwd=tmp_path, capture_output=True, text=True, check=False
    )
    assert done.returncode == 2
    assert why in done.stderr
    assert "Traceback" not in done.stderr
