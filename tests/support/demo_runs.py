"""`acegraph demo` as a person would run it, and figures of it."""

from pathlib import Path
from typing import Any

from command_line import from_json, run


def demo(folder: Path, *words: str) -> Any:
    """What `acegraph demo` finds, as a person would ask for it."""
    return from_json(run(folder, "demo", "--json", *words))


def balanced(found: Any, name: str, among: str = "modes") -> float:
    return float(found[among][name]["balanced_accuracy"]["mean"])
