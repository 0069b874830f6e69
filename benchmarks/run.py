"""Runs every benchmark, prints the tables and writes out/bench.json."""

import json
import os
import platform
import time
from datetime import UTC, datetime
from pathlib import Path

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

import duplicates
import exported
import ledger
import memory
import numpy as np
import overhead
import pairs
import ratios
import selection
import service
import tables

PARTS = {
    "ratios": ratios.main,
    "exported": exported.main,
    "selection": selection.main,
    "duplicates": duplicates.main,
    "pairs": pairs.main,
    "overhead": overhead.main,
    "memory": memory.main,
    "ledger": ledger.main,
    "service": service.main,
    "tables": tables.main,
    "large": tables.large,
}


def processor() -> str:
    """The name of the processor, or of its family if the system does not tell more."""
    file = Path("/proc/cpuinfo")
    lines = file.read_text().splitlines() if file.exists() else []
    names = [line.partition(":")[2].strip() for line in lines if line.startswith("model name")]
    return names[0] if names else platform.machine()


def main() -> None:
    """Run every benchmark."""
    machine = {
        "date": datetime.now(UTC).isoformat(timespec="seconds"),
        "processor": f"{os.cpu_count()} x {processor()}",
        "python": platform.python_version(),
        "numpy": np.__version__,
        "load": os.getloadavg()[0],
    }
    print(", ".join(f"{name} {value}" for name, value in machine.items()))
    figures = {}
    for name, part in PARTS.items():
        start = time.monotonic()
        figures[name] = part()
        print(f"({name} took {time.monotonic() - start:.0f} s)", flush=True)
    file = Path("out/bench.json")
    file.parent.mkdir(exist_ok=True)
    file.write_text(json.dumps({"machine": machine, **figures}, indent=2) + "\n")
    print(f"\nwritten to {file}")


if __name__ == "__main__":
    main()
