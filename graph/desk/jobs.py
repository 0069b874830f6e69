"""Work that takes longer than a page may: the comparison of a file that somebody sent."""

from __future__ import annotations

import secrets
import shutil
from dataclasses import dataclass, field
from importlib.util import find_spec
from pathlib import Path
from tempfile import TemporaryDirectory
from threading import Thread
from typing import IO, TYPE_CHECKING, Final

from acegraph.state.database.kept_values import keep
from acegraph.state.errors import AceError
from acegraph.state.values.times import now

if TYPE_CHECKING:
    from acegraph.graph.data.files import FileLayout
    from acegraph.state import BulletPlaybook

REPORT: Final = "report:"
"""The key of a report, before its id."""


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

    def start(self, playbook: BulletPlaybook, content: IO[bytes]) -> None:
        """Compare beside the pages; the file is in a private place until that has ended."""
        folder = TemporaryDirectory(prefix="acegraph-desk-")
        file = Path(folder.name) / f"file{Path(self.name).suffix.lower()}"
        with file.open("xb") as target:
            shutil.copyfileobj(content, target)
        Thread(target=self._run, args=(playbook, folder, file), daemon=True).start()

    def _run(self, playbook: BulletPlaybook, folder: TemporaryDirectory[str], file: Path) -> None:
        self.failure = "it stopped before its end"
        try:
            with folder:
                report = {"name": self.name, "by": self.by, "found": self._compared(file)}
            keep(playbook.database, REPORT + self.id, {**report, "at": now()})
            self.failure = ""
        except AceError as error:
            self.failure = str(error).replace(str(file), self.name)
        finally:
            self.is_running = False

    def _compared(self, file: Path) -> dict[str, object]:
        """The figures of the comparison that `acegraph compare FILE` makes."""
        from acegraph.graph.data.files import read_dataset
        from acegraph.graph.data.leakage import find_leaks
        from acegraph.graph.data.splits import random_splits
        from acegraph.graph.experiments.experiment import run_experiment

        dataset = read_dataset(file, self.layout)
        items = dataset.without(find_leaks(dataset).keys()).items
        experiment = run_experiment(
            list(random_splits(items, None, None, 1)),
            progress=lambda seed: self.note,
            baselines=find_spec("sklearn") is not None,
        )
        return experiment.to_json()
