"""Check the types of every Python block of README.md and docs/ without a plugin, as a user would.

`python tests/support/typed_examples.py FOLDER` reads the package from FOLDER, a real install, with
mypy --strict and with pyright. A page is one program: its blocks follow each other.
"""

import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path

from pages import DOCS, README

CONFIG = """[mypy]
strict = true
# As for a package among the installed ones: what is wrong inside of it is not the user's.
follow_imports = silent
disable_error_code = import-untyped
# Engines that a page runs its blocks with, and that nothing else needs.
[mypy-pyspark.*,ray.*]
ignore_missing_imports = true
"""


def write_pages(folder: Path) -> list[str]:
    """Write each page with Python blocks as a module; a block with a title is a module too."""
    names = []
    for page in (README, *DOCS):
        code = "\n\n".join(block.body for block in page.blocks if block.kind == "python")
        if code.strip():
            name = page.path.stem.lower().replace("-", "_") + "_page.py"
            (folder / name).write_text(code + "\n", encoding="utf-8")
            names.append(name)
        for block in page.blocks:
            if block.title.endswith(".py"):
                (folder / block.title).write_text(block.body, encoding="utf-8")
    return names


def main(package: str) -> int:
    """Run the checkers; the number of those that found something."""
    code = 0
    with tempfile.TemporaryDirectory() as made:
        folder = Path(made)
        names = write_pages(folder)
        (folder / "mypy.ini").write_text(CONFIG)
        path = str(Path(package).resolve())
        told = {"extraPaths": [path], "reportMissingImports": "none"}  # mypy sees to ours
        (folder / "pyrightconfig.json").write_text(json.dumps(told))
        for command in (
            [sys.executable, "-m", "mypy", "--config-file", "mypy.ini", *names],
            [sys.executable, "-m", "pyright", "--pythonpath", sys.executable, *names],
        ):
            done = subprocess.run(
                command, cwd=folder, env={**os.environ, "MYPYPATH": path}, check=False
            )
            code += bool(done.returncode)
    return code


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]))
