"""The layers hold: an import that crosses a wall fails `lint-imports`."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from project_paths import ROOMS, ROOT

PLANTED = {
    "one node knows another": ("nodes/judge/node.py", "acegraph.nodes.agent.agent", "five nodes"),
    "SQL outside state": ("graph/training/pipeline.py", "sqlalchemy", "SQL stays in state"),
    "a model server outside its seam": ("nodes/agent/agent.py", "openai", "only nodes.models"),
    "mathematics that reads a database": ("nodes/evidence/drift.py", "sqlalchemy", "mathematics"),
    "values that know the ledger": (
        "state/values/bullet.py",
        "acegraph.state.ledger.ledger",
        "inside state",
    ),
    "metrics that know the graph": ("graph/metrics/run.py", "acegraph.graph.build", "inside graph"),
    "a hidden cycle": (
        "nodes/curator/duplicates.py",
        "acegraph.nodes.curator.curator",
        "no cycle",
    ),
}


def run_linter(folder: Path) -> subprocess.CompletedProcess[str]:
    command = [str(Path(sys.executable).parent / "lint-imports"), "--no-cache"]
    environment = {**os.environ, "PYTHONPATH": str(folder)}
    return subprocess.run(
        command, cwd=folder, env=environment, capture_output=True, text=True, check=False
    )


@pytest.mark.parametrize("name", PLANTED)
def test_a_planted_import_breaks_its_contract(name: str, tmp_path: Path) -> None:
    file, module, contract = PLANTED[name]
    package = tmp_path / "acegraph"
    for room in ROOMS:
        shutil.copytree(ROOT / room, package / room)
    shutil.copy(ROOT / "package" / "__init__.py", package)
    shutil.copy(ROOT / "pyproject.toml", tmp_path)
    planted = package / file
    # Inside a function: the linter sees what a reader of the file's head does not.
    planted.write_text(planted.read_text() + f"\n\ndef _planted() -> None:\n    import {module}\n")
    done = run_linter(tmp_path)
    broken = [line for line in done.stdout.splitlines() if line.endswith("BROKEN")]
    assert done.returncode != 0
    assert any(contract in line for line in broken), (broken, done.stdout[-2000:])
