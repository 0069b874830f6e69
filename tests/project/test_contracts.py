"""The layers hold: an import that crosses a wall fails `lint-imports`."""

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

from project_paths import ROOMS, ROOT

# In which file what is imported, which contract breaks, and how that is said.
PLANTED = [
    ("nodes/judge/node.py", "acegraph.nodes.agent.agent", "five nodes", "judge.node -> "),
    ("graph/training/pipeline.py", "sqlalchemy", "SQL stays in state", "training.pipeline -> "),
    ("nodes/agent/agent.py", "openai", "only nodes.models", "agent.agent -> openai"),
    ("nodes/evidence/drift.py", "sqlalchemy", "mathematics", "evidence.drift -> sqlalchemy"),
    ("state/values/bullet.py", "acegraph.state.ledger.ledger", "inside state", "bullet -> "),
    ("graph/metrics/run.py", "acegraph.graph.build", "inside graph", "metrics.run -> "),
    (
        "nodes/curator/duplicates.py",
        "acegraph.nodes.curator.curator",
        "no cycle",
        ".duplicates -> .curator",
    ),
]


def test_a_planted_import_breaks_its_contract(tmp_path: Path) -> None:
    package = tmp_path / "acegraph"
    for room in ROOMS:
        shutil.copytree(ROOT / room, package / room)
    shutil.copy(ROOT / "package" / "__init__.py", package)
    shutil.copy(ROOT / "pyproject.toml", tmp_path)
    for file, module, _, _ in PLANTED:
        # Inside a function: the linter sees what a reader of the file's head does not.
        with (package / file).open("a") as planted:
            planted.write(f"\n\ndef _planted() -> None:\n    import {module}\n")
    done = subprocess.run(
        [str(Path(sys.executable).parent / "lint-imports"), "--no-cache"],
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": str(tmp_path)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode != 0
    parts = re.split(r"\n\n(.+)\n-+\n", done.stdout.partition("Broken contracts")[2])
    broken = dict(zip(parts[1::2], parts[2::2], strict=True))
    for file, _, contract, said in PLANTED:
        assert [t for name, t in broken.items() if name.startswith(contract) and said in t], file
