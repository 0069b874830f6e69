"""What the built site must be: whole, and without anything fetched from another host.

`make docs` builds it and runs this.
"""

import importlib
import re
import sys
from pathlib import Path

from pages import DOCS, keys_in
from project_paths import ROOMS, ROOT

FETCHED = re.compile(r"<(?:script|link|img)\b[^>]*(?:src|href)=\"?(https?:[^\" >]+)")


def problems(site: Path) -> list[str]:
    """What is wrong with a built site."""
    pages = list(site.rglob("*.html"))
    found = [] if len(pages) > len(DOCS) else [f"{len(pages)} pages for {len(DOCS)} files"]
    for page in pages:
        found += [f"{page.name} fetches {what}" for what in FETCHED.findall(page.read_text())]
    for room in ROOMS:
        found += [f"api/{room}: no entry for {name}" for name in missing_names(room, site)]
    return found


def missing_names(room: str, site: Path) -> list[str]:
    """The public names with neither an entry nor a row in the table of plain names."""
    html = (site / f"api/{room}.html").read_text()
    plain = keys_in((ROOT / f"docs/api/{room}.md").read_text(), "plain name")
    names = importlib.import_module(f"acegraph.{room}").__all__
    return [n for n in names if n not in plain and f'id="acegraph.{room}.{n}"' not in html]


if __name__ == "__main__":
    sys.exit("\n".join(problems(ROOT / "site")) or 0)
