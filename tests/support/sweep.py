"""For n = 1, 2, ...: the n-th thing that a command does to the disk fails, is torn, is the last
one before a kill, or is lost in a power cut. Then: audit; do it again; compare.

Each act below writes a playbook or a file. It starts from what the acts before have left. An
uninterrupted run tells what it does to the disk, in order (faulty_disk.c). A kill after the n-th
leaves exactly the first n, so that disk is built, and so is a torn write: half of it. In a power
cut what was not flushed is lost at random, in sectors. A failing disk cannot be built: there the
act itself runs. Each trial has a number, by which it is repeated:

    python tests/support/sweep.py --only decide/torn/17

`python tests/support/sweep.py` is the long form; what is done stands in out/sweep.jsonl, and is not
done again.
"""

import argparse
import ctypes
import gzip
import json
import os
import random
import shutil
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from importlib import import_module
from pathlib import Path
from typing import Any, Final

from faulty_disk import FULL, ONCE, Disk, Op, Watched, after_power_cut, in_child, read_ops
from ledger_cases import NODE
from project_paths import DATA, ROOT, SUPPORT
from swept_acts import COMMANDS, STEPS, act, audit_and_repeat, state_of

from acegraph.graph.data.synthetic import write_sample
from acegraph.graph.operations.transfer import export_bullets
from acegraph.state import BulletPlaybook

KINDS: Final = ("error", "full", "killed", "torn")
_MOST: Final = 3_000
_DRAWN: Final = 500
_SEED: Final = 47
_CUTS: Final = 600
_NOT_PROMISED: Final = {"train": "ace.db bullets, ace.db history"}
"""A training that was interrupted and runs again may learn other bullets; the ledger is clean."""


@dataclass
class Base:
    """An act, and what an uninterrupted run of it does."""

    name: str
    start: Path
    ops: list[Op]
    count: int
    """How many operations may fail."""
    allowed: list[dict[str, str]]
    """What is there when it was done once; and twice, for what adds something each time."""

    def numbers(self, kind: str) -> list[int]:
        """The trials of a kind."""
        if kind in ("error", "full"):
            return list(range(1, self.count + 1))
        if kind == "killed":
            return [i for i, op in enumerate(self.ops) if op.kind not in "SN"]
        return [i for i, op in enumerate(self.ops) if op.kind == "W" and len(op.data) > 1]


@dataclass
class Sweep:
    """Runs acts and trials in a folder of its own."""

    place: Path
    bases: dict[str, Base] = field(default_factory=dict)

    @property
    def live(self) -> Path:
        """Where acts run whose operations are recorded."""
        return self.place / "live"

    def prepare(self, names: Sequence[str]) -> None:
        """Run the acts one after the other, uninterrupted."""
        start = self.place / "empty"
        start.mkdir()
        for name in names:
            if name == next(iter(COMMANDS)):
                _add_files(start)
            self.bases[name] = self._uninterrupted(name, start)
            start = self.place / f"after {name}"

    def _uninterrupted(self, name: str, start: Path) -> Base:
        _copy(start, self.live)
        trace = self.place / "trace"
        count, modules = _made(in_child(partial(_traced, name, self.live, trace)))
        for module in modules:  # else each child imports them anew
            import_module(module)
        _copy(self.live, self.place / f"after {name}")
        once = _made(in_child(partial(state_of, self.live)))
        in_child(partial(act, name, self.live))
        twice = _made(in_child(partial(state_of, self.live)))
        return Base(name, start, list(read_ops(trace)), count, [once, twice])

    def trial(self, name: str, kind: str, number: int) -> list[str]:
        """The findings of one trial."""
        base, folder, trace = self.bases[name], self.place / "trial", self.place / "trace"
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir()
        if kind in ("error", "full"):
            _copy(base.start, folder)
            how = ONCE if kind == "error" else FULL
            if died := in_child(partial(_failing, name, folder, trace, number, how)):
                return [died]
            ops = list(read_ops(trace))
        else:
            ops = base.ops[:number]
            self._cut(base, kind, number).write_into(folder)
        notes = [op.path for op in ops if op.kind == "N"]
        result = in_child(partial(audit_and_repeat, name, folder, notes))
        if isinstance(result, str):
            return [result]
        findings: list[str] = result["findings"]
        differing = _differing(result["state"], base.allowed[0])
        if result["state"] not in base.allowed and differing != _NOT_PROMISED.get(name):
            findings.append(f"not as uninterrupted: {differing}")
        return findings

    def _cut(self, base: Base, kind: str, number: int) -> Disk:
        if kind == "power":
            rng = random.Random(f"{_SEED}/{base.name}/{number}")
            return after_power_cut(base.start, self.live, base.ops[:number], rng)
        disk = Disk(base.start, self.live)
        for op in base.ops[:number]:
            disk.do(op)
        if kind == "torn":
            torn = base.ops[number]
            half = torn.data[: len(torn.data) // 2]
            disk.do(Op("W", torn.path, torn.offset, half))
        return disk


def _made(result: Any) -> Any:
    if isinstance(result, str):
        raise RuntimeError(result)
    return result


def _differing(found: Mapping[str, str], wanted: Mapping[str, str]) -> str:
    names = sorted(found.keys() | wanted.keys())
    return ", ".join(name for name in names if found.get(name) != wanted.get(name))


def _copy(start: Path, folder: Path) -> None:
    shutil.rmtree(folder, ignore_errors=True)
    shutil.copytree(start, folder)


def _traced(name: str, folder: Path, trace: Path) -> tuple[int, list[str]]:
    watched = Watched(folder, trace)
    act(name, folder, watched)
    return ctypes.CDLL(None).disk_count(), [m for m in sys.modules if "__main__" not in m]


def _failing(name: str, folder: Path, trace: Path, number: int, how: int) -> None:
    act(name, folder, Watched(folder, trace, number, how))


def _add_files(folder: Path) -> None:
    """What the commands read."""
    write_sample(folder / "rows.csv", 60)
    (folder / "labels.csv").write_text("decision_id,label\nd2,APPROVE\no1,DECLINE\n")
    with BulletPlaybook() as book:
        book.add_bullet("Look twice at payments that come at night.", NODE)
        export_bullets(book, folder / "exported.json")
    (folder / "old.db").write_bytes(gzip.decompress((DATA / "schema4/playbook.db.gz").read_bytes()))


def trials(sweep: Sweep, most: int, cuts: int) -> list[str]:
    """The trials of all acts, in any order; of more than so many of a kind a part is drawn."""
    found = []
    for name, base in sweep.bases.items():
        for kind in KINDS:
            numbers, rng = base.numbers(kind), random.Random(f"{_SEED}/{name}/{kind}")
            if len(numbers) > most:
                numbers = sorted(rng.sample(numbers, min(most, _DRAWN)))
            found += [f"{name}/{kind}/{number}" for number in numbers]
    places = [f"{name}/power/{i + 1}" for name, b in sweep.bases.items() for i in range(len(b.ops))]
    rng = random.Random(_SEED)
    found += rng.sample(places, min(cuts, len(places)))
    rng.shuffle(found)  # so that the first part of a long run tells of all acts
    return found


def run(
    names: Sequence[str], most: int, cuts: int, only: str = "", done: Path | None = None
) -> int:
    """Run what is not done yet, with its progress, and print the findings."""
    known = {}
    if done is not None and done.exists():
        entries = map(json.loads, done.read_text().splitlines())
        known = {entry["trial"]: entry["findings"] for entry in entries}
    with tempfile.TemporaryDirectory(prefix="sweep-", dir=_memory()) as folder:
        sweep = Sweep(Path(folder))
        sweep.prepare(names)
        wanted = [only] if only else trials(sweep, most, cuts)
        told = ", ".join(f"{name} {base.count}" for name, base in sweep.bases.items())
        print(f"operations of each act: {told}\n{len(wanted)} trials", flush=True)
        begun, bad = time.monotonic(), 0
        for i, trial in enumerate(wanted, start=1):
            if trial not in known or only:
                name, kind, number = trial.split("/")
                known[trial] = sweep.trial(name, kind, int(number))
                if done is not None:
                    with done.open("a") as lines:
                        lines.write(json.dumps({"trial": trial, "findings": known[trial]}) + "\n")
            if known[trial]:
                bad += 1
                print(f"{trial}: {'; '.join(known[trial])}", flush=True)
            if i % 200 == 0:
                seconds = time.monotonic() - begun
                print(f"{i} of {len(wanted)}, {bad} with findings, {seconds:.0f} s", flush=True)
    kinds = Counter(trial.split("/")[1] for trial in wanted)
    print(f"{len(wanted)} trials ({dict(kinds)}), {bad} with findings")
    return int(bad > 0)


def _memory() -> str | None:
    return "/dev/shm" if Path("/dev/shm").is_dir() else None


def _with_faulty_disk() -> None:
    """Start again with the library in front of the C library, once."""
    if "faulty_disk" in os.environ.get("LD_PRELOAD", ""):
        return
    library = Path(tempfile.gettempdir()) / f"faulty_disk-{os.getuid()}-{os.getpid()}.so"
    source = SUPPORT / "faulty_disk.c"
    subprocess.run(["cc", "-O1", "-shared", "-fPIC", "-o", library, source, "-ldl"], check=True)
    clean = {n: v for n, v in os.environ.items() if not n.startswith(("ACE_", "OPENAI_"))}
    environment = clean | {"LD_PRELOAD": str(library), "OPENBLAS_NUM_THREADS": "1"}
    try:
        code = subprocess.run([sys.executable, *sys.argv], env=environment, check=False).returncode
    finally:
        library.unlink()
    sys.exit(code)


def main() -> int:
    """The long form, or a part of it."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--only", default="", help="one trial, as decide/torn/17")
    parser.add_argument("--most", type=int, default=_MOST, help="of more of a kind some are drawn")
    parser.add_argument("--cuts", type=int, default=_CUTS, help="simulated power cuts")
    parser.add_argument("--acts", default="", help="only these, and those before the last of them")
    parser.add_argument("--again", action="store_true", help="also what out/sweep.jsonl has")
    given = parser.parse_args()
    names = [*(step.__name__ for step in STEPS), *COMMANDS]
    if last := given.only.partition("/")[0] or given.acts:
        names = names[: names.index(last) + 1]
    done = None if given.again or given.only else ROOT / "out" / "sweep.jsonl"
    if done is not None:
        done.parent.mkdir(exist_ok=True)
    return run(names, given.most, given.cuts, given.only, done)


if __name__ == "__main__":
    _with_faulty_disk()
    sys.exit(main())
