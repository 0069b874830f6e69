"""Lay out what the site is built from in build/: the pages, and the rooms as real packages.

The project's own pages (SECURITY.md and others) stand beside docs/ in the repository and beside the
pages in the site, so that links between them are changed on the way. The rooms are linked into a
folder `acegraph`, because an editable install is an import hook that griffe cannot follow.
"""

import re
import shutil
import sys
from pathlib import Path
from typing import Final

ROOT: Final = Path(__file__).resolve().parents[1]
ROOMS: Final = ("state", "nodes", "graph")
PROJECT_PAGES: Final = ("SECURITY.md", "CHANGELOG.md", "EXPERIMENTS.md", "CONTRIBUTING.md")
_TO_A_PROJECT_PAGE: Final = re.compile(r"\]\(\.\./(?=[A-Z]+\.md)")
_TO_A_PAGE: Final = re.compile(r"\]\(docs/")


def stage(build: Path) -> None:
    """Write `build/pages` and `build/rooms`; what an earlier build left there is removed."""
    pages, rooms = build / "pages", build / "rooms" / "acegraph"
    for old in (pages, rooms.parent):
        shutil.rmtree(old, ignore_errors=True)
    shutil.copytree(ROOT / "docs", pages, ignore=shutil.ignore_patterns("*.py", "__pycache__"))
    for name in PROJECT_PAGES:
        shutil.copy(ROOT / name, pages / name)
    for page in pages.rglob("*.md"):
        text = _TO_A_PROJECT_PAGE.sub("](", page.read_text(encoding="utf-8"))
        page.write_text(_TO_A_PAGE.sub("](", text), encoding="utf-8")
    rooms.mkdir(parents=True)
    for room in ROOMS:
        (rooms / room).symlink_to(ROOT / room, target_is_directory=True)


if __name__ == "__main__":
    stage(Path(sys.argv[1]) if len(sys.argv) > 1 else ROOT / "build")
