"""Work that takes longer than a page may: the audit of the ledger, and comparisons of files."""

from __future__ import annotations

import secrets
import tempfile
from collections.abc import Callable
from dataclasses import dataclass, field
from importlib.util import find_spec
from pathlib import Path
from threading import Lock, Thread
from typing import TYPE_CHECKING, Any, Final

from acegraph.state.database.kept_values import forget, keep, kept, kept_value
from acegraph.state.errors import AceError, InvalidInput
from acegraph.state.maintenance.verify import verify
from acegraph.state.values.times import now

if TYPE_CHECKING:
    from acegraph.graph.experiments.experiment import Experiment
    from acegraph.state import BulletPlaybook

_KEY, _PAGE_KEY = "report:", "report_page:"
"""The figures of a report, and the report as a page to send: lists need not read the pages."""
_SPLIT: Final = "one file, split at random, with the same share of fraud in both"


@dataclass
class Audit:
    """What `verify` found, and when."""

    is_running: bool = False
    at: str = ""
    findings: list[str] = field(default_factory=list)


@dataclass
class ComparisonJob:
    """A comparison of a file, on its way."""

    id: str
    name: str
    by: str
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
        self._comparison: ComparisonJob | None = None
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

    @property
    def comparison(self) -> ComparisonJob | None:
        """The comparison that is under way, or the last one, if it failed."""
        return self._comparison

    def start_comparison(
        self,
        playbook: BulletPlaybook,
        name: str,
        by: str,
        content: Callable[[Path], None],
        columns: tuple[str | None, str | None],
    ) -> ComparisonJob:
        """Compare on a file that somebody sent; `content` writes it to a private place."""
        with self._lock:
            if self._comparison and self._comparison.is_running:
                raise InvalidInput("Another comparison is under way: wait until it has ended.")
            job = self._comparison = ComparisonJob(secrets.token_hex(8), name, by)
        folder = tempfile.TemporaryDirectory(prefix="acegraph-desk-")
        file = Path(folder.name) / f"file{Path(name).suffix.lower()[:10]}"

        def run() -> None:
            job.failure = "it stopped before its end"
            try:
                experiment = _compared(file, job, columns)
                if find_spec("matplotlib"):
                    from acegraph.graph.experiments.report.page import report_page

                    keep(playbook.database, _PAGE_KEY + job.id, report_page(experiment))
                found = experiment.to_json()
                report = {"name": job.name, "by": job.by, "at": now(), "found": found}
                keep(playbook.database, _KEY + job.id, report)
                job.failure = ""
            except AceError as error:
                job.failure = str(error).replace(str(file), job.name)
            finally:
                folder.cleanup()
                job.is_running = False

        try:
            content(file)
        except BaseException:
            folder.cleanup()
            job.is_running, self._comparison = False, None
            raise
        Thread(target=run, daemon=True).start()
        return job


def _compared(file: Path, job: ComparisonJob, columns: tuple[str | None, str | None]) -> Experiment:
    """The comparison that `acegraph compare FILE` makes."""
    from acegraph.graph.data.files import FileLayout, read_dataset
    from acegraph.graph.data.leakage import find_leaks
    from acegraph.graph.data.splits import random_splits
    from acegraph.graph.experiments.experiment import run_experiment

    label, positive = columns
    if file.suffix == ".parquet":
        file = _as_csv(file)
    layout = FileLayout(None if label else "query", label or "answer", positive)
    dataset = read_dataset(file, layout)
    items = dataset.without(find_leaks(dataset).keys()).items
    experiment = run_experiment(
        list(random_splits(items, None, None, 1)),
        progress=lambda seed: job.note,
        baselines=find_spec("sklearn") is not None,
    )
    experiment.data, experiment.split = job.name, _SPLIT
    return experiment


def _as_csv(file: Path) -> Path:
    """A Parquet file as CSV, which every learner reads."""
    try:
        from pyarrow import ArrowException, csv, parquet
    except ImportError:
        raise InvalidInput("Parquet files need pip install 'acegraph[tables]'") from None
    other = file.with_suffix(".csv")
    try:
        csv.write_csv(parquet.read_table(file), other)
    except ArrowException as error:
        raise InvalidInput(f"This Parquet file cannot be read: {error}") from None
    return other


def reports(playbook: BulletPlaybook) -> list[dict[str, Any]]:
    """The comparisons that were kept, newest first."""
    found = [{"id": key, **one} for key, one in kept(playbook.database, _KEY).items()]
    return sorted(found, key=lambda one: str(one["at"]), reverse=True)


def page_of_report(playbook: BulletPlaybook, report_id: str) -> str | None:
    """A report as one HTML file; None if it was made without matplotlib."""
    page: str | None = kept_value(playbook.database, _PAGE_KEY + report_id)
    return page


def report(playbook: BulletPlaybook, report_id: str) -> dict[str, Any]:
    """One comparison that was kept."""
    found = kept_value(playbook.database, _KEY + report_id)
    if found is None:
        raise InvalidInput("There is no such report; it may have been removed.")
    return {"id": report_id, **found}


def remove_report(playbook: BulletPlaybook, report_id: str) -> None:
    """Remove a comparison that was kept."""
    for key in (_KEY, _PAGE_KEY):
        forget(playbook.database, key + report_id)
