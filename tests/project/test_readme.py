"""The README: every block of it runs."""

import os
import re
import shlex
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from project_paths import ROOT
from typer.testing import CliRunner

from acegraph.graph.cli.main import app

TEXT = (ROOT / "README.md").read_text()
BLOCKS = re.findall(r"^```(\w+)\n(.*?)^```", TEXT, re.DOTALL | re.MULTILINE)
COMMANDS = [line for kind, body in BLOCKS if kind == "bash" for line in body.splitlines() if line]


def test_every_block_is_of_a_kind_that_is_checked() -> None:
    assert {kind for kind, _ in BLOCKS} == {"mermaid", "bash", "python", "text"}


def test_the_python_blocks_run_one_after_the_other(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    names: dict[str, Any] = {"__name__": "readme"}
    for kind, body in BLOCKS:
        if kind == "python":
            exec(compile(body, "README.md", "exec"), names)
    printed = capsys.readouterr().out
    assert "DECLINE" in printed
    assert "no language model" in printed


def test_the_commands_run_one_after_the_other(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in os.environ:
        if name.startswith(("OPENAI_", "ACE_")):
            monkeypatch.delenv(name)
    monkeypatch.chdir(tmp_path)
    (tmp_path / "chargebacks.csv").write_text("decision_id,label\norder-1,APPROVE\n")
    for line in COMMANDS:
        words = shlex.split(line, comments=True)
        if words[0] == "acegraph":
            found = CliRunner().invoke(app, words[1:])
            assert found.exit_code == 0, (line, found.output, found.exception)
            continue
        if words[0] == "make":  # what these do is this very run: see that they exist
            words, folder = ["make", "--dry-run", *words[1:]], ROOT
        else:  # langgraph is started for real in test_studio.py: see that it is understood
            words, folder = (
                [str(Path(sys.executable).parent / words[0]), *words[1:], "--help"],
                ROOT,
            )
        done = subprocess.run(words, cwd=folder, capture_output=True, text=True, check=False)
        assert done.returncode == 0, (line, done.stderr)


def test_every_file_of_the_annotated_tree_exists() -> None:
    tree = next(body for kind, body in BLOCKS if kind == "text" and "state/" in body)
    room = ""
    for line in tree.splitlines():
        if found := re.match(r"(\w+)/", line):
            room = found[1]
        for name in re.findall(r"\b(\w+\.py)\b", line):
            assert (ROOT / room / name).exists(), f"{room}/{name}"


def test_every_link_to_a_file_leads_somewhere() -> None:
    for target in re.findall(r"\]\((?!https?:)([^)#]+)\)", TEXT):
        assert (ROOT / target).exists(), target
