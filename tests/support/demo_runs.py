"""`acegraph demo` as a person would run it, and figures of it."""

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any


def demo(folder: Path, *words: str) -> Any:
    """What `acegraph demo` finds, as a person would ask for it."""
    clean = {k: v for k, v in os.environ.items() if not k.startswith(("OPENAI_", "ACE_"))}
    command = [str(Path(sys.executable).with_name("acegraph")), "demo", "--json", *words]
    done = subprocess.run(
        command, cwd=folder, env=clean, capture_output=True, text=True, check=True
    )
    return json.loads(done.stdout)


def balanced(found: Any, name: str, among: str = "modes") -> float:
    return float(found[among][name]["balanced_accuracy"]["mean"])
