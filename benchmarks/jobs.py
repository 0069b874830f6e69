"""Several seeds at once: the wall time of an experiment with two jobs as a share of that with one.

On a busy machine wall time says little, so the CPU seconds on the longest path are compared too:
those of this process and of the busier of its two processes.
"""

import json
import time
from typing import Final

import psutil
from common import table

from acegraph.graph.experiments.experiment import Experiment, run_demonstration
from acegraph.state import AceContext

SEEDS, TRAIN, TEST = 6, 150, 250
AT_MOST: Final = 0.65
EMBEDDED: Final = AceContext(
    agent_model="embedded",
    judge_model="embedded",
    reflector_model="embedded",
    embedding_model="embedded",
)


def run(jobs: int) -> Experiment:
    """The experiment with so many jobs."""
    return run_demonstration(SEEDS, TRAIN, TEST, shuffle_labels=False, context=EMBEDDED, jobs=jobs)[
        0
    ]


def timed(jobs: int) -> tuple[float, float, str]:
    """Wall seconds, CPU seconds on the longest path, and all figures."""
    cpu, wall = time.process_time(), time.monotonic()
    figures = json.dumps(run(jobs).to_json())
    wall, cpu = time.monotonic() - wall, time.process_time() - cpu
    workers = [sum(p.cpu_times()[:2]) for p in psutil.Process().children(recursive=True)]
    return wall, cpu + max(workers, default=0.0), figures


def main() -> dict[str, float]:
    """Compare two jobs with one."""
    run_demonstration(1, 20, 20, shuffle_labels=False, context=EMBEDDED)  # imports what is slow
    one, two = timed(1), timed(2)
    if one[2] != two[2]:
        raise AssertionError("two jobs give other figures than one")
    shares = {"wall time": two[0] / one[0], "CPU on the longest path": two[1] / one[1]}
    rows = [["", "one job", "two jobs", "ratio", "at most"]]
    for (name, share), a, b in zip(shares.items(), one, two, strict=False):
        rows.append([name, f"{a:.1f} s", f"{b:.1f} s", f"{share:.2f}", f"{AT_MOST}"])
    table(f"{SEEDS} seeds of {TRAIN} + {TEST} generated payments, the same figures", rows)
    return {name.replace(" ", "_"): share for name, share in shares.items()}


if __name__ == "__main__":
    main()
