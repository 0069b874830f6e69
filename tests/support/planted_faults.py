"""Plant each fault of tests/data/planted_faults.toml in a copy of the code, one after another.

A fault breaks one promise in a line or two, as a careless change could. The test files that hold
the promise pass without the fault and must fail with it: `make faults`.
"""

import argparse
import importlib.util
import os
import re
import subprocess
import sys
import tempfile
import time
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from project_paths import DATA, ROOMS, ROOT

FAULTS: Final = DATA / "planted_faults.toml"
_LONGEST_SECONDS: Final = 900
_FAILED = re.compile(r"^FAILED (.+?)(?: - (.*))?$", re.MULTILINE)
_NO_FAILURE: Final = ("SyntaxError", "IndentationError", "NameError", "ImportError", "ModuleNot")
"""A test that fails by one of these says that the fault was planted badly, and nothing else."""


@dataclass(frozen=True)
class Edit:
    """What a fault changes in one file, and the tests that fail then."""

    file: str
    old: str
    new: str
    tests: tuple[str, ...]

    def finds_its_place(self, tree: Path) -> bool:
        """Whether the text that it replaces stands in the file, once."""
        path = tree / self.file
        return path.is_file() and path.read_text("utf-8").count(self.old) == 1


@dataclass(frozen=True)
class Fault:
    """A promise, and the edits that break it: in today's code, and in the code of d0641cd."""

    number: int
    promise: str
    edits: tuple[Edit, ...]

    def edit_for(self, tree: Path) -> Edit | None:
        """The first edit that finds its place, and its tests; None if the code has moved on."""
        fitting = [edit for edit in self.edits if edit.finds_its_place(tree)]
        with_tests = [e for e in fitting if all((tree / name).exists() for name in e.tests)]
        return next(iter([*with_tests, *fitting]), None)


def read_faults(file: Path = FAULTS) -> list[Fault]:
    """All faults, in their order."""
    return [_fault(entry) for entry in tomllib.loads(file.read_text("utf-8"))["fault"]]


def _fault(entry: Mapping[str, Any]) -> Fault:
    then, tests = entry["then"], entry["tests"]
    now = {**then, "tests": tests, **entry.get("now", {})}
    edits = [
        Edit(one["file"], one["old"].strip("\n"), one["new"].strip("\n"), tuple(one["tests"]))
        for one in (now, {"tests": tests, **then})
    ]
    return Fault(entry["number"], entry["promise"], tuple(dict.fromkeys(edits)))


@contextmanager
def copied(commit: str) -> Iterator[Path]:
    """A copy of a commit in a temporary folder, from which `acegraph` can be imported."""
    with tempfile.TemporaryDirectory(prefix="faults-") as folder:
        tree = Path(folder) / "tree"
        clone = ["git", "clone", "--quiet", "--shared", "--no-checkout", str(ROOT), str(tree)]
        subprocess.run(clone, check=True)
        found = subprocess.run(
            ["git", "rev-parse", commit], cwd=ROOT, check=True, capture_output=True, text=True
        )
        subprocess.run(["git", "checkout", "--quiet", found.stdout.strip()], cwd=tree, check=True)
        package = tree.parent / "links" / "acegraph"
        package.mkdir(parents=True)
        for path in (*(tree / "package").iterdir(), *(tree / room for room in ROOMS)):
            (package / path.name).symlink_to(path)
        yield tree


def run_tests(tree: Path, files: Sequence[str]) -> subprocess.CompletedProcess[str]:
    """Run test files of a copy until one fails."""
    links = str(tree.parent / "links")
    command = [sys.executable, "-m", "pytest", "-x", "-q", "-rf", "--tb=line"]
    command += ["-p", "no:cacheprovider", "-k", "not postgres", *files]
    environment = {**os.environ, "PYTHONPATH": links, "OPENBLAS_NUM_THREADS": "1"}
    return subprocess.run(
        command,
        cwd=tree,
        env=environment,
        capture_output=True,
        text=True,
        timeout=_LONGEST_SECONDS,
        check=False,
    )


@contextmanager
def planted(edit: Edit, tree: Path) -> Iterator[None]:
    """The fault stands in the copy; afterwards the file is as it was."""
    path = tree / edit.file
    text = path.read_text("utf-8")
    try:
        _write(path, text.replace(edit.old, edit.new))
        yield
    finally:
        _write(path, text)


def _write(path: Path, text: str) -> None:
    """Write code; what was compiled of it before could be as long, and of the same second."""
    compile(text, str(path), "exec")
    path.write_text(text, "utf-8")
    Path(importlib.util.cache_from_source(str(path))).unlink(missing_ok=True)


def held_by(edit: Edit, tree: Path) -> tuple[bool, str]:
    """Whether a test fails with the fault, and which; or why that does not count."""
    with planted(edit, tree):
        result = run_tests(tree, edit.tests)
    failed = _FAILED.search(result.stdout)
    if result.returncode == 0:
        return False, f"NOT HELD: {' '.join(edit.tests)} pass"
    if result.returncode != 1 or failed is None:
        return False, f"NO TEST FAILED: {' '.join(result.stdout.split()[-40:])}"
    why = failed[2] or ""
    if why.startswith(_NO_FAILURE):
        return False, f"PLANTED BADLY: {failed[1]}: {why}"
    return True, f"held by {failed[1]}"


def _bring_tests(tree: Path, files: Sequence[str]) -> None:
    """A test file that a commit does not have yet comes from this tree."""
    for name in files:
        if not (tree / name).exists() and (ROOT / name).exists():
            (tree / name).parent.mkdir(parents=True, exist_ok=True)
            (tree / name).write_bytes((ROOT / name).read_bytes())


def main() -> int:
    """Plant the faults, print a line for each, and give 0 if a test fails on each of them."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--commit", default="HEAD", help="in which commit they are planted")
    parser.add_argument("--only", default="", metavar="N,N", help="plant only these")
    parser.add_argument("--unplanted", action="store_true", help="plant none, only run the tests")
    given = parser.parse_args()
    wanted = {int(number) for number in given.only.split(",") if number}
    faults = [fault for fault in read_faults() if not wanted or fault.number in wanted]
    with copied(given.commit) as tree:
        edits = {fault.number: fault.edit_for(tree) for fault in faults}
        files = list(dict.fromkeys(name for edit in edits.values() if edit for name in edit.tests))
        _bring_tests(tree, files)
        if files and (whole := run_tests(tree, files)).returncode:
            print(f"without any fault a test fails:\n{whole.stdout[-3000:]}")
            return 1
        print(f"without a fault {len(files)} test files pass", flush=True)
        if given.unplanted:
            return 0
        held = [fault.number for fault in faults if _tell(fault, edits[fault.number], tree)]
    lost = [number for number, edit in edits.items() if edit is None]
    print(f"{len(held)} of {len(faults)} faults make a test fail", end="")
    print(f"; without a place: {', '.join(map(str, lost))}" if lost else "")
    return int(len(held) < len(faults))


def _tell(fault: Fault, edit: Edit | None, tree: Path) -> bool:
    """Plant a fault, and print what became of it."""
    begun = time.monotonic()
    is_held, what = held_by(edit, tree) if edit else (False, "FINDS ITS PLACE NO LONGER")
    took = time.monotonic() - begun
    print(f"{fault.number:2} {fault.promise}\n   {what} ({took:.0f} s)", flush=True)
    return is_held


if __name__ == "__main__":
    sys.exit(main())
