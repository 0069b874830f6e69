"""Files with one planted column: a leak, an identifier, a calendar artefact, a constant, or an
honest field that is strong. Run as a program it trains on every file and looks at the bullets."""

import csv
import sys
import tempfile
from collections.abc import Callable
from datetime import datetime, timedelta
from pathlib import Path

import numpy as np

from acegraph.graph import TrainingPipeline
from acegraph.graph.data.explain import FileReport, explain_dataset
from acegraph.graph.data.files import Dataset, FileLayout, read_dataset
from acegraph.graph.data.leakage import find_leaks
from acegraph.state import BulletPlaybook

Rows = dict[str, list[object]]
Rng = np.random.Generator
START = datetime(2025, 2, 3)
LAYOUT = FileLayout(query=None, answer="is_fraud")


def world(seed: int, days: int = 25) -> tuple[Rows, np.ndarray, Rng]:
    """Honest columns with some signal, the labels, and the chance to plant with."""
    rng = np.random.default_rng([seed, 77])
    rate, n = ((0.5, 300), (0.2, 400), (0.05, 800))[seed % 3]
    fraud = rng.permutation(n) < round(rate * n)
    times = np.sort(rng.integers(0, days * 86_400, n))
    columns: Rows = {
        "time": [str(START + timedelta(seconds=int(t))) for t in times],
        "amount": [round(float(a), 2) for a in rng.lognormal(3.5 + 1.2 * fraud, 0.8)],
        "country": [f"L{int(c)}" for c in rng.zipf(1.6, n) % 90],
        "vpn": [bool(v) for v in rng.random(n) < 0.1 + 0.5 * fraud],
        "tries": [int(t) for t in rng.poisson(1 + fraud)],
    }
    return columns, fraud, rng


def leak(seed: int) -> tuple[Rows, np.ndarray, str]:
    columns, fraud, rng = world(seed)
    n, noisy = len(fraud), fraud ^ (rng.random(len(fraud)) < 0.01)
    late = [str(datetime.fromisoformat(str(t)) + timedelta(days=30))[:10] for t in columns["time"]]
    kinds: tuple[Callable[[], tuple[str, list[object]]], ...] = (
        lambda: ("chargeback_reason", _where(fraud & (rng.random(n) < 0.9), ["stolen card"] * n)),
        lambda: ("bucket", [int(x) for x in noisy]),
        lambda: (
            "final_sum",
            [a if f else 0 for a, f in zip(columns["amount"], noisy, strict=True)],
        ),
        lambda: (
            "status",
            ["open" if x else "none" for x in rng.random(n) < np.where(fraud, 0.97, 0.01)],
        ),
        lambda: ("case_day", _where(rng.random(n) < np.where(fraud, 0.6, 0.04), late)),
        lambda: ("queue", [str(rng.choice(["A", "B"] if x else ["C", "D"])) for x in noisy]),
        lambda: (
            "ledger_no",
            _where(~fraud & (rng.random(n) < 0.97), [f"x{i % 9}" for i in range(n)]),
        ),
    )
    name, values = kinds[seed % len(kinds)]()
    return {**columns, name: values}, fraud, name


def honest(seed: int) -> tuple[Rows, np.ndarray, str]:
    columns, fraud, rng = world(seed)
    n = len(fraud)
    kinds: tuple[Callable[[], tuple[str, list[object]]], ...] = (
        lambda: ("distance", [round(float(x), 3) for x in rng.normal(2.8 * fraud, 1)]),
        lambda: ("new_device", [bool(x) for x in rng.random(n) < np.where(fraud, 0.92, 0.04)]),
        lambda: ("browser_type", [str(rng.choice(["x", "y", "z"], p=_shares(f))) for f in fraud]),
        lambda: ("past_disputes", [int(x) for x in rng.poisson(np.where(fraud, 3, 0.1))]),
        lambda: ("fraud_score", [round(float(x), 3) for x in rng.normal(2.5 * fraud, 1)]),
        lambda: (
            "device_age",
            _where(rng.random(n) < np.where(fraud, 0.5, 0.95), [int(x) for x in rng.poisson(9, n)]),
        ),
    )
    name, values = kinds[seed % len(kinds)]()
    return {**columns, name: values}, fraud, name


def identifier(seed: int) -> tuple[Rows, np.ndarray, str]:
    columns, fraud, rng = world(seed)
    n = len(fraud)
    # A gang pays with few accounts: the identity tells much, and still is no rule.
    who = np.where(fraud & (rng.random(n) < 0.7), rng.integers(0, 12, n), rng.integers(12, 200, n))
    kinds: tuple[tuple[str, list[object]], ...] = (
        ("customer_id", [f"C-{w:05}" for w in who]),
        ("card_number", [str(4_000_000_000_000_000 + 7919 * int(w)) for w in who]),
        ("CustomerName", [f"{'ABCDEFGHIJ'[w % 10]}na {'QRSTUVWXYZ'[w % 10]}ole{w}" for w in who]),
        ("row", list(range(n))),
        ("email", [f"user{w}@example.org" for w in who]),
        ("token", [f"{int(x):016x}" for x in rng.integers(0, 2**62, n)]),
    )
    name, values = kinds[seed % len(kinds)]
    return {**columns, name: values}, fraud, name


def calendar(seed: int) -> tuple[Rows, np.ndarray, str]:
    """All fraud lies in one part of a span that holds each month, weekday or hour once."""
    kind = seed % 2
    columns, fraud, rng = world(seed, days=(330, 6)[kind])
    order = np.argsort(~fraud, kind="stable")  # fraud first: the first weeks, or days
    mixed = np.argsort(np.arange(len(fraud)) + rng.normal(0, 0.1 * len(fraud), len(fraud)))
    columns = {
        name: values if name == "time" else [values[i] for i in order[mixed]]
        for name, values in columns.items()
    }
    fraud = fraud[order[mixed]]
    if kind == 0:
        columns["month"] = [int(str(time)[5:7]) for time in columns["time"]]
    return columns, fraud, ("month", "time.weekday")[kind]


def constant(seed: int) -> tuple[Rows, np.ndarray, str]:
    columns, fraud, _ = world(seed)
    name, value = (("currency", "EUR"), ("channel_code", 7), ("is_test", False))[seed % 3]
    return {**columns, name: [value] * len(fraud)}, fraud, name


KINDS = {f.__name__: f for f in (leak, identifier, calendar, constant, honest)}


def write(folder: Path, kind: str, seed: int) -> tuple[Path, str]:
    """A file of a kind, and the name of its planted column."""
    columns, fraud, name = KINDS[kind](seed)
    file = folder / f"{kind}-{seed}.csv"
    with file.open("w", newline="") as out:
        writer = csv.writer(out)
        writer.writerow([*columns, "is_fraud"])
        writer.writerows(zip(*columns.values(), (int(f) for f in fraud), strict=True))
    return file, name


def report(file: Path) -> tuple[FileReport, Dataset]:
    """What `acegraph read` says of a file, and the rows that `acegraph train` would learn from."""
    dataset = read_dataset(file, LAYOUT)
    leaks = find_leaks(dataset) or {}
    return explain_dataset(dataset, leaks), dataset.without(leaks.keys())


def is_right(kind: str, name: str, said: FileReport) -> bool:
    """Whether the column was named for what it is; nothing else may be called a leak."""
    why = {
        "leak": ("leak",),
        "identifier": ("names somebody", "name somebody", "an id", "too many values", "a clock"),
        "calendar": ("each of its values once", "a clock"),
        "constant": ("same", "the currency of the amount"),
    }
    suspected = [text.split(" ", 1)[0] for text in said.ignored if "looks like a leak" in text]
    if kind == "honest":
        return name in [reading.field for reading in said.read] and not suspected
    lines = [text for text in said.ignored if text.startswith(f"{name} (")]
    named = [text for text in lines if any(map(text.__contains__, why[kind]))]
    return bool(named) and suspected == ([name] if kind == "leak" else [])


def _where(mask: np.ndarray, values: list[object]) -> list[object]:
    return [value if is_set else "" for value, is_set in zip(values, mask, strict=True)]


def _shares(is_fraud: bool) -> list[float]:
    return [0.85, 0.1, 0.05] if is_fraud else [0.08, 0.5, 0.42]


def main(files: int) -> None:
    failed = False
    with tempfile.TemporaryDirectory() as folder:
        for kind in KINDS:
            named = unused = bullets = 0
            for seed in range(files):
                file, name = write(Path(folder), kind, seed)
                said, dataset = report(file)
                named += is_right(kind, name, said)
                playbook = BulletPlaybook()
                TrainingPipeline(playbook).train_offline(dataset.items)
                learned = list(playbook.get_bullets_for_node("fraud_detection", status=None))
                bullets += len(learned)
                unused += not any(name in b.condition.fields for b in learned if b.condition)
            print(f"{kind}: {named} of {files} right, unused in {unused}, {bullets} bullets")
            failed |= named < 0.95 * files or (kind != "honest" and unused < files)
    sys.exit(failed)


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 20)
