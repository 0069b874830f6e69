"""Take the pictures of the desk for the documentation, from the demo's playbook.

Run: python tests/support/desk_screenshots.py FOLDER
"""

import sys
import tempfile
from pathlib import Path

from desk_playbooks import demo_playbook
from desk_server import Looker, chromium, served
from PIL import Image

from acegraph.state import BulletPlaybook

SHOTS = {
    "overview": "/",
    "playbook": "/playbook?sort=blocked",
    "lab": "/lab?rule=DECLINE+when+amount+%3E%3D+60+and+tx_last_hour+%3E%3D+4",
}


def take(folder: Path) -> None:
    """Write a small picture of each page into a folder."""
    with tempfile.TemporaryDirectory() as place:
        url = f"sqlite:///{place}/ace.db"
        with BulletPlaybook(url) as book:
            demo_playbook(book)
        with served(url) as desk, chromium() as browser:
            pat = Looker(browser, desk, viewport={"width": 1200, "height": 760})
            for name, path in SHOTS.items():
                page, file = pat.go(path), folder / f"desk-{name}.png"
                page.screenshot(path=file, timeout=120_000)
                Image.open(file).convert("P", palette=Image.Palette.ADAPTIVE, colors=64).save(
                    file, optimize=True
                )
                print(f"{file}: {file.stat().st_size:,} bytes")
            pat.close()


if __name__ == "__main__":
    take(Path(sys.argv[1]))
