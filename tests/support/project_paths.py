"""Where things are, for tests that read files of the project."""

from pathlib import Path

ROOT = Path(__file__).parents[2]
DATA = ROOT / "tests" / "data"
SUPPORT = ROOT / "tests" / "support"
ROOMS = ("state", "nodes", "graph")
