"""Labels in bulk: memory and CPU of `acegraph feedback --file` on a large table, and on a tenth.

The peak memory must hardly depend on the number of rows, and a second run must change nothing.

    python benchmarks/label_files.py            # a million rows
    python benchmarks/label_files.py 200000
"""

import json
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Final

import pyarrow as pa
from common import table
from pyarrow import csv

from acegraph.state import BulletPlaybook, Transaction
from acegraph.state.values.decision import DecisionRecord

DECISIONS: Final = 5_000
MORE_MEGABYTES: Final = 50
"""So much more memory may ten times the rows take."""
RUN: Final = f"""
import sys, time
sys.path.insert(0, {str(Path(__file__).parent)!r})
from process_memory import peak_mb
from acegraph.graph.cli.main import app
app(sys.argv[1:], standalone_mode=False)
print(peak_mb(), time.process_time(), file=sys.stderr)
"""


def record_decisions(url: str) -> None:
    """A playbook that has declined many payments."""
    with BulletPlaybook(url) as playbook:
        records = []
        for number in range(DECISIONS):
            given = Transaction.of({"amount": number})
            facts = (given.text, given.fields, given.digest())
            record = DecisionRecord(f"d{number}", "fraud_detection", *facts, decision="DECLINE")
            records.append((record, None))
        playbook.record_many(records)


def send(folder: Path, rows: int) -> tuple[dict[str, int], int, float]:
    """The report of the command, its megabytes and its CPU seconds."""
    file, url = folder / f"{rows}.csv", f"sqlite:///{folder / f'{rows}.db'}"
    if not file.exists():
        record_decisions(url)
        names = [f"d{number % DECISIONS}" for number in range(rows)]
        csv.write_csv(pa.table({"decision_id": names, "label": ["fraud"] * rows}), file)
    words = ["feedback", "--file", str(file), "--no-learn", "--json", "--playbook", url]
    command = [sys.executable, "-c", RUN, *words]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    megabytes, seconds = done.stderr.split()[-2:]
    return json.loads(done.stdout), int(megabytes), float(seconds)


def main(rows: int = 1_000_000) -> None:
    """Print the figures, and stop if they are not as they must be."""
    lines = [["", "rows", "new labels", "memory", "CPU"]]
    with tempfile.TemporaryDirectory() as name:
        sent = {
            what: send(Path(name), number)
            for what, number in (("a tenth", rows // 10), ("all", rows), ("all again", rows))
        }
    for what, (report, megabytes, seconds) in sent.items():
        counts = [f"{report['labels']:,}", f"{report['changed']:,}"]
        lines.append([what, *counts, f"{megabytes} MB", f"{seconds:.1f} s"])
    table("labels from a CSV", lines)
    if [report["changed"] for report, *_ in sent.values()] != [DECISIONS, DECISIONS, 0]:
        raise AssertionError("each label must count once")
    if sent["all"][1] > sent["a tenth"][1] + MORE_MEGABYTES:
        raise AssertionError("memory grows with the rows")


if __name__ == "__main__":
    main(*map(int, sys.argv[1:]))
