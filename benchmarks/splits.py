"""Train and test on fixed splits of a file: the balanced accuracy of the frozen playbook.

Name a folder that holds one folder a set, and in it `train_N<rows>_s<seed>.csv` and
`test_s<seed>.csv`, with the labels in a column `label`:

    python benchmarks/splits.py data/splits --sets sparkov evalml --sizes 50 100

It prints a line for each set and size: the mean over the seeds, how many rules are active in the
mean, and the seconds of CPU of a training.
"""

import argparse
import json
import statistics
import time
from pathlib import Path
from typing import Any

from acegraph import AceContext, TrainingPipeline, load_dataset

_FROZEN = {"learn": False, "source": "offline"}


def measured(folder: Path, size: int, seed: int) -> dict[str, Any]:
    """What one training makes of the test rows of its seed."""
    train = load_dataset(folder / f"train_N{size}_s{seed}.csv", query=None, answer="label")
    test = load_dataset(folder / f"test_s{seed}.csv", query=None, answer="label")
    pipeline = TrainingPipeline(context=AceContext())
    started = time.process_time()
    report = pipeline.train_offline(train)
    seconds = time.process_time() - started
    run = pipeline.evaluate(test, **_FROZEN)
    caught = run.declined[run.fraud].mean()
    spared = (~run.declined[~run.fraud]).mean()
    return {
        "accuracy": float(caught + spared) / 2,
        "rules": report.bullets_active,
        "seconds": seconds,
        "sentences": [
            b.content for b in pipeline.playbook.get_bullets_for_node(pipeline.context.node)
        ],
    }


def main() -> None:
    """Measure and print."""
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("folder", type=Path)
    options.add_argument("--sets", nargs="+", default=["sparkov", "evalml"])
    options.add_argument("--sizes", nargs="+", type=int, default=[50, 100, 200, 500])
    options.add_argument("--seeds", nargs="+", type=int, default=[0, 1, 2, 3, 4])
    options.add_argument("--rules", action="store_true", help="print the rules, too")
    args = options.parse_args()
    for name in args.sets:
        for size in args.sizes:
            runs = [measured(args.folder / name, size, seed) for seed in args.seeds]
            by_seed = " ".join(f"{run['accuracy']:.3f}" for run in runs)
            mean = {
                key: statistics.mean(run[key] for run in runs)
                for key in ("accuracy", "rules", "seconds")
            }
            print(
                f"{name:10} N={size:<6} {mean['accuracy']:.4f}  rules {mean['rules']:.1f}  "
                f"CPU {mean['seconds']:.1f} s  ({by_seed})",
                flush=True,
            )
            if args.rules:
                print(json.dumps([run["sentences"] for run in runs], indent=1))


if __name__ == "__main__":
    main()
