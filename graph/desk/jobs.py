"""Work that takes longer than a page may: the audit of the ledger, and comparisons of files."""

from __future__ import annotations

import secrets
import shutil
from dataclasses import dataclass, field
from importlib.util import find_spec
from pathlib import Path
from tempfile import TemporaryDirectory
from threading import Lock, Thread
from typing import IO, TYPE_CHECKING, Final

from acegraph.state.database.kept_values import keep
from acegraph.state.errors import AceError, InvalidInput
from acegraph.state.maintenance.verify import verify
from acegraph.state.values.times import now

if TYPE_CHECKING:
    from acegraph.graph.data.files import FileLayout
    from acegraph.state import BulletPlaybook

REPORT: Final = "report:"
"""The key of a report, before its id."""


@dataclass
class Audit:
    """What `verify` found, and when."""

    is_running: bool = False
    at: str = ""
    findings: list[str] = field(default_factory=list)


@dataclass
class ComparisonJob:
    """A comparison of a file, on its way."""

    name: str
    by: str
    layout: FileLayout
    id: str = field(default_factory=lambda: secrets.token_hex(8))
    stage: str = "reading the file"
    done: int = 0
    total: int = 0
    failure: str = ""
    is_running: bool = True

    def note(self, stage: str, done: int, total: int) -> None:
        """Take note of how far it has come."""
        self.stage, self.done, self.total = stage, done, total


class Jobs:
    """Runs such work beside the pages, one of each kind at a time."""

    def __init__(self) -> None:
        self.audit = Audit()
        self.comparison: ComparisonJob | None = None
        """The comparison that is under way, or the last one."""
        self._lock = Lock()

    def start_audit(self, playbook: BulletPlaybook) -> None:
        """Check the whole ledger, unless that is under way."""
        with self._lock:
            if self.audit.is_running:
                return
            self.audit.is_running = True

        def run() -> None:
            try:
                findings = verify(playbook)
            except AceError as error:
                findings = [str(error)]
            self.audit = Audit(is_running=False, at=now(), findings=findings)

        Thread(target=run, daemon=True).start()

    def start_comparison(
        self, playbook: BulletPlaybook, job: ComparisonJob, content: IO[bytes]
    ) -> None:
        """Compare on a file that somebody sent; it is in a private place until that has ended."""
        folder = TemporaryDirectory(prefix="acegraph-desk-")
        file = Path(folder.name) / f"file{Path(job.name).suffix.lower()}"
        with file.open("xb") as target:
            shutil.copyfileobj(content, target)
        with self._lock:
            if self.comparison and self.comparison.is_running:
                raise InvalidInput("Another comparison is under way: wait until it has ended.")
            self.comparison = job

        def run() -> None:
            job.failure = "it stopped before its end"
            try:
                with folder:
                    report = {"name": job.name, "by": job.by, "found": _compared(file, job)}
                keep(playbook.database, REPORT + job.id, {**report, "at": now()})
                job.failure = ""
            except AceError as error:
                job.failure = str(error).replace(str(file), job.name)
            finally:
                job.is_running = False

        Thread(target=run, daemon=True).start()


def _compared(file: Path, job: ComparisonJob) -> dict[str, object]:
    """The figures of the comparison that `acegraph compare FILE` makes."""
    from acegraph.graph.data.files import read_dataset
    from acegraph.graph.data.leakage import find_leaks
    from acegraph.graph.data.splits import random_splits
    from acegraph.graph.experiments.experiment import run_experiment

    dataset = read_dataset(file, job.layout)
    items = dataset.without(find_leaks(dataset).keys()).items
    experiment = run_experiment(
        list(random_splits(items, None, None, 1)),
        progress=lambda seed: job.note,
        baselines=find_spec("sklearn") is not None,
    )
    return experiment.to_json()
