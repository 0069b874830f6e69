"""The script of the long proofs, as far as it says what it can prove: the proofs take minutes."""

import json
import runpy
import subprocess
import sys
from pathlib import Path

import pytest
from project_paths import ROOT

from acegraph.graph import generate_transactions

SCRIPT = str(ROOT / "benchmarks" / "proofs.py")


@pytest.fixture(autouse=True)
def benchmarks(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(str(ROOT / "benchmarks"))


def refusal(words: list[str], capsys: pytest.CaptureFixture[str]) -> str:
    """What the script says when it ends without a proof."""
    with pytest.raises(SystemExit) as ended:
        runpy.run_path(SCRIPT)["main"](words)
    said = capsys.readouterr()
    assert (ended.value.code, said.out) == (2, "")
    return said.err


@pytest.fixture
def undated(tmp_path: Path) -> list[str]:
    """The words that ask for proofs on a labelled file in which no field is a date."""
    file = tmp_path / "cases.json"
    file.write_text(json.dumps([e.item() for e in generate_transactions(100, seed=1)]))
    return [str(file), "--train", "40", "--test", "40", "--seeds", "1"]


def test_a_proof_that_a_file_cannot_give_is_refused_at_once(
    undated: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    said = refusal([*undated, "--only", "noise,delay"], capsys)
    assert "one field with a date (ISO 8601) in every row" in said
    assert "--time" not in said  # the script has no such option


@pytest.mark.slow
def test_without_being_named_it_is_left_out_and_that_is_said_first(undated: list[str]) -> None:
    command = [sys.executable, SCRIPT, *undated]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as proving:
        assert proving.stdout is not None
        first = proving.stdout.readline()
        proving.kill()  # the others take minutes
    assert first.startswith("delay is left out: it wants one field with a date")


@pytest.mark.parametrize(
    ("words", "why"),
    [
        (["nowhere.csv"], "nowhere.csv: no such file"),
        (
            ["--only", "luck"],
            "a proof is one of noise, shuffles, streams, credit, drift, growth, delay",
        ),
        (["--seeds", "0"], "0 is less than 1"),
    ],
)
def test_what_cannot_be_proved_is_said(
    words: list[str], why: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert why in refusal(words, capsys)
