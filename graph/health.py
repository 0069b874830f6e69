"""What is set up and what is wrong with it: the database behind a playbook."""

from shutil import disk_usage
from typing import Final

from acegraph.graph.doctor import Finding
from acegraph.state import AceError
from acegraph.state.database import open_database
from acegraph.state.formats import file_of
from acegraph.state.tables import SCHEMA_VERSION

_LOW_DISK: Final = 1e9


def database_findings(url: str) -> list[Finding]:
    """Look at the database: its kind, schema and settings, its size, and the room it has left."""
    file = file_of(url)
    if file is not None and not file.exists():
        return [Finding("database", "ok", f"none at {url} yet; the first decision makes one")]
    try:
        database = open_database(url)
    except AceError as error:
        return [Finding("database", "problem", str(error))]
    try:
        facts = database.facts()
        found = [
            Finding("database", "ok", f"{facts.pop('database')}, schema {SCHEMA_VERSION}"),
            *(Finding(name, "ok", text) for name, text in facts.items()),
        ]
        found += [Finding("integrity", "problem", text) for text in database.integrity()]
    finally:
        database.close()
    free = disk_usage(file.parent).free if file is not None else 0
    return [_judged(finding, free) for finding in found]


def _judged(finding: Finding, free: float) -> Finding:
    """The same finding, as serious as it is."""
    match finding.name, finding.text:
        case "free disk space", text if free < _LOW_DISK:
            return Finding(finding.name, "warning", f"{text}: a full disk stops all learning")
        case "journal mode", text if text != "wal":
            return Finding(finding.name, "warning", f"{text}; readers wait for writers without wal")
        case "fsync" | "synchronous commit", "off":
            return Finding(
                finding.name, "warning", "off: a crash of the server loses acknowledged outcomes"
            )
    return finding
